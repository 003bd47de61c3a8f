/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_folder.h: a folder of files goes out as an archive (tar_stream.h), or an archive becomes one. Blocking, for
 * processes that do nothing else (agent/copy_process.h).
 *
 * Sent files are removed as soon as they have been written: what the archive's reader holds needs no room here any
 * more. So the folder is to be a copy that nobody else needs, and is of no use after a failure.
 *
 * Sending takes as long as the reader does, hours perhaps. So its owner is asked again and again whether it may go on,
 * also while nobody reads.
 */
#ifndef KM_AGENT_BACKUP_COPY_FOLDER_H
#define KM_AGENT_BACKUP_COPY_FOLDER_H

#include "common/base.h"

#include "common/error.h"

/* How often it is asked while one file goes out; before each file, too. */
#define COPY_FOLDER_LOOK_MS 200

struct copy_folder_watch {
    /* What it says in err ends the sending. */
    int (*may_go_on)(void *arg, struct error *err);
    void *arg;
};

/* Anything but files and folders in it is an error; so is a file that changes its size meanwhile, or one that is still
 * there in the end. The folder itself stays, empty. `to` does not block any more afterwards. watch: NULL if nothing can
 * stop it. */
int copy_folder_send(const char *dir, int to, const struct copy_folder_watch *watch, struct error *err) KM_MUST_CHECK;
/* dir is there and empty. Files get mode 0600, folders 0700. max_bytes: of content, 0: any. ERROR_PROTOCOL: not such an
 * archive, or not whole. Nothing is synced. */
int copy_folder_receive(const char *dir, int from, uint64_t max_bytes, struct error *err) KM_MUST_CHECK;

#endif
