/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_upload.h: objects that arrive in pieces. Blocking: for worker threads; different uploads, and different
 * pieces of one, may be worked on at once.
 *
 *   .uploads/ID/upload      "NAME\nBOOT\n": what it will be; the kernel it was begun under
 *   .uploads/ID/data        the object as it will be
 *
 * A piece is written where it stays, so committing copies nothing: it cuts the data to its size, syncs and renames
 * it. Nobody says here which pieces are there. A piece is answered once its bytes are written; its client commits
 * when all of them were answered. Sent again after a lost answer it has the same bytes, so two tries at once do no
 * harm; but none may be under way while the upload is committed: the caller sees to that (store_server.c).
 *
 * Pieces are not synced one by one: their writing is started, and committing waits for it. So an upload that was
 * begun under another boot of the kernel is gone (NoSuchUpload): its pieces may be lost, though they were answered.
 * A restart of the store alone loses nothing.
 *
 * Committing can be repeated after a crash at any point: up to the rename nothing has changed; after it the upload
 * is gone. It is gone, too, when its data could not be synced (UploadBroken): the kernel tells that once.
 *
 * Uploads of versions up to 0.2 lie there likewise, with more files: they are swept in the same way.
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

/* All take upload_id and name of the request. */

/* One that was begun already, with the same name, is as good. A try that fails takes nothing from one that did not. */
int store_upload_begin(
    const struct store_folder *folder, const struct store_request *request, struct store_fault *fault);
/* So many bytes at request->offset. */
int store_piece_begin(const struct store_folder *folder, const struct store_request *request, uint64_t bytes,
    struct store_draft *ret, struct store_fault *fault);
/* Closes the draft; on failure it is still there. */
int store_piece_finish(struct store_draft *draft, const struct store_request *request, struct store_fault *fault);
/* Makes the first request->bytes of it the object. */
int store_upload_commit(
    const struct store_folder *folder, const struct store_request *request, struct store_fault *fault);
/* One that is not there has ended already. */
void store_upload_end(const struct store_folder *folder, const struct store_request *request);

/* Ends all whose names begin with prefix. Says how many. */
int store_uploads_end(
    const struct store_folder *folder, const char *prefix, size_t *ret_count, struct store_fault *fault);
/* Removes what was abandoned. Says how many. */
unsigned store_uploads_sweep(const struct store_folder *folder, int64_t now_ms);

#endif
