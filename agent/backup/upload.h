/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload.h: raw bytes of a backup on their way into an object store: packed (backup_pack.h), cut into pieces and parts,
 * sent, and made a backup by the manifest (backup_manifest.h).
 *
 * Memory: two parts and what packing takes. While both parts wait or are sent, upload_room is 0: whoever feeds holds
 * the tool back. `changed` tells when to look again.
 * The manifest is written when the data has ended (upload_end_data) and the commit is there (upload_commit), in
 * whichever order. On every other way out (a request that failed for good, upload_abort) the parts under way are given
 * up, everything in the folder is deleted, as far as the store answers within UPLOAD_CLEAN_MS, and `ended` says why.
 * A manifest that is on its way is waited for first: whether it arrived must be known before it is deleted.
 */
#ifndef KM_AGENT_BACKUP_UPLOAD_H
#define KM_AGENT_BACKUP_UPLOAD_H

#include "common/base.h"

#include "agent/backup/backup_child.h"
#include "common/backup_pack.h"
#include "common/backup_task.h"
#include "common/loop.h"
#include "common/object_store.h"

#define UPLOAD_CLEAN_MS 30000

struct upload_options {
    struct loop *loop;
    struct object_store *store;
    const struct backup_task *task; /* not copied; lives as long */
    size_t part_bytes;              /* BACKUP_PART_BYTES, BACKUP_PIECE_BYTES; less in tests */
    uint64_t piece_bytes;
    void (*changed)(void *arg); /* from the loop: room, or a report that others should see at once */
    /* Once, from the loop. err NULL: the manifest is there. The upload may be freed inside. */
    void (*ended)(void *arg, const struct error *err);
    void *arg;
};

struct upload;

struct upload *upload_new(const struct upload_options *options);
/* Sends nothing any more, cleans nothing. NULL is fine. */
void upload_free(struct upload *upload);
/* How many bytes upload_feed takes now. */
size_t upload_room(const struct upload *upload);
void upload_feed(struct upload *upload, const void *data, size_t len);
void upload_end_data(struct upload *upload);
/* Its texts outlive the upload. */
void upload_commit(struct upload *upload, const struct backup_commit *commit);
void upload_abort(struct upload *upload, const struct error *why);
/* How it is going; of the end: digest, or error_reason and message. */
const struct backup_report *upload_report(struct upload *upload);

#endif
