/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
#include "common/base.h"

#include "agent/tests/seed_mysql_stories.h"

int main(void)
{
    return seed_mysql_stories_run(false);
}
