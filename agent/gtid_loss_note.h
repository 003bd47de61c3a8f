/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gtid_loss_note.h: that somebody has set back the GTID position of this data (gtid_loss.h), for those who come after:
 * data/kube-mysql-gtids-lost.json. It lies in the data folder, which a copy replaces by one rename: so it can never be
 * said of other data, and no copy takes it along.
 */
#ifndef KM_AGENT_GTID_LOSS_NOTE_H
#define KM_AGENT_GTID_LOSS_NOTE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/gtid_loss.h"
#include "common/error.h"
#include "common/worker.h"

#define GTID_LOSS_RETRY_MS 10000

/* One that cannot be read was written all the same: then all of it is taken for true. Blocking. */
struct gtids_lost gtid_loss_note_read(const struct agent_paths *paths);
/* On the disk when it returns. Blocking. */
int gtid_loss_note_write(
    const struct agent_paths *paths, const struct gtids_lost *lost, struct error *err) KM_MUST_CHECK;

/* Its way to the disk, on a worker's thread: a slow disk must not stop the loop. */
struct gtid_loss_keeper {
    const struct agent_paths *paths;
    struct worker *worker;
    bool busy;
    int64_t retry_ms;
    struct gtids_lost noted; /* on the disk */
    struct gtids_lost asked; /* the thread's, while it is busy */
    struct error error;
};

/* `paths` is borrowed for as long as the keeper lives; the worker is freed before it. */
void gtid_loss_keeper_init(struct gtid_loss_keeper *keeper, const struct agent_paths *paths, struct worker *worker);
/* Writes what is not on the disk yet. */
void gtid_loss_keeper_turn(struct gtid_loss_keeper *keeper, const struct gtids_lost *lost, int64_t now_ms);

#endif
