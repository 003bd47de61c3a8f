/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmp_room.h: how much the server's temporary files may take, and whose statement is to be ended when they take more.
 * Pure.
 *
 * They lie on the node's disk, and what fills that has the node evict pods. A size limit of the folder would do the
 * same. So there is a bound: a quarter of the data volume, TMP_BOUND_MIN at least and TMP_BOUND_MAX at most; or three
 * quarters of what the pod may write onto the node's disk, where it has such a limit (limits.ephemeral-storage).
 *
 * Beyond it one connection is ended at a time, the one that has most of them. What counts for that, the best first:
 *   what the server itself says (MariaDB 11.5 and later: TMP_SPACE_USED);
 *   what its thread wrote while the files grew (tmp_look.h), since its statement or its transaction began, if that is a
 *   part of the whole. A thread that commits one short transaction after the other may write as much, since it writes
 *   the redo log of others as well; but little of it since its own began;
 *   where threads have not written most of it, that the server counts or names files which its statement has made: of
 *   these the one that has run for longest.
 * Where nothing tells, nobody is ended.
 *
 * Whoever was ended takes a while to let its files go. Until it is gone, and for TMP_SETTLE_MS after, nobody else is
 * ended, unless the files grow on.
 */
#ifndef KM_AGENT_TMP_ROOM_H
#define KM_AGENT_TMP_ROOM_H

#include "common/base.h"

#include "agent/mysql/tmp_clients.h"
#include "agent/tmp_look.h"

#define TMP_BOUND_MIN (256ULL * KM_MIB)
#define TMP_BOUND_MAX (10240ULL * KM_MIB)
/* An older look tells nothing: there is no scout. */
#define TMP_LOOK_OLD_MS 30000
#define TMP_SETTLE_MS 2000
/* A rollback of what was ended may take longer: then the next one is chosen. */
#define TMP_GONE_MAX_MS 60000

/* ephemeral_bytes: 0: there is no limit. 0: the size of the volume is not known yet. */
uint64_t tmp_room_bound(uint64_t volume_bytes, uint64_t ephemeral_bytes);
bool tmp_room_knows(const struct tmp_look *look, int64_t now_ms);

/* The looks of the last seconds: what a thread has been credited with since a time. */
#define TMP_HISTORY_LOOKS 64
struct tmp_history {
    struct tmp_look looks[TMP_HISTORY_LOOKS];
    size_t count, newest;
};
/* One that is there already is left out. */
void tmp_history_add(struct tmp_history *history, const struct tmp_look *look);

enum tmp_evidence { TMP_EVIDENCE_NONE, TMP_EVIDENCE_SERVER, TMP_EVIDENCE_THREAD, TMP_EVIDENCE_STATEMENT };
extern const char *const tmp_evidence_names[]; /* for the log */

struct tmp_choice {
    enum tmp_evidence evidence; /* NONE: nobody */
    size_t client;              /* its index */
    uint64_t bytes;             /* its own; 0: not known */
};
/* By the newest look, of which there must be one. now_ms: when the clients were listed. */
struct tmp_choice tmp_room_choose(
    const struct tmp_history *history, const struct tmp_client *clients, size_t count, int64_t now_ms);

/* The connection that was ended last. */
struct tmp_ended {
    uint64_t id; /* 0: none */
    int64_t at_ms;
    uint64_t bytes; /* that there were then */
};
/* is_there: it still is among the connections. */
bool tmp_room_waits(const struct tmp_ended *ended, const struct tmp_look *look, bool is_there, int64_t now_ms);

#endif
