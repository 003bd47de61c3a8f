/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_clear.h: nobody but the operator says where the primary Service leads: pure.
 *
 * A Service that gets a selector gets EndpointSlices and an Endpoints object of Kubernetes' own controllers, too, beside
 * the EndpointSlice that the operator writes: writers are sent to whomever the selector finds. So the selector is taken
 * away, by a merge patch with null: an apply that does not name it leaves it to its owner, and there is none while the
 * cluster is paused or its spec is not accepted, in which the route is led on. What the controllers have made stays, and
 * Endpoints that are left are mirrored as an EndpointSlice: so all of it is deleted, once the Service has no selector
 * any more. As long as it has one they would be made again.
 * https://kubernetes.io/docs/concepts/services-networking/service/#services-without-selectors
 */
#ifndef KM_ROUTE_CLEAR_H
#define KM_ROUTE_CLEAR_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Adds to the stage that the plan is in; none of it keeps later stages from starting. */
void route_clear_decide(const struct cluster_snapshot *snapshot, struct plan *plan);
/* In how many milliseconds what is there now may be deleted, 0: now, or there is nothing. */
int64_t route_clear_again_ms(const struct cluster_snapshot *snapshot);

/* What a plan that cleared the route has taken away, for an Event: "EndpointSlice shop-mysql-primary-x7k2p". False: this
 * action was none of that. */
#define ROUTE_CLEARED_SIZE 192
bool route_clear_tell(const struct plan_action *action, char out[static ROUTE_CLEARED_SIZE]);

#endif
