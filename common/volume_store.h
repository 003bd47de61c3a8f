/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_store.h: object_store.h in the language of the service in front of a volume (`kube-mysql-agent store`;
 * agent/backup/store_request.h and store_answer.h describe requests and answers). It knows who asks by mutual TLS.
 *
 * An upload's id is made here, so beginning it can be repeated. Its parts are written where they will stay: each
 * begins where the one before it ends, so they must be given in the order of their numbers. Committing names the
 * number of bytes.
 *
 * Private to object_store.c and volume_*.c.
 */
#ifndef KM_COMMON_VOLUME_STORE_H
#define KM_COMMON_VOLUME_STORE_H

#include "common/base.h"

#include "common/object_call.h"

extern const struct object_store_ops volume_store_ops;

/* ---- volume_answer.c: what it answers. Pure. The text must be there whole; -1 with ERROR_PROTOCOL ---- */

/* As object_store_ops.read_refusal. A 404 that is not of this service (earlier versions of it spoke S3) is
 * "OtherProtocol", so that it never means that nothing is stored. */
int volume_refusal_read(int status, const char *text, size_t len, struct object_refusal *ret) KM_MUST_CHECK;
/* As object_store_ops.list_read. */
int volume_list_read(const char *text, size_t len, int (*each)(void *arg, const struct object_found *found), void *arg,
    char **ret_after, struct error *err) KM_MUST_CHECK;
/* Uploads that were ended. */
int volume_ended_read(const char *text, size_t len, size_t *ret, struct error *err) KM_MUST_CHECK;

/* ---- volume_upload.c: object_store.h, "streams" ---- */

struct object_upload *volume_upload_begin(
    struct object_store *store, const char *name, object_done_fn started, void *arg);
void volume_upload_part(struct object_upload *base, int number, const void *data, size_t len,
    const unsigned char *sha256, object_done_fn done, void *arg);
void volume_upload_complete(struct object_upload *base, object_done_fn done, void *arg);
void volume_upload_abort(struct object_upload *base, object_done_fn done, void *arg);
void volume_upload_free(struct object_upload *base);

#endif
