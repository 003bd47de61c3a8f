/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_log.h: the thread that brings the server's slow query log (spec.logs.slow) from its file to this container's
 * output, each line behind SLOW_LOG_PREFIX: no text of a statement is taken for a line of the agent's own log.
 *
 * A server cannot write it there by itself: SET GLOBAL slow_query_log_file takes regular files only. So the file is
 * bounded here: once SLOW_LOG_ROTATE_BYTES of it are read it is renamed, the server begins a new one (FLUSH LOCAL SLOW
 * LOGS), and what is left of the old one is read before that goes. Where the server writes faster than this is read, by
 * SLOW_LOG_BEHIND_MAX, the rest of the file is left out, and a line says how much. An agent that is started anew reads
 * the file from its beginning: up to a file's worth may come twice.
 *
 * Without such a file there is nothing to do. Output that is taken by nobody holds up this thread alone.
 */
#ifndef KM_AGENT_SLOW_LOG_H
#define KM_AGENT_SLOW_LOG_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/loop.h"

#define SLOW_LOG_PREFIX "slow: "
#define SLOW_LOG_INTERVAL_MS 500
#define SLOW_LOG_ROTATE_BYTES (4 * KM_MIB)
#define SLOW_LOG_BEHIND_MAX (32 * KM_MIB)
/* Of one turn. */
#define SLOW_LOG_TURN_BYTES (2 * KM_MIB)
/* Of one line: what is longer is cut into several. */
#define SLOW_LOG_LINE_MAX (64 * KM_KIB)

struct slow_log;

/* paths and user must outlive it; fd: where it is written. */
struct slow_log *slow_log_new(struct loop *loop, const struct agent_paths *paths, const char *user, int fd);
void slow_log_free(struct slow_log *log);

/* ---- the reader, without a thread ---- */

struct slow_reader {
    const char *path; /* borrowed */
    int out;
    int fd; /* -1: there is no file */
    uint64_t offset;
    bool renamed; /* the server has still to begin a new one */
    char *rest;   /* a line that has not ended; SLOW_LOG_LINE_MAX */
    size_t rest_len;
};
void slow_reader_init(struct slow_reader *reader, const char *path, int out);
void slow_reader_release(struct slow_reader *reader);
/* What has come since. True: the file is renamed, and is done with once the server has begun another one. */
bool slow_reader_turn(struct slow_reader *reader);
/* It has: the rest of the renamed one is read, and that goes. */
void slow_reader_rotated(struct slow_reader *reader);

#endif
