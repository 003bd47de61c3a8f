/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/restore_state.h"

bool restore_is_under_way(const struct cluster_snapshot *snapshot)
{
    enum restore_phase phase = snapshot->last.restore.phase;
    return !snapshot->last.roles.initialized && (phase == RESTORE_PHASE_RESOLVING || phase == RESTORE_PHASE_RESTORING);
}
