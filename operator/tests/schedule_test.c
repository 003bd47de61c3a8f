/* The controller of schedules against an API server inside the test, with a clock that the test moves. */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/api_kinds.h"
#include "operator/api/projections.h"
#include "operator/backup/schedule_controller.h"
#include "operator/tests/operator_world.h"

#define BACKUPS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/"
#define COLLECTION "/apis/kubemysql.dev/v1alpha1/mysqlbackups"
#define TICK_MS 2
#define STEP_MAX_MS 10000
#define QUIET_MS 40

struct stage;
typedef bool (*step_fn)(struct stage *stage);

struct stage {
    struct loop *loop;
    struct kube_api_double *api;
    struct manager *manager;
    struct loop_timer timer;
    int64_t now_ms;       /* of the operator's wall clock */
    const step_fn *steps; /* NULL at the end */
    int step;
    int64_t until_ms, quiet_since_ms;
    size_t writes, writes_then;
    size_t kill_after; /* that many writes in all; 0: never */
    bool is_dead;
    char failure[512];
};
/* ---- the operator, as far as schedules go ---- */

static int64_t now_of(void *arg)
{
    return ((const struct stage *)arg)->now_ms;
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

static void run_operator(struct stage *stage)
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
    struct stage *stage = arg;
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
    struct stage *stage = arg;
    stage->writes++;
    if (stage->kill_after == 0 || stage->writes != stage->kill_after)
        return;
    stage->is_dead = true;
    kube_api_double_fault(stage->api, &nothing);
    raise(SIGTERM);
}

static struct stage *stage_new(const char *now)
{
    struct stage *stage = xnew(struct stage);
    log_setup(getenv("V") ? LOG_DEBUG : LOG_ERROR, LOG_FORMAT_TEXT, 2);
    stage->loop = loop_new();
    stage->api = kube_api_double_new(stage->loop);
    assert_int_equal(clock_parse_rfc3339(now, &stage->now_ms), 0);
    kube_api_double_on_write(stage->api, on_write, stage);
    loop_timer_init(&stage->timer, stage->loop, on_tick, stage);
    return stage;
}

static void stage_free(struct stage *stage)
{
    loop_timer_release(&stage->timer);
    kube_api_double_free(stage->api);
    loop_run_once(stage->loop, 0);
    loop_free(stage->loop);
    free(stage);
}

static void stage_run(struct stage *stage, const step_fn *steps)
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

static void put_cluster(struct stage *stage, const char *backup, const char *more)
{
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlCluster', 'metadata': {'name': 'shop', 'namespace': 'ns1'},"
        "'spec': {'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}}, 'storage': {'volumeSource': {'emptyDir': {}}},"
        "'backup': {'destination': {'persistentVolumeClaim': {'claimName': 'backups'}}, %s}%s}, 'status': {'epoch': 7}}",
        backup, more);
    _cleanup_(json_decrefp) json_t *object = world_json(text);
    kube_api_double_put(stage->api, PATH_CLUSTER, object);
}

static void edit(struct stage *stage, const char *path, const char *text)
{
    _cleanup_(json_decrefp) json_t *changes = world_json(text);
    kube_api_double_edit(stage->api, path, changes);
}

static const char *cluster_str(const struct stage *stage, const char *member)
{
    return json_path_str(kube_api_double_get(stage->api, PATH_CLUSTER), member, "");
}

static bool is_next(const struct stage *stage, const char *next)
{
    return str_eq(cluster_str(stage, "status.backup.nextBackupTime"), next);
}

static const json_t *backup_of(const struct stage *stage, const char *name)
{
    _cleanup_(freep) char *path = xasprintf(BACKUPS "%s", name);
    return kube_api_double_get(stage->api, path);
}

static size_t count_backups(const struct stage *stage)
{
    return kube_api_double_count(stage->api, COLLECTION);
}

static bool move_clock(struct stage *stage, const char *now)
{
    return clock_parse_rfc3339(now, &stage->now_ms) == 0;
}

/* As the backup controller does when it has run it. */
static bool end_backup(struct stage *stage, const char *name, const char *phase)
{
    char when[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(stage->now_ms, when);
    _cleanup_(freep) char *path = xasprintf(BACKUPS "%s", name);
    _cleanup_(freep) char *text = xasprintf("{'status': {'phase': '%s', 'startTime': '%s', 'completionTime': '%s',"
                                            "'clusterUid': '%s', 'message': 'the disk is full'}}",
        phase, when, when, cluster_str(stage, "metadata.uid"));
    if (!kube_api_double_get(stage->api, path))
        return false;
    edit(stage, path, text);
    return true;
}

static void put_backup(struct stage *stage, const char *name, const char *when, const char *uid, const char *labels)
{
    _cleanup_(freep) char *path = xasprintf(BACKUPS "%s", name);
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlBackup', 'metadata': {'name': '%s', 'namespace': 'ns1',"
        "'labels': {%s}}, 'spec': {'cluster': 'shop'}, 'status': {'phase': 'Completed', 'startTime': '%s',"
        "'completionTime': '%s', 'clusterUid': '%s'}}",
        name, labels, when, when, uid);
    _cleanup_(json_decrefp) json_t *object = world_json(text);
    kube_api_double_put(stage->api, path, object);
}

static bool has_event(const struct stage *stage, const char *reason)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(stage->api);
    return strstr(dump, reason) != NULL;
}

/* Nothing was written for a while in which the operator looked again and again. */
static bool is_quiet(struct stage *stage)
{
    int64_t now_ms = clock_monotonic_ms();
    if (stage->quiet_since_ms == 0 || stage->writes != stage->writes_then) {
        stage->writes_then = stage->writes;
        stage->quiet_since_ms = now_ms;
    }
    return now_ms - stage->quiet_since_ms >= QUIET_MS;
}

/* ---- a schedule's life ---- */

static bool waits_for_the_first(struct stage *stage)
{
    return is_next(stage, "2026-11-22T01:30:00Z") && is_quiet(stage) && count_backups(stage) == 0 &&
        str_eq(cluster_str(stage, "status.backup.lastScheduleTime"), "2026-11-21T12:00:00Z") &&
        str_eq(cluster_str(stage, "status.backup.schedule"), "30 2 * * * Europe/Berlin") &&
        json_path_int(kube_api_double_get(stage->api, PATH_CLUSTER), "status.epoch", 0) == 7;
}

static bool a_second_early(struct stage *stage)
{
    return move_clock(stage, "2026-11-22T01:29:59Z");
}

static bool nothing_yet(struct stage *stage)
{
    return is_quiet(stage) && count_backups(stage) == 0;
}

static bool its_time(struct stage *stage)
{
    return move_clock(stage, "2026-11-22T01:30:00Z");
}

static bool the_first_is_made(struct stage *stage)
{
    const json_t *backup = backup_of(stage, "shop-202611220130");
    if (!backup || !is_next(stage, "2026-11-23T01:30:00Z"))
        return false;
    bool good = str_eq(json_path_str(backup, "metadata.labels[\"kubemysql.dev/cluster\"]", ""), "shop") &&
        str_eq(json_path_str(backup, "metadata.labels[\"kubemysql.dev/scheduled\"]", ""), "true") &&
        !json_path(backup, "metadata.ownerReferences") && str_eq(json_path_str(backup, "spec.cluster", ""), "shop") &&
        str_eq(json_path_str(backup, "spec.destination.persistentVolumeClaim.claimName", ""), "backups") &&
        str_eq(json_path_str(backup, "spec.method", ""), "logical") &&
        str_eq(json_path_str(backup, "spec.deletionPolicy", ""), "Delete") && !json_path(backup, "spec.schedule");
    bool told =
        stage->kill_after > 0 || has_event(stage, "BackupScheduled"); /* an event may go down with the operator */
    if (!good || !told || count_backups(stage) != 1 || has_event(stage, "BackupSkipped"))
        snprintf(stage->failure, sizeof(stage->failure), "the first backup is not as it should be");
    return good;
}

static bool the_first_completes(struct stage *stage)
{
    move_clock(stage, "2026-11-22T01:40:00Z");
    return end_backup(stage, "shop-202611220130", "Completed");
}

static bool it_is_told(struct stage *stage)
{
    return str_eq(cluster_str(stage, "status.lastBackupTime"), "2026-11-22T01:40:00Z") &&
        str_eq(cluster_str(stage, "status.backup.lastBackup"), "shop-202611220130") &&
        str_eq(cluster_str(stage, "status.backup.lastBackupTime"), "2026-11-22T01:40:00Z");
}

static bool three_days_later(struct stage *stage)
{
    return move_clock(stage, "2026-11-25T09:00:00Z");
}

static bool missed_ones_are_caught_up_once(struct stage *stage)
{
    return backup_of(stage, "shop-202611250130") && is_next(stage, "2026-11-26T01:30:00Z") && is_quiet(stage) &&
        count_backups(stage) == 2;
}

static bool another_day(struct stage *stage)
{
    return move_clock(stage, "2026-11-26T02:00:00Z");
}

static bool the_next_is_left_out(struct stage *stage)
{
    return is_next(stage, "2026-11-27T01:30:00Z") && is_quiet(stage) && count_backups(stage) == 2 &&
        str_eq(cluster_str(stage, "status.backup.lastScheduleTime"), "2026-11-26T01:30:00Z") &&
        has_event(stage, "BackupSkipped");
}

static bool the_long_one_fails(struct stage *stage)
{
    return end_backup(stage, "shop-202611250130", "Failed");
}

static bool the_failure_is_told(struct stage *stage)
{
    return str_eq(cluster_str(stage, "status.backup.lastFailure"), "shop-202611250130: the disk is full") &&
        str_eq(cluster_str(stage, "status.backup.lastFailureTime"), "2026-11-26T02:00:00Z") && is_quiet(stage) &&
        count_backups(stage) == 2;
}

static bool the_next_two_complete(struct stage *stage)
{
    static const char *const names[] = {"shop-202611270130", "shop-202611280130"};
    static const char *const times[] = {"2026-11-27T01:30:00Z", "2026-11-28T01:30:00Z"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const json_t *backup = backup_of(stage, names[i]);
        if (!backup)
            return move_clock(stage, times[i]) && false;
        if (!json_path(backup, "status.phase"))
            return end_backup(stage, names[i], "Completed") && false;
    }
    return true;
}

/* keep.last is 2; the failed one is a record. */
static bool the_oldest_goes(struct stage *stage)
{
    return !backup_of(stage, "shop-202611220130") && is_quiet(stage) && count_backups(stage) == 3;
}

static bool suspend(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'suspend': true}}}");
    return true;
}

static bool nothing_is_next(struct stage *stage)
{
    return is_next(stage, "") && !*cluster_str(stage, "status.backup.schedule");
}

static bool days_go_by(struct stage *stage)
{
    return move_clock(stage, "2026-12-03T12:00:00Z");
}

static bool still_three(struct stage *stage)
{
    return is_quiet(stage) && count_backups(stage) == 3;
}

static bool resume(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'suspend': null}}}");
    return true;
}

static bool waits_again(struct stage *stage)
{
    return is_next(stage, "2026-12-04T01:30:00Z") && still_three(stage);
}

/* A time before the change was never due. */
static bool change(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'schedule': '0 12 * * *', 'timeZone': null}}}");
    move_clock(stage, "2026-12-03T12:30:00Z");
    return true;
}

static bool waits_for_the_new_time(struct stage *stage)
{
    return is_next(stage, "2026-12-04T12:00:00Z") && still_three(stage);
}

static bool wrong_zone(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'timeZone': 'Europe/Berlim'}}}");
    return true;
}

static bool the_problem_is_told(struct stage *stage)
{
    return str_eq(cluster_str(stage, "status.backup.problem"),
               "spec.backup.timeZone: there is no time zone \"Europe/Berlim\"") &&
        has_event(stage, "BackupScheduleProblem") && is_next(stage, "") && still_three(stage);
}

/* What was due while it could not be known is caught up. */
static bool right_zone(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'timeZone': null}}}");
    return move_clock(stage, "2026-12-05T13:00:00Z");
}

static bool caught_up(struct stage *stage)
{
    return backup_of(stage, "shop-202612051200") && is_next(stage, "2026-12-06T12:00:00Z") &&
        !*cluster_str(stage, "status.backup.problem") && is_quiet(stage) && count_backups(stage) == 4;
}

static const step_fn life[] = {waits_for_the_first, a_second_early, nothing_yet, its_time, the_first_is_made,
    the_first_completes, it_is_told, three_days_later, missed_ones_are_caught_up_once, another_day,
    the_next_is_left_out, the_long_one_fails, the_failure_is_told, the_next_two_complete, the_oldest_goes, suspend,
    nothing_is_next, days_go_by, still_three, resume, waits_again, change, waits_for_the_new_time, wrong_zone,
    the_problem_is_told, right_zone, caught_up, NULL};

static void play_life(size_t kill_after, size_t *ret_writes)
{
    struct stage *stage = stage_new("2026-11-21T12:00:00Z");
    stage->kill_after = kill_after;
    put_cluster(
        stage, "'schedule': '30 2 * * *', 'timeZone': 'Europe/Berlin', 'method': 'logical', 'keep': {'last': 2}", "");
    stage_run(stage, life);
    *ret_writes = stage->writes;
    stage_free(stage);
}

static void test_life(void **state)
{
    UNUSED(state);
    size_t writes;
    play_life(0, &writes);
    assert_true(writes > 10);
}

/* I10: the operator is killed after each of its writes in turn; the same story is gone through. */
static void test_killed_after_each_write(void **state)
{
    UNUSED(state);
    size_t writes = 1;
    for (size_t i = 1; i <= writes; i++)
        play_life(i, &writes);
    assert_true(writes > 10);
}

/* ---- two who make the same run, answers that are lost ---- */

static bool made_once(struct stage *stage)
{
    return backup_of(stage, "shop-202611220000") && is_next(stage, "2026-11-23T00:00:00Z") && is_quiet(stage) &&
        count_backups(stage) == 1 && !has_event(stage, "BackupSkipped");
}

static bool midnight(struct stage *stage)
{
    return is_next(stage, "2026-11-22T00:00:00Z") && move_clock(stage, "2026-11-22T00:00:30Z");
}

static void test_lost_answer(void **state)
{
    UNUSED(state);
    static const step_fn steps[] = {midnight, made_once, NULL};
    static const struct kube_api_fault faults[] = {
        {.method = "POST",
            .path_prefix = "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups",
            .kind = KUBE_API_FAULT_RESET,
            .carried_out = true},
        {.method = "PATCH", .path_prefix = PATH_CLUSTER, .nth = 2, .kind = KUBE_API_FAULT_STATUS, .status = 500}};
    struct stage *stage = stage_new("2026-11-21T12:00:00Z");
    put_cluster(stage, "'schedule': '@daily'", "");
    kube_api_double_fault(stage->api, &faults[0]);
    kube_api_double_fault(stage->api, &faults[1]);
    stage_run(stage, steps);
    stage_free(stage);
}

/* Another leader, or a person, was faster. */
static bool somebody_was_faster(struct stage *stage)
{
    if (!is_next(stage, "2026-11-22T00:00:00Z"))
        return false;
    kube_api_double_mute_watches(stage->api, true);
    put_backup(stage, "shop-202611220000", "2026-11-22T00:00:00Z", cluster_str(stage, "metadata.uid"), "");
    return move_clock(stage, "2026-11-22T00:00:30Z");
}

static void test_two_leaders(void **state)
{
    UNUSED(state);
    static const step_fn steps[] = {somebody_was_faster, made_once, NULL};
    struct stage *stage = stage_new("2026-11-21T12:00:00Z");
    put_cluster(stage, "'schedule': '@daily'", "");
    stage_run(stage, steps);
    stage_free(stage);
}

/* ---- waiting ---- */

static bool later(struct stage *stage)
{
    return str_eq(cluster_str(stage, "status.backup.schedule"), "@daily UTC") &&
        move_clock(stage, "2026-11-24T06:00:00Z");
}

static bool none_is_made(struct stage *stage)
{
    return is_quiet(stage) && count_backups(stage) == 0 && is_next(stage, "");
}

static bool wake_up(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'spec': {'paused': null, 'replicas': 1}}");
    return true;
}

static bool one_is_made(struct stage *stage)
{
    return backup_of(stage, "shop-202611240000") && is_next(stage, "2026-11-25T00:00:00Z") && is_quiet(stage) &&
        count_backups(stage) == 1;
}

static void test_paused_and_stopped(void **state)
{
    UNUSED(state);
    static const step_fn steps[] = {later, none_is_made, wake_up, one_is_made, NULL};
    static const char *const wishes[] = {", 'paused': true", ", 'replicas': 0"};
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        struct stage *stage = stage_new("2026-11-21T12:00:00Z");
        put_cluster(stage, "'schedule': '@daily'", wishes[i]);
        stage_run(stage, steps);
        stage_free(stage);
    }
}

/* ---- what retention leaves alone ---- */

#define OURS "'kubemysql.dev/scheduled': 'true', 'kubemysql.dev/cluster': 'shop'"

static bool others_stay(struct stage *stage)
{
    static const char *const stay[] = {"new", "hand-made", "of-a-namesake", "held", "of-elsewhere"};
    if (backup_of(stage, "old") || !is_quiet(stage))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(stay); i++) {
        if (!backup_of(stage, stay[i]))
            snprintf(stage->failure, sizeof(stage->failure), "%s is gone", stay[i]);
    }
    return true;
}

/* The cluster that was made of it is there. */
static bool restored(struct stage *stage)
{
    edit(stage, "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/copy",
        "{'status': {'initialized': true}, 'metadata': {'labels': {'a': 'b'}}}");
    edit(stage, PATH_CLUSTER, "{'metadata': {'labels': {'a': 'b'}}}");
    return true;
}

static bool held_no_more(struct stage *stage)
{
    return !backup_of(stage, "held") && is_quiet(stage) && backup_of(stage, "new") && backup_of(stage, "hand-made") &&
        backup_of(stage, "of-a-namesake");
}

static void test_what_stays(void **state)
{
    UNUSED(state);
    static const step_fn steps[] = {others_stay, restored, held_no_more, NULL};
    struct stage *stage = stage_new("2026-11-21T12:00:00Z");
    put_cluster(stage, "'schedule': '@daily', 'keep': {'last': 1}", "");
    _cleanup_(json_decrefp) json_t *copy =
        world_json("{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlCluster', 'metadata': {'name': 'copy',"
                   "'namespace': 'ns1'}, 'spec': {'restoreFrom': {'backup': {'name': 'held'}}}}");
    kube_api_double_put(stage->api, "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/copy", copy);
    _cleanup_(freep) char *uid = xstrdup(cluster_str(stage, "metadata.uid"));
    put_backup(stage, "of-a-namesake", "2026-11-01T00:00:00Z", "another", OURS);
    put_backup(stage, "hand-made", "2026-11-02T00:00:00Z", uid, "'kubemysql.dev/cluster': 'shop'");
    put_backup(stage, "held", "2026-11-03T00:00:00Z", uid, OURS);
    put_backup(stage, "old", "2026-11-04T00:00:00Z", uid, OURS);
    put_backup(stage, "new", "2026-11-05T00:00:00Z", uid, OURS);
    put_backup(stage, "of-elsewhere", "2026-11-01T00:00:00Z", uid, OURS);
    edit(stage, BACKUPS "of-elsewhere", "{'spec': {'cluster': 'garden'}}");
    stage_run(stage, steps);
    stage_free(stage);
}

/* More than go in one turn. */
static bool only_the_newest(struct stage *stage)
{
    return is_quiet(stage) && count_backups(stage) == 1 && backup_of(stage, "b39");
}

static void test_many_go(void **state)
{
    UNUSED(state);
    static const step_fn steps[] = {only_the_newest, NULL};
    struct stage *stage = stage_new("2026-11-21T12:00:00Z");
    put_cluster(stage, "'keep': {'last': 1}", "");
    for (int i = 10; i < 40; i++) {
        char name[8], when[CLOCK_RFC3339_SIZE];
        snprintf(name, sizeof(name), "b%d", i);
        clock_format_rfc3339(1760000000000 + i * 60000LL, when);
        put_backup(stage, name, when, cluster_str(stage, "metadata.uid"), OURS);
    }
    stage_run(stage, steps);
    stage_free(stage);
}

/* A spec that says nothing of backups is left alone, but those made by hand are told. */
static bool told(struct stage *stage)
{
    return str_eq(cluster_str(stage, "status.lastBackupTime"), "2026-11-02T00:00:00Z") && is_quiet(stage) &&
        count_backups(stage) == 2;
}

static void test_no_schedule(void **state)
{
    UNUSED(state);
    static const step_fn steps[] = {told, NULL};
    struct stage *stage = stage_new("2026-11-21T12:00:00Z");
    put_cluster(stage, "'method': 'logical'", "");
    edit(stage, PATH_CLUSTER, "{'spec': {'backup': null}}");
    _cleanup_(freep) char *uid = xstrdup(cluster_str(stage, "metadata.uid"));
    put_backup(stage, "one", "2026-11-01T00:00:00Z", uid, OURS);
    put_backup(stage, "two", "2026-11-02T00:00:00Z", uid, "");
    stage_run(stage, steps);
    stage_free(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_killed_after_each_write),
        cmocka_unit_test(test_lost_answer),
        cmocka_unit_test(test_two_leaders),
        cmocka_unit_test(test_paused_and_stopped),
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_many_go),
        cmocka_unit_test(test_no_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
