/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_end.h: where an archive ends and where the chain that leads there begins, as the store says it; and what was
 * left in it by writers that are gone.
 *
 * Everything is found from a full listing and the descriptions of the newest and of the oldest segment. What a round
 * before of the same agent knew saves that, as far as a listing of the newest names shows that nobody else has written.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_END_H
#define KM_AGENT_BACKUP_ARCHIVE_END_H

#include "common/base.h"

#include "agent/backup/archive_chain.h"
#include "agent/backup/archive_store.h"
#include "agent/backup/archive_word.h"
#include "common/gtid.h"

struct archive_end {
    struct archive_store *store;
    const struct archive_task *task;
    enum gtid_flavour flavour;
    uint64_t epoch;            /* of who asks: a later one in the archive is an error */
    struct segment_list names; /* empty when what was known was enough */
    bool damaged;              /* an error was about what is stored, not about the store */
    /* Going back, archive_end_older: `limit` is what the segment at entry `at` begins with. */
    size_t at;
    /* owned; NULL: there is nothing to go back to. What is beyond it in older epochs does not count */
    struct gtid_set *limit;
    bool limit_told, begins; /* begins: on the other side of a gap */
    /* Of the newest segment. */
    char writer[64];
    int64_t last_ms;
};

void archive_end_release(struct archive_end *end);
/* Whether what is known still holds. */
int archive_end_confirm(
    struct archive_end *end, const struct archive_memory *memory, bool *ret, struct error *err) KM_MUST_CHECK;
/* Releases *ret, and fills all of it but where the logs were read to. chain.sequence 0: the next segment begins a
 * chain (another key). */
int archive_end_find(struct archive_end *end, struct archive_memory *ret, struct error *err) KM_MUST_CHECK;
/* After archive_end_find: ends of segments before the newest one, newest first, as far as the chain goes back; *ret
 * NULL: no more. The caller's to free. */
int archive_end_older(struct archive_end *end, struct gtid_set **ret, struct error *err) KM_MUST_CHECK;
/* Removes logs without a description that nobody writes any more, and uploads that were not completed. */
int archive_end_tidy(struct archive_end *end, int64_t now_ms, struct error *err) KM_MUST_CHECK;

#endif
