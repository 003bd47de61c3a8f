/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reseed.h: whose data must be replaced by a copy, as no order mends it: pure.
 *
 * Four reasons: the primary has no longer the binary logs that the member needs; the member holds transactions that the
 * primary has not; what the primary sends cannot be applied to its data; somebody has set back its GTID position. What
 * the member has beyond the primary is set aside on its volume first (I7). Nobody is marked who may hold the only other
 * copy of an acknowledged commit, unless its position was set back: it could not show that it does.
 */
#ifndef KM_RESEED_H
#define KM_RESEED_H

#include "operator/cluster/state/cluster_snapshot.h"

/* `member` follows `primary`, or is to. *ret_rest_ms: after how long the answer may be another one, 0: not by time. */
bool reseed_is_due(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct cluster_member *member, int64_t *ret_rest_ms);

enum reseed_outlook {
    RESEED_NOT_KNOWN, /* its data goes on, as far as is known, or nobody can tell now */
    RESEED_SOON,      /* it is copied anew by itself, or may be once another one has been */
    RESEED_LEFT,      /* its data cannot go on, and nothing happens before a person has it copied anew */
};
/* Of a replica whose GTID position somebody has set back, or that cannot apply what the open primary sends. */
enum reseed_outlook reseed_outlook(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

#endif
