/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_stream.h: one answer to GET /v1/backup: a tool's standard output as a framed stream (frame_stream.h).
 *
 * The receiver's pace is the tool's: what cannot be sent holds the tool back by its pipe; at most one piece
 * (SUBPROCESS_READ_MAX) waits here beside the server's bounded buffer. When the receiver goes, the tool is killed; when
 * the tool fails, the trailer says so. Which transactions the copy holds goes into the trailer (copy_position.h,
 * dump_position.h); MySQL's statements set it themselves.
 */
#ifndef KM_AGENT_BACKUP_BACKUP_STREAM_H
#define KM_AGENT_BACKUP_BACKUP_STREAM_H

#include "common/base.h"

#include "common/error.h"
#include "common/frame_stream.h"
#include "common/http_server.h"
#include "common/loop.h"
#include "common/worker.h"

struct backup_stream;

struct backup_stream_options {
    struct loop *loop;
    const char *const *argv; /* not copied: lives until `ended` */
    struct stream_header header;
    struct worker *worker; /* free when the tool has ended; asks the server what the copy holds */
    const char *socket;    /* the server's; not copied, as `user` */
    const char *user;
    /* Once, from the loop; the stream is freed after it. err: NULL when the copy went out whole. */
    void (*ended)(void *arg, const struct error *err, uint64_t bytes);
    void *arg;
};

/* Takes the exchange over in any case: if the tool cannot be started, it is answered 500 and NULL returned. */
struct backup_stream *backup_stream_start(
    const struct backup_stream_options *options, struct http_exchange *exchange, struct error *err);
/* For how long the tool has said nothing while nothing holds it back; 0: it is held back by the receiver, or has
 * ended. */
int64_t backup_stream_silent_ms(const struct backup_stream *stream);
/* Kills the tool and breaks the stream off; no `ended`. The worker must be idle or gone. NULL is fine. */
void backup_stream_free(struct backup_stream *stream);

#endif
