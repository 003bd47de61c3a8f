/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
#include "common/base.h"

#include "agent/tests/agent_rig.h"
#include "agent/tests/healing_stories.h"

int main(void)
{
    return agent_rig_possible() ? healing_stories_run(false) : 77;
}
