/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
/* What an earlier version stored of MariaDB: corpus_stories.h. */
#include "common/base.h"

#include "agent/tests/agent_rig.h"
#include "agent/tests/corpus_stories.h"

int main(void)
{
    return agent_rig_possible() ? corpus_stories_run(NULL) : 77;
}
