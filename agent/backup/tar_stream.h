/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_stream.h: regular files and folders as a POSIX archive (pax interchange format over ustar, IEEE Std 1003.1
 * "pax"), which any `tar` unpacks. Pure.
 *
 *   archive = entry* and two blocks of zeros, nothing after them; all in blocks of 512 bytes
 *   entry   = [extended header 'x' with its records] header ('0' a file, '5' a folder) content, filled up with zeros
 *
 * The writer puts path and size into an extended header only where ustar's own fields have no room (100 bytes; 8 GiB),
 * and nothing of the machine: no owner, no time, modes 0600 and 0700. So the same files give the same bytes.
 *
 * The reader takes what the writer makes and no more: no links, devices, sparse files, global headers, other records;
 * no absolute paths, no "." or "..", no control characters; a checksum, filling and end that are right; at most
 * max_bytes of content. It keeps no content: pieces are handed on as they come, and at most one block and one set of
 * records (TAR_RECORDS_MAX) wait here.
 */
#ifndef KM_AGENT_BACKUP_TAR_STREAM_H
#define KM_AGENT_BACKUP_TAR_STREAM_H

#include "common/base.h"

#include "common/error.h"
#include "common/strbuf.h"

#define TAR_BLOCK 512
/* A table's file: a folder and a name, each encoded up to NAME_MAX. */
#define TAR_PATH_SIZE 1024
#define TAR_DEPTH_MAX 8
#define TAR_RECORDS_MAX ((size_t)(4 * KM_KIB))
/* What one entry adds beside its content. */
#define TAR_HEAD_MAX ((size_t)(2 * TAR_BLOCK) + TAR_RECORDS_MAX)

struct tar_entry {
    char path[TAR_PATH_SIZE]; /* relative, without a slash at its end */
    bool is_folder;
    uint64_t size; /* of a file */
};

/* What the reader would take. */
bool tar_path_is_valid(const char *path);

/* ---- writing ---- */

/* Appends an entry's header. Its content follows: exactly size bytes and tar_filling(size) zeros. ERROR_INVALID: a path
 * that no reader takes. */
int tar_write_entry(const struct tar_entry *entry, struct strbuf *out, struct error *err) KM_MUST_CHECK;
size_t tar_filling(uint64_t size);
void tar_write_end(struct strbuf *out);

/* ---- reading ---- */

struct tar_reader_ops {
    /* -1 ends it with *err. A folder comes before what is in it only if the writer said so: that is the callee's to
     * check. */
    int (*entry)(void *arg, const struct tar_entry *entry, struct error *err);
    int (*data)(void *arg, const char *data, size_t len, struct error *err); /* of the last entry */
    int (*file_end)(void *arg, struct error *err);                           /* all of a file has come */
};

struct tar_reader {
    struct tar_reader_ops ops;
    void *arg;
    uint64_t max_bytes; /* of content that may still come; 0 from the start: any */
    int state;
    struct strbuf text;     /* a block, or records, not whole yet */
    size_t text_bytes;      /* of records */
    struct tar_entry entry; /* the present one, and while records wait what they said */
    bool has_path, has_size;
    uint64_t left;  /* of the content */
    size_t filling; /* that follows */
    unsigned zeros; /* blocks of the end */
};

void tar_reader_init(struct tar_reader *reader, const struct tar_reader_ops *ops, uint64_t max_bytes, void *arg);
void tar_reader_release(struct tar_reader *reader);
/* Bytes as they come. ERROR_PROTOCOL: they are no such archive; ERROR_TOO_LARGE: more than max_bytes; or the callee's.
 * After a failure nothing more may be fed. */
int tar_reader_feed(struct tar_reader *reader, const char *data, size_t len, struct error *err) KM_MUST_CHECK;
/* Nothing more comes. ERROR_PROTOCOL: the archive is not whole. */
int tar_reader_finish(const struct tar_reader *reader, struct error *err) KM_MUST_CHECK;

#endif
