/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_double.h: a bucket in memory behind a port of loopback, for tests: what object_store.h says about the wire, with
 * faults. Bodies up to HTTP_SERVER_BODY_MAX, parts of any size. Payload hashes and the access key are checked,
 * signatures are not: a real server does that (object_store_itest.c).
 */
#ifndef KM_COMMON_TESTS_S3_DOUBLE_H
#define KM_COMMON_TESTS_S3_DOUBLE_H

#include "common/base.h"

#include "common/http_server.h"
#include "common/loop.h"
#include "common/object_store.h"
#include "common/strvec.h"

enum s3_fault {
    S3_FAULT_NONE,
    S3_FAULT_500,                   /* with an Error document */
    S3_FAULT_503,                   /* SlowDown */
    S3_FAULT_502,                   /* a proxy's page in HTML */
    S3_FAULT_SILENT,                /* no answer, ever */
    S3_FAULT_CUT,                   /* the connection breaks after the head of the answer */
    S3_FAULT_TRUNCATED,             /* a good answer, but its XML ends in the middle; without XML: CUT */
    S3_FAULT_ERROR_200,             /* 200 with an InternalError inside, for what answers in XML; else 500 */
    S3_FAULT_403,                   /* AccessDenied */
    S3_FAULT_COUNT,                 /* of the ones that spoil an answer */
    S3_FAULT_SLOW = S3_FAULT_COUNT, /* a good answer, 30 ms late */
};
extern const char *const s3_fault_names[S3_FAULT_SLOW + 1];

struct s3_double;
struct s3_double *s3_double_new(struct loop *loop, const char *bucket);
void s3_double_free(struct s3_double *s3);
/* endpoint, bucket and path style; short times. */
struct object_target s3_double_target(const struct s3_double *s3);

/* From request `at` on (counted from 0 since this call), `times` requests fail so; after: they have had their
 * effect. */
void s3_double_fail(struct s3_double *s3, enum s3_fault fault, unsigned at, unsigned times, bool after);
/* The next `times` requests are answered with these words. */
void s3_double_say(struct s3_double *s3, unsigned times, int status, const char *body);
unsigned s3_double_requests(const struct s3_double *s3); /* since new or fail */
/* "PUT KEY?partNumber=1" and so on, in the order they came, since new. */
const struct strvec *s3_double_log(const struct s3_double *s3);

void s3_double_set_key(struct s3_double *s3, const char *access_key); /* who may; "": anybody */
void s3_double_set_page(struct s3_double *s3, size_t entries);        /* 1,000 */
/* Answers to GET of an object end after so many bytes of the object, `times` times. */
void s3_double_break_reads(struct s3_double *s3, uint64_t at, unsigned times);
void s3_double_set_ranges(struct s3_double *s3, bool understood);
void s3_double_set_undead(struct s3_double *s3, bool undead); /* deletions are answered and not done */

/* key: with the target's prefix. */
const char *s3_double_get(const struct s3_double *s3, const char *key, size_t *ret_len); /* NULL: none */
void s3_double_put(struct s3_double *s3, const char *key, const char *body, size_t len);
size_t s3_double_objects(const struct s3_double *s3);
size_t s3_double_uploads(const struct s3_double *s3);
void s3_double_drop_uploads(struct s3_double *s3); /* as if somebody had aborted them */

#endif
