/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a path, a line feed, a document. Nothing may crash; a found value must be one of the document's. */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_inside(const json_t *root, const json_t *wanted)
{
    if (root == wanted)
        return true;
    const char *key;
    size_t index;
    json_t *child;
    json_object_foreach((json_t *)(uintptr_t)root, key, child) {
        if (is_inside(child, wanted))
            return true;
    }
    json_array_foreach(root, index, child) {
        if (is_inside(child, wanted))
            return true;
    }
    return false;
}

static void try_getters(const json_t *doc, const char *path)
{
    struct error err = ERROR_INIT;
    const char *s = NULL;
    int64_t n = 0;
    bool b = false;
    const json_t *value = NULL;
    int rcs[] = {json_want_str(doc, path, &s, &err), json_want_int(doc, path, -5, 5, &n, &err),
        json_want_bool(doc, path, &b, &err), json_want_object(doc, path, &value, &err),
        json_want_array(doc, path, &value, &err)};
    for (size_t i = 0; i < ARRAY_LEN(rcs); i++) {
        if (rcs[i] != 0 && rcs[i] != -1)
            abort();
    }
    if (n < -5 || n > 5)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line_feed = memchr(data, '\n', size);
    if (!line_feed)
        return 0;
    size_t path_len = (size_t)(line_feed - data);
    _cleanup_(freep) char *path = xstrndup((const char *)data, path_len);
    _cleanup_(json_decrefp) json_t *doc = json_parse((const char *)line_feed + 1, size - path_len - 1, NULL);
    if (!doc)
        return 0;
    const json_t *found = json_path(doc, path);
    if (found && !is_inside(doc, found))
        abort();
    try_getters(doc, path);
    _cleanup_(json_decrefp) json_t *merged = json_object();
    if (json_is_object(doc)) {
        json_merge(merged, doc);
        uint64_t once = json_hash(merged);
        json_merge(merged, doc);
        if (json_hash(merged) != once)
            abort();
    }
    return 0;
}
