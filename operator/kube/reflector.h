/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector.h: the protocol half of an informer: list, watch, resume, list again. Private to operator/kube.
 *
 *   list ──complete──▶ watch ──ended──▶ (back-off) ──▶ watch from the last resourceVersion seen
 *    ▲  └─failed─▶ (back-off) ─▶ list     └─ 410, ERROR "Expired", a stream that goes back in time ─▶ list
 *
 * Lists are read without a resourceVersion, so the API server answers from etcd with everything written before (a
 * consistent read). resourceVersion=0 would be cheaper for the server, but may be answered from a watch cache that lags
 * behind; acting on such a view is how controllers harm live objects, and a list that is older than what we saw before
 * would undo it.
 * The next page is asked for as soon as the current one has named its continue token, while its objects still stream
 * (LIST_PAGES_AHEAD): the server's work on one page and ours on another overlap.
 *
 * Ops are called on the loop, in the order of the stream. Nobody frees the reflector from inside one.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
#ifndef KM_REFLECTOR_H
#define KM_REFLECTOR_H

#include "common/base.h"

#include "operator/kube/informer.h"
#include "operator/kube/watch_decoder.h"

struct reflector;

struct reflector_ops {
    void (*list_begin)(void *arg);
    void (*list_object)(void *arg, struct json_slice object);
    /* NULL: the list failed and begins again later; forget what it brought. */
    void (*list_end)(void *arg, const char *resource_version);
    /* ADDED, MODIFIED or DELETED. */
    void (*event)(void *arg, enum watch_event_type type, struct json_slice object);
};

struct reflector *reflector_new(struct loop *loop, struct kube_client *client, const struct kube_resource *resource,
    const struct informer_options *options, const struct reflector_ops *ops, void *arg);
void reflector_free(struct reflector *reflector);
void reflector_start(struct reflector *reflector);
bool reflector_listing(const struct reflector *reflector);
/* The version up to which everything was reported; "" before the first list is complete. */
const char *reflector_version(const struct reflector *reflector);
int64_t reflector_silence_ms(const struct reflector *reflector);

#endif
