/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informer.h: a store kept equal to the API server by a reflector (list, then watch), with handlers told of every
 * change.
 *
 * The reflector lists in pages (limit, continue), cutting the body while it streams and projecting one object at a
 * time, then watches from the list's resourceVersion with bookmarks. A watch that ends is resumed from the last
 * resourceVersion seen; 410 or an ERROR event "Expired" leads to a clean relist: objects whose resourceVersion did not
 * change are kept, vanished ones are deleted with a notification, so handlers see exactly the differences and memory
 * does not double. A continue token that expired restarts the list. Back-off 100 ms to 10 s with jitter; a watch silent
 * for longer than its server-side timeout plus a grace is considered lost.
 */
#ifndef KM_INFORMER_H
#define KM_INFORMER_H

#include "common/base.h"

#include "common/metrics.h"
#include "operator/kube/kube_client.h"
#include "operator/kube/store.h"

struct informer;

struct informer_options {
    const char *label_selector; /* NULL: none */
    const char *field_selector; /* NULL: none */
    const char *ns;             /* NULL: all */
    int64_t watch_timeout_ms;   /* asked of the server, 0: 5 to 10 minutes at random */
    /* Of a kind with more objects than should be held: only these are. Asked by key for each object that list and watch
     * bring, so what is wanted later is held from its next change on; of its deletion handlers are told all the same,
     * with the header alone (its fields are the kind's own no more). What is wanted no more goes with its next change.
     * NULL: all. */
    bool (*wanted)(void *arg, const char *key);
    void *wanted_arg;
    struct metrics *metrics; /* lists, watch restarts, events, objects by resource; may be NULL */
};

/* old NULL: added; now NULL: deleted. Both valid during the call. Called on the loop, after the store was changed. */
typedef void (*informer_handler_fn)(
    void *arg, const struct kube_object *old_object, const struct kube_object *new_object);

struct informer *informer_new(struct loop *loop, struct kube_client *client, const struct kube_resource *resource,
    const struct kube_projection *projection, const struct informer_options *options);
/* Not from one of its own handlers. */
void informer_free(struct informer *informer);
void informer_add_handler(struct informer *informer, informer_handler_fn fn, void *arg);
void informer_start(struct informer *informer);
/* True after the first complete list. */
bool informer_synced(const struct informer *informer);
/* Runs once at (or after) the first sync. */
void informer_on_sync(struct informer *informer, void (*fn)(void *arg), void *arg);
const struct store *informer_store(const struct informer *informer);
const struct kube_resource *informer_resource(const struct informer *informer);
/* Read your writes: puts the answer of a successful write into the store (handlers are told), unless the store already
 * holds a newer or equal one (resourceVersions are compared as numbers; incomparable ones wait for the watch). */
void informer_observe_write(struct informer *informer, const struct kube_answer *answer);
/* A delete was answered with success and the object is gone for good (not merely terminating). */
void informer_observe_delete(struct informer *informer, const char *key);
/* Time since the stream last said anything, 0 when not watching. */
int64_t informer_silence_ms(const struct informer *informer);

#endif
