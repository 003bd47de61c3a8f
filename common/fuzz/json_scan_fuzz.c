/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three claims about the scanner: it never reads outside its input (exact heap copies, address sanitizer); what the
 * cutter reports does not depend on how the input was split; and for documents that jansson accepts it reports what
 * jansson sees.
 */
#include "common/base.h"

#include "common/json_scan.h"

#include "common/alloc.h"
#include "common/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct record {
    struct strbuf calls;
    json_t *elements; /* NULL: do not parse */
    json_t *members;
};

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            fprintf(stderr, "violated: %s\n", #condition); \
            abort();                                       \
        }                                                  \
    } while (0)

static json_t *parse_slice(struct json_slice slice)
{
    json_t *value = json_parse(slice.data, slice.len, NULL);
    CHECK(value);
    return value;
}

static int on_element(void *arg, struct json_slice element, struct error *err)
{
    UNUSED(err);
    struct record *record = arg;
    strbuf_addc(&record->calls, 'E');
    strbuf_add(&record->calls, element.data, element.len);
    if (record->elements)
        json_array_append_new(record->elements, parse_slice(element));
    return 0;
}

static int on_member(void *arg, struct json_slice key, struct json_slice value, struct error *err)
{
    UNUSED(err);
    struct record *record = arg;
    strbuf_addc(&record->calls, 'M');
    strbuf_add(&record->calls, key.data, key.len);
    strbuf_addc(&record->calls, '=');
    strbuf_add(&record->calls, value.data, value.len);
    if (record->members && !memchr(key.data, '\\', key.len))
        CHECK(json_object_setn_new(record->members, key.data, key.len, parse_slice(value)) == 0);
    return 0;
}

static int cut(const uint8_t *data, size_t size, size_t chunk, struct record *record, struct error *err)
{
    static const struct json_cutter_ops ops = {.element = on_element, .member = on_member};
    strbuf_init(&record->calls, 1 << 24);
    struct json_cutter *cutter = json_cutter_new("items", 1 << 20, &ops, record);
    int rc = 0;
    for (size_t at = 0; at < size && rc == 0; at += chunk) {
        size_t len = MIN_OF(chunk, size - at);
        char *copy = xmemdup(data + at, len);
        rc = json_cutter_feed(cutter, copy, len, err);
        free(copy);
    }
    if (rc == 0)
        rc = json_cutter_finish(cutter, err);
    json_cutter_free(cutter);
    return rc;
}

static void check_chunking(const uint8_t *data, size_t size)
{
    static const size_t chunks[] = {1, 3, 17, 64, 100};
    struct record whole = {0};
    struct error whole_err = ERROR_INIT;
    int whole_rc = cut(data, size, size ? size : 1, &whole, &whole_err);
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        struct record pieces = {0};
        struct error err = ERROR_INIT;
        CHECK(cut(data, size, chunks[i], &pieces, &err) == whole_rc);
        CHECK(err.kind == whole_err.kind && strcmp(err.message, whole_err.message) == 0);
        CHECK(pieces.calls.len == whole.calls.len);
        CHECK(memcmp(pieces.calls.buf, whole.calls.buf, whole.calls.len) == 0);
        strbuf_release(&pieces.calls);
    }
    strbuf_release(&whole.calls);
}

/* Keys with escapes are left out on both sides: the scanner never resolves them. */
static json_t *plain_members(const json_t *doc, const json_t *seen)
{
    json_t *members = json_object();
    const char *key;
    size_t len;
    json_t *value;
    json_object_keylen_foreach((json_t *)(uintptr_t)doc, key, len, value)
    {
        if (json_object_getn(seen, key, len))
            json_object_setn(members, key, len, value);
    }
    return members;
}

static void check_against_jansson(const uint8_t *data, size_t size)
{
    _cleanup_(json_decrefp) json_t *doc = json_parse((const char *)data, size, NULL);
    const json_t *items = json_object_get(doc, "items");
    if (!json_is_object(doc) || (items && !json_is_array(items) && !json_is_null(items)))
        return;
    bool escaped_key = memmem(data, size, "\\u", 2) != NULL; /* may spell "items" */
    struct record record = {.elements = json_array(), .members = json_object()};
    struct error err = ERROR_INIT;
    int rc = cut(data, size, size, &record, &err);
    if (!escaped_key) {
        CHECK(rc == 0 || err.kind == ERROR_TOO_LARGE);
        CHECK(rc != 0 || json_array_size(items) == json_array_size(record.elements));
        CHECK(rc != 0 || !json_is_array(items) || json_equal(items, record.elements));
        json_t *expected = plain_members(doc, record.members);
        CHECK(json_equal(expected, record.members));
        json_decref(expected);
    }
    json_decref(record.elements);
    json_decref(record.members);
    strbuf_release(&record.calls);
}

static void check_slices(const uint8_t *data, size_t size)
{
    char *copy = xmemdup(data, size);
    struct json_slice root = {.data = copy, .len = size}, key, value;
    const char *end = json_skip_value(copy, copy + size);
    CHECK(!end || (end > copy && end <= copy + size));
    const char *cursor = NULL;
    while (json_slice_next_member(root, &cursor, &key, &value)) {
        free(json_slice_strdup(value));
        json_slice_int(value, 0);
        json_slice_str_eq(value, "x");
        const char *inner = NULL;
        for (struct json_slice element; json_slice_next_element(value, &inner, &element);)
            json_slice_get(element, "metadata", "name", NULL);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 16384)
        return 0;
    check_chunking(data, size);
    check_against_jansson(data, size);
    check_slices(data, size);
    return 0;
}
