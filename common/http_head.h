/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_head.h: the head of an HTTP/1 request, from bytes to a struct. Pure; for http_server.
 *
 * Strict where leniency has led to request smuggling (RFC 9112): lines end with CRLF, no folded or repeated framing
 * fields, no transfer codings (a body needs Content-Length; others are told 411), no control bytes.
 */
#ifndef KM_COMMON_HTTP_HEAD_H
#define KM_COMMON_HTTP_HEAD_H

#include "common/base.h"

#define HTTP_HEAD_FIELDS_MAX 64

struct http_head_field {
    const char *name;
    const char *value;
};

/* All texts point into the parsed buffer. */
struct http_head {
    const char *method;
    const char *path;  /* percent-decoded, begins with '/' */
    const char *query; /* as sent, without '?'; NULL if absent */
    int minor_version; /* 0 or 1 */
    struct http_head_field fields[HTTP_HEAD_FIELDS_MAX];
    size_t field_count;
    size_t content_length;
    bool keep_alive;
    bool expect_continue;
};

/* text: request line and fields up to and including the empty line, NUL-terminated at len; it is cut up in place.
 * Returns 0, or the HTTP status that says what is wrong with it. */
int http_head_parse(char *text, size_t len, struct http_head *ret);
/* The value of a field by name (any case), or NULL. */
const char *http_head_field(const struct http_head *head, const char *name);
/* Percent-decodes in place ('+' means blank if plus_is_blank). -1 if malformed or if it yields a NUL byte. */
int http_percent_decode(char *text, bool plus_is_blank);

#endif
