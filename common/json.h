/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: typed, path-addressed access to a parsed document (jansson).
 *
 * A path is dot-separated object keys with optional array indexes: "spec.template.containers[0].image". A key that
 * holds dots or slashes (labels, annotations) is written in brackets with quotes: metadata.annotations["a.b/c"].
 * The getters come in two tempers:
 *  - json_path_*: lenient: absent, null or of another type gives the fallback. For objects that the API server
 *    validated.
 *  - json_want_*: strict: absent or null leaves *ret untouched and returns 0; another type is ERROR_INVALID naming the
 *    path.
 *    For what people write.
 * Strings returned are owned by the document.
 *
 * Limits: parse depth JSON_DEPTH_MAX; input is bounded by whoever read it. A "\u0000" in a value is accepted; as a C
 * string the value ends there. NUL in a key is refused. The builders (json_put_*, json_build) abort on what can only be
 * a bug or no memory.
 */
#ifndef KM_COMMON_JSON_H
#define KM_COMMON_JSON_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"
#include "common/strbuf.h"

/* For _cleanup_: jansson brings json_decrefp(json_t **). */

/* Parses exactly one document of any type (duplicate keys are refused). ERROR_PROTOCOL with line and column, without
 * quoting content. */
json_t *json_parse(const char *data, size_t len, struct error *err);

const json_t *json_path(const json_t *root, const char *path);
const char *json_path_str(const json_t *root, const char *path, const char *fallback);
int64_t json_path_int(const json_t *root, const char *path, int64_t fallback);
bool json_path_bool(const json_t *root, const char *path, bool fallback);

int json_want_str(const json_t *root, const char *path, const char **ret, struct error *err) KM_MUST_CHECK;
int json_want_int(
    const json_t *root, const char *path, int64_t min, int64_t max, int64_t *ret, struct error *err) KM_MUST_CHECK;
int json_want_bool(const json_t *root, const char *path, bool *ret, struct error *err) KM_MUST_CHECK;
int json_want_object(const json_t *root, const char *path, const json_t **ret, struct error *err) KM_MUST_CHECK;
int json_want_array(const json_t *root, const char *path, const json_t **ret, struct error *err) KM_MUST_CHECK;

/* Object member helpers for building: object[key] = value, stealing the reference; NULL values are not added. Text that
 * is not UTF-8 gets U+FFFD for the bad bytes. */
void json_put(json_t *object, const char *key, json_t *value);
void json_put_str(json_t *object, const char *key, const char *value); /* NULL: not added */
void json_put_int(json_t *object, const char *key, int64_t value);
void json_put_bool(json_t *object, const char *key, bool value);
/* json_pack that aborts when the format is wrong (a bug). */
json_t *json_build(const char *fmt, ...);

/* Merges the object `over` deeply into the object `base` (RFC 7396: null in `over` removes the key, arrays are
 * replaced). */
void json_merge(json_t *base, const json_t *over);

/* Compact text with sorted keys: equal documents give equal bytes. Appends. */
void json_canonical(const json_t *value, struct strbuf *out);
/* hash64 of the canonical text; NULL, as a member that is not there: of no text. */
uint64_t json_hash(const json_t *value);
/* Compact text, insertion order; caller frees. */
char *json_text(const json_t *value);

#endif
