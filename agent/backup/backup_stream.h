/*
 * backup_stream.h: one answer to GET /v1/backup: a tool's standard output as a framed stream (frame_stream.h).
 *
 * The receiver's pace is the tool's: what cannot be sent holds the tool back by its pipe; at most one piece of 64 KiB waits here beside the server's
 * bounded buffer. When the receiver goes, the tool is killed; when the tool fails, the trailer says so.
 */
#ifndef KM_AGENT_BACKUP_BACKUP_STREAM_H
#define KM_AGENT_BACKUP_BACKUP_STREAM_H

#include "common/base.h"

#include "common/error.h"
#include "common/frame_stream.h"
#include "common/http_server.h"
#include "common/loop.h"

struct backup_stream;

struct backup_stream_options {
    struct loop *loop;
    const char *const *argv; /* not copied: lives until `ended` */
    struct stream_header header;
    /* Once, from the loop; the stream is freed after it. err: NULL when the copy went out whole. */
    void (*ended)(void *arg, const struct error *err, uint64_t bytes);
    void *arg;
};

/* Takes the exchange over in any case: if the tool cannot be started, it is answered 500 and NULL returned. */
struct backup_stream *backup_stream_start(
    const struct backup_stream_options *options, struct http_exchange *exchange, struct error *err);
/* Kills the tool and breaks the stream off; no `ended`. NULL is fine. */
void backup_stream_free(struct backup_stream *stream);

/* Pure. The GTID position in a line of the tool's standard error ("... GTID of the last change '0-1-5'"), false if there is none in it. */
bool backup_stream_find_gtid(const char *line, char *ret, size_t size);

#endif
