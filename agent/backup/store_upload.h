/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_upload.h: multipart uploads on the volume. Blocking: for worker threads; different uploads, and different parts of one, may be worked on at once.
 *
 *   .uploads/ID/upload      "NAME\nBOOT\n": what it will be; the kernel it was begun under
 *   .uploads/ID/data        the object as it will be: parts of equal size are written where they will stay
 *   .uploads/ID/parts       what is complete, a line each: number, bytes, tag (the ETag), offset in `data` (-1: own file)
 *   .uploads/ID/N-TAG.part  a part that could not be written in place
 *
 * Why in place: joining files costs each byte twice, on the volume and in time, when a backup's piece of a gigabyte is completed. Our uploads have parts of one size (but
 * the last), so the place of a part is known when the size of part 1 is. A part is written in place only when this process has begun the upload, knows part 1's
 * size and has no other try of this number, done or under way; so nobody ever writes over bytes that somebody was told of. All others get a file of their own (retries, a store that was restarted, a
 * last part that overtakes the first) and are copied into place when the upload is completed, one by one, each removed at once: never more than
 * one part twice. Completing is refused with InvalidPart when parts but the last differ in size. What is completed is truncated to its size, synced and renamed.
 *
 * Parts are not synced one by one: their writing is started, and completing waits for it. So an upload that was begun under another boot of the kernel is gone
 * (NoSuchUpload): its parts may be lost, though they are written down. A restart of the store alone loses nothing.
 *
 * Completing can be repeated after a crash at any point: up to the rename nothing has changed but where parts lie; after it the upload is gone.
 */
#ifndef KM_AGENT_BACKUP_STORE_UPLOAD_H
#define KM_AGENT_BACKUP_STORE_UPLOAD_H

#include "common/base.h"

#include "agent/backup/store_fault.h"
#include "agent/backup/store_folder.h"
#include "agent/backup/store_request.h"

/* At once, in one store; more is somebody's mistake. */
#define STORE_UPLOADS_MAX 256
/* Bodies and uploads that nobody has touched for so long are removed. */
#define STORE_ABANDONED_MS (24 * 3600 * 1000LL)

/* One of the list that completes an upload. */
struct store_part {
    int number;
    char etag[STORE_TAG_SIZE];
};

int store_upload_begin(
    const struct store_folder *folder, const char *name, char ret_id[static STORE_ID_SIZE], struct store_fault *fault);
/* offset: where in `data`, or -1: in a file of its own. */
int store_part_begin(const struct store_folder *folder, const struct store_request *request, uint64_t bytes,
    int64_t offset, struct store_draft *ret, struct store_fault *fault);
/* Writes down that it is complete, and closes the draft; on failure it is still there. ret_etag: STORE_ETAG_SIZE bytes. */
int store_part_finish(const struct store_folder *folder, struct store_draft *draft, const struct store_request *request,
    char *ret_etag, struct store_fault *fault);
/* parts: in the order of their numbers. ret_etag: STORE_ETAG_SIZE bytes. */
int store_upload_complete(const struct store_folder *folder, const struct store_request *request,
    const struct store_part *parts, size_t count, char *ret_etag, struct store_fault *fault);
int store_upload_abort(
    const struct store_folder *folder, const struct store_request *request, struct store_fault *fault);

struct store_upload_entry {
    char id[STORE_ID_SIZE];
    char name[STORE_NAME_SIZE];
    int64_t begun_ms;
};
/* In the order of name and id; at most STORE_UPLOADS_MAX. The caller frees *ret. */
int store_upload_list(const struct store_folder *folder, const char *prefix, struct store_upload_entry **ret,
    size_t *ret_count, struct store_fault *fault);

/* Removes what was abandoned. Says how many. */
unsigned store_uploads_sweep(const struct store_folder *folder, int64_t now_ms);

#endif
