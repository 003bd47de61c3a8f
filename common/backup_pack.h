/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_pack.h: between a tool's own bytes and what is stored of a backup: compressed (one zstd frame with content
 * checksum), then sealed (backup_seal.h), each if wished.
 *
 * Pure, synchronous, of bounded memory: a writer holds what zstd's window takes (about 1 MiB at level 1) and one sealed
 * frame; a reader the window (refused beyond PACK_WINDOW_LOG_MAX) and what it was given. A byte that is wrong anywhere
 * is an error of the reader, at the latest of its end: by the seal, or by zstd's checksum. Without both there is
 * nothing here that could notice (the digests of the pieces do).
 */
#ifndef KM_COMMON_BACKUP_PACK_H
#define KM_COMMON_BACKUP_PACK_H

#include "common/base.h"

#include <sys/types.h>

#include "common/backup_manifest.h"
#include "common/error.h"
#include "common/strbuf.h"

#define PACK_LEVEL 1
#define PACK_WINDOW_LOG_MAX 23
/* At most so much at once in either direction ... */
#define PACK_FEED_MAX ((size_t)(128 * KM_KIB))
/* ... makes a writer append at most so much: what it held, incompressible, with all heads. */
#define PACK_OUT_MAX ((size_t)(512 * KM_KIB))

struct pack_options {
    enum backup_compression compression;
    const unsigned char *key;  /* BACKUP_KEY_BYTES; NULL: not sealed. Not kept */
    const unsigned char *salt; /* BACKUP_SALT_BYTES */
};

struct pack_writer;
struct pack_writer *pack_writer_new(const struct pack_options *options);
void pack_writer_free(struct pack_writer *writer); /* NULL is fine, as below */
/* Appends to *out, which must have room for PACK_OUT_MAX. len: up to PACK_FEED_MAX. */
void pack_writer_add(struct pack_writer *writer, const void *data, size_t len, struct strbuf *out);
void pack_writer_end(struct pack_writer *writer, struct strbuf *out);

struct pack_reader;
struct pack_reader *pack_reader_new(const struct pack_options *options);
void pack_reader_free(struct pack_reader *reader);
/* len: up to PACK_FEED_MAX. Only when pack_reader_get has nothing more to give. ERROR_PROTOCOL says what is damaged;
 * then nothing more may be asked of it. */
int pack_reader_put(struct pack_reader *reader, const char *data, size_t len, struct error *err) KM_MUST_CHECK;
/* How many bytes of the tool were written to buf (size > 0); 0: it needs more input. */
ssize_t pack_reader_get(struct pack_reader *reader, char *buf, size_t size, struct error *err) KM_MUST_CHECK;
/* There is no more input, and pack_reader_get has nothing more: ERROR_PROTOCOL if that cannot be all. */
int pack_reader_end(struct pack_reader *reader, struct error *err) KM_MUST_CHECK;

#endif
