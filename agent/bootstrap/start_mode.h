/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_mode.h: whether the next start of the server may cut off what nobody has acknowledged. Three small files.
 *
 * state_dir/semi-sync-primary, an epoch: this member's server is open for writes under that epoch, and each commit
 * since then waits for an acknowledgement (at least one has come, so everything before is acknowledged too). On the
 * volume, so that it outlives the pod. Removed when the server was closed, before semi-sync is turned off, and when a
 * server is started: it stands for how the server ended last.
 *
 * state_dir/start-cut, empty: such a start has begun, and no agent has been connected to the server since. Whoever
 * starts there next marks the data as to be replaced (volume_mark.h). Tried on MariaDB 10.11.19, killed behind the cut:
 * the next plain start ends with "Found 2 prepared transactions! ... You have to start server with
 * --tc-heuristic-recover", and one with that option completes an interrupted DROP without logging it
 * (agent/mysql/start_domain.h).
 *
 * run_dir/start-mode.json: what the operator's newest order means for the start that is due, written while no server
 * runs, removed by that start.
 *
 * Facts, tried on MariaDB 10.11.19 (AFTER_SYNC, three commits waiting, kill -9): a plain start commits what the binary
 * log holds; --init-rpl-role=SLAVE cuts the binary log where the engine's prepared transactions begin and rolls them
 * back: position and rows were the replica's. --rpl-semi-sync-slave-enabled=ON alone did nothing there; in older
 * releases (before MDEV-33465) it was the one that counted, so both are given. What is cut off is whatever the engine
 * had prepared and not committed, acknowledged or not: hence the order must say that another primary has all that was
 * acknowledged. Of an asynchronous primary those would be commits that clients were told of.
 *
 * MariaDB 10.5 takes both options and cuts nothing off: there the start is a plain one (server_features.h), and a
 * member that has anything alone is found so (errant), and copied anew.
 */
#ifndef KM_AGENT_BOOTSTRAP_START_MODE_H
#define KM_AGENT_BOOTSTRAP_START_MODE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_order.h"
#include "common/error.h"

#define START_MODE_BEYOND_SIZE 512

struct start_mode {
    uint64_t epoch; /* of the order */
    bool truncate;
    /* With truncate: what the primary had when it was chosen (agent_order.h, beyond). A server that has nothing beyond
     * it has nothing to be cut off; its tail is all acknowledged, perhaps, and this the only member that has it beside
     * that primary. "": not known. */
    char beyond[START_MODE_BEYOND_SIZE];
};

/* Pure. Whether an order decides how a server that ended as semi-sync primary of `primary_epoch` (0: it did not) is
 * started. Hold and fence do not: the order that follows them will. */
bool start_mode_decide(const struct agent_order *order, uint64_t primary_epoch, struct start_mode *ret);

/* Pure. Hold and fence of a newer epoch: whose primary the word counted on may be gone, and this server's tail may be
 * the proof that is looked for. */
bool start_mode_is_withdrawn(const struct agent_order *order, const struct start_mode *mode);

int start_mode_write(const struct agent_paths *paths, const struct start_mode *mode, struct error *err) KM_MUST_CHECK;
bool start_mode_read(const struct agent_paths *paths, struct start_mode *ret);
void start_mode_clear(const struct agent_paths *paths);

/* 0 removes. On the disk when it returns. */
int start_mode_mark_primary(const struct agent_paths *paths, uint64_t epoch, struct error *err) KM_MUST_CHECK;
uint64_t start_mode_primary(const struct agent_paths *paths); /* 0: it is none */

/* On the disk when it returns. */
int start_mode_note_cut(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
bool start_mode_has_cut(const struct agent_paths *paths);
void start_mode_forget_cut(const struct agent_paths *paths);

#endif
