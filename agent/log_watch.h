/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_watch.h: the thread that sees whether the newest binary log is being written. A transaction of some gigabytes
 * holds up every commit behind it, the heartbeat's too, for as long as it takes to get it into the log and the log onto
 * the disk: that is work, not dead storage.
 *
 * No variable of a server tells it: MariaDB counts Binlog_bytes_written when a transaction is in the log as a whole,
 * MySQL has nothing like it, and what names the log's end waits for that transaction. So once a second the file is
 * looked at. While it grows, it is written. Then the kernel brings what it took to the disk, where the file shows
 * nothing: the disk counts what it has done, and is believed for as long as a slow one needs.
 *
 * A look that hangs on a disk that is dead says nothing, and nothing else waits for it.
 */
#ifndef KM_AGENT_LOG_WATCH_H
#define KM_AGENT_LOG_WATCH_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "common/loop.h"

/* ---- pure ---- */

struct log_look {
    int64_t at_ms; /* 0: there was none */
    uint64_t file; /* its inode */
    uint64_t bytes;
    uint64_t written; /* by the disk since the node started, bytes; 0: not known */
};

struct log_progress {
    struct log_look base; /* the last one before commits were held up */
    struct log_look last;
    int64_t grown_ms; /* the latest that found more than the one before */
};

/* Whether the log was being written between the last look and this one, both since then. 0: nothing is blocked. */
bool log_progress_take(struct log_progress *progress, const struct log_look *look, int64_t blocked_since_ms);

/* ---- the thread ---- */

struct log_watch;

/* Keeps beat->log_ms and beat->log_file up to date. data_dir and beat must outlive it. */
struct log_watch *log_watch_new(struct loop *loop, const char *data_dir, struct beat_state *beat);
/* As often as one likes: while beats are wanted, or it is to be noticed when a new log begins, a look begins when one
 * is due and none is under way. */
void log_watch_turn(struct log_watch *watch, int64_t now_ms);
void log_watch_free(struct log_watch *watch);

#endif
