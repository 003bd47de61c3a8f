/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_watch.h: one agent's standing status stream (GET /v1/status?watch=1 over mutual TLS), kept open; and the order
 * and the my.cnf that it should have.
 *
 * Who answers must be who was asked (agent_identity.h): the first status that names another pod, or another UID, ends
 * the stream like a loss, is not kept and is logged once.
 *
 * Every line is a whole status; a stream that breaks or falls silent (its target's silence_ms) is opened again with
 * back-off from 200 ms to 5 s. Unreachable is not dead (I5): the age of the last word is kept, judging is for others.
 * The last line is kept as text (2 KiB, decoded 12) and decoded on demand.
 *
 * `changed` runs when
 * - a status says something new: any change that counts (agent_status_same), but for transactions executed or received
 *   and the wording of the oldest transaction; commits that begin or cease to wait for AGENT_WATCH_BLOCKED_MS;
 * - something progressed (a copy, a backup, lag, free bytes, long transactions), at most every AGENT_WATCH_PROGRESS_MS;
 * - the stream is lost, and at the first word after a loss; the first attempt to open it failed;
 * - an order could not be given, or was refused;
 * - there is a verdict on a my.cnf;
 * - the task of a backup or of the archive could not be given, or was refused.
 */
#ifndef KM_AGENT_WATCH_H
#define KM_AGENT_WATCH_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/http_client.h"
#include "common/loop.h"
#include "operator/instance/agent_target.h"
#include "operator/instance/backup_sender.h"
#include "operator/instance/mycnf_sender.h"

/* Six missed lines (one every AGENT_STATUS_INTERVAL_MS). */
#define AGENT_WATCH_SILENCE_MS 3000
#define AGENT_WATCH_PROGRESS_MS 1000
#define AGENT_WATCH_BLOCKED_MS 1000

struct agent_watch;

struct agent_watch *agent_watch_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    void (*changed)(void *arg), void *arg);
/* No callback follows. NULL is fine. */
void agent_watch_free(struct agent_watch *watch);
/* Something was heard of the pod: if the stream is not open, the next attempt comes at once instead of at the end of
 * its back-off. */
void agent_watch_nudge(struct agent_watch *watch);
/* The last status, its positions in the pool. False if none ever came; then *ret is left alone. A binary log that the
 * agent tells of has been begun: where a clock that was wrong says that it will be, binlogs_from_ms is when that was
 * heard first. */
bool agent_watch_read_status(const struct agent_watch *watch, struct position_pool *positions, struct agent_status *ret);
/* Pure: of what is news in a status but for progress. A busy server has new transactions with every word. Blanks in
 * *status what does not count. */
uint64_t agent_watch_digest(struct agent_status *status);
/* Whether the stream is open and has spoken on this connection. */
bool agent_watch_connected(const struct agent_watch *watch);
/* Whether the first attempt to open the stream has come to an end, be it a good one. */
bool agent_watch_tried(const struct agent_watch *watch);
/* Milliseconds since the last word; if there was none, since this watch began to listen. */
int64_t agent_watch_age_ms(const struct agent_watch *watch);
/* Why the stream is not open; "" while it is. */
const char *agent_watch_error(const struct agent_watch *watch);
/* Whether it speaks with whoever has this address: a pod that is made again has another one, and says nothing before it
 * is asked. */
bool agent_watch_has_address(const struct agent_watch *watch, const char *address);
/* Whether it is for the pod of this UID. */
bool agent_watch_is_for(const struct agent_watch *watch, const char *uid);
bool agent_watch_same_target(const struct agent_watch *watch, const struct agent_target *target);

/* The order that this agent should have (NULL: none): given at once, and again whenever its status shows another one,
 * as after a restart of the agent. Copied. Calling it again with the same order costs nothing. */
void agent_watch_order(struct agent_watch *watch, const struct agent_order *order);
/* Whether it is repeated once a second, as a sign of life. */
void agent_watch_repeat_order(struct agent_watch *watch, bool repeat);
/* Why it is not given; "" if it is, or was not tried yet. */
const char *agent_watch_order_error(const struct agent_watch *watch);
/* Whether the agent refused it, and the larger epoch that it has seen. Not tried again before another order is
 * wanted. */
bool agent_watch_order_refused(const struct agent_watch *watch, uint64_t *ret_epoch);

/* The my.cnf that this agent's server should take up while it runs (mycnf_sender.h), and what became of it. */
void agent_watch_mycnf(struct agent_watch *watch, const char *hash, const char *text);
enum mycnf_verdict agent_watch_mycnf_verdict(const struct agent_watch *watch, const char *hash, const char **ret_text);
/* Likewise the my.cnf of which it should only say whether its server could take it up while it runs. */
void agent_watch_preview(struct agent_watch *watch, const char *hash, const char *text);
enum mycnf_verdict agent_watch_preview_verdict(const struct agent_watch *watch, const char *hash);

/* What this agent is to back up (backup_sender.h). */
struct backup_sender *agent_watch_backup(const struct agent_watch *watch);
/* What its `init` is to restore, while that runs. */
struct backup_sender *agent_watch_restore(const struct agent_watch *watch);
/* How it is to archive binary logs (archive_task.h): the id is the task's digest. */
struct task_sender *agent_watch_archive(const struct agent_watch *watch);
/* Which binary logs it may remove (agent_api.h: purge_wish): the id is the wish's. */
struct task_sender *agent_watch_purge(const struct agent_watch *watch);
/* What data it is to check (check_task.h). */
struct task_sender *agent_watch_check(const struct agent_watch *watch);

#endif
