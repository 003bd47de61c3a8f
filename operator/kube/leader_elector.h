/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leader_elector.h: one leader among replicas by a coordination.k8s.io/v1 Lease.
 *
 * As client-go: the lease is taken when it is free, released, or unrenewed for lease_duration as seen by OUR monotonic
 * clock since we last saw it change (clocks of others do not matter). The leader renews every retry_period; when
 * renew_deadline passes without success it stops leading before others may start. Writes carry resourceVersion. On
 * release (SIGTERM) holderIdentity is emptied, so the next takes over at once;
 * a watch on the Lease tells the others without waiting for their retry, so a standby does not poll. Leader election
 * does not fence (I2): epochs do. Still nobody should work after its lease: leader_elector_is_leader asks the clock,
 * and with `guard` the process is ended if it runs on half-way between its own deadline and the end of the lease
 * (lease_guard.h).
 *
 * The durations. While nobody leads, databases serve but none fails over, so a crash should cost seconds, not the 15 of
 * client-go: half a second more than lease_duration since the last renewal. The renew deadline leaves room for two
 * attempts through an API server's pause of almost three seconds: give the client a time-out of half of what is left
 * after retry_period, then the second one follows at once, on another connection in case the first one's was dead. Two
 * seconds lie between the deadline and the first moment at which another one may lead. Renewing once a second costs the
 * API server one small write a second, whatever the number of databases, and every standby one event.
 *
 * Where the API server takes longer than that to answer, replicas would lose the lease to each other all the time, and
 * each begins anew: nothing would ever be finished. So whoever loses it while its requests were given up without an
 * answer asks for twice the durations from then on, up to LEADER_STRETCH_MAX times; LEADER_RELAX_MS in which each
 * renewal took less than a quarter of the plain renew deadline halve them. A failover that waits for the next leader
 * takes longer meanwhile. Others go by what the holder promised, so replicas need not agree.
 *
 * Writes are merge patches, so labels and fields of others stay. A request that takes longer than half the renew
 * deadline is given up and tried again. Give the elector a kube_client of its own: its renewals must not wait behind
 * the queue of the controllers.
 * RBAC: leases get, list, watch, patch (resourceNames: the name), create.
 * https://kubernetes.io/docs/concepts/architecture/leases/ ; fields:
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/
 */
#ifndef KM_LEADER_ELECTOR_H
#define KM_LEADER_ELECTOR_H

#include "common/base.h"

#include "common/loop.h"
#include "operator/kube/kube_client.h"

#define LEADER_LEASE_DURATION_MS 6000
#define LEADER_RENEW_DEADLINE_MS 4000
#define LEADER_RETRY_PERIOD_MS 1000
#define LEADER_STRETCH_MAX 8U
#define LEADER_RELAX_MS 600000

struct leader_elector;

struct leader_elector_options {
    const char *ns;
    const char *name;          /* "kube-mysql-operator" */
    const char *identity;      /* pod name + random */
    int64_t lease_duration_ms; /* 0: the defaults above */
    int64_t renew_deadline_ms;
    int64_t retry_period_ms;
    unsigned stretch;      /* all three are multiplied by it: what `stretched` said last in this process; 0: 1 */
    bool guard;            /* see above; at most one such elector in a process */
    void (*expired)(void); /* of the guard (lease_guard.h); NULL: the process ends */
    void (*started_leading)(void *arg);
    void (*stopped_leading)(void *arg);                  /* after started only; on loss the process should end */
    void (*new_leader)(void *arg, const char *identity); /* may be NULL */
    void (*stretched)(void *arg, unsigned stretch);      /* it is another one now; may be NULL */
    void *arg;
};

struct leader_elector *leader_elector_new(struct loop *loop, struct kube_client *client,
    const struct kube_resource *lease, const struct leader_elector_options *options);
/* started_leading, stopped_leading, new_leader and stretched run from the loop. */
void leader_elector_start(struct leader_elector *elector);
/* Gives the lease back if we hold it, then calls done from the loop, once; after at most a renew deadline. We do not
 * lead any more from the call on, and stopped_leading is not called. */
void leader_elector_release(struct leader_elector *elector, void (*done)(void *arg), void *arg);
/* Also false as soon as the renew deadline has passed, even if no timer ran yet (the process was stopped). */
bool leader_elector_is_leader(const struct leader_elector *elector);
void leader_elector_free(struct leader_elector *elector);

#endif
