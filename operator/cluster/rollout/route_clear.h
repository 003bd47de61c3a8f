/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_clear.h: nobody but the operator says where the primary Service leads: pure.
 *
 * For a Service with a selector Kubernetes' own controllers write EndpointSlices and an Endpoints object beside the
 * EndpointSlice of the operator: clients that write are sent to every pod that the selector finds. So the selector is
 * removed, by a merge patch with null. An apply that does not name the field would leave it to its owner, and while the
 * cluster is paused or its spec is not accepted nothing is applied, although the route is kept up to date. What the
 * controllers have written stays, and Endpoints that are left are mirrored as an EndpointSlice: so all of it is deleted
 * once the Service has no selector any more. Before that it would be written again.
 * https://kubernetes.io/docs/concepts/services-networking/service/#services-without-selectors
 */
#ifndef KM_ROUTE_CLEAR_H
#define KM_ROUTE_CLEAR_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Adds to the stage that the plan is in; none of it keeps later stages from starting. */
void route_clear_decide(const struct cluster_snapshot *snapshot, struct plan *plan);
/* In how many milliseconds what is there now may be deleted, 0: now, or there is nothing. */
int64_t route_clear_again_ms(const struct cluster_snapshot *snapshot);

/* What the action took away of a route that led elsewhere, for an Event: "EndpointSlice shop-mysql-primary-x7k2p".
 * False: it is no such action. */
#define ROUTE_CLEARED_SIZE 192
bool route_clear_tell(const struct plan_action *action, char out[static ROUTE_CLEARED_SIZE]);

#endif
