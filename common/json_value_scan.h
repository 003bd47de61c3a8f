/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value_scan.h: finds where one JSON value ends, in text that may arrive in pieces. Private to json_scan and
 * json_cutter.
 *
 * Strings are skipped with memchr-like steps; objects and arrays in blocks of 64 bytes turned into bit masks (quotes,
 * backslashes, brackets; the technique of "Parsing Gigabytes of JSON per Second", https://arxiv.org/abs/1902.08318), so
 * nesting costs nothing per byte. Inside a skipped object or array only strings and nesting are followed: kinds of
 * brackets, commas and literals are checked by whoever looks inside. The result never depends on how the text was
 * split.
 */
#ifndef KM_COMMON_JSON_VALUE_SCAN_H
#define KM_COMMON_JSON_VALUE_SCAN_H

#include "common/base.h"

struct json_value_scan {
    enum { JSON_SCAN_SCALAR, JSON_SCAN_STRING, JSON_SCAN_CONTAINER } kind;
    size_t depth;       /* containers open */
    uint64_t in_string; /* all bits set inside a string, else 0 */
    uint64_t escaped;   /* 1 if the next byte is escaped, else 0 */
};

static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Prepares for a value whose first byte is `first`, which is fed again to _run. False if no value begins so. */
bool json_value_scan_begin(struct json_value_scan *scan, char first);
/* The byte after the value, or NULL when all up to `end` belongs to it. A number or literal ends at the first other
 * byte. */
const char *json_value_scan_run(struct json_value_scan *scan, const char *p, const char *end);

#endif
