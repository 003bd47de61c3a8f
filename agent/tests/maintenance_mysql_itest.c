/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
#include "common/base.h"

#include "agent/tests/agent_rig.h"
#include "agent/tests/maintenance_stories.h"
#include "common/alloc.h"

int main(void)
{
    _cleanup_(freep) char *root = agent_rig_possible() ? agent_rig_mysql_root() : NULL;

    return root ? maintenance_stories_run(true) : 77;
}
