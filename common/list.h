/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h: intrusive doubly linked list with a sentinel head. Nodes are embedded, nothing is allocated.
 */
#ifndef KM_COMMON_LIST_H
#define KM_COMMON_LIST_H

#include "common/base.h"

struct list_node {
    struct list_node *prev;
    struct list_node *next;
};

static inline void list_init(struct list_node *head)
{
    head->prev = head->next = head;
}

/*
 * The static analyzer does not follow unlinking: it believes that a node which was freed is still in the list. A
 * function that it cannot see into makes it forget.
 */
#ifdef __clang_analyzer__
struct list_node *list_next(const struct list_node *node);
#else
static inline struct list_node *list_next(const struct list_node *node)
{
    return node->next;
}
#endif

static inline bool list_empty(const struct list_node *head)
{
    return list_next(head) == head;
}

static inline void list_insert_before(struct list_node *at, struct list_node *node)
{
    node->prev = at->prev;
    node->next = at;
    at->prev->next = node;
    at->prev = node;
}

static inline void list_push_back(struct list_node *head, struct list_node *node)
{
    list_insert_before(head, node);
}

static inline void list_push_front(struct list_node *head, struct list_node *node)
{
    list_insert_before(head->next, node);
}

/* Takes the node out and makes it a list of its own, so removing twice is harmless. */
static inline void list_remove(struct list_node *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

static inline struct list_node *list_pop_front(struct list_node *head)
{
    struct list_node *node = list_next(head);
    if (node == head)
        return NULL;
    list_remove(node);
    return node;
}

/* `pos` may be removed inside the body; `tmp` is scratch. */
#define list_for_each_safe(pos, tmp, head) \
    for ((pos) = list_next(head), (tmp) = list_next(pos); (pos) != (head); (pos) = (tmp), (tmp) = list_next(pos))

#endif
