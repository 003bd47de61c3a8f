/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/heap.h"

#include "common/alloc.h"

static void place(struct heap *heap, size_t at, void *element)
{
    heap->v[at] = element;
    *heap->index_of(element) = at;
}

static size_t sift_up(struct heap *heap, size_t at)
{
    void *element = heap->v[at];
    while (at > 0 && heap->less(element, heap->v[(at - 1) / 2])) {
        place(heap, at, heap->v[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(heap, at, element);
    return at;
}

static void sift_down(struct heap *heap, size_t at)
{
    void *element = heap->v[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->less(heap->v[child + 1], heap->v[child]))
            child++;
        if (!heap->less(heap->v[child], element))
            break;
        place(heap, at, heap->v[child]);
        at = child;
    }
    place(heap, at, element);
}

void heap_init(struct heap *heap, bool (*less)(const void *, const void *), size_t *(*index_of)(void *))
{
    *heap = (struct heap){.less = less, .index_of = index_of};
}

void heap_release(struct heap *heap)
{
    if (!heap)
        return;
    for (size_t i = 0; i < heap->count; i++)
        *heap->index_of(heap->v[i]) = HEAP_NOT_IN;
    free(heap->v);
    heap->v = NULL;
    heap->count = heap->capacity = 0;
}

void heap_push(struct heap *heap, void *element)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity ? heap->capacity * 2 : 16;
        heap->v = xreallocarray(heap->v, heap->capacity, sizeof(*heap->v));
    }
    heap->v[heap->count++] = element;
    sift_up(heap, heap->count - 1);
}

void *heap_peek(const struct heap *heap)
{
    return heap->count ? heap->v[0] : NULL;
}

void *heap_pop(struct heap *heap)
{
    void *smallest = heap_peek(heap);
    if (smallest)
        heap_remove(heap, smallest);
    return smallest;
}

void heap_update(struct heap *heap, void *element)
{
    size_t at = *heap->index_of(element);
    if (at != HEAP_NOT_IN)
        sift_down(heap, sift_up(heap, at));
}

void heap_remove(struct heap *heap, void *element)
{
    size_t at = *heap->index_of(element);
    if (at == HEAP_NOT_IN)
        return;
    void *last = heap->v[--heap->count];
    *heap->index_of(element) = HEAP_NOT_IN;
    if (last == element)
        return;
    place(heap, at, last);
    heap_update(heap, last);
}
