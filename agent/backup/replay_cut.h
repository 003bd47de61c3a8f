/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_cut.h: of each transaction of an archive, in the order of the chain: whether it is replayed. Pure.
 *
 * Fed with every transaction of every step of a plan (replay_plan.h); ends for good at the first one that lies beyond
 * the target. What a backup holds beyond that is an error, too: so a backup that is too new is noticed even where no
 * description says so.
 */
#ifndef KM_AGENT_BACKUP_REPLAY_CUT_H
#define KM_AGENT_BACKUP_REPLAY_CUT_H

#include "common/base.h"

#include "agent/backup/replay_plan.h"
#include "common/error.h"
#include "common/gtid.h"
#include "common/strbuf.h"

enum replay_verdict {
    REPLAY_TAKE,
    REPLAY_SKIP, /* the backup has it, or later primaries never had it */
    REPLAY_STOP, /* this one and all that follow are beyond the target */
};

struct replay_cut;

/* wish: as the plan's; outlives it. */
struct replay_cut *replay_cut_new(const struct replay_wish *wish, struct error *err);
void replay_cut_free(struct replay_cut *cut); /* NULL is fine */
/* Before a segment's transactions: what had been executed before them, by its description. */
int replay_cut_begin(
    struct replay_cut *cut, const char *after, const struct gtid_set *limit, struct error *err) KM_MUST_CHECK;
/* at_ms: when it was committed, by its event (whole seconds). -1 with *ret_reason. */
int replay_cut_judge(struct replay_cut *cut, const struct gtid_one *one, int64_t at_ms, enum replay_verdict *ret,
    enum replay_reason *ret_reason, struct error *err) KM_MUST_CHECK;
/* After the segment's last: whether they were the ones that the description promises. */
int replay_cut_end(struct replay_cut *cut, const char *until, uint64_t count, struct error *err) KM_MUST_CHECK;
bool replay_cut_stopped(const struct replay_cut *cut);
/* After all: the target was reached. */
int replay_cut_check(const struct replay_cut *cut, enum replay_reason *ret_reason, struct error *err) KM_MUST_CHECK;
/* What there is now: the backup and all that was taken. */
const struct gtid_set *replay_cut_reached(const struct replay_cut *cut);
int64_t replay_cut_reached_ms(const struct replay_cut *cut); /* of the last that was taken; 0 none */

#endif
