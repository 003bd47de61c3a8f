/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_stream.h: the body of GET /v1/backup: a copy of a database between two texts that say what it is and that it is
 * whole. Pure.
 *
 *   stream  = magic header data* trailer        and nothing after it
 *   magic   = "KMSTRM1\n"
 *   frame   = type (1 byte: 'H', 'D', 'T'), length (4 bytes, big endian), payload
 *   header  = JSON: what follows, so that a receiver can refuse before it starts
 *   data    = bytes of the backup tool's own format, in pieces of any size up to FRAME_DATA_MAX; an empty piece is a
 *             sign of life
 *   trailer = JSON: how it ended, how many bytes of data there were, their digest, the GTID position they stand for
 *
 * The digest is a SHA-256 unless the header says "digest":"poly1305" and names a key (stream_digest.h): for receivers
 * that asked for it (GET /v1/backup?digest=poly1305), so that old and new agents understand each other.
 *
 * A stream without a trailer that says "ok" and fits what arrived is worth nothing, however many bytes it has (I8). The
 * reader keeps no data: it hands pieces on as they come and holds at most one text of FRAME_TEXT_MAX bytes.
 */
#ifndef KM_COMMON_FRAME_STREAM_H
#define KM_COMMON_FRAME_STREAM_H

#include "common/base.h"

#include "common/agent_order.h"
#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"
#include "common/stream_digest.h"

#define FRAME_MAGIC "KMSTRM1\n"
#define FRAME_HEAD_BYTES 5
/* A position, and the rest. Earlier versions refuse more than 16 KiB. */
#define FRAME_TEXT_MAX (80 * KM_KIB)
#define FRAME_DATA_MAX (1 * KM_MIB)

enum stream_method {
    STREAM_METHOD_UNKNOWN,
    STREAM_METHOD_XBSTREAM, /* MariaDB: files, by mariadb-backup */
    STREAM_METHOD_BINLOG,
    STREAM_METHOD_SQL, /* statements, by mysqldump or mariadb-dump */
    STREAM_METHOD_TAR, /* MySQL: files, by CLONE LOCAL (agent/backup/tar_stream.h); stored backups only */
    STREAM_METHOD_COUNT,
};
extern const char *const stream_method_names[STREAM_METHOD_COUNT]; /* "", "xbstream", "binlog", "sql", "tar" */

struct stream_header {
    enum stream_method method;
    char flavour[16]; /* agent_flavour_name of the donor's server */
    char server_version[64];
    uint64_t estimate_bytes;        /* of data; 0: not known */
    uint64_t redo_bytes;            /* of what is not sent, but will be made by the receiver's server: redo logs */
    enum stream_digest_kind digest; /* frame_writer_begin falls back to SHA-256 where there is no Poly1305 */
};

struct stream_trailer {
    bool ok;
    uint64_t bytes; /* of data */
    char digest[STREAM_DIGEST_HEX_SIZE];
    const char *gtid; /* the position the copy stands for; "" or NULL: none or not known */
    char server_version[64];
    char error[256]; /* if not ok */
};

/* ---- the giving side ---- */

struct frame_writer {
    struct stream_digest digest;
    uint64_t bytes;
};

void frame_writer_init(struct frame_writer *writer);
void frame_writer_release(struct frame_writer *writer);
/* Appends magic and header. */
void frame_writer_begin(struct frame_writer *writer, const struct stream_header *header, struct strbuf *out);
/* Counts a piece of data (0 to FRAME_DATA_MAX bytes); head goes out before it. */
void frame_writer_data(struct frame_writer *writer, const void *data, size_t len, char head[static FRAME_HEAD_BYTES]);
/* Appends the trailer; its bytes and digest are filled in here. */
void frame_writer_end(struct frame_writer *writer, struct stream_trailer *trailer, struct strbuf *out);

/* ---- the taking side ---- */

struct frame_reader_ops {
    /* -1 ends the stream with *err. */
    int (*header)(void *arg, const struct stream_header *header, struct error *err);
    int (*data)(void *arg, const char *data, size_t len, struct error *err);
};

struct frame_reader {
    struct frame_reader_ops ops;
    void *arg;
    struct stream_digest digest;
    uint64_t bytes;
    struct strbuf text; /* magic, head of a frame or a text that is not complete yet */
    int state;
    size_t left; /* of the frame's payload */
    char type;
    struct stream_trailer trailer;
    struct position_pool *positions; /* of the trailer */
};

void frame_reader_init(struct frame_reader *reader, const struct frame_reader_ops *ops, void *arg);
void frame_reader_release(struct frame_reader *reader);
/* Bytes as they come. ERROR_PROTOCOL: they are no such stream. After a failure nothing more may be fed. */
int frame_reader_feed(struct frame_reader *reader, const char *data, size_t len, struct error *err) KM_MUST_CHECK;
/* The peer has ended: 0 if the stream is complete, the trailer says ok, and its count and digest are those of what
 * arrived. ERROR_PROTOCOL: truncated or damaged; ERROR_UNAVAILABLE: the donor says that it failed. Its position
 * is the reader's. */
int frame_reader_finish(struct frame_reader *reader, struct stream_trailer *ret, struct error *err) KM_MUST_CHECK;

#endif
