/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a peer into the store's own parser: paths, queries and fields; ranges. What is taken must be safe to open.
 * Texts are separated by line breaks: method, path, then NAME=VALUE, fields with a ':' in front.
 */
#include "common/base.h"

#include "agent/backup/store_request.h"

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

static bool is_of_upload(const struct store_request *request)
{
    return request->operation == STORE_UPLOAD_BEGIN || request->operation == STORE_UPLOAD_PIECE ||
        request->operation == STORE_UPLOAD_COMMIT || request->operation == STORE_UPLOAD_END;
}

static void check_request(const struct store_request *request)
{
    struct store_fault fault = {.code = STORE_OK};
    const bool is_of_all = request->operation == STORE_LIST || request->operation == STORE_UPLOADS_END;
    uint64_t from = 0;
    uint64_t count = 0;

    if (is_of_all ? *request->name : !store_name_is_valid(request->name))
        abort();
    check_name(request->name);
    check_name(request->list.prefix);
    check_name(request->list.after);
    if (strspn(request->upload_id, "0123456789abcdef") != (is_of_upload(request) ? STORE_ID_SIZE - 1 : 0) ||
        strlen(request->upload_id) != (is_of_upload(request) ? STORE_ID_SIZE - 1 : 0))
        abort();
    if (request->offset > INT64_MAX / 2 || request->bytes > INT64_MAX || request->list.max > STORE_NAMES_MAX)
        abort();
    for (uint64_t bytes = 0; bytes < 200; bytes += 33) {
        if (store_range_resolve(request, bytes, &from, &count, &fault) == 0 && (from > bytes || count > bytes - from))
            abort();
    }
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xcalloc(1, size + 1); /* with a NUL: reads beyond it are found */
    if (size > 0)
        memcpy(text, data, size);
    fuzz_request(text);
    free(text);
    return 0;
}
