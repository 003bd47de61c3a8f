/* SPDX-License-Identifier: Apache-2.0 */
/*
 * download.h: a stored backup back as the tool's own bytes. The manifest first; then piece by piece, opened and
 * unpacked as they come, in bounded memory.
 *
 * Data is handed on before the last digest is known, and is worth something only when `ended` came without an error:
 * then every piece had its size and its digest, the seal its last frame, zstd its checksum, and the whole its number of
 * bytes. Whoever takes the data must throw it away otherwise (I8).
 */
#ifndef KM_AGENT_BACKUP_DOWNLOAD_H
#define KM_AGENT_BACKUP_DOWNLOAD_H

#include "common/base.h"

#include <sys/types.h>

#include "common/backup_manifest.h"
#include "common/backup_task.h"
#include "common/loop.h"
#include "common/object_store.h"

struct download_options {
    struct loop *loop;
    struct object_store *store;
    const struct backup_task *task; /* not copied; lives as long. Its digest, if any, must be the manifest's */
    /* Takes what it can now and returns how much; less than len: download_writable is called when it goes on. -1:
     * nobody takes it any more. */
    ssize_t (*write)(void *arg, const char *data, size_t len);
    void (*ended)(void *arg, const struct error *err); /* once, from the loop; the download may be freed inside */
    void *arg;
};

struct download;

struct download *download_new(const struct download_options *options);
void download_free(struct download *download); /* NULL is fine */
void download_writable(struct download *download);
/* What is known so far: stored_bytes of the manifest as estimate_bytes, what came and what was handed on. */
const struct backup_report *download_report(struct download *download);

#endif
