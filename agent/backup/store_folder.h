/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_folder.h: objects as files below one folder. Blocking: for worker threads. Functions may run in several threads
 * at once.
 *
 *   DIR/NAME                the object NAME: a plain file, whole and synced before it got this name
 *   DIR/.uploads/TAG.put    a body that is arriving
 *   DIR/.uploads/ID/        an upload in pieces (store_upload.h)
 *
 * No symbolic link is followed anywhere below DIR: paths are walked segment by segment (openat, O_NOFOLLOW). Anything
 * that is not a plain file or a folder, and any name that is not valid as an object's ("lost+found"), is ignored.
 *
 * A crash at any point leaves the old object or the new one: a body is written to a temporary file, synced and renamed,
 * and its parent folders are synced before the request is answered. Folders that become empty are removed: for clients
 * they are only parts of names.
 *
 * ETags are made of inode, size and time of the file: they cost nothing, survive a restart and change with every
 * replacement. A reader that goes on after its connection was cut knows by it that it is still the same object.
 */
#ifndef KM_AGENT_BACKUP_STORE_FOLDER_H
#define KM_AGENT_BACKUP_STORE_FOLDER_H

#include "common/base.h"

#include "agent/backup/store_fault.h"
#include "agent/backup/store_request.h"
#include "common/error.h"
#include "common/sha256.h"

#define STORE_UPLOADS_DIR ".uploads"
#define STORE_TAG_SIZE 17 /* random, hex */
#define STORE_BOOT_SIZE 40

struct store_folder {
    int root;
    int uploads;
    char boot_id[STORE_BOOT_SIZE]; /* of the kernel: what was not synced under another one is not relied on */
    bool read_only;                /* it is mounted so; uploads is -1 */
};

/* Makes DIR/.uploads. The folder itself must be there. One store writes into a folder: CONFLICT while another one does
 * (flock; not where the file system has no locks).
 * A folder that is mounted read-only is neither locked nor changed: it may be read beside the one that writes, because
 * an object gets its name when it is whole. Only store_object_open and store_list are for such a folder. */
int store_folder_open(const char *path, struct store_folder *ret, struct error *err) KM_MUST_CHECK;
void store_folder_close(struct store_folder *folder);

/* ---- reading, deleting ---- */

struct store_object {
    int fd; /* the caller closes it */
    uint64_t bytes;
    char etag[STORE_ETAG_SIZE]; /* without quotes */
};
int store_object_open(
    const struct store_folder *folder, const char *name, struct store_object *ret, struct store_fault *fault);
/* One that is not there is deleted already. */
int store_object_delete(const struct store_folder *folder, const char *name, struct store_fault *fault);

/* ---- bodies ---- */

/* A body that is being written: a file of its own, or a region of one. */
struct store_draft {
    int dir; /* of the file, owned */
    int fd;  /* owned */
    char file[40];
    bool in_place; /* a region of a file that is there, and stays when the body fails */
    uint64_t begin, bytes;
    uint64_t written;
    struct sha256 sha;
    bool hashed;
};
/* Zeroed is not closed: begin with this. */
#define STORE_DRAFT_INIT    \
    {                       \
        .dir = -1, .fd = -1 \
    }

/* A new body of so many bytes, whose space is reserved at once where the file system can: a full volume is told before
 * anything has been sent. */
int store_draft_begin(
    const struct store_folder *folder, uint64_t bytes, bool hashed, struct store_draft *ret, struct store_fault *fault);
/* Opens what draft->file names in draft->dir and reserves begin, bytes. On failure the draft is discarded. */
int store_draft_open(const struct store_folder *folder, struct store_draft *draft, struct store_fault *fault);
int store_draft_write(const struct store_folder *folder, struct store_draft *draft, const void *data, size_t len,
    struct store_fault *fault);
/* All bytes are there and have this digest ("": not checked). */
int store_draft_check(struct store_draft *draft, const char *sha256, struct store_fault *fault);
/* Makes it the object. On failure the draft is still there. */
int store_draft_publish(
    const struct store_folder *folder, struct store_draft *draft, const char *name, struct store_fault *fault);
/* A file of its own is removed. What lies in place stays as it is: the region is written again, or the file goes. */
void store_draft_discard(struct store_draft *draft);
/* Closes it; what was written stays. Fine on a closed one. */
void store_draft_close(struct store_draft *draft);

/* ---- for store_list.c and store_upload.c ---- */

void store_make_tag(char out[static STORE_TAG_SIZE]);
/* The folder that holds NAME, as a descriptor; ret_leaf points into name. make: folders that are missing are made, all
 * on the way are synced. */
int store_parent_open(
    const struct store_folder *folder, const char *name, bool make, const char **ret_leaf, struct store_fault *fault);
/* Renames a synced file to NAME and syncs the way to it. */
int store_publish(
    const struct store_folder *folder, int dir, const char *file, const char *name, struct store_fault *fault);
/* ": the volume has N bytes left" if that is the reason. */
int store_write_fault(const struct store_folder *folder, int errnum, const char *what, struct store_fault *fault);

#endif
