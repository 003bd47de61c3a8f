/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_sign.h: Signature Version 4 of requests to S3: pure, no clock, no I/O. The payload's hash is always the real one,
 * never UNSIGNED-PAYLOAD. https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
#ifndef KM_COMMON_S3_SIGN_H
#define KM_COMMON_S3_SIGN_H

#include "common/base.h"

#include "common/strbuf.h"

#define S3_TIME_SIZE sizeof("20130524T000000Z")
#define S3_SIGNED_HEADERS_MAX 8

/* A header that is signed. */
struct s3_header {
    const char *name; /* lower case */
    const char *value;
};

struct s3_signable {
    const char *method;
    const char *path;                /* encoded once (s3_add_path), as it is sent */
    const char *query;               /* as s3_query_add makes it, as it is sent; "" */
    const struct s3_header *headers; /* host and all x-amz-*, in any order */
    size_t header_count;             /* at most S3_SIGNED_HEADERS_MAX */
    const char *payload_sha256;      /* hex */
    const char *time;                /* s3_format_time */
    const char *region;
};

/* "20130524T000000Z" */
void s3_format_time(int64_t realtime_ms, char out[static S3_TIME_SIZE]);
/* Appends a path with all but unreserved characters and slashes percent-encoded. */
void s3_add_path(struct strbuf *out, const char *path);
/* Appends name=value, encoded. Parameters must be added in the order of their names: so they are canonical. */
void s3_query_add(struct strbuf *query, const char *name, const char *value);

/* The three steps, each appended to out. The middle ones are for tests. */
void s3_canonical_request(const struct s3_signable *request, struct strbuf *out);
void s3_string_to_sign(const struct s3_signable *request, struct strbuf *out);
/* The value of the header Authorization. */
void s3_authorization(
    const struct s3_signable *request, const char *access_key, const char *secret_key, struct strbuf *out);

#endif
