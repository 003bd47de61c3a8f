/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_gap.h: how far the status can be relied on where it tells for how long writes waited when the primary changed,
 * and what that time ends with. Pure. A zeroed struct is valid: not known, as of earlier versions.
 */
#ifndef KM_WRITE_GAP_GAP_H
#define KM_WRITE_GAP_GAP_H

#include "common/base.h"

#include <jansson.h>

enum write_gap_until {
    WRITE_GAP_UNTIL_UNKNOWN,
    WRITE_GAP_UNTIL_OPENING,      /* the new primary was open for writes; nobody's commit was seen (yet) */
    WRITE_GAP_UNTIL_FIRST_COMMIT, /* the first commit that is not ours was done there */
    WRITE_GAP_UNTIL_NOT_SEEN,     /* who looked for that commit was restarted before it came: the end is not known */
    WRITE_GAP_UNTIL_COUNT
};

struct write_gap {
    int64_t opened_ms;      /* from the last write of the old primary until the new one was open */
    int64_t uncertainty_ms; /* so much more or less it may have been; 0: not known */
    enum write_gap_until until;
    int64_t route_ms; /* WRITE_GAP_UNTIL_FIRST_COMMIT: from the opening on: routes are loaded, clients connect anew */
};

/* Its members go beside the others of the change. */
void write_gap_encode(const struct write_gap *gap, json_t *change);
void write_gap_decode(const json_t *change, struct write_gap *ret);
bool write_gap_same(const struct write_gap *a, const struct write_gap *b);

#endif
