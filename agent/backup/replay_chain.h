/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_chain.h: the segments of an archive as replay_plan.c sees them: sorted, duplicates settled, descriptions read
 * when they are asked for. Pure but for the caller's function that reads.
 *
 * A slot is a place in the chain (epoch, sequence) with the one or more segments that were written for it.
 */
#ifndef KM_AGENT_BACKUP_REPLAY_CHAIN_H
#define KM_AGENT_BACKUP_REPLAY_CHAIN_H

#include "common/base.h"

#include "agent/backup/replay_plan.h"
#include "agent/backup/segment_list.h"

/* What the plan needs of a description. */
struct replay_meta {
    struct binlog_segment_name name;
    char sha256[65], previous[65];
    struct gtid_set *after, *until;
    int64_t first_ms, last_ms;
    uint64_t raw_bytes;
    bool gap, has_log;
};

struct replay_chain {
    const struct replay_wish *wish;
    struct segment_list list;
    struct replay_meta **metas; /* of each entry of the list; NULL: not read, or dropped */
    struct replay_slot *slots;
    size_t slot_count;
    struct replay_epoch *epochs;
    size_t epoch_count;
    size_t limits_from; /* limits of this epoch and of those behind it are known */
    replay_read_fn read;
    void *arg;
    enum replay_reason reason;
};

void replay_chain_release(struct replay_chain *chain);
int replay_chain_add(struct replay_chain *chain, const char *object, struct error *err) KM_MUST_CHECK;
/* After all names. */
void replay_chain_sort(struct replay_chain *chain);

const struct binlog_segment_name *replay_chain_name(const struct replay_chain *chain, size_t slot);
/* Whether all that was written for it was archived before. */
bool replay_chain_is_before(const struct replay_chain *chain, size_t slot, int64_t ms);
/* The segment that counts. Valid until replay_chain_drop of that slot. */
const struct replay_meta *replay_chain_meta(struct replay_chain *chain, size_t slot, struct error *err);
void replay_chain_drop(struct replay_chain *chain, size_t slot);
/* What all epochs behind the slot's had when they began; *ret NULL: there are none. */
int replay_chain_limit(
    struct replay_chain *chain, size_t slot, const struct gtid_set **ret, struct error *err) KM_MUST_CHECK;

#endif
