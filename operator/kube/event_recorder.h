/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_recorder.h: core/v1 Events, aggregated.
 *
 * Fire and forget: an event that cannot be written is logged and dropped. The same (object, type, reason, message)
 * within ten minutes raises `count` and lastTimestamp of the first instead of making another (a patch). Each reason of
 * an object has a token bucket of its own (burst 50, one per 30 seconds refill), so that what is said again and again
 * leaves room for what is said once; client-go's spam filter has one of 25 and 5 minutes for the whole object. At most
 * EVENT_CACHE_MAX aggregates and as many buckets are remembered (least recently used goes).
 *
 * What is recorded is written EVENT_DELAY_MS later: events are for people, and in a failover, or when a cluster is
 * made, they would stand in the API server's queue before the writes that clients wait for. What waits when a process
 * is killed is lost with it.
 *
 * Names of events grow with time, so what is listed by name, as the API server and kubectl do within a second, is in
 * the order in which it was recorded.
 *
 * A repetition while the first write waits or is still under way is counted and written when that ends, so an object
 * never has two writes of one event in flight. An event that the server has already expired (404) is made anew.
 * Messages are cut at 1,024 bytes (the API's limit); callers keep secrets out of them (I9). RBAC: core events create,
 * patch.
 *
 * Each is a line of the log as well, with the same text: events are gone after an hour, and what was decided is asked
 * for later. So who records an event need not log it. What is said beyond a bucket is in neither; the next line of that
 * reason is preceded by one that says how many were left out.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
#ifndef KM_EVENT_RECORDER_H
#define KM_EVENT_RECORDER_H

#include "common/base.h"

#include "common/loop.h"
#include "operator/kube/kube_client.h"

#define EVENT_CACHE_MAX 1024
#define EVENT_DELAY_MS 250

struct event_recorder;

enum event_type { EVENT_NORMAL, EVENT_WARNING };

/* Whom the event is about. Strings are copied. */
struct event_target {
    const struct kube_resource *resource;
    const char *ns; /* NULL: cluster scope; the event goes to "default" */
    const char *name;
    const char *uid;              /* text form */
    const char *resource_version; /* may be NULL */
    bool is_logged;               /* the caller has logged what is recorded */
};

/* component: source.component and reportingComponent; instance: reportingInstance. */
struct event_recorder *event_recorder_new(struct loop *loop, struct kube_client *client,
    const struct kube_resource *event, const char *component, const char *instance);
/* Writes under way are cancelled; what waits is not written any more. */
void event_recorder_free(struct event_recorder *recorder);
/* What waits is written now: the process is about to end. */
void event_recorder_flush(struct event_recorder *recorder);
void event_record(struct event_recorder *recorder, const struct event_target *target, enum event_type type,
    const char *reason, const char *fmt, ...) KM_PRINTF(5, 6);

#endif
