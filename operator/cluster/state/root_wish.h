/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root_wish.h: a primary that is closed for writes for want of room is to be open for root for a while, so that
 * somebody can make room with it: until the time that annotation ANNOTATION_OPEN_FOR_ROOT_UNTIL names, which is at
 * most ten minutes ahead. Pure.
 *
 * Its agent is told how long that still is (agent_order.h: root_until_ms), and closes it by itself at the end. A time
 * that has passed is no wish; one that is further ahead counts once it no longer is.
 */
#ifndef KM_ROOT_WISH_H
#define KM_ROOT_WISH_H

#include "common/clock.h"
#include "operator/cluster/state/cluster_snapshot.h"

struct root_wish {
    int64_t until_ms; /* in whole seconds; 0: there is no wish, or it does not count */
    int64_t left_ms;
    int64_t again_ms;              /* a wish that does not count yet counts after that; 0: there is none */
    char text[CLOCK_RFC3339_SIZE]; /* of until_ms */
    char why[192];                 /* why it does not count, with the annotation's name; "" if it does, or has passed */
};

void root_wish_read(const struct cluster_snapshot *snapshot, struct root_wish *ret);

#endif
