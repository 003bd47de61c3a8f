/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs.h: whole files and folders, with errors that name the path.
 */
#ifndef KM_COMMON_FS_H
#define KM_COMMON_FS_H

#include "common/base.h"

#include <sys/types.h>

#include "common/error.h"
#include "common/strbuf.h"

/* Reads the whole file after resetting *out; TOO_LARGE if it exceeds out->max. */
int fs_read_file(const char *path, struct strbuf *out, struct error *err) KM_MUST_CHECK;
/* Writes a temporary file beside it (mode from the start), fsyncs file and folder, renames: old or new, never half. */
int fs_write_file_atomic(const char *path, const void *data, size_t len, mode_t mode, struct error *err) KM_MUST_CHECK;
/* As fs_write_file_atomic for a text, which may be written over the old one where the volume is full: if that is as
 * long at least (newlines fill up), and of at most FS_NOTE_MAX bytes. A file begins at the beginning of a block, so
 * these lie in one sector, and disks write a sector whole or not at all. File systems that never write in place may
 * have no room for that either: then it fails with the error of a full volume, and the old text stays. */
int fs_write_note(const char *path, const char *text, mode_t mode, struct error *err) KM_MUST_CHECK;
/* mkdir -p; existing folders are fine and keep their mode. */
int fs_mkdir_all(const char *path, mode_t mode, struct error *err) KM_MUST_CHECK;
/* rm -rf that never follows symbolic links and never leaves the file system it starts on. A missing path is fine. */
int fs_remove_all(const char *path, struct error *err) KM_MUST_CHECK;
/* As fs_remove_all for everything inside the folder; the folder stays. Names in keep (NULL-terminated, may be NULL)
 * stay. */
int fs_empty_dir(const char *path, const char *const *keep, struct error *err) KM_MUST_CHECK;
/* Whether the folder holds nothing but the names in `ignore` (NULL-terminated, may be NULL), e.g. "lost+found". */
int fs_dir_is_empty(const char *path, const char *const *ignore, bool *ret_empty, struct error *err) KM_MUST_CHECK;
bool fs_exists(const char *path);
int fs_fsync_dir(const char *path, struct error *err) KM_MUST_CHECK;
/* Everything on the file system that holds the folder: one syncfs instead of an fsync for each of the hundreds of files
 * that the tools leave. Blocking. */
int fs_sync_volume(const char *path, struct error *err) KM_MUST_CHECK;
/* Copies bytes and mode, atomically as fs_write_file_atomic. */
int fs_copy_file(const char *from, const char *to, mode_t mode, struct error *err) KM_MUST_CHECK;
/* Free and total bytes for unprivileged users of the file system that holds path. */
int fs_space(const char *path, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes, struct error *err) KM_MUST_CHECK;

#endif
