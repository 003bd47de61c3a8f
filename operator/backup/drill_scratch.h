/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drill_scratch.h: the scratch cluster of a restore drill. Pure.
 *
 * A MysqlCluster of one member, owned by the cluster whose backup is tried: same configuration, images, storage and pod
 * template, data restored from that backup. It has no backup of its own (so no schedule, no drill, and nothing is
 * archived into anybody's folder), accounts and passwords of its own, none of the labels that Services of people may
 * select on, and its volume goes with it. Its server runs no events: what events do, they would do twice.
 */
#ifndef KM_DRILL_SCRATCH_H
#define KM_DRILL_SCRATCH_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/drill_status.h"

/* Why a cluster of this spec cannot be tried; NULL: it can. Static. */
const char *drill_scratch_problem(const json_t *spec);
/* spec: of the cluster it is made for. New object. */
json_t *drill_scratch_object(
    const char *ns, const char *name, const char *uid, const json_t *spec, const struct drill_summary *summary);

#endif
