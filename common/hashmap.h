/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hashmap.h: a set of caller-owned entries found by a string key that lives inside the entry.
 *
 * Open addressing over an array of pointers: 8 bytes per slot, load factor at most 3/4, so ten thousand entries cost
 * about 130 KiB beside the entries themselves. Keys are not copied: key_of(entry) must stay valid and unchanged while
 * the entry is inside. Hash is keyed per map (SipHash-style or FNV with a random seed) against crafted names.
 */
#ifndef KM_COMMON_HASHMAP_H
#define KM_COMMON_HASHMAP_H

#include "common/base.h"

typedef const char *(*hashmap_key_fn)(const void *entry);

struct hashmap {
    void **slots;
    size_t slot_count; /* 0 or a power of two */
    size_t count;
    uint64_t seed;
    hashmap_key_fn key_of;
};

void hashmap_init(struct hashmap *map, hashmap_key_fn key_of);
/* Frees the table, and every entry through free_entry if it is not NULL. */
void hashmap_release(struct hashmap *map, void (*free_entry)(void *entry));
void *hashmap_get(const struct hashmap *map, const char *key);
/* Adds or replaces; returns the entry that was there before (now the caller's), or NULL. */
void *hashmap_put(struct hashmap *map, void *entry);
/* Takes the entry out and returns it, or NULL. */
void *hashmap_remove(struct hashmap *map, const char *key);
/* Iteration in no particular order: for (i = 0; (e = hashmap_next(map, &i));). No put/remove meanwhile. */
void *hashmap_next(const struct hashmap *map, size_t *iterator);

/* 64-bit FNV-1a of len bytes continuing from `state` (start with HASH64_INIT): content digests, not security. */
#define HASH64_INIT 0xcbf29ce484222325ULL
uint64_t hash64(uint64_t state, const void *data, size_t len);

#endif
