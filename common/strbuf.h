/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf.h: a growing byte string with a maximum.
 *
 * Always NUL-terminated (buf is never NULL after init; an empty one points at a static ""), may hold NUL bytes. The
 * maximum given at init is never exceeded: what does not fit is dropped whole (no half additions) and `overflowed`
 * stays true until reset. Callers that build something which must be complete check it once at the end.
 */
#ifndef KM_COMMON_STRBUF_H
#define KM_COMMON_STRBUF_H

#include "common/base.h"

struct strbuf {
    char *buf;
    size_t len;
    size_t capacity; /* bytes allocated, 0 while buf is the static "" */
    size_t max;      /* largest len allowed */
    bool overflowed;
};

void strbuf_init(struct strbuf *sb, size_t max);
void strbuf_release(struct strbuf *sb); /* frees; the strbuf is empty and usable again */
void strbuf_reset(struct strbuf *sb);   /* len = 0, memory kept, overflowed cleared */

void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addc(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) KM_PRINTF(2, 3);
void strbuf_addvf(struct strbuf *sb, const char *fmt, va_list ap) KM_PRINTF(2, 0);
/* Adds s as a quoted JSON string (RFC 8259 escapes; bytes that are not UTF-8 become U+FFFD). */
void strbuf_add_json_string(struct strbuf *sb, const char *s);
/* Percent-encodes all but RFC 3986 unreserved characters. */
void strbuf_add_urlencoded(struct strbuf *sb, const char *s);
/* Removes the first n bytes (n <= len). */
void strbuf_consume(struct strbuf *sb, size_t n);
/* Shortens to len bytes (len <= sb->len). */
void strbuf_truncate(struct strbuf *sb, size_t len);
/* Gives the memory away: the caller frees the returned string; sb is empty afterwards. Never NULL. */
char *strbuf_detach(struct strbuf *sb, size_t *ret_len);
/* Overwrites the contents, then releases: for buffers that held secrets. */
void strbuf_release_secret(struct strbuf *sb);

#endif
