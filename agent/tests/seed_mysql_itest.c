/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/seed_mysql_stories.h"

int main(void)
{
    return seed_mysql_stories_run(false);
}
