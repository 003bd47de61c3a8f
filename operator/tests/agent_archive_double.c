/* SPDX-License-Identifier: Apache-2.0 */
/* The archive of binary logs as an agent double has it: a task, and a report of rounds that always go well unless the
 * test says otherwise. */
#include "common/base.h"

#include "common/clock.h"
#include "common/json.h"
#include "operator/tests/agent_model.h"
#include "operator/tests/operator_world.h"

static void take_task(struct agent_double *agent, const struct archive_task *task)
{
    archive_task_digest(task, agent->archive.task);
    snprintf(agent->archive.folder, sizeof(agent->archive.folder), "%s", str_or_empty(task->folder));
    snprintf(agent->archive.key, sizeof(agent->archive.key), "%s", str_or_empty(task->store.access_key));
    snprintf(agent->archive.store, sizeof(agent->archive.store), "%s", str_or_empty(task->store.connect_to));
    agent->archive.interval_s = task->interval_s;
    agent->all->archive_tasks++;
}

void agent_archive_put(struct http_exchange *exchange, struct agent_double *agent)
{
    struct archive_task task;
    struct error err = ERROR_INIT;
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);
    const json_t *cluster = agent_model_cluster(agent->all);
    if (agent->all->refuses || agent->archive.answer > 0)
        http_replyf(exchange, agent->all->refuses ? 503 : agent->archive.answer, "of the test");
    else if (archive_task_decode(body, len, &task, &err) < 0) {
        agent_model_fail(agent->all, "%s got no task: %s", agent->name, err.message);
        http_replyf(exchange, 400, "%s", err.message);
    } else {
        if (!str_eq(json_path_str(cluster, "status.currentPrimary", ""), agent->name))
            agent_model_fail(agent->all, "%s is told to archive, and is not primary", agent->name);
        take_task(agent, &task);
        archive_task_release(&task);
        http_replyf(exchange, 200, "taken");
    }
    if (agent->all->ordered)
        agent->all->ordered(agent->all->ordered_arg);
}

void agent_archive_delete(struct http_exchange *exchange, struct agent_double *agent)
{
    if (agent->all->refuses) {
        http_replyf(exchange, 503, "of the test");
        return;
    }
    agent_archive_forget(agent);
    agent->all->archive_ends++;
    http_replyf(exchange, 200, "ended");
    if (agent->all->ordered)
        agent->all->ordered(agent->all->ordered_arg);
}

void agent_archive_forget(struct agent_double *agent)
{
    *agent->archive.task = '\0';
}

void agent_archive_status(const struct agent_double *agent, struct agent_status *ret)
{
    struct archive_report *report = &ret->archive;
    if (!*agent->archive.task)
        return;
    if (agent->opened) {
        *report = agent->archive.report;
        report->known = true;
        report->epoch = agent->epoch;
        report->sequence = 1 + agent->executed / 50;
        report->segments = report->sequence;
        snprintf(report->until_gtid, sizeof(report->until_gtid), "%s", ret->gtid_executed);
        if (!agent->archive.is_stuck)
            report->until_ms = ret->now_ms;
    }
    memcpy(report->task, agent->archive.task, sizeof(report->task));
}

size_t agent_doubles_archive_tasks(const struct agent_doubles *doubles)
{
    return doubles->archive_tasks;
}

size_t agent_doubles_archive_ends(const struct agent_doubles *doubles)
{
    return doubles->archive_ends;
}
