/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_plan.h: which archived segments (common/binlog_segment.h) are replayed on a restored backup, and where each is
 * cut; or why they cannot be. Pure: names come from a listing, descriptions (.json) by a function of the caller's, only
 * as many as are needed.
 *
 * What a chain says: of each epoch's transactions those that all later epochs had when they began (`limit`). From the
 * backup's own position on nothing may be missing: every segment must begin with what is there by then, sequence
 * numbers have no hole, each names the one before it by its digest.
 *
 * Which to read: names carry the time when a segment was archived, so the search begins with the newest one that was
 * archived well before the backup was begun, and goes back from there if that holds transactions that the backup (of a
 * replica that lagged) does not have.
 */
#ifndef KM_AGENT_BACKUP_REPLAY_PLAN_H
#define KM_AGENT_BACKUP_REPLAY_PLAN_H

#include "common/base.h"

#include "common/binlog_segment.h"
#include "common/error.h"
#include "common/gtid.h"
#include "common/strbuf.h"

/* Clocks of members and operator may differ by this. */
#define REPLAY_CLOCK_MARGIN_MS (10 * 60 * 1000)

enum replay_reason {
    REPLAY_STORE_FAILED, /* or something else that is not about the archive: by the kind of the error */
    REPLAY_GAP,          /* transactions are missing between the backup and the target */
    REPLAY_NOT_COVERED,  /* the archive does not reach the target (yet) */
    REPLAY_TOO_NEW,      /* the backup holds transactions beyond the target */
    REPLAY_DAMAGED,
    REPLAY_KEY,
    REPLAY_REASON_COUNT,
};
/* "", "GapInArchive", "TargetNotCovered", "BackupTooNew", "BackupDamaged", "KeyInvalid". */
extern const char *const replay_reason_names[REPLAY_REASON_COUNT];

struct replay_wish {
    enum gtid_flavour flavour;
    const char *folder;       /* NAMESPACE/CLUSTER/binlogs/UID: what the segments must say of themselves, too */
    const char *gtid;         /* the backup's position */
    int64_t backup_ms;        /* when it was begun */
    const char *until_gtid;   /* "": none */
    int64_t until_ms;         /* 0: none; both: all there is */
    const unsigned char *key; /* NULL: segments are not sealed; else all are. BACKUP_KEY_BYTES */
};

struct replay_step {
    struct binlog_segment_name name;
    char sha256[65]; /* of its .json as it was read for the plan */
    uint64_t raw_bytes;
    int64_t last_ms;
    const struct gtid_set *limit; /* the plan's; only what is in it counts. NULL: all */
};

struct replay_plan;

/* wish is copied, its texts are not. ERROR_INVALID: a position that cannot be read. */
struct replay_plan *replay_plan_new(const struct replay_wish *wish, struct error *err);
void replay_plan_free(struct replay_plan *plan); /* NULL is fine */
static inline void replay_plan_freep(struct replay_plan **p)
{
    replay_plan_free(*p);
}

/* An object's name, with or without folders; any order; others than segments' are ignored. ERROR_TOO_LARGE. */
int replay_plan_add(struct replay_plan *plan, const char *object, struct error *err) KM_MUST_CHECK;
/* Appends a segment's .json. */
typedef int (*replay_read_fn)(void *arg, const struct binlog_segment_name *name, struct strbuf *out, struct error *err);
/* Once, after all names. -1: refused, or read failed (REPLAY_STORE_FAILED). */
int replay_plan_make(struct replay_plan *plan, replay_read_fn read, void *arg, struct error *err) KM_MUST_CHECK;
enum replay_reason replay_plan_reason(const struct replay_plan *plan);
/* In the order of the chain; none: there is nothing to replay. */
size_t replay_plan_count(const struct replay_plan *plan);
const struct replay_step *replay_plan_step(const struct replay_plan *plan, size_t index);
uint64_t replay_plan_raw_bytes(const struct replay_plan *plan);

/* Checks that a description that was read is the segment's of that name, of that folder, flavour and key. Also used
 * when it is read again. Its positions are taken into the pool. */
int replay_check_segment(const struct replay_wish *wish, const struct binlog_segment_name *name, const char *text,
    size_t len, struct position_pool *positions, struct binlog_segment *ret, enum replay_reason *ret_reason,
    struct error *err) KM_MUST_CHECK;

#endif
