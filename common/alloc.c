/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"

static void *checked(void *ptr, size_t size)
{
    if (ptr)
        return ptr;
    fprintf(stderr, "out of memory: %zu bytes\n", size);
    abort();
}

void *xmalloc(size_t size)
{
    return checked(malloc(size ? size : 1), size);
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1), size);
}

void *xrealloc(void *ptr, size_t size)
{
    return checked(realloc(ptr, size ? size : 1), size);
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        checked(NULL, SIZE_MAX);
    return xrealloc(ptr, bytes);
}

char *xstrdup(const char *s)
{
    return s ? xmemdup(s, strlen(s) + 1) : NULL;
}

char *xstrndup(const char *s, size_t max_len)
{
    if (!s)
        return NULL;
    size_t len = strnlen(s, max_len);
    char *copy = xmalloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

void *xmemdup(const void *src, size_t size)
{
    void *copy = xmalloc(size);
    if (size)
        memcpy(copy, src, size);
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = xvasprintf(fmt, ap);
    va_end(ap);
    return s;
}

char *xvasprintf(const char *fmt, va_list ap)
{
    char *s;
    if (vasprintf(&s, fmt, ap) < 0)
        checked(NULL, 0);
    return s;
}

void str_replace(char **dst, const char *src)
{
    char *old = *dst;
    *dst = xstrdup(src); /* before the free: src may point into the old string */
    free(old);
}

void secret_free(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}
