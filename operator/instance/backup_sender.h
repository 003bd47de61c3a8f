/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_sender.h: gives one agent the task of a backup (backup_task.h) by POST /v1/backups until its status shows the
 * backup's id, and again when its keys change; ends one by DELETE. Part of agent_watch.
 *
 * How it is given, again and again, is task_sender.h's. A task's keys may change under the same id: then it is given
 * once more.
 */
#ifndef KM_BACKUP_SENDER_H
#define KM_BACKUP_SENDER_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/loop.h"
#include "operator/instance/agent_target.h"
#include "operator/instance/task_sender.h"

struct backup_sender;

/* `target` must outlive the sender. `changed` runs when the first try fails, and when it is refused. */
struct backup_sender *backup_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    void (*changed)(void *arg), void *arg);
/* The same for the task of a restore: PUT /v1/restore, of which there is nothing to end. */
struct backup_sender *backup_sender_new_for_restores(struct loop *loop, struct http_client *http,
    const struct agent_target *target, void (*changed)(void *arg), void *arg);
/* No callback follows; a request under way may still reach the agent. NULL is fine. */
void backup_sender_free(struct backup_sender *sender);
/* task NULL: none any more, if it was this owner's; else what others want stays. A task replaces whatever was wanted.
 * Copied. */
void backup_sender_want(struct backup_sender *sender, const char *owner, const struct backup_task *task);
/* Ends the backup of this id; fine to repeat, and while nothing is known of it. */
void backup_sender_end(struct backup_sender *sender, const char *id);
/* What a status says. */
void backup_sender_heard(struct backup_sender *sender, const char *boot_id, const char *shown_id);
void backup_sender_lost(struct backup_sender *sender);
/* Why the task of this id is not delivered; "" if it is, was not tried yet, or is not wanted. */
const char *backup_sender_error(const struct backup_sender *sender, const char *id);
bool backup_sender_refused(const struct backup_sender *sender, const char *id);
/* It is refused because the image lacks what the method takes (task_sender.h). */
bool backup_sender_impossible(const struct backup_sender *sender, const char *id);

#endif
