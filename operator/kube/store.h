/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: the projections of one kind, by key and by uid.
 *
 * Owned by an informer; read through it by everybody on the loop. Pointers are valid until the next turn of the loop at
 * most: a later event may replace the object, so nobody keeps them across a callback.
 *
 * Indexes are arrays of pointers into the objects themselves: about 12 bytes an entry and no allocation of its own per
 * object.
 */
#ifndef KM_STORE_H
#define KM_STORE_H

#include "common/base.h"

#include "common/hashmap.h"
#include "operator/kube/kube_object.h"

struct store;

struct store *store_new(const struct kube_projection *projection);
void store_free(struct store *store);
size_t store_count(const struct store *store);
struct kube_object *store_get(const struct store *store, const char *key);
/* By its own uid: how a child's owner is found. The first call builds the index (about 12 bytes an object), later ones
 * keep it. */
struct kube_object *store_get_by_uid(const struct store *store, struct kube_uid uid);
/* Iterates all: *cursor starts at 0. No put or remove meanwhile. */
struct kube_object *store_next(const struct store *store, size_t *cursor);
/* Takes ownership; returns the replaced object (caller frees through the projection) or NULL. */
struct kube_object *store_put(struct store *store, struct kube_object *object);
struct kube_object *store_remove(struct store *store, const char *key);
/* Frees an object that is in no store, through the projection. NULL is fine. */
void store_free_object(const struct store *store, struct kube_object *object);

#endif
