/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_aside.h: what would be lost when data is replaced or cut off is kept on the volume (I7):
 * state_dir/set-aside/TIME-epochN/ with
 *
 *   transactions.txt   why, and the GTIDs of what is here, oldest first
 *   binlog.000001      those transactions, as a binary log that mysqlbinlog and mariadb-binlog read
 *   raw.NAME           instead of it: the newest binary logs as they are, when they cannot be taken apart (encrypted,
 *   damaged)
 *
 * Three places ask for it: a running member that is marked to be replaced (healing.h), a start that cuts off a tail
 * (set_aside_tail.h), and `init` before the first byte of a copy that replaces data, whatever the reason and the mark
 * (seed_attempt.h). Only the last one can be relied upon; the first knows best what is errant.
 *
 * Which ones: MySQL's errant transactions are named exactly. MariaDB names a position; kept are the newest transactions
 * of the server that wrote there, in `init` those behind the last one that the others have.
 * Where somebody has set back the GTID position of the data (gtid_loss_note.h), numbers prove nothing: what was written
 * behind it may bear the numbers of other transactions elsewhere. So of a server that was open then the newest are
 * kept, whatever the others have, and no such set is ever taken back (set_aside_judge.h).
 * Bounded: a set by SET_ASIDE_MAX_BYTES, the newest being kept; sets by number (so that a status names all of them) and
 * sum, the oldest going first. transactions.txt and the log say what was left out. A set takes a third of the free
 * space at most. Where transactions are left out for that reason it fails, and the data stays until there is room;
 * unless it is not known which ones the others lack: then it holds the newest that have room, one at least.
 *
 * A folder gets its name last, when all of it is on the disk. Blocking: for a worker's thread, or a process without a
 * loop.
 */
#ifndef KM_AGENT_SET_ASIDE_H
#define KM_AGENT_SET_ASIDE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/error.h"
#include "common/strbuf.h"

#define SET_ASIDE_MAX_BYTES ((uint64_t)(256 * KM_MIB))
#define SET_ASIDE_SETS_MAX AGENT_SET_ASIDES_MAX
#define SET_ASIDE_SUM_MAX ((uint64_t)(1024 * KM_MIB))

/* Before data is replaced, whatever the reason: what it has beyond `theirs` (set_aside_beyond.h), the position of who
 * keeps the history. ret: what lies on the volume then, be there nothing beyond it. -1: the data must stay. */
int set_aside_before_replacing(const struct agent_paths *paths, enum agent_flavour flavour, uint64_t epoch,
    const char *theirs, struct agent_set_asides *ret, struct error *err) KM_MUST_CHECK;

struct set_aside_wish {
    const struct agent_paths *paths;
    enum agent_flavour flavour;
    uint64_t epoch;
    const char *errant;  /* GTIDs; "": not known, the newest are kept */
    const char *behind;  /* MariaDB: a position; what is in it is not kept. NULL or "": there is none */
    uint64_t end;        /* set_aside_beyond.h; 0: it is looked up */
    const char *reason;  /* for people */
    uint64_t max_bytes;  /* 0: SET_ASIDE_MAX_BYTES */
    uint64_t room_bytes; /* 0: a third of what is free on the volume */
    bool is_lost;        /* set_aside_make's: gtid_loss_note.h */
    uint64_t min_bytes;  /* where there is no room for so many nothing is kept, no older set goes, and it fails */
};

/* ret: what lies on the volume then, this set first. If the newest set on the volume is of the same end of the binary
 * logs and of the same transactions, or holds the very bytes that would be kept, it is as good. */
int set_aside_make(const struct set_aside_wish *wish, struct agent_set_asides *ret, struct error *err) KM_MUST_CHECK;
/* Of the sets on the volume those that were not taken back. */
void set_aside_list(const struct agent_paths *paths, struct agent_set_asides *ret);

/* What is in that folder, as holds_door.h takes it. -1: ERROR_INVALID the list is not whole, so that nothing can be
 * said of all of it; ERROR_TOO_LARGE is told as that, too. */
int set_aside_gtids(const struct agent_paths *paths, const char *folder, enum agent_flavour flavour, struct strbuf *ret,
    struct error *err) KM_MUST_CHECK;
/* The cluster has all of it, as the primary of that epoch has shown: set_aside_list leaves it out. The files stay. */
int set_aside_take_back(
    const struct agent_paths *paths, const char *folder, uint64_t epoch, struct error *err) KM_MUST_CHECK;

#endif
