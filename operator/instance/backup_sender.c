/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/backup_sender.h"

#include "common/alloc.h"

static const struct task_door door_of_backups = {.method = "POST", .path = "/v1/backups", .end_path = "/v1/backups/"};
static const struct task_door door_of_restores = {.method = "PUT", .path = "/v1/restore"};

struct backup_sender {
    struct task_sender *tasks;
};

static struct backup_sender *make(struct loop *loop, struct http_client *http, const struct agent_target *target,
    const struct task_door *door, void (*changed)(void *arg), void *arg)
{
    struct backup_sender *sender = xnew(struct backup_sender);
    sender->tasks = task_sender_new(loop, http, target, door, changed, arg);
    return sender;
}

struct backup_sender *backup_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    void (*changed)(void *arg), void *arg)
{
    return make(loop, http, target, &door_of_backups, changed, arg);
}

struct backup_sender *backup_sender_new_for_restores(struct loop *loop, struct http_client *http,
    const struct agent_target *target, void (*changed)(void *arg), void *arg)
{
    return make(loop, http, target, &door_of_restores, changed, arg);
}

void backup_sender_free(struct backup_sender *sender)
{
    if (!sender)
        return;
    task_sender_free(sender->tasks);
    free(sender);
}

void backup_sender_want(struct backup_sender *sender, const char *owner, const struct backup_task *task)
{
    if (!task) {
        task_sender_drop(sender->tasks, owner);
        return;
    }
    struct strbuf text;
    strbuf_init(&text, BACKUP_TASK_MAX);
    backup_task_encode(task, &text);
    task_sender_want(sender->tasks, owner, task->id, text.buf);
    strbuf_release_secret(&text);
}

void backup_sender_end(struct backup_sender *sender, const char *id)
{
    task_sender_end(sender->tasks, id);
}

void backup_sender_heard(struct backup_sender *sender, const char *boot_id, const char *shown_id)
{
    task_sender_heard(sender->tasks, boot_id, shown_id);
}

void backup_sender_lost(struct backup_sender *sender)
{
    task_sender_lost(sender->tasks);
}

const char *backup_sender_error(const struct backup_sender *sender, const char *id)
{
    return task_sender_error(sender->tasks, id);
}

bool backup_sender_refused(const struct backup_sender *sender, const char *id)
{
    return task_sender_refused(sender->tasks, id);
}

bool backup_sender_impossible(const struct backup_sender *sender, const char *id)
{
    return task_sender_impossible(sender->tasks, id);
}
