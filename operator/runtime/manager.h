/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manager.h: the life of the operator process.
 *
 *   serve /healthz /readyz /metrics → connect and discover → set up → start informers → all synced: stand for the lease
 *   → lead: start controllers → on SIGTERM or SIGINT: stop controllers, let running reconciles end (at most 500 ms),
 *   release the lease (at most 1 s more), leave with 0. A second signal ends it at once (exit code 1).
 *
 * Discovery that fails (no connection, a kind that is not there yet) is repeated with back-off for as long as it takes:
 * CRDs and operator may be installed in any order. Losing the lease ends the process (exit code 1): a fresh one starts
 * clean. From the moment at which it may be lost no reconcile starts, the client writes nothing (kube_client.h:
 * may_write), and whoever talks to others asks manager_leads first; what was under way when the process was stopped is
 * cut off by lease_guard.h. A standby has its caches warm, and nothing else: no reconcile has run, so no agent is
 * connected to and no Secret was read. /healthz fails when the loop did not turn for 10 s or an informer is silent
 * beyond repair; /readyz is true once the informers are synced (a standby is ready too) and until the first signal.
 * After the first sync the heap that the first lists needed goes back to the system.
 */
#ifndef KM_MANAGER_H
#define KM_MANAGER_H

#include "common/base.h"

#include "common/error.h"
#include "common/http_client.h"
#include "common/loop.h"
#include "common/metrics.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/informer.h"
#include "operator/kube/kube_client.h"
#include "operator/runtime/controller.h"

struct manager;

/* Texts are copied. */
struct manager_options {
    const struct kube_config *config; /* borrowed for the call */
    const char *field_manager;        /* of our server-side applies */
    const char *user_agent;
    const char *component;        /* who we are in Events; also the name of the Lease */
    const char *leader_namespace; /* NULL: no election, lead at once */
    const char *leader_identity;  /* also the reporting instance of Events */
    int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms; /* 0: defaults of leader_elector.h */
    void (*lease_expired)(void); /* of the lease's guard (lease_guard.h); NULL: the process ends with exit code 1 */
    const char *bind_address;    /* health and metrics */
    uint16_t port;               /* 0: no server */
    double qps, burst;           /* 0: kube_client's defaults */
};

struct manager *manager_new(struct loop *loop, const struct manager_options *options, struct error *err);
/* Runs what was deferred (last first), then frees its own: controllers, informers, the client. */
void manager_free(struct manager *manager);
/* For what setup makes: free_fn(arg) runs at the beginning of manager_free, while everything is still there. */
void manager_defer(struct manager *manager, void (*free_fn)(void *arg), void *arg);
struct loop *manager_loop(struct manager *manager);
struct kube_client *manager_client(struct manager *manager);
struct http_client *manager_http(struct manager *manager);
struct metrics *manager_metrics(struct manager *manager);
struct event_recorder *manager_events(struct manager *manager); /* after set-up */

/* Kinds must be declared before manager_run; the resource is filled by discovery. Pointers stay valid; declaring a kind
 * again gives the same pointer, so setup code asks here too. At most MANAGER_KINDS_MAX. */
#define MANAGER_KINDS_MAX 32
const struct kube_resource *manager_use_kind(struct manager *manager, const struct kube_kind *kind);
/* Runs after discovery: `setup` makes informers (manager_informer) and controllers (manager_controller). */
typedef int (*manager_setup_fn)(void *arg, struct manager *manager, struct error *err);
/* The manager starts, frees and waits for them; it adds its metrics where the options name none. */
struct informer *manager_informer(struct manager *manager, const struct kube_resource *resource,
    const struct kube_projection *projection, const struct informer_options *options);
struct controller *manager_controller(
    struct manager *manager, const struct reconciler *reconciler, const struct controller_options *options);
/* For a controller of kinds that an installation may do without: only this controller waits for the informer's first
 * list, not the manager. Without its CustomResourceDefinition or its rights it does nothing, and all others lead and
 * work. Called in setup. */
void manager_let_wait(struct manager *manager, const struct controller *controller, const struct informer *informer);
/* True while our writes are welcome: we lead, or there is no election. */
bool manager_leads(const struct manager *manager);
/* Blocks until the end; returns the exit code. */
int manager_run(struct manager *manager, manager_setup_fn setup, void *setup_arg);
/* After manager_run: some reconciles did not end in time. Nobody can free the memory that belongs to their requests:
 * the process is to end by _exit, without manager_free. */
bool manager_has_work_left(const struct manager *manager);
/* After manager_run: it ended as the lease was lost. Nothing of what is known may be gone on with. */
bool manager_has_lost_lease(const struct manager *manager);

#endif
