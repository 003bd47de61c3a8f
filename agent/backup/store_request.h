/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_request.h: what a request to the store asks for. Pure.
 *
 *   PUT    /v1/objects/NAME                  an object, whole; X-Content-SHA256 is checked against the body
 *   GET, HEAD /v1/objects/NAME               Range (one), If-Match
 *   DELETE /v1/objects/NAME
 *   GET    /v1/objects                       prefix=P, after=NAME, max=N, folders=1 (what lies deeper is told as its
 *                                            folder); store_answer.h
 *   POST   /v1/uploads/ID/NAME               begins an upload; the client chooses the ID, so that it can be repeated
 *   PUT    /v1/uploads/ID/NAME?offset=N      bytes of it; X-Content-SHA256
 *   POST   /v1/uploads/ID/NAME?bytes=N       makes its first N bytes the object
 *   DELETE /v1/uploads/ID/NAME               ends it
 *   DELETE /v1/uploads?prefix=P              ends all whose names begin so
 *
 * Names become paths below a folder. So they are strict: letters, digits and "-_." in segments of at most 255 bytes
 * with one slash between them; no segment is empty or begins with a dot (".", "..", what is hidden).
 */
#ifndef KM_AGENT_BACKUP_STORE_REQUEST_H
#define KM_AGENT_BACKUP_STORE_REQUEST_H

#include "common/base.h"

#include "agent/backup/store_fault.h"

#define STORE_NAME_SIZE 1024
#define STORE_SEGMENT_MAX 255
#define STORE_DEPTH_MAX 32
#define STORE_ID_SIZE 33 /* of an upload: lower-case hex */
#define STORE_ETAG_SIZE 64
#define STORE_NAMES_MAX 1000 /* of a page */

enum store_operation {
    STORE_GET, /* or HEAD */
    STORE_PUT,
    STORE_DELETE,
    STORE_LIST,
    STORE_UPLOAD_BEGIN,
    STORE_UPLOAD_PIECE,
    STORE_UPLOAD_COMMIT,
    STORE_UPLOAD_END,
    STORE_UPLOADS_END,
};

struct store_list_query {
    char prefix[STORE_NAME_SIZE];
    char after[STORE_NAME_SIZE]; /* names, and folders, up to and including this one have been told; "": none */
    bool folders;
    unsigned max;
};

struct store_request {
    enum store_operation operation;
    char name[STORE_NAME_SIZE];
    char upload_id[STORE_ID_SIZE];
    uint64_t offset; /* of a piece */
    uint64_t bytes;  /* of a commit */
    struct store_list_query list;
    bool has_range;
    uint64_t range_from, range_to;  /* to: the last byte */
    char if_match[STORE_ETAG_SIZE]; /* without quotes; "": none */
    char sha256[65];                /* "": not to be checked */
};

/* Where the request's texts are: values are NULL when absent. */
struct store_texts {
    const char *method;
    const char *path; /* decoded */
    const char *(*query)(void *arg, const char *name);
    const char *(*header)(void *arg, const char *name);
    void *arg;
};

int store_request_parse(
    const struct store_texts *texts, struct store_request *ret, struct store_fault *fault) KM_MUST_CHECK;
bool store_name_is_valid(const char *name);
bool store_prefix_is_valid(const char *prefix); /* of names; "" too */
/* Which bytes of an object of that size. INVALID_RANGE when none. */
int store_range_resolve(const struct store_request *request, uint64_t size, uint64_t *ret_from, uint64_t *ret_count,
    struct store_fault *fault) KM_MUST_CHECK;

#endif
