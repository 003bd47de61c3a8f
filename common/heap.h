/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h: a binary min-heap of caller-owned pointers that knows each element's place, so that any element can be
 * moved or taken out in O(log n).
 */
#ifndef KM_COMMON_HEAP_H
#define KM_COMMON_HEAP_H

#include "common/base.h"

#define HEAP_NOT_IN SIZE_MAX

struct heap {
    void **v;
    size_t count;
    size_t capacity;
    bool (*less)(const void *a, const void *b);
    size_t *(*index_of)(void *element); /* where the element stores its place; HEAP_NOT_IN when outside */
};

void heap_init(struct heap *heap, bool (*less)(const void *, const void *), size_t *(*index_of)(void *));
void heap_release(struct heap *heap); /* elements stay the caller's */
void heap_push(struct heap *heap, void *element);
void *heap_peek(const struct heap *heap); /* smallest, or NULL */
void *heap_pop(struct heap *heap);
void heap_update(struct heap *heap, void *element); /* after its key changed */
void heap_remove(struct heap *heap, void *element); /* harmless if it is not in */

#endif
