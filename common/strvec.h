/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strvec.h: a NULL-terminated vector of owned strings (argv, name lists).
 */
#ifndef KM_COMMON_STRVEC_H
#define KM_COMMON_STRVEC_H

#include "common/base.h"

struct strvec {
    char **v; /* v[n] is NULL; v itself is never NULL after init */
    size_t n;
    size_t capacity;
};

void strvec_init(struct strvec *sv);
void strvec_release(struct strvec *sv);
void strvec_push(struct strvec *sv, const char *s);
void strvec_pushf(struct strvec *sv, const char *fmt, ...) KM_PRINTF(2, 3);
void strvec_push_all(struct strvec *sv, const char *const *items); /* NULL-terminated */
/* Splits at any byte of `separators`; empty pieces are dropped. */
void strvec_split(struct strvec *sv, const char *s, const char *separators);
bool strvec_contains(const struct strvec *sv, const char *s);
void strvec_sort(struct strvec *sv);

#endif
