/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket_double.h: a bucket inside the test: objects in memory behind HTTP on loopback, as far as the operator itself
 * asks for (get, list, delete, uploads: none). Who writes is the test. Nothing is signed or checked: that is
 * common/object_store's business. Faults: every answer is `fail_status` while that is set.
 */
#ifndef KM_BUCKET_DOUBLE_H
#define KM_BUCKET_DOUBLE_H

#include "common/base.h"

#include "common/loop.h"
#include "common/tls.h"

struct bucket_double;

struct bucket_double *bucket_double_new(struct loop *loop);
/* The same objects behind mutual TLS, as the pod in front of a volume, which is asked in its own way
 * (agent/backup/store_request.h); also listens there. tls is the caller's until the free. False: the address is
 * taken. */
bool bucket_double_listen_tls(
    struct bucket_double *s3, struct loop *loop, struct tls_server *tls, const char *address, uint16_t port);
void bucket_double_free(struct bucket_double *s3);
/* "http://127.0.0.1:PORT" */
const char *bucket_double_endpoint(const struct bucket_double *s3);
/* name: below the bucket. */
void bucket_double_put(struct bucket_double *s3, const char *name, const char *body);
void bucket_double_remove(struct bucket_double *s3, const char *name);
/* Objects whose name begins with that. */
size_t bucket_double_count(const struct bucket_double *s3, const char *prefix);
void bucket_double_fail(struct bucket_double *s3, int status); /* 0: no more */

#endif
