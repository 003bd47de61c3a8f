/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h: the first include of every translation unit.
 *
 * Language-level helpers that everything uses: fixed-width types, attributes, ownership macros. No functions
 * with effects. Unsafe libc calls are turned into compile errors (banned.h).
 */
#ifndef KM_COMMON_BASE_H
#define KM_COMMON_BASE_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define UNUSED(x) ((void)(x))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#define KM_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))
#define KM_MUST_CHECK __attribute__((warn_unused_result))
#define KM_PURE_ATTR __attribute__((pure))

/* Runs fn(&variable) when the variable leaves its scope: `_cleanup_(strbuf_release) struct strbuf sb = ...`. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Hands a pointer over visibly: yields the value and leaves NULL behind. */
#define steal_ptr(p)                 \
    ({                               \
        __typeof__(p) stolen_ = (p); \
        (p) = NULL;                  \
        stolen_;                     \
    })

#define container_of(ptr, type, member)                                \
    ({                                                                 \
        const __typeof__(((type *)0)->member) *member_ = (ptr);        \
        (type *)((char *)(uintptr_t)member_ - offsetof(type, member)); \
    })

static inline bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool str_empty(const char *s)
{
    return !s || !*s;
}

static inline bool str_starts_with(const char *s, const char *prefix)
{
    return s && strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The string itself, or "" for NULL: for printing and comparing optional strings. */
static inline const char *str_or_empty(const char *s)
{
    return s ? s : "";
}

#include "common/banned.h"

#endif
