/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/backup_world.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/tests/stored_backup.h"

static struct backup_world *the;

struct backup_world *backup_world_the(void)
{
    return the;
}

const char *backup_world_status_of(const char *member)
{
    _cleanup_(freep) char *path = xasprintf("status.%s", member);
    return world_str(the->world, PATH_BACKUP, path);
}

const char *backup_world_condition_of(const char *type)
{
    const json_t *conditions = json_path(kube_api_double_get(the->world->api, PATH_BACKUP), "status.conditions");
    size_t i;
    const json_t *each;
    json_array_foreach(conditions, i, each) {
        if (str_eq(json_path_str(each, "type", ""), type))
            return json_path_str(each, "reason", "");
    }
    return "";
}

/* ---- the donor ---- */

void backup_world_store(struct agent_double *agent)
{
    stored_backup_put(the->s3, agent);
    if (the->donor_does != DONOR_LIES)
        return;
    const struct backup_task *task = &agent->backup_task;
    const char *prefix = str_or_empty(task->store.prefix);
    _cleanup_(freep) char *piece = xasprintf("%s%s%s/data-000001", prefix, *prefix ? "/" : "", task->folder);
    bucket_double_remove(the->s3, piece);
}

static void leave_half(struct agent_double *agent)
{
    _cleanup_(freep) char *piece = xasprintf("%s/data-000001", agent->backup_task.folder);
    bucket_double_put(the->s3, piece, "half");
}

static void on_taken(void *arg, struct agent_double *agent)
{
    UNUSED(arg);
    bool first = the->taken++ == 0;
    if (first)
        snprintf(the->first_id, sizeof(the->first_id), "%s", agent->backup.id);
    agent->backup.raw_bytes = 5;
    if (the->donor_does == DONOR_HANGS) {
        leave_half(agent);
    } else if (the->donor_does == DONOR_FAILS_FIRST && first) {
        leave_half(agent);
        agent->backup.state = BACKUP_STATE_FAILED;
        snprintf(agent->backup.error_reason, sizeof(agent->backup.error_reason), "ToolFailed");
        snprintf(agent->backup.message, sizeof(agent->backup.message), "mariadb-backup ended with 1");
    } else if (the->donor_does == DONOR_IS_REFUSED_FIRST && first) {
        agent->backup.state = BACKUP_STATE_FAILED;
        snprintf(agent->backup.error_reason, sizeof(agent->backup.error_reason), "StoreRefused");
        snprintf(agent->backup.message, sizeof(agent->backup.message), "InvalidAccessKeyId: unknown (HTTP 403)");
    } else if (the->donor_does == DONOR_DIES_FIRST && first)
        leave_half(agent);
    else
        backup_world_store(agent);
}

/* ---- what is there ---- */

static void put_keys(void)
{
    world_put_json(the->world, PATH_KEYS,
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys', 'namespace': 'ns1'},"
        "'data': {'accessKey': 'YWNjZXNz', 'secretKey': '" SECRET_KEY_BASE64 "'}}");
}

void backup_world_put(const char *more)
{
    char now[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(clock_realtime_ms(), now);
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlBackup', 'metadata': {'name': 'first', 'namespace': 'ns1', 'creationTimestamp': '%s'},"
        "'spec': {'cluster': 'shop', 'destination': {'s3': {'bucket': 'safe', 'endpoint': '%s',"
        "'credentialsSecret': {'name': 'keys'}}}%s%s}}",
        now, bucket_double_endpoint(the->s3), *more ? ", " : "", more);
    world_put_json(the->world, PATH_BACKUP, text);
}

struct backup_world *backup_world_new(enum donor_does donor_does, const char *more)
{
    the = xnew(struct backup_world);
    the->world = operator_world_new();
    the->world->secrets_fresh_ms = 50;
    the->s3 = bucket_double_new(the->world->loop);
    the->donor_does = donor_does;
    agent_doubles_on_backup(the->world->agents, on_taken, the);
    world_put_cluster(the->world, "'replicas': 2");
    put_keys();
    the->more = more;
    return the;
}

void backup_world_free(struct backup_world *world)
{
    bucket_double_free(world->s3);
    tls_server_free(world->tls);
    operator_world_free(world->world);
    free(world);
}

/* ---- steps ---- */

bool backup_world_completed(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_status_of("phase"), "Completed");
}

bool backup_world_failed(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_status_of("phase"), "Failed");
}

bool backup_world_running(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_status_of("phase"), "Running") && the->taken > 0 &&
        json_path_bool(kube_api_double_get(the->world->api, PATH_BACKUP), "status.received", false);
}

bool backup_world_released(struct operator_world *world)
{
    return json_array_size(json_path(kube_api_double_get(world->api, PATH_BACKUP), "metadata.finalizers")) == 0;
}

bool backup_world_gone(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_BACKUP) == NULL;
}

bool backup_world_delete_it(struct operator_world *world)
{
    return kube_api_double_remove(world->api, PATH_BACKUP);
}

bool backup_world_put_it(struct operator_world *world)
{
    UNUSED(world);
    backup_world_put(the->more);
    return true;
}
