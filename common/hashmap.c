/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/hashmap.h"

#include "common/alloc.h"
#include "common/backoff.h"

enum { FIRST_SLOTS = 8 };

static uint64_t rotl(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[static 4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

/* SipHash-1-3 (https://www.aumasson.jp/siphash/), the key stretched from 64 random bits. */
static uint64_t hash_key(uint64_t seed, const char *key)
{
    uint64_t k0 = seed, k1 = seed * 0x9e3779b97f4a7c15ULL;
    uint64_t v[4] = {
        k0 ^ 0x736f6d6570736575ULL, k1 ^ 0x646f72616e646f6dULL, k0 ^ 0x6c7967656e657261ULL, k1 ^ 0x7465646279746573ULL};
    size_t len = strlen(key);
    uint64_t word;
    for (size_t left = len; left >= 8; left -= 8, key += 8) {
        memcpy(&word, key, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)len << 56;
    for (size_t i = 0; i < len % 8; i++)
        word |= (uint64_t)(unsigned char)key[i] << (8 * i);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static size_t home_slot(const struct hashmap *map, const char *key)
{
    return (size_t)hash_key(map->seed, key) & (map->slot_count - 1);
}

/* The slot that holds key, or the free one where it belongs. slot_count > 0, at least one slot is free. */
static size_t find_slot(const struct hashmap *map, const char *key)
{
    size_t i = home_slot(map, key);
    while (map->slots[i] && strcmp(map->key_of(map->slots[i]), key) != 0)
        i = (i + 1) & (map->slot_count - 1);
    return i;
}

static void grow(struct hashmap *map)
{
    void **old = map->slots;
    size_t old_count = map->slot_count;
    map->slot_count = old_count ? old_count * 2 : FIRST_SLOTS;
    map->slots = xcalloc(map->slot_count, sizeof(*map->slots));
    for (size_t i = 0; i < old_count; i++) {
        if (old[i])
            map->slots[find_slot(map, map->key_of(old[i]))] = old[i];
    }
    free(old);
}

void hashmap_init(struct hashmap *map, hashmap_key_fn key_of)
{
    *map = (struct hashmap){.key_of = key_of, .seed = random_seed()};
}

void hashmap_release(struct hashmap *map, void (*free_entry)(void *entry))
{
    if (!map)
        return;
    for (size_t i = 0; free_entry && i < map->slot_count; i++) {
        if (map->slots[i])
            free_entry(map->slots[i]);
    }
    free(map->slots);
    map->slots = NULL;
    map->slot_count = map->count = 0;
}

void *hashmap_get(const struct hashmap *map, const char *key)
{
    return map->count ? map->slots[find_slot(map, key)] : NULL;
}

void *hashmap_put(struct hashmap *map, void *entry)
{
    if ((map->count + 1) * 4 > map->slot_count * 3)
        grow(map);
    size_t i = find_slot(map, map->key_of(entry));
    void *before = map->slots[i];
    map->slots[i] = entry;
    map->count += before == NULL;
    return before;
}

/* Closes the hole: entries that probed past it move back, so no tombstones are needed. */
static void close_hole(struct hashmap *map, size_t hole)
{
    size_t mask = map->slot_count - 1;
    for (size_t i = (hole + 1) & mask; map->slots[i]; i = (i + 1) & mask) {
        size_t home = home_slot(map, map->key_of(map->slots[i]));
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = NULL;
}

void *hashmap_remove(struct hashmap *map, const char *key)
{
    if (!map->count)
        return NULL;
    size_t i = find_slot(map, key);
    void *entry = map->slots[i];
    if (entry) {
        close_hole(map, i);
        map->count--;
    }
    return entry;
}

void *hashmap_next(const struct hashmap *map, size_t *iterator)
{
    while (*iterator < map->slot_count) {
        void *entry = map->slots[(*iterator)++];
        if (entry)
            return entry;
    }
    return NULL;
}

uint64_t hash64(uint64_t state, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        state = (state ^ bytes[i]) * 0x100000001b3ULL;
    return state;
}
