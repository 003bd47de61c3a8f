/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_scan.h: reads JSON text without building a tree.
 *
 * Kubernetes answers are large and we keep little of them. A skipping scanner finds boundaries at memory speed where a
 * parser builds nodes at 54-94 MB/s (measured, jansson); see ARCHITECTURE.md on memory.
 *
 * Two tools:
 *  - json_slice lookups: from one complete document in memory, the raw bytes of a member.
 *  - json_cutter: fed with arbitrary chunks of one large document, calls back with every element of one array (the
 *    path of keys that leads there is given) as one complete slice, and with chosen scalar members outside of it. It
 *    buffers at most one element (max_element bytes).
 *
 * What is skipped is followed by strings and nesting only; brackets' kinds, commas, literals and UTF-8 inside it are
 * not checked: input comes from an API server over TLS, and what matters is parsed or compared afterwards. What a
 * function itself steps through (the members of an object it iterates, the top level that the cutter walks) is checked.
 * Truncated input is always an error, malformed input never a crash, and results never depend on how the input was
 * split into chunks.
 */
#ifndef KM_COMMON_JSON_SCAN_H
#define KM_COMMON_JSON_SCAN_H

#include "common/base.h"

#include "common/error.h"
#include "common/strbuf.h"

/* Part of somebody else's buffer. data == NULL: absent. A string's slice includes its quotes. */
struct json_slice {
    const char *data;
    size_t len;
};

/* End of the value that starts at p (leading white space allowed), or NULL if it is incomplete. A number may end at
 * `end`. */
const char *json_skip_value(const char *p, const char *end);
/* The member of an object; absent (data NULL) if value is no object or has no such key. Keys with escapes never
 * match. */
struct json_slice json_slice_member(struct json_slice object, const char *key);
/* Walks plain keys; the list ends with NULL: json_slice_get(doc, "metadata", "uid", NULL). */
struct json_slice json_slice_get(struct json_slice object, ...) __attribute__((sentinel));
/* Iterates an object's members: *cursor starts as NULL. False at the end. key excludes the quotes. */
bool json_slice_next_member(
    struct json_slice object, const char **cursor, struct json_slice *ret_key, struct json_slice *ret_value);
/* Iterates an array's elements likewise. */
bool json_slice_next_element(struct json_slice array, const char **cursor, struct json_slice *ret_value);
/* Unescapes a string slice into out (appended whole or, beyond out->max, not at all). -1 if it is no string. Lonely
 * surrogates become U+FFFD; NUL may be inside. */
int json_slice_string(struct json_slice value, struct strbuf *out);
/* Compares a string slice that has no escapes with s; a slice with escapes is unescaped first. */
bool json_slice_str_eq(struct json_slice value, const char *s);
/* Whole numbers; the fallback for all else, fractions and what does not fit. */
int64_t json_slice_int(struct json_slice value, int64_t fallback);
bool json_slice_is_true(struct json_slice value);
/* A heap copy of the unescaped string, or NULL if absent, null or no string. */
char *json_slice_strdup(struct json_slice value);

struct json_cutter;

struct json_cutter_ops {
    /* One complete element of the array. The slice is valid during the call. Return -1 (filling err) to stop. */
    int (*element)(void *arg, struct json_slice element, struct error *err);
    /* A member of a top-level object other than the array, e.g. "metadata" of a list (whole value). May be NULL. */
    int (*member)(void *arg, struct json_slice key, struct json_slice value, struct error *err);
};

/*
 * array_key: the top-level key whose array is cut ("items"); null counts as an empty array. max_element bounds elements
 * and wanted members (ERROR_TOO_LARGE); what lies inside one chunk is handed on in place, only what spans chunks is
 * copied. ops are copied.
 */
struct json_cutter *json_cutter_new(
    const char *array_key, size_t max_element, const struct json_cutter_ops *ops, void *arg);
void json_cutter_free(struct json_cutter *cutter);
/* After an error the cutter stays failed. */
int json_cutter_feed(struct json_cutter *cutter, const void *data, size_t len, struct error *err) KM_MUST_CHECK;
/* The input ended: ERROR_PROTOCOL if the document is not complete. */
int json_cutter_finish(struct json_cutter *cutter, struct error *err) KM_MUST_CHECK;

#endif
