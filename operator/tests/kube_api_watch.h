/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_api_watch.h: the open watches of a kube_api_double. Private to it.
 */
#ifndef KM_KUBE_API_WATCH_H
#define KM_KUBE_API_WATCH_H

#include "common/base.h"

#include "common/http_server.h"
#include "common/list.h"
#include "operator/tests/kube_api_double.h"
#include "operator/tests/kube_api_store.h"

/* "k=v", "k!=v", "k" and "!k", separated by commas, over labels; metadata.name and metadata.namespace over fields. */
bool kube_api_selected(const json_t *object, const char *label_selector, const char *field_selector);

struct kube_api_watches {
    struct loop *loop;
    const struct kube_api_store *store;
    struct list_node open;
    size_t count;
    bool muted;
};

void kube_api_watches_init(struct kube_api_watches *watches, struct loop *loop, const struct kube_api_store *store);
/* After the server is freed. */
void kube_api_watches_release(struct kube_api_watches *watches);
/* Takes the exchange over. since: what the client has seen. */
void kube_api_watch_start(
    struct kube_api_watches *watches, struct http_exchange *exchange, const struct kube_api_path *path, uint64_t since);
void kube_api_watches_tell(struct kube_api_watches *watches, const struct kube_api_change *change);
void kube_api_watches_break(struct kube_api_watches *watches, enum kube_api_break how);
void kube_api_watches_mute(struct kube_api_watches *watches, bool muted);
void kube_api_watches_bookmark(struct kube_api_watches *watches);

#endif
