/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_sender.h: gives one agent a task, whatever is in it, until its status shows that the task arrived; takes it
 * back. Part of agent_watch: backups and restores by backup_sender.h.
 *
 * A task is a text and an id, which is what the agent's status shows of it. At most one request at a time. A success
 * that the status does not show yet is given TASK_SENDER_GRACE_MS; a failure is tried again with back-off from 200 ms
 * to 5 s. A refusal (400, 409) is final for this task and this process of the agent.
 * Nothing is sent while the status stream is lost, and the task is forgotten with it: whoever decides gives it anew.
 * What was wanted is wiped when it is no more: keys are in it.
 */
#ifndef KM_TASK_SENDER_H
#define KM_TASK_SENDER_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/loop.h"
#include "operator/instance/agent_target.h"

#define TASK_SENDER_GRACE_MS 1000

struct task_sender;

/* Where it goes. */
struct task_door {
    const char *method, *path; /* static, of the task itself */
    const char *
        end_path; /* DELETE there ends the task of an id, which is put behind it when it ends in "/"; NULL: nothing can be ended */
    /* The id stands for all of the task. False: what is another text under the same id must be given, too, and a
     * success is the only proof that it was. */
    bool id_is_digest;
};

/* `target` and what `door` points to must outlive the sender. `changed` runs when the first try fails, and when it is
 * refused. */
struct task_sender *task_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    const struct task_door *door, void (*changed)(void *arg), void *arg);
/* No callback follows; a request under way may still reach the agent. NULL is fine. */
void task_sender_free(struct task_sender *sender);
/* A task replaces whatever was wanted. Copied. */
void task_sender_want(struct task_sender *sender, const char *owner, const char *id, const char *text);
/* None any more, if it was this owner's; else what others want stays. The agent keeps what it has. */
void task_sender_drop(struct task_sender *sender, const char *owner);
/* Ends the task of this id; fine to repeat, and while nothing is known of it. */
void task_sender_end(struct task_sender *sender, const char *id);
/* What a status says. */
void task_sender_heard(struct task_sender *sender, const char *boot_id, const char *shown_id);
void task_sender_lost(struct task_sender *sender);
/* Why the task of this id is not delivered; "" if it is, was not tried yet, or is not wanted. */
const char *task_sender_error(const struct task_sender *sender, const char *id);
bool task_sender_refused(const struct task_sender *sender, const char *id);
/* It is refused for what the image lacks: asking again, or another member with that image, does not help. */
bool task_sender_impossible(const struct task_sender *sender, const char *id);

#endif
