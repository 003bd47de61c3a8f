/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_rig.h: members (replication_rig.h), a store, the process that archives (`kube-mysql-agent archive`) run by
 * hand, and what a reader makes of the archive afterwards.
 */
#ifndef KM_AGENT_TESTS_ARCHIVE_RIG_H
#define KM_AGENT_TESTS_ARCHIVE_RIG_H

#include "common/base.h"

#include "agent/backup/archive_word.h"
#include "agent/tests/replication_rig.h"
#include "common/gtid.h"

struct archive_rig {
    struct replication_rig *members;
    struct agent_rig *store;
    struct agent_process store_process;
    enum gtid_flavour flavour;
    struct archive_task task;
    struct archive_memory memory; /* of the last round, if it went well */
    struct archive_memory said;   /* of the last word: holds what archive_rig_round tells */
    int64_t named_after_ms;
    unsigned rounds, killed;
};

struct gtid_list {
    struct gtid_one *v;
    size_t n, capacity;
};
void gtid_list_release(struct gtid_list *list);

/* root: as of agent_rig_new_in. */
struct archive_rig *archive_rig_new(const char *root);
void archive_rig_free(struct archive_rig *rig);
void archive_rig_start_store(struct archive_rig *rig);

/* A round on a member, as its agent would begin it. kill_ms: the child is killed so long after it began (-1: not).
 * False: it was killed, or failed; *ret has its last word, its position until the next round. */
bool archive_rig_round(struct archive_rig *rig, unsigned member, int kill_ms, struct archive_word *ret);
/* Rounds until there is nothing more; they must go well. */
void archive_rig_catch_up(struct archive_rig *rig, unsigned member, struct archive_word *ret);

/* Transactions in a member's own logs that are not in `after`. */
void archive_rig_expected(struct archive_rig *rig, unsigned member, const struct gtid_set *after, struct gtid_list *ret);
/* All that the chain says, in its order, by the rule of common/binlog_segment.h; *ret_after: what the first segment
 * begins with. Checks digests, seals, and that the segments are joined. from_epoch: segments of earlier epochs are left
 * out. */
void archive_rig_read(struct archive_rig *rig, uint64_t from_epoch, struct gtid_set **ret_after, struct gtid_list *ret);
void archive_rig_assert_same(const struct archive_rig *rig, struct gtid_list *archived, struct gtid_list *expected);
/* Files of the archive in the store whose names end so. */
unsigned archive_rig_count(const struct archive_rig *rig, const char *ending);

#endif
