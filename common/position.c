/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/position.h"

#include <stdatomic.h>

#include "common/alloc.h"
#include "common/hashmap.h"

/* Most pools hold a few: they are looked through. */
#define FEW 8

struct position_pool {
    atomic_uint references;
    size_t size, max;
    size_t count;
    char *few[FEW];
    struct hashmap more; /* beyond those; entries are the texts themselves */
};

static const char *key_of(const void *entry)
{
    return entry;
}

struct position_pool *position_pool_new(size_t max)
{
    struct position_pool *pool = xnew(struct position_pool);
    atomic_init(&pool->references, 1);
    pool->max = max;
    return pool;
}

struct position_pool *position_pool_ref(struct position_pool *pool)
{
    if (pool)
        atomic_fetch_add(&pool->references, 1);
    return pool;
}

void position_pool_unref(struct position_pool *pool)
{
    if (!pool || atomic_fetch_sub(&pool->references, 1) != 1)
        return;
    for (size_t i = 0; i < MIN_OF(pool->count, (size_t)FEW); i++)
        free(pool->few[i]);
    if (pool->count > FEW)
        hashmap_release(&pool->more, free);
    free(pool);
}

size_t position_pool_size(const struct position_pool *pool)
{
    return pool->size;
}

static const char *find(const struct position_pool *pool, const char *text)
{
    for (size_t i = 0; i < MIN_OF(pool->count, (size_t)FEW); i++) {
        if (strcmp(pool->few[i], text) == 0)
            return pool->few[i];
    }
    return pool->count > FEW ? hashmap_get(&pool->more, text) : NULL;
}

static void keep(struct position_pool *pool, char *text)
{
    size_t place = pool->count++;
    if (place < FEW) {
        pool->few[place] = text;
        return;
    }
    if (place == FEW)
        hashmap_init(&pool->more, key_of);
    hashmap_put(&pool->more, text);
}

const char *position_take(struct position_pool *pool, const char *text)
{
    if (str_empty(text))
        return "";
    if (str_eq(text, POSITION_TOO_LONG))
        return POSITION_TOO_LONG;
    const char *known = pool ? find(pool, text) : NULL;
    if (known)
        return known;
    size_t len = strnlen(text, POSITION_TEXT_MAX + 1);
    if (!pool || len > POSITION_TEXT_MAX || len > pool->max - pool->size)
        return POSITION_TOO_LONG;
    char *copy = xmemdup(text, len + 1);
    keep(pool, copy);
    pool->size += len;
    return copy;
}

const char *position_print(struct position_pool *pool, const struct gtid_set *set)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, POSITION_TEXT_MAX);
    gtid_set_print(set, &text);
    return text.overflowed ? POSITION_TOO_LONG : position_take(pool, text.buf);
}

void position_tell(char to[static POSITION_TOLD_SIZE], const char *position)
{
    size_t len = strnlen(str_or_empty(position), POSITION_TOLD_SIZE);

    snprintf(to, POSITION_TOLD_SIZE, "%s", len < POSITION_TOLD_SIZE ? str_or_empty(position) : POSITION_TOO_LONG);
}

bool position_is_whole(const char *position)
{
    return !strstr(str_or_empty(position), POSITION_TOO_LONG);
}

bool position_same(const char *a, const char *b)
{
    return strcmp(str_or_empty(a), str_or_empty(b)) == 0;
}

struct gtid_set *position_parse(enum gtid_flavour flavour, const char *position)
{
    return position_is_whole(position) ? gtid_set_parse(flavour, str_or_empty(position), NULL) : NULL;
}

bool position_holds(enum gtid_flavour flavour, const char *position, const char *wanted)
{
    if (position_same(position, wanted) && position_is_whole(wanted))
        return true;
    _cleanup_(gtid_set_freep) struct gtid_set *a = position_parse(flavour, wanted);
    _cleanup_(gtid_set_freep) struct gtid_set *b = position_parse(flavour, position);
    enum gtid_relation relation = a && b ? gtid_set_compare(a, b) : GTID_DIVERGED;
    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}
