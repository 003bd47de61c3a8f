/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_fetch.h: the archived transactions of a plan, fetched, checked and cut, as relay logs of bounded size in a
 * folder.
 *
 * A segment is unpacked into a file first. Only when its size, digest, seal and the number of its transactions are
 * right (I8) is anything of it appended to the batch: whole transactions, and the events between them (descriptions,
 * names of logs). A batch gets its name when it is whole. Blocking; memory: one buffer and what unpacking takes.
 */
#ifndef KM_AGENT_BACKUP_REPLAY_FETCH_H
#define KM_AGENT_BACKUP_REPLAY_FETCH_H

#include "common/base.h"

#include "agent/backup/replay_cut.h"
#include "agent/backup/replay_plan.h"
#include "agent/backup/replay_store.h"
#include "common/error.h"

/* A batch is ended by the segment that brings it over this. */
#define REPLAY_BATCH_BYTES ((uint64_t)(64 * KM_MIB))

struct replay_fetch;

struct replay_fetch_options {
    const struct replay_store *store;
    const struct replay_wish *wish;
    const char *dir; /* for batches (replay_word.h) */
};

/* NULL with an error. Options are copied, what they point to is not. */
struct replay_fetch *replay_fetch_new(const struct replay_fetch_options *options, struct error *err);
void replay_fetch_free(struct replay_fetch *fetch); /* NULL is fine; batches stay */
/* The next segment of the plan. -1 with *ret_reason. */
int replay_fetch_step(struct replay_fetch *fetch, const struct replay_step *step, enum replay_reason *ret_reason,
    struct error *err) KM_MUST_CHECK;
/* Whether there is as much in the batch as there is to be. */
bool replay_fetch_is_full(const struct replay_fetch *fetch);
/* Names the batch. *ret_number 0: nothing was taken since the last one. */
int replay_fetch_end_batch(struct replay_fetch *fetch, uint64_t *ret_number, struct error *err) KM_MUST_CHECK;
const struct replay_cut *replay_fetch_cut(const struct replay_fetch *fetch);

#endif
