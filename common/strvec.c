/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/strvec.h"

#include "common/alloc.h"

static char **empty_vector(void)
{
    static char *const none[1] = {NULL};
    return (char **)(uintptr_t)none; /* never written: capacity 0 says so */
}

void strvec_init(struct strvec *sv)
{
    *sv = (struct strvec){.v = empty_vector()};
}

void strvec_release(struct strvec *sv)
{
    if (!sv)
        return;
    for (size_t i = 0; i < sv->n; i++)
        free(sv->v[i]);
    if (sv->capacity)
        free(sv->v);
    strvec_init(sv);
}

/* Takes ownership of s. */
static void push_owned(struct strvec *sv, char *s)
{
    if (sv->n + 1 >= sv->capacity) {
        size_t capacity = sv->capacity ? sv->capacity * 2 : 8;
        sv->v = xreallocarray(sv->capacity ? sv->v : NULL, capacity, sizeof(*sv->v));
        sv->capacity = capacity;
    }
    sv->v[sv->n++] = s;
    sv->v[sv->n] = NULL;
}

void strvec_push(struct strvec *sv, const char *s)
{
    push_owned(sv, xstrdup(str_or_empty(s)));
}

void strvec_pushf(struct strvec *sv, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    push_owned(sv, xvasprintf(fmt, ap));
    va_end(ap);
}

void strvec_push_all(struct strvec *sv, const char *const *items)
{
    for (; items && *items; items++)
        strvec_push(sv, *items);
}

void strvec_split(struct strvec *sv, const char *s, const char *separators)
{
    while (*(s += strspn(s, separators))) {
        size_t len = strcspn(s, separators);
        push_owned(sv, xstrndup(s, len));
        s += len;
    }
}

bool strvec_contains(const struct strvec *sv, const char *s)
{
    for (size_t i = 0; i < sv->n; i++) {
        if (str_eq(sv->v[i], s))
            return true;
    }
    return false;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void strvec_sort(struct strvec *sv)
{
    if (sv->n > 1)
        qsort(sv->v, sv->n, sizeof(*sv->v), compare_strings);
}
