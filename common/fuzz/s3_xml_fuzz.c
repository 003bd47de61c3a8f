/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three claims about S3's answers: nothing is read outside of the text (exact heap copies, address sanitizer); what is
 * handed out stands in a document that is whole: cut by its last byte that counts it is refused, and nothing of it is
 * handed out; and paths, texts and fields keep their bounds.
 */
#include "common/base.h"

#include "common/s3_xml.h"

#include "common/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            fprintf(stderr, "violated: %s\n", #condition); \
            abort();                                       \
        }                                                  \
    } while (0)

struct depth {
    int open;
    int elements;
};

static void on_open(void *arg, const char *path)
{
    struct depth *depth = arg;
    depth->open++;
    depth->elements++;
    CHECK(*path && strlen(path) < 256 && depth->open <= S3_XML_DEPTH_MAX);
}

static void on_close(void *arg, const char *path, const char *text)
{
    struct depth *depth = arg;
    CHECK(*path && depth->open-- > 0 && strlen(text) <= S3_XML_TEXT_MAX);
}

static int on_entry(void *arg, const struct object_found *entry)
{
    CHECK(entry->key && (entry->is_prefix || strlen(entry->key) <= S3_XML_TEXT_MAX));
    ++*(int *)arg;
    return 0;
}

static int on_upload(void *arg, const char *key, const char *id)
{
    CHECK(key && *id);
    ++*(int *)arg;
    return 0;
}

static void check_error(const char *text, size_t len)
{
    struct object_refusal got;
    struct object_refusal again;
    if (s3_xml_error(text, len, &got, NULL) < 0)
        return;
    const char *const fields[] = {got.code, got.message, got.region, got.endpoint, got.server_time};
    CHECK(*got.code);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        for (const char *p = fields[i]; *p; p++)
            CHECK((unsigned char)*p >= ' ');
    CHECK(s3_xml_completed(text, len, &again, NULL) >= 0);
}

static void check_lists(const char *text, size_t len)
{
    char *token = NULL;
    char *key = NULL;
    char *id = NULL;
    int seen = 0;
    if (s3_xml_objects(text, len, on_entry, &seen, &token, NULL) < 0)
        CHECK(seen == 0 && !token);
    CHECK(!token || *token);
    seen = 0;
    if (s3_xml_uploads(text, len, on_upload, &seen, &key, &id, NULL) < 0)
        CHECK(seen == 0 && !key && !id);
    free(token);
    free(key);
    free(id);
    id = NULL;
    CHECK((s3_xml_upload_id(text, len, &id, NULL) == 0) == (id != NULL));
    free(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct s3_xml_ops ops = {.open = on_open, .close = on_close};
    struct depth depth = {.open = 0};
    struct error err = ERROR_INIT;
    char *copy = xmemdup(data, size);
    const int rc = s3_xml_walk(copy, size, &ops, &depth, &err);
    CHECK(rc == 0 ? depth.open == 0 && depth.elements > 0 : err.kind == ERROR_PROTOCOL);
    check_error(copy, size);
    check_lists(copy, size);
    free(copy);
    size_t end = size;
    while (rc == 0 && end > 0 && data[end - 1] != '>')
        end--;
    if (rc == 0) {
        copy = xmemdup(data, end - 1);
        struct depth cut = {.open = 0};
        /* Comments and instructions behind the document do not count. */
        CHECK(s3_xml_walk(copy, end - 1, &ops, &cut, NULL) < 0 || cut.elements == depth.elements);
        free(copy);
    }
    return 0;
}
