/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a peer into the store's own parsers: paths, queries and fields; ranges; tokens; lists of parts. What is taken must be safe to open.
 * The first byte chooses; texts of a request are separated by line breaks: method, path, then NAME=VALUE, fields with a ':' in front.
 */
#include "common/base.h"

#include "agent/backup/store_request.h"

#include "agent/backup/store_xml.h"
#include "common/alloc.h"
#include "common/strvec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *find(const struct strvec *lines, char mark, const char *name)
{
    const size_t len = strlen(name);

    for (size_t i = 2; i < lines->n; i++) {
        const char *line = lines->v[i];
        if ((mark && *line != mark) || (!mark && *line == ':'))
            continue;
        line += mark ? 1 : 0;
        if (strncmp(line, name, len) == 0 && line[len] == '=')
            return line + len + 1;
    }
    return NULL;
}

static const char *get_query(void *arg, const char *name)
{
    return find(arg, '\0', name);
}

static const char *get_header(void *arg, const char *name)
{
    return find(arg, ':', name);
}

static void check_name(const char *name)
{
    if (strlen(name) >= STORE_NAME_SIZE || *name == '/' || *name == '.' || strstr(name, "//") || strstr(name, "/.") ||
        strpbrk(name, "\\\n\r\t %"))
        abort();
}

static void check_request(const struct store_request *request)
{
    struct store_fault fault = {.code = STORE_OK};
    char token[2 * STORE_NAME_SIZE];
    uint64_t from = 0;
    uint64_t count = 0;

    if (*request->name && !store_name_is_valid(request->name))
        abort();
    check_name(request->name);
    check_name(request->list.prefix);
    check_name(request->list.after);
    if (strspn(request->upload_id, "0123456789abcdef") != strlen(request->upload_id) || request->part < 0 ||
        request->part > STORE_PARTS_MAX || request->list.max_keys > STORE_KEYS_MAX)
        abort();
    if (request->operation == STORE_UPLOAD_PART && (request->part == 0 || !*request->upload_id))
        abort();
    for (uint64_t bytes = 0; bytes < 200; bytes += 33) {
        if (store_range_resolve(request, bytes, &from, &count, &fault) == 0 && (from > bytes || count > bytes - from))
            abort();
    }
    store_token_make(request->name, token);
}

static void fuzz_request(const char *text)
{
    _cleanup_(strvec_release) struct strvec lines;
    struct store_fault fault = {.code = STORE_OK};
    struct store_request request;

    strvec_init(&lines);
    strvec_split(&lines, text, "\n");
    if (lines.n < 2)
        return;
    const struct store_texts texts = {lines.v[0], lines.v[1], get_query, get_header, &lines};
    if (store_request_parse(&texts, &request, &fault) == 0)
        check_request(&request);
    else if (fault.code == STORE_OK || !*fault.message)
        abort();
}

static void fuzz_parts(const char *text, size_t len)
{
    struct store_fault fault = {.code = STORE_OK};
    struct store_part *parts = NULL;
    size_t count = 0;

    if (store_xml_read_parts(text, len, &parts, &count, &fault) < 0) {
        if (fault.code == STORE_OK)
            abort();
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (parts[i].number < 1 || parts[i].number > STORE_PARTS_MAX ||
            (i > 0 && parts[i].number <= parts[i - 1].number) || strlen(parts[i].etag) >= STORE_TAG_SIZE)
            abort();
    }
    if (count == 0)
        abort();
    free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    char *text = xcalloc(1, size); /* without the first byte, with a NUL: reads beyond it are found */
    memcpy(text, data + 1, size - 1);
    if (data[0] & 1)
        fuzz_parts(text, size - 1);
    else
        fuzz_request(text);
    free(text);
    return 0;
}
