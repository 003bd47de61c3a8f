/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_round.h: one round: from the archive's end as the store says it to what the server's binary logs hold beyond
 * it, one segment after the other.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_ROUND_H
#define KM_AGENT_BACKUP_ARCHIVE_ROUND_H

#include "common/base.h"

#include "agent/backup/archive_store.h"
#include "agent/backup/archive_word.h"
#include "common/error.h"

/* Then the agent gets a word of it and begins the next one at once. */
#define ARCHIVE_ROUND_SEGMENTS 16

struct archive_round {
    struct archive_store *store;
    const struct archive_task *task;
    const struct archive_order *order;
    const char *data_dir;
    void (*tell)(void *arg, const struct archive_word *word); /* after each segment */
    void *arg;
};

/* -1: *ret says why, too. The caller releases *ret in any case (archive_word.h). */
int archive_round_run(const struct archive_round *round, struct archive_word *ret, struct error *err) KM_MUST_CHECK;

#endif
