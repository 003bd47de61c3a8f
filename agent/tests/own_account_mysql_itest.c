/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/agent_rig.h"
#include "agent/tests/own_account_stories.h"
#include "common/alloc.h"

int main(void)
{
    _cleanup_(freep) char *root = agent_rig_possible() ? agent_rig_mysql_root() : NULL;

    return root ? own_account_stories_run(true) : 77;
}
