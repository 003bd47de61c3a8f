/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller.h: a workqueue, a reconciler and the watches that feed it.
 *
 * Up to `concurrency` keys are in work at once. Started by the manager when the informers are synced (manager_let_wait)
 * and we lead; before that keys gather in the queue.
 *
 * Metrics, named and meant as controller-runtime's (label `controller`): kubemysql_reconcile_total{result: success,
 * error, conflict, requeue_after}, kubemysql_reconcile_errors_total, kubemysql_reconcile_time_seconds,
 * kubemysql_active_workers, kubemysql_max_concurrent_reconciles, kubemysql_workqueue_depth, _adds_total,
 * _retries_total.
 */
#ifndef KM_CONTROLLER_H
#define KM_CONTROLLER_H

#include "common/base.h"

#include "common/loop.h"
#include "common/metrics.h"
#include "common/strvec.h"
#include "operator/kube/informer.h"
#include "operator/runtime/reconcile.h"

struct controller;

struct controller_options {
    int concurrency;          /* 0: 16 */
    uint32_t backoff_base_ms; /* 0: 50 */
    uint32_t backoff_max_ms;  /* 0: 60,000 */
    struct metrics *metrics;  /* see above; may be NULL; outlives the controller */
};

struct controller *controller_new(
    struct loop *loop, const struct reconciler *reconciler, const struct controller_options *options);
/* Runs in work end with it and must not be finished any more: free what would finish them first (the reconciler, the
 * kube_client). */
void controller_free(struct controller *controller);
/* While the gate says false no reconcile starts: the manager asks whether we still lead. Looked at again at the next
 * enqueue or finish. */
void controller_set_gate(struct controller *controller, bool (*gate)(void *arg), void *arg);
void controller_start(struct controller *controller);
/* No new reconciles; those in work go on. */
void controller_stop(struct controller *controller);
const char *controller_name(const struct controller *controller);
size_t controller_in_work(const struct controller *controller);
/* Keys that wait, due or not. */
size_t controller_depth(const struct controller *controller);
/* A key waits that could start now: others should not be kept waiting for what can be done later. */
bool controller_has_due(const struct controller *controller);
void controller_enqueue(struct controller *controller, const char *key);
void controller_enqueue_after(struct controller *controller, const char *key, int64_t delay_ms);

/* Feeds the queue from an informer. map turns a changed object into keys by calling emit (zero or more); it is called
 * for the old and the new object of a change. predicate (may be NULL) filters changes first. */
typedef void (*controller_emit_fn)(void *emit_arg, const char *key);
typedef void (*controller_map_fn)(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);
typedef bool (*controller_predicate_fn)(const struct kube_object *old_object, const struct kube_object *new_object);
void controller_watch(struct controller *controller, struct informer *informer, controller_predicate_fn predicate,
    controller_map_fn map, void *map_arg);
/* Map: the object itself is the key. */
void controller_map_self(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);
/* Map: the owner, found by uid in the store of `owner_informer` (the map_arg). */
void controller_map_owner(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);
/* Predicate: the spec or metadata changed (generation or digest), not just the status. */
bool predicate_generation_or_digest_changed(const struct kube_object *old_object, const struct kube_object *new_object);

/* Whether a controller that watches these namespaces (NULL or empty: all) looks at that one. */
bool namespace_is_watched(const struct strvec *watched, const char *ns);

#endif
