/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/agent_rig.h"
#include "agent/tests/own_account_stories.h"

int main(void)
{
    return agent_rig_possible() ? own_account_stories_run(false) : 77;
}
