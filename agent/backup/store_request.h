/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_request.h: what a request to the store asks for. Pure.
 *
 *   PUT    /backup/NAME                            an object; x-amz-content-sha256 is checked against the body
 *   GET, HEAD /backup/NAME                         Range (one), If-Match
 *   DELETE /backup/NAME
 *   GET    /backup?list-type=2                     prefix, delimiter (/), max-keys, continuation-token, start-after
 *   GET    /backup?uploads                         prefix
 *   POST   /backup/NAME?uploads                    begins a multipart upload
 *   PUT    /backup/NAME?partNumber=N&uploadId=ID
 *   POST   /backup/NAME?uploadId=ID                completes it: body, the list of the parts (store_xml.h)
 *   DELETE /backup/NAME?uploadId=ID
 *
 * There is one bucket, addressed in path style. Anything else of S3 is answered NotImplemented, not misunderstood.
 *
 * Names become paths below a folder. So they are strict: letters, digits and "-_." in segments of at most 255 bytes with one slash between them; no segment is
 * empty or begins with a dot (".", "..", what is hidden).
 */
#ifndef KM_AGENT_BACKUP_STORE_REQUEST_H
#define KM_AGENT_BACKUP_STORE_REQUEST_H

#include "common/base.h"

#include "agent/backup/store_fault.h"

#define STORE_BUCKET "backup"
#define STORE_NAME_SIZE 1024 /* S3's own limit is 1024 bytes */
#define STORE_SEGMENT_MAX 255
#define STORE_DEPTH_MAX 32
#define STORE_ID_SIZE 33 /* of an upload: lower-case hex */
#define STORE_ETAG_SIZE 64
#define STORE_PARTS_MAX 10000
#define STORE_KEYS_MAX 1000

enum store_operation {
    STORE_GET, /* or HEAD */
    STORE_PUT,
    STORE_DELETE,
    STORE_LIST,
    STORE_LIST_UPLOADS,
    STORE_UPLOAD_BEGIN,
    STORE_UPLOAD_PART,
    STORE_UPLOAD_COMPLETE,
    STORE_UPLOAD_ABORT,
};

struct store_list_query {
    char prefix[STORE_NAME_SIZE];
    char after[STORE_NAME_SIZE]; /* names up to and including this one have been told; "": none */
    bool delimited;
    bool is_continued; /* after came as a token: a common prefix that equals it has been told, too */
    unsigned max_keys;
};

enum store_range { STORE_RANGE_NONE, STORE_RANGE_FROM, STORE_RANGE_FROM_TO, STORE_RANGE_LAST };

struct store_request {
    enum store_operation operation;
    char name[STORE_NAME_SIZE];
    char upload_id[STORE_ID_SIZE];
    int part;
    struct store_list_query list;
    enum store_range range;
    uint64_t range_from; /* LAST: how many */
    uint64_t range_to;
    char if_match[STORE_ETAG_SIZE]; /* without quotes; "": none, "*": any */
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
/* A continuation token is the last name told, in hex: opaque to whoever gets it. */
void store_token_make(const char *name, char out[static 2 * STORE_NAME_SIZE]);

#endif
