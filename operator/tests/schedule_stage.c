/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/schedule_stage.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/tests/clock_util.h"
#include "operator/api/api_kinds.h"
#include "operator/api/projections.h"
#include "operator/backup/schedule_controller.h"
#include "operator/tests/operator_world.h"

#define COLLECTION "/apis/kubemysql.dev/v1alpha1/mysqlbackups"
#define TICK_MS 2
#define STEP_MAX_MS 10000
#define QUIET_MS 40

/* ---- the operator, as far as schedules go ---- */

static int64_t now_of(void *arg)
{
    return ((const struct schedule_stage *)arg)->now_ms;
}

static struct informer *informer_of(
    struct manager *manager, const struct kube_kind *kind, const struct kube_projection *projection)
{
    const struct informer_options options = {.ns = NULL};
    return manager_informer(manager, manager_use_kind(manager, kind), projection, &options);
}

static int set_up(void *arg, struct manager *manager, struct error *err)
{
    UNUSED(err);
    const struct schedule_controller_options options = {
        .clusters = informer_of(manager, &kube_kind_mysql_cluster, &projection_mysql_cluster),
        .backups = informer_of(manager, &kube_kind_mysql_backup, &projection_mysql_backup),
        .now_ms = now_of,
        .now_arg = arg,
        .recheck_ms = 5,
    };
    schedule_controller_setup(manager, &options);
    return 0;
}

static void run_operator(struct schedule_stage *stage)
{
    struct kube_config config;
    struct error err = ERROR_INIT;
    kube_api_double_config(stage->api, &config);
    const struct manager_options options = {.config = &config,
        .field_manager = "kube-mysql",
        .user_agent = "test",
        .component = "kube-mysql-operator",
        .leader_identity = "test",
        .bind_address = "127.0.0.1"};
    stage->manager = manager_new(stage->loop, &options, &err);
    if (!stage->manager)
        fail_msg("%s", err.message);
    schedule_controller_use_kinds(stage->manager);
    int rc = manager_run(stage->manager, set_up, stage);
    manager_free(steal_ptr(stage->manager));
    kube_config_release(&config);
    if (rc != 0)
        snprintf(stage->failure, sizeof(stage->failure), "the operator did not end well");
}

/* ---- the script ---- */

static void on_tick(void *arg)
{
    struct schedule_stage *stage = arg;
    int64_t now_ms = clock_monotonic_ms();
    while (stage->steps[stage->step] && !*stage->failure && stage->steps[stage->step](stage)) {
        stage->step++;
        stage->until_ms = now_ms + STEP_MAX_MS;
        stage->quiet_since_ms = 0;
    }
    if (stage->steps[stage->step] && now_ms > stage->until_ms && !*stage->failure) {
        _cleanup_(freep) char *dump = kube_api_double_dump(stage->api);
        fprintf(stderr, "%s\n", dump);
        snprintf(stage->failure, sizeof(stage->failure), "step %d does not get through", stage->step);
    }
    bool is_over = !stage->steps[stage->step] || *stage->failure;
    if (is_over && !stage->is_dead)
        raise(SIGTERM);
    else /* one that died with the last step has a successor, which must be ended, too */
        loop_timer_arm(&stage->timer, TICK_MS);
}

/* What a process that is no more cannot do: its requests have no effect any more. */
static void on_write(void *arg)
{
    static const struct kube_api_fault nothing = {.kind = KUBE_API_FAULT_STATUS, .status = 403, .times = -1};
    struct schedule_stage *stage = arg;
    stage->writes++;
    if (stage->kill_after == 0 || stage->writes != stage->kill_after)
        return;
    stage->is_dead = true;
    kube_api_double_fault(stage->api, &nothing);
    raise(SIGTERM);
}

struct schedule_stage *schedule_stage_new(const char *now)
{
    struct schedule_stage *stage = xnew(struct schedule_stage);
    log_setup(getenv("V") ? LOG_DEBUG : LOG_ERROR, LOG_FORMAT_TEXT, 2);
    clock_stand_still();
    stage->loop = loop_new();
    stage->api = kube_api_double_new(stage->loop);
    assert_int_equal(clock_parse_rfc3339(now, &stage->now_ms), 0);
    kube_api_double_on_write(stage->api, on_write, stage);
    loop_timer_init(&stage->timer, stage->loop, on_tick, stage);
    return stage;
}

void schedule_stage_free(struct schedule_stage *stage)
{
    loop_timer_release(&stage->timer);
    kube_api_double_free(stage->api);
    loop_run_once(stage->loop, 0);
    loop_free(stage->loop);
    free(stage);
}

void schedule_stage_run(struct schedule_stage *stage, const schedule_step_fn *steps)
{
    stage->steps = steps;
    stage->until_ms = clock_monotonic_ms() + STEP_MAX_MS;
    loop_timer_arm(&stage->timer, TICK_MS);
    do {
        if (stage->is_dead)
            kube_api_double_clear_faults(stage->api);
        stage->is_dead = false;
        run_operator(stage);
    } while (stage->is_dead && !*stage->failure);
    if (*stage->failure)
        fail_msg("%s", stage->failure);
}

/* ---- the world ---- */

void schedule_stage_put_cluster(struct schedule_stage *stage, const char *backup, const char *more)
{
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlCluster', 'metadata': {'name': 'shop', 'namespace': 'ns1'},"
        "'spec': {'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}}, 'storage': {'volumeSource': {'emptyDir': {}}},"
        "'backup': {'destination': {'persistentVolumeClaim': {'claimName': 'backups'}}, %s}%s}, 'status': {'epoch': 7}}",
        backup, more);
    _cleanup_(json_decrefp) json_t *object = world_json(text);
    kube_api_double_put(stage->api, PATH_CLUSTER, object);
}

void schedule_stage_edit(struct schedule_stage *stage, const char *path, const char *text)
{
    _cleanup_(json_decrefp) json_t *changes = world_json(text);
    kube_api_double_edit(stage->api, path, changes);
}

const char *schedule_stage_cluster_str(const struct schedule_stage *stage, const char *member)
{
    return json_path_str(kube_api_double_get(stage->api, PATH_CLUSTER), member, "");
}

bool schedule_stage_is_next(const struct schedule_stage *stage, const char *next)
{
    return str_eq(schedule_stage_cluster_str(stage, "status.backup.nextBackupTime"), next);
}

const json_t *schedule_stage_backup_of(const struct schedule_stage *stage, const char *name)
{
    _cleanup_(freep) char *path = xasprintf(SCHEDULE_BACKUPS "%s", name);
    return kube_api_double_get(stage->api, path);
}

size_t schedule_stage_count_backups(const struct schedule_stage *stage)
{
    return kube_api_double_count(stage->api, COLLECTION);
}

bool schedule_stage_move_clock(struct schedule_stage *stage, const char *now)
{
    return clock_parse_rfc3339(now, &stage->now_ms) == 0;
}

void schedule_stage_put_backup(
    struct schedule_stage *stage, const char *name, const char *when, const char *uid, const char *labels)
{
    _cleanup_(freep) char *path = xasprintf(SCHEDULE_BACKUPS "%s", name);
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlBackup', 'metadata': {'name': '%s', 'namespace': 'ns1',"
        "'labels': {%s}}, 'spec': {'cluster': 'shop'}, 'status': {'phase': 'Completed', 'startTime': '%s',"
        "'completionTime': '%s', 'clusterUid': '%s'}}",
        name, labels, when, when, uid);
    _cleanup_(json_decrefp) json_t *object = world_json(text);
    kube_api_double_put(stage->api, path, object);
}

bool schedule_stage_has_event(const struct schedule_stage *stage, const char *reason)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(stage->api);
    return strstr(dump, reason) != NULL;
}

bool schedule_stage_is_quiet(struct schedule_stage *stage)
{
    int64_t now_ms = clock_monotonic_ms();
    if (stage->quiet_since_ms == 0 || stage->writes != stage->writes_then) {
        stage->writes_then = stage->writes;
        stage->quiet_since_ms = now_ms;
    }
    return now_ms - stage->quiet_since_ms >= QUIET_MS;
}
