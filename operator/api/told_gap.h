/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told_gap.h: how far the status can be relied on where it tells for how long writes waited when the primary changed,
 * and what that time ends with. Pure. A zeroed struct is valid: not known, as of earlier versions.
 */
#ifndef KM_TOLD_GAP_H
#define KM_TOLD_GAP_H

#include "common/base.h"

#include <jansson.h>

enum told_until {
    TOLD_UNTIL_UNKNOWN,
    TOLD_UNTIL_OPENING,      /* the new primary was open for writes; nobody's commit was seen (yet) */
    TOLD_UNTIL_FIRST_COMMIT, /* the first commit that is not ours was done there */
    TOLD_UNTIL_COUNT
};

struct told_gap {
    int64_t opened_ms;      /* from the last write of the old primary until the new one was open */
    int64_t uncertainty_ms; /* so much more or less it may have been; 0: not known */
    enum told_until until;
    int64_t route_ms; /* TOLD_UNTIL_FIRST_COMMIT: from the opening on: routes are loaded, clients connect anew */
};

/* Its members go beside the others of the change. */
void told_gap_encode(const struct told_gap *told, json_t *change);
void told_gap_decode(const json_t *change, struct told_gap *ret);
bool told_gap_same(const struct told_gap *a, const struct told_gap *b);

#endif
