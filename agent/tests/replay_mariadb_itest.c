/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
/* Point-in-time recovery with MariaDB: replay_stories.h. */
#include "common/base.h"

#include "agent/tests/agent_rig.h"
#include "agent/tests/replay_stories.h"

int main(void)
{
    return agent_rig_possible() ? replay_stories_run(NULL, BACKUP_METHOD_PHYSICAL) : 77;
}
