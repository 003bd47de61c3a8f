/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_store.h: object_store.h in S3's language.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
 *
 * On the wire, for whoever speaks the other side (/B/KEY is the path; nothing else is ever sent; answers as in S3's
 * reference, errors as its Error documents):
 *   PUT    /B/KEY                                    body; answer: ETag
 *   GET    /B/KEY    [Range: bytes=N-] [If-Match: E] 200, or 206 with Content-Range; ETag. 404 NoSuchKey,
 *                                                    412 PreconditionFailed, 416 InvalidRange
 *   HEAD   /B/KEY                                    Content-Length, ETag
 *   DELETE /B/KEY                                    204, also when it is not there
 *   GET    /B?[continuation-token=T&][delimiter=%2F&]list-type=2&max-keys=1000&prefix=P
 *   POST   /B/KEY?uploads=                           UploadId
 *   PUT    /B/KEY?partNumber=N&uploadId=ID           body; answer: ETag. 404 NoSuchUpload
 *   POST   /B/KEY?uploadId=ID                        body: the parts' numbers and ETags. 404 NoSuchUpload, also after
 *                                                    it was completed
 *   DELETE /B/KEY?uploadId=ID                        204; 404 NoSuchUpload
 *   GET    /B?[key-marker=K&]max-uploads=1000&prefix=P[&upload-id-marker=U]&uploads=
 * Each carries x-amz-content-sha256, hex of the body that belongs to it, signed or not. Bodies of 64 KiB and more
 * may come with Expect: 100-continue. While a server completes an upload it may send blanks, so that the connection
 * is not idle.
 *
 * Private to object_store.c and s3_*.c.
 */
#ifndef KM_COMMON_S3_STORE_H
#define KM_COMMON_S3_STORE_H

#include "common/base.h"

#include "common/object_call.h"

extern const struct object_store_ops s3_store_ops;

/* s3_sweep.c: aborts all multipart uploads whose key begins with the store's prefix + under (exact: is that).
 * ret_found as in object_store_ops. */
struct object_request *s3_abort_uploads(
    struct object_store *store, const char *under, bool exact, size_t *ret_found, object_done_fn done, void *arg);

/* s3_upload.c: object_store.h, "streams". */
struct object_upload *s3_upload_begin(struct object_store *store, const char *name, object_done_fn started, void *arg);
void s3_upload_part(struct object_upload *base, int number, const void *data, size_t len, const unsigned char *sha256,
    object_done_fn done, void *arg);
void s3_upload_complete(struct object_upload *base, object_done_fn done, void *arg);
void s3_upload_abort(struct object_upload *base, object_done_fn done, void *arg);
void s3_upload_free(struct object_upload *base);

#endif
