/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.h: memory that is there or the process ends.
 *
 * State lives in etcd and in mysqld; a process that cannot get a few kilobytes is of no use and is restarted by
 * the kubelet. So these never return NULL: they print one line and abort().
 */
#ifndef KM_COMMON_ALLOC_H
#define KM_COMMON_ALLOC_H

#include "common/base.h"

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);
/* Overflow-checked count * size. */
void *xreallocarray(void *ptr, size_t count, size_t size);
/* NULL in, NULL out for both. */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t max_len);
void *xmemdup(const void *src, size_t size);
char *xasprintf(const char *fmt, ...) KM_PRINTF(1, 2);
char *xvasprintf(const char *fmt, va_list ap) KM_PRINTF(1, 0);

/* Replaces *dst (freed) by a copy of src, which may be NULL. */
void str_replace(char **dst, const char *src);

/* Overwrites secret bytes in a way the compiler keeps, then frees. NULL is fine. */
void secret_free(char *s);

/* For _cleanup_: frees what the variable points to. */
static inline void freep(void *p)
{
    free(*(void **)p);
}
static inline void secret_freep(char **p)
{
    secret_free(*p);
}

#define xnew(type) ((type *)xcalloc(1, sizeof(type)))
#define xnew_array(type, count) ((type *)xcalloc((count), sizeof(type)))

#endif
