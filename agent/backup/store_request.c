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

/* ---- tokens ---- */

void store_token_make(const char *name, char out[static 2 * STORE_NAME_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    size_t i = 0;

    for (; i < STORE_NAME_SIZE - 1 && name[i]; i++) {
        out[2 * i] = digits[(unsigned char)name[i] >> 4];
        out[2 * i + 1] = digits[(unsigned char)name[i] & 15];
    }
    out[2 * i] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool token_read(const char *token, char out[static STORE_NAME_SIZE])
{
    size_t len = strlen(token);

    if (len == 0 || len % 2 != 0 || len / 2 >= STORE_NAME_SIZE)
        return false;
    for (size_t i = 0; i < len / 2; i++) {
        int high = hex_digit(token[2 * i]);
        int low = hex_digit(token[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (char)(high << 4 | low);
    }
    out[len / 2] = '\0';
    return strlen(out) == len / 2 && store_prefix_is_valid(out);
}

static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (hex_digit(text[i]) < 0)
            return false;
    }
    return text[len] == '\0';
}

/* ---- numbers ---- */

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

/* RFC 9110, 14.2: a Range that is not understood is as if it were not there. */
static void parse_range(const char *text, struct store_request *request)
{
    const char *end;

    if (!text || !str_starts_with(text, "bytes="))
        return;
    text += strlen("bytes=");
    if (*text == '-') {
        if (read_whole_number(text + 1, INT64_MAX, &request->range_from))
            request->range = STORE_RANGE_LAST;
        return;
    }
    if (!read_number(text, &end, &request->range_from) || *end != '-')
        return;
    if (!end[1])
        request->range = STORE_RANGE_FROM;
    else if (read_whole_number(end + 1, INT64_MAX, &request->range_to) && request->range_to >= request->range_from)
        request->range = STORE_RANGE_FROM_TO;
}

int store_range_resolve(const struct store_request *request, uint64_t size, uint64_t *ret_from, uint64_t *ret_count,
    struct store_fault *fault)
{
    uint64_t from = request->range == STORE_RANGE_NONE ? 0 : request->range_from;
    uint64_t count = size;

    if (request->range == STORE_RANGE_LAST) {
        count = MIN_OF(request->range_from, size);
        from = size - count;
    } else if (from < size) {
        count = size - from;
        if (request->range == STORE_RANGE_FROM_TO)
            count = MIN_OF(count, request->range_to - from + 1);
    } else {
        count = 0;
    }
    if (count == 0 && request->range != STORE_RANGE_NONE)
        return store_fault_set(fault, STORE_INVALID_RANGE, "the object has %llu bytes", (unsigned long long)size);
    *ret_from = from;
    *ret_count = count;
    return 0;
}

/* ---- requests ---- */

/* Parts of S3's API that would be taken for another request if they were not looked at. */
static const char *const foreign_queries[] = {"accelerate", "acl", "analytics", "attributes", "cors", "delete",
    "encryption", "intelligent-tiering", "inventory", "legal-hold", "lifecycle", "location", "logging", "metrics",
    "notification", "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock", "replication",
    "requestPayment", "restore", "retention", "select", "tagging", "torrent", "versionId", "versioning", "versions",
    "website"};
static const char *const foreign_headers[] = {
    "x-amz-copy-source", "If-None-Match", "x-amz-server-side-encryption-customer-key"};

static int refuse_foreign(const struct store_texts *texts, struct store_fault *fault)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign_queries); i++) {
        if (texts->query(texts->arg, foreign_queries[i]))
            return store_fault_set(fault, STORE_NOT_IMPLEMENTED, "?%s is not known here", foreign_queries[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(foreign_headers); i++) {
        if (texts->header(texts->arg, foreign_headers[i]))
            return store_fault_set(fault, STORE_NOT_IMPLEMENTED, "%s is not known here", foreign_headers[i]);
    }
    return 0;
}

static int parse_path(const char *path, char name[static STORE_NAME_SIZE], struct store_fault *fault)
{
    const size_t bucket = strlen("/" STORE_BUCKET);

    *name = '\0';
    if (!str_starts_with(path, "/" STORE_BUCKET) || (path[bucket] && path[bucket] != '/'))
        return store_fault_set(fault, STORE_NO_SUCH_BUCKET, "the only bucket here is " STORE_BUCKET);
    if (!path[bucket] || !path[bucket + 1])
        return 0;
    if (!store_name_is_valid(path + bucket + 1))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "not a name of an object here");
    snprintf(name, STORE_NAME_SIZE, "%s", path + bucket + 1);
    return 0;
}

static int parse_list(const struct store_texts *texts, struct store_list_query *list, struct store_fault *fault)
{
    const char *prefix = str_or_empty(texts->query(texts->arg, "prefix"));
    const char *delimiter = str_or_empty(texts->query(texts->arg, "delimiter"));
    const char *token = texts->query(texts->arg, "continuation-token");
    const char *after = str_or_empty(texts->query(texts->arg, "start-after"));
    const char *max_keys = texts->query(texts->arg, "max-keys");
    uint64_t max = STORE_KEYS_MAX;

    if (!store_prefix_is_valid(prefix))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "prefix is not the beginning of a name");
    if (*delimiter && !str_eq(delimiter, "/"))
        return store_fault_set(fault, STORE_NOT_IMPLEMENTED, "the only delimiter here is /");
    if (!store_prefix_is_valid(after))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "start-after is not the beginning of a name");
    if (max_keys && !read_whole_number(max_keys, INT32_MAX, &max))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "max-keys is not a number");
    snprintf(list->prefix, sizeof(list->prefix), "%s", prefix);
    snprintf(list->after, sizeof(list->after), "%s", after);
    if (token && !token_read(token, list->after))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "continuation-token is not one of ours");
    list->is_continued = token != NULL;
    list->delimited = *delimiter != '\0';
    list->max_keys = (unsigned)MIN_OF(max, (uint64_t)STORE_KEYS_MAX);
    return 0;
}

static int parse_bucket_request(
    const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    if (!str_eq(texts->method, "GET") && !str_eq(texts->method, "HEAD"))
        return store_fault_set(fault, STORE_METHOD_NOT_ALLOWED, "the bucket is always there");
    if (parse_list(texts, &request->list, fault) < 0)
        return -1;
    request->operation = texts->query(texts->arg, "uploads") ? STORE_LIST_UPLOADS : STORE_LIST;
    if (request->operation == STORE_LIST && !str_eq(texts->query(texts->arg, "list-type"), "2"))
        return store_fault_set(fault, STORE_NOT_IMPLEMENTED, "lists are of type 2 here");
    return 0;
}

static int parse_upload_id(const char *id, struct store_request *request, struct store_fault *fault)
{
    if (strlen(id) != STORE_ID_SIZE - 1 || !is_hex(id, STORE_ID_SIZE - 1))
        return store_fault_set(fault, STORE_NO_SUCH_UPLOAD, "there is no such upload");
    snprintf(request->upload_id, sizeof(request->upload_id), "%s", id);
    return 0;
}

static int parse_sha256(const char *text, struct store_request *request, struct store_fault *fault)
{
    if (!text || str_eq(text, "UNSIGNED-PAYLOAD"))
        return 0;
    if (str_starts_with(text, "STREAMING-"))
        return store_fault_set(fault, STORE_NOT_IMPLEMENTED, "bodies are not signed in chunks here");
    if (strlen(text) != 64 || !is_hex(text, 64))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "x-amz-content-sha256 is not a digest");
    snprintf(request->sha256, sizeof(request->sha256), "%s", text);
    return 0;
}

static int parse_put(
    const struct store_texts *texts, const char *upload_id, struct store_request *request, struct store_fault *fault)
{
    const char *number = texts->query(texts->arg, "partNumber");
    uint64_t part = 0;

    if (!texts->header(texts->arg, "Content-Length"))
        return store_fault_set(fault, STORE_MISSING_LENGTH, "Content-Length is missing");
    if (parse_sha256(texts->header(texts->arg, "x-amz-content-sha256"), request, fault) < 0)
        return -1;
    request->operation = upload_id ? STORE_UPLOAD_PART : STORE_PUT;
    if (!number != !upload_id)
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "partNumber and uploadId belong together");
    if (number && (!read_whole_number(number, STORE_PARTS_MAX, &part) || part == 0))
        return store_fault_set(fault, STORE_INVALID_ARGUMENT, "partNumber is not between 1 and %d", STORE_PARTS_MAX);
    request->part = (int)part;
    return 0;
}

static int parse_get(const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    const char *if_match = str_or_empty(texts->header(texts->arg, "If-Match"));
    size_t len = strlen(if_match);

    if (texts->query(texts->arg, "uploadId") || texts->query(texts->arg, "partNumber"))
        return store_fault_set(fault, STORE_NOT_IMPLEMENTED, "parts are not read here");
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

static int parse_post(
    const struct store_texts *texts, const char *upload_id, struct store_request *request, struct store_fault *fault)
{
    bool begin = texts->query(texts->arg, "uploads") != NULL;

    if (begin == (upload_id != NULL))
        return store_fault_set(fault, STORE_NOT_IMPLEMENTED, "POST begins or completes an upload here");
    request->operation = begin ? STORE_UPLOAD_BEGIN : STORE_UPLOAD_COMPLETE;
    return 0;
}

static int parse_object_request(
    const struct store_texts *texts, struct store_request *request, struct store_fault *fault)
{
    const char *upload_id = texts->query(texts->arg, "uploadId");

    if (upload_id && parse_upload_id(upload_id, request, fault) < 0)
        return -1;
    if (str_eq(texts->method, "GET") || str_eq(texts->method, "HEAD"))
        return parse_get(texts, request, fault);
    if (str_eq(texts->method, "PUT"))
        return parse_put(texts, upload_id, request, fault);
    if (str_eq(texts->method, "POST"))
        return parse_post(texts, upload_id, request, fault);
    if (!str_eq(texts->method, "DELETE"))
        return store_fault_set(fault, STORE_METHOD_NOT_ALLOWED, "this method is not known here");
    request->operation = upload_id ? STORE_UPLOAD_ABORT : STORE_DELETE;
    return 0;
}

int store_request_parse(const struct store_texts *texts, struct store_request *ret, struct store_fault *fault)
{
    *ret = (struct store_request){.operation = STORE_GET};
    if (refuse_foreign(texts, fault) < 0 || parse_path(texts->path, ret->name, fault) < 0)
        return -1;
    return *ret->name ? parse_object_request(texts, ret, fault) : parse_bucket_request(texts, ret, fault);
}
