/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_request.h"

#include <errno.h>

/* ---- names ---- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
        c == '.';
}

/* Segments up to `end`, each followed by a slash or the end. */
static bool segments_are_valid(const char *name, const char *end)
{
    unsigned depth = 0;

    while (name < end) {
        const char *slash = memchr(name, '/', (size_t)(end - name));
        size_t len = (size_t)((slash ? slash : end) - name);
        if (len == 0 || len > STORE_SEGMENT_MAX || *name == '.' || ++depth > STORE_DEPTH_MAX)
            return false;
        for (size_t i = 0; i < len; i++) {
            if (!is_name_char(name[i]))
                return false;
        }
        name += len + (slash ? 1 : 0);
    }
    return true;
}

bool store_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len < STORE_NAME_SIZE && name[len - 1] != '/' && segments_are_valid(name, name + len);
}

bool store_prefix_is_valid(const char *prefix)
{
    size_t len = strlen(prefix);

    return len < STORE_NAME_SIZE && segments_are_valid(prefix, prefix + len);
}

/* ---- numbers ---- */

static bool is_hex(const char *text, size_t len)
{
    return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

static bool read_number(const char *text, const char **ret_end, uint64_t *ret)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || number > INT64_MAX)
        return false;
    *ret = number;
    *ret_end = end;
    return true;
}

static bool read_whole_number(const char *text, uint64_t max, uint64_t *ret)
{
    const char *end;
    uint64_t number;

    if (!read_number(text, &end, &number) || *end || number > max)
        return false;
    *ret = number;
    return true;
}

/* ---- ranges ---- */

/* "bytes=5-" or "bytes=5-9". RFC 9110, 14.2: a Range that is not understood is as if it were not there. */
static void parse_range(const char *text, struct store_request *request)
{
    const char *end;

    if (!text || !str_starts_with(text, "bytes=") ||
        !read_number(text + strlen("bytes="), &end, &request->range_from) || *end != '-')
        return;
    request->range_to = INT64_MAX;
    request->has_range = !end[1] ||
        (read_whole_number(end + 1, INT64_MAX, &request->range_to) && request->range_to >= request->range_from);
}

int store_range_resolve(const struct store_request *request, uint64_t size, uint64_t *ret_from, uint64_t *ret_count,
    struct store_fault *fault)
{
    if (!request->has_range) {
        *ret_from = 0;
        *ret_count = size;
        return 0;
    }
    if (request->range_from >= size)
        return store_fault_set(fault, STORE_INVALID_RANGE, "the object has %llu bytes", (unsigned long long)size);
    *ret_from = request->range_from;
    *ret_count = MIN_OF(size - 1, request->range_to) - request->range_from + 1;
    return 0;
}

/* ---- objects ---- */

static int parse_name(const char *text, struct store_request *request, struct store_fault *fault)
{
    if (!store_name_is_valid(text))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "not a name of an object here");
    snprintf(request->name, sizeof(request->name), "%s", text);
    return 0;
}

static int parse_body(const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    const char *sha256 = texts->header(texts->arg, "X-Content-SHA256");

    if (!texts->header(texts->arg, "Content-Length"))
        return store_fault_set(fault, STORE_MISSING_LENGTH, "Content-Length is missing");
    if (sha256 && !is_hex(sha256, sizeof(request->sha256) - 1))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "X-Content-SHA256 is not a digest");
    snprintf(request->sha256, sizeof(request->sha256), "%s", str_or_empty(sha256));
    return 0;
}

static int parse_get(const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    const char *if_match = str_or_empty(texts->header(texts->arg, "If-Match"));
    size_t len = strlen(if_match);

    if (len >= 2 && *if_match == '"' && if_match[len - 1] == '"') {
        if_match++;
        len -= 2;
    }
    if (len >= sizeof(request->if_match) || memchr(if_match, '"', len))
        return store_fault_set(fault, STORE_PRECONDITION_FAILED, "If-Match names none of our ETags");
    memcpy(request->if_match, if_match, len);
    request->if_match[len] = '\0';
    parse_range(texts->header(texts->arg, "Range"), request);
    request->operation = STORE_GET;
    return 0;
}

static int refuse_method(struct store_fault *fault)
{
    return store_fault_set(fault, STORE_METHOD_NOT_ALLOWED, "this method is not known here");
}

static int parse_object(
    const struct store_texts *texts, const char *name, struct store_request *request, struct store_fault *fault)
{
    if (parse_name(name, request, fault) < 0)
        return -1;
    if (str_eq(texts->method, "GET") || str_eq(texts->method, "HEAD"))
        return parse_get(texts, request, fault);
    request->operation = str_eq(texts->method, "PUT") ? STORE_PUT : STORE_DELETE;
    if (request->operation == STORE_PUT)
        return parse_body(texts, request, fault);
    return str_eq(texts->method, "DELETE") ? 0 : refuse_method(fault);
}

static int parse_prefix(const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    const char *prefix = str_or_empty(texts->query(texts->arg, "prefix"));

    if (!store_prefix_is_valid(prefix))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "prefix is not the beginning of a name");
    snprintf(request->list.prefix, sizeof(request->list.prefix), "%s", prefix);
    return 0;
}

static int parse_list(const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    const char *after = str_or_empty(texts->query(texts->arg, "after"));
    const char *max_text = texts->query(texts->arg, "max");
    uint64_t max = STORE_NAMES_MAX;

    request->operation = STORE_LIST;
    if (!str_eq(texts->method, "GET"))
        return refuse_method(fault);
    if (parse_prefix(texts, request, fault) < 0)
        return -1;
    if (!store_prefix_is_valid(after))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "after is not the beginning of a name");
    if (max_text && (!read_whole_number(max_text, INT32_MAX, &max) || max == 0))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "max is not a number from 1 on");
    snprintf(request->list.after, sizeof(request->list.after), "%s", after);
    request->list.folders = str_eq(texts->query(texts->arg, "folders"), "1");
    request->list.max = (unsigned)MIN_OF(max, (uint64_t)STORE_NAMES_MAX);
    return 0;
}

/* ---- uploads ---- */

/* "ID/NAME" */
static int parse_upload_path(const char *path, struct store_request *request, struct store_fault *fault)
{
    char id[STORE_ID_SIZE];
    const size_t len = sizeof(id) - 1;

    snprintf(id, sizeof(id), "%s", path);
    if (!is_hex(id, len) || path[len] != '/')
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "the id of an upload has %zu hexadecimal digits", len);
    snprintf(request->upload_id, sizeof(request->upload_id), "%s", id);
    return parse_name(path + len + 1, request, fault);
}

static int parse_piece(const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    const char *offset = str_or_empty(texts->query(texts->arg, "offset"));

    request->operation = STORE_UPLOAD_PIECE;
    if (!read_whole_number(offset, INT64_MAX / 2, &request->offset))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "offset is not a number");
    return parse_body(texts, request, fault);
}

static int parse_commit(const char *bytes, struct store_request *request, struct store_fault *fault)
{
    request->operation = STORE_UPLOAD_COMMIT;
    if (!read_whole_number(bytes, INT64_MAX, &request->bytes))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "bytes is not a number");
    return 0;
}

static int parse_upload(
    const struct store_texts *texts, const char *path, struct store_request *request, struct store_fault *fault)
{
    const char *bytes = texts->query(texts->arg, "bytes");

    if (parse_upload_path(path, request, fault) < 0)
        return -1;
    if (str_eq(texts->method, "PUT"))
        return parse_piece(texts, request, fault);
    if (str_eq(texts->method, "POST") && bytes)
        return parse_commit(bytes, request, fault);
    request->operation = str_eq(texts->method, "POST") ? STORE_UPLOAD_BEGIN : STORE_UPLOAD_END;
    return str_eq(texts->method, "POST") || str_eq(texts->method, "DELETE") ? 0 : refuse_method(fault);
}

static int parse_uploads(const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    request->operation = STORE_UPLOADS_END;
    return str_eq(texts->method, "DELETE") ? parse_prefix(texts, request, fault) : refuse_method(fault);
}

/* ---- requests ---- */

int store_request_parse(const struct store_texts *texts, struct store_request *ret, struct store_fault *fault)
{
    const char *path = texts->path;

    *ret = (struct store_request){.operation = STORE_GET};
    if (str_eq(path, "/v1/objects"))
        return parse_list(texts, ret, fault);
    if (str_eq(path, "/v1/uploads"))
        return parse_uploads(texts, ret, fault);
    if (str_starts_with(path, "/v1/objects/"))
        return parse_object(texts, path + strlen("/v1/objects/"), ret, fault);
    if (str_starts_with(path, "/v1/uploads/"))
        return parse_upload(texts, path + strlen("/v1/uploads/"), ret, fault);
    return store_fault_set(fault, STORE_OTHER_PROTOCOL,
        "this store serves /v1/objects and /v1/uploads: is the client of another version?");
}
