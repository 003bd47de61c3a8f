/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_check.h: what speaks against a restore in place, as far as can be said while the cluster still serves. Pure.
 * The member's agent checks all of it again, and the key, by the manifest itself, before anything is written.
 */
#ifndef KM_IN_PLACE_CHECK_H
#define KM_IN_PLACE_CHECK_H

#include "common/restore_reason.h"
#include "operator/cluster/restore/cluster_restore.h"

/* Free on the volume beyond the backup's data. */
#define IN_PLACE_ROOM_MARGIN ((uint64_t)(128 * KM_MIB))

/* The reason, why says more; NONE: nothing. What is not known speaks against nothing. */
enum restore_reason in_place_check(
    const struct restore_answer *answer, const struct agent_status *member, char *why, size_t size);
/* The lookup's words without the field of spec.restoreFrom that they begin with. */
const char *in_place_message(const char *message);

#endif
