/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmp_look.h: what the server's temporary files take, and which of its threads wrote while they grew: as the scout
 * leaves it for the agent (tmp_scout.h). Pure.
 *
 * No server before MariaDB 11.5 says whose a temporary file is, and neither does the kernel. But the kernel counts what
 * each thread has written, and a thread works for one connection at a time. So whenever the files have grown, each
 * thread is credited with what it wrote meanwhile, up to what they grew by; and when they shrink all credits do, in the
 * same proportion, as whoever ended has taken some away.
 */
#ifndef KM_AGENT_TMP_LOOK_H
#define KM_AGENT_TMP_LOOK_H

#include "common/base.h"

#define TMP_LOOK_WRITERS 32
#define TMP_LOOK_TEXT_SIZE 4096
/* Less of a credit is nobody's: a thread that answers clients writes a little at any time. */
#define TMP_LOOK_CREDIT_MIN (1 * KM_MIB)

struct tmp_writer {
    uint64_t thread; /* as the server numbers it: in the namespace of its container */
    uint64_t bytes;
    int64_t last_ms; /* when it was credited last */
};

struct tmp_look {
    int64_t at_ms; /* by the monotonic clock, which is the node's */
    uint64_t bytes;
    size_t writer_count; /* the largest first */
    struct tmp_writer writers[TMP_LOOK_WRITERS];
};

/* The length of the text, which ends itself: it can be written over a longer one. */
size_t tmp_look_render(const struct tmp_look *look, char ret[static TMP_LOOK_TEXT_SIZE]);
/* False: it is no such text, or not a whole one. */
bool tmp_look_parse(const char *text, struct tmp_look *ret);

/* ---- the credits ---- */

struct tmp_thread {
    uint64_t thread;
    uint64_t written; /* since it began, whatever it was */
    uint64_t credit;
    int64_t last_ms;
};

struct tmp_ledger {
    bool has_begun;
    uint64_t bytes; /* of the latest look */
    struct tmp_thread *threads;
    size_t count;
};

/* threads: all that there are now, `thread` and `written` are set; the ledger owns them from now on. */
void tmp_ledger_take(struct tmp_ledger *ledger, struct tmp_thread *threads, size_t count, uint64_t bytes, int64_t at_ms);
void tmp_ledger_fill(const struct tmp_ledger *ledger, struct tmp_look *look);
void tmp_ledger_release(struct tmp_ledger *ledger);

#endif
