/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_api_store.h: the objects behind kube_api_double: a tiny etcd with the rules of an API server.
 *
 * Objects are immutable jansson trees, replaced by every write; a history of changes serves watches. Rules kept:
 * resourceVersion grows by one with each change and by none for a write that changes nothing; uid and creationTimestamp
 * are ours; generation grows with changes outside of metadata and status; status is written through the status
 * subresource only; a deleted object with finalizers waits for them;
 * dependents of a removed owner go with it. Server-side apply is approximated for a single manager: merge, and what the
 * manager applied last time but not now goes; lists are replaced whole.
 */
#ifndef KM_KUBE_API_STORE_H
#define KM_KUBE_API_STORE_H

#include "common/base.h"

#include <jansson.h>

/* A request path taken apart. Strings inside the struct; empty if absent. */
struct kube_api_path {
    char collection[256]; /* "/api/v1/pods": without the namespace */
    char ns[64];
    char name[256];
    char subresource[64];
};
/* -1 if it is not the path of a resource. */
int kube_api_path_parse(const char *text, struct kube_api_path *ret);

struct kube_api_entry {
    struct kube_api_path path; /* subresource empty */
    json_t *object;
    json_t *applied, *applied_status; /* what the manager applied last, without and with a subresource; NULL: nothing */
};

struct kube_api_change {
    uint64_t version;
    char collection[256];
    char ns[64];
    json_t *before,
        *after; /* NULL: created, deleted. after of a deletion is NULL, before carries the version of the deletion. */
};

struct kube_api_store {
    struct kube_api_entry **entries; /* sorted by collection, namespace, name, as etcd lists them */
    size_t count, capacity;
    struct kube_api_change *history;
    size_t history_count, history_capacity;
    uint64_t version;   /* of the last change */
    uint64_t compacted; /* watches from before this are refused */
    unsigned uids;
    const char *created; /* creationTimestamp of what comes without; NULL: some time long ago, always the same */
    void (*changed)(void *arg, const struct kube_api_change *change);
    void *arg;
};

/* Outcome of a write: HTTP status, and the object (borrowed) or the reason and message of a metav1.Status. */
struct kube_api_result {
    int status;
    const json_t *object;
    const char *reason;
    char message[768];
};

void kube_api_store_init(struct kube_api_store *store);
void kube_api_store_release(struct kube_api_store *store);
struct kube_api_entry *kube_api_store_find(const struct kube_api_store *store, const struct kube_api_path *path);

enum kube_api_write { KUBE_API_CREATE, KUBE_API_UPDATE, KUBE_API_APPLY, KUBE_API_MERGE };
void kube_api_store_write(struct kube_api_store *store, enum kube_api_write how, const struct kube_api_path *path,
    const json_t *body, struct kube_api_result *ret);
/* preconditions: DeleteOptions.preconditions or NULL. */
void kube_api_store_delete(struct kube_api_store *store, const struct kube_api_path *path, const json_t *preconditions,
    struct kube_api_result *ret);
/* Puts the object as it is (status included), as if a controller or kubelet had done it; only the metadata that is ours
 * is filled in. */
const json_t *kube_api_store_force(struct kube_api_store *store, const struct kube_api_path *path, const json_t *object);
/* Forgets history and open pages: resuming from before now gives 410. */
void kube_api_store_compact(struct kube_api_store *store);

#endif
