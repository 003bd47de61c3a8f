/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action_lane.h: the thread that changes things: system tables after an upgrade, accounts; and the check of a my.cnf,
 * which runs a program.
 *
 * Jobs run one after another with sessions of their own, so that a long one never delays a probe.
 */
#ifndef KM_AGENT_ACTION_LANE_H
#define KM_AGENT_ACTION_LANE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/accounts.h"
#include "agent/mysql/dialect.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/strvec.h"

struct action_lane;

/* paths and user must outlive the lane. */
struct action_lane *action_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user);
void action_lane_free(struct action_lane *lane);

/* error: ERROR_NONE if everything was done. Runs on the loop, exactly once per job; ERROR_CANCELLED
 * from within action_lane_free. */
typedef void (*action_done_fn)(void *arg, const struct error *error);

/* What was found of a server whose accounts were tended; valid during the call. */
struct action_tended {
    uint64_t digest;                 /* of the accounts as they are then (accounts.h); 0: they were not applied */
    struct accounts_left left;       /* likewise */
    const char *username, *database; /* as wanted; NULL: none */
    bool requires_tls;               /* likewise (accounts_want) */
    const char *made_with, *older_tables;
};
typedef void (*action_tended_fn)(void *arg, const struct error *error, const struct action_tended *tended);
/* Upgrades the system tables if an older series wrote them (no member's binary log knows of it), then applies the
 * accounts as far as want->scope goes and, if that is anything, leaves a mark that it was done once. Takes `want`. No
 * change of role may run at the same time. */
void action_lane_tend(struct action_lane *lane, struct accounts_want *want, const struct server_version *version,
    bool partial_revokes, action_tended_fn fn, void *arg);

/* mysql/events.h */
void action_lane_tend_events(
    struct action_lane *lane, const struct server_version *version, bool take_over, action_done_fn fn, void *arg);

/* The server is stopped for as long as its mark stands (server_exec.h), which is written first. */
void action_lane_stop_server(struct action_lane *lane, action_done_fn fn, void *arg);
/* The mark goes. */
void action_lane_let_start(struct action_lane *lane, action_done_fn fn, void *arg);

/* Makes the server read its certificates again. */
void action_lane_reload_tls(
    struct action_lane *lane, const struct server_version *version, action_done_fn fn, void *arg);

/* Whether this image's server takes the given my.cnf together with this instance's own lines. -1: too many wait, fn
 * does not run. */
int action_lane_check_mycnf(struct action_lane *lane, const char *mycnf, size_t len, const char *pod_name,
    action_done_fn fn, void *arg) KM_MUST_CHECK;

/* Takes a changed my.cnf over while the server runs, if every change can be (mysql/variables.h); then run_mycnf is
 * written anew, too. applied, needs_restart: names, valid during the call. */
typedef void (*action_applied_fn)(
    void *arg, const struct error *error, const struct strvec *applied, const struct strvec *needs_restart);
int action_lane_apply_mycnf(struct action_lane *lane, const char *mycnf, size_t len, const char *pod_name,
    uint16_t mysql_port, action_applied_fn fn, void *arg) KM_MUST_CHECK;
/* The same without changing anything: needs_restart is what it would be, but for values that the server refuses. */
int action_lane_preview_mycnf(struct action_lane *lane, const char *mycnf, size_t len, const char *pod_name,
    uint16_t mysql_port, action_applied_fn fn, void *arg) KM_MUST_CHECK;

/* Whether accounts were applied to this data folder before. */
bool action_lane_accounts_mark(const struct agent_paths *paths);

#endif
