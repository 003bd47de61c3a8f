/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of restore drills against an API server inside the test: a clock that the test moves, a scratch
 * cluster and its agent that the test plays, an operator killed after each act. */
#include "common/base.h"

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
#include "operator/backup/drill_controller.h"
#include "operator/tests/operator_world.h"

#define CLUSTERS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/"
#define BACKUPS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/"
#define CLAIMS "/api/v1/persistentvolumeclaims"
#define CLUSTER_LIST "/apis/kubemysql.dev/v1alpha1/mysqlclusters"
#define TICK_MS 2
#define STEP_MAX_MS 30000
#define QUIET_MS 40
#define DRILL "'drill': {'schedule': '0 4 * * *'}"

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
    size_t acts, acts_then, kill_after; /* that many acts in all; 0: never */
    bool is_dead;
    char failure[512];
    /* What the scratch cluster comes to. */
    const char *restore_fails; /* reason; NULL: it goes well */
    const char *gives_up;      /* its agent's reason, before any status says so */
    const char *check_fails;   /* likewise */
    bool hangs;                /* the restore never ends */
    struct check_task task;    /* what its agent was told last */
    size_t made;               /* scratch clusters that there were */
    char seen[64];
};

/* ---- the scratch cluster and its agent ---- */

static const json_t *cluster_of(const struct stage *stage)
{
    return kube_api_double_get(stage->api, PATH_CLUSTER);
}

static const char *cluster_str(const struct stage *stage, const char *member)
{
    return json_path_str(cluster_of(stage), member, "");
}

static const json_t *scratch_of(const struct stage *stage)
{
    const char *name = cluster_str(stage, "status.backup.drill.cluster");
    _cleanup_(freep) char *path = xasprintf(CLUSTERS "%s", name);
    return *name ? kube_api_double_get(stage->api, path) : NULL;
}

static void edit(struct stage *stage, const char *path, const char *text)
{
    _cleanup_(json_decrefp) json_t *changes = world_json(text);
    kube_api_double_edit(stage->api, path, changes);
}

static void make_claim(struct stage *stage, const char *name)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CORE "persistentvolumeclaims/data-%s-mysql-0", name);
    _cleanup_(json_decrefp) json_t *claim = world_json(
        "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {}, 'spec': {}, 'status': {'phase': 'Pending'}}");
    if (!kube_api_double_get(stage->api, path))
        kube_api_double_put(stage->api, path, claim);
}

/* As the cluster controller and Kubernetes do. */
static void tend_scratch(struct stage *stage)
{
    const json_t *scratch = scratch_of(stage);
    if (!scratch)
        return;
    _cleanup_(freep) char *name = xstrdup(json_path_str(scratch, "metadata.name", ""));
    _cleanup_(freep) char *path = xasprintf(CLUSTERS "%s", name);
    if (!str_eq(stage->seen, name))
        stage->made++;
    snprintf(stage->seen, sizeof(stage->seen), "%s", name);
    make_claim(stage, name);
    const char *phase = json_path_str(scratch, "status.restore.phase", "");
    if (stage->restore_fails && !str_eq(json_path_str(scratch, "status.restore.reason", ""), stage->restore_fails)) {
        _cleanup_(freep) char *text =
            xasprintf("{'status': {'restore': {'phase': 'Restoring', 'reason': '%s', 'message':"
                      "'piece 3 is damaged'}}}",
                stage->restore_fails);
        edit(stage, path, text);
    } else if (!stage->restore_fails && !stage->hangs && !str_eq(phase, "Completed"))
        edit(stage, path, "{'status': {'initialized': true, 'restore': {'phase': 'Completed', 'gtid': '0-1-99'}}}");
}

static bool look(void *arg, const char *cluster_key, const char *pod, struct drill_member *ret)
{
    const struct stage *stage = arg;
    const json_t *scratch = scratch_of(stage);
    UNUSED(cluster_key);
    if (!scratch || !str_starts_with(pod, json_path_str(scratch, "metadata.name", "?")))
        return false;
    ret->open = str_eq(json_path_str(scratch, "status.restore.phase", ""), "Completed");
    ret->gave_up = stage->gives_up != NULL;
    snprintf(ret->reason, sizeof(ret->reason), "%s", str_or_empty(stage->gives_up));
    snprintf(ret->message, sizeof(ret->message), "piece 3 is damaged");
    if (!str_eq(stage->task.id, json_path_str(scratch, "metadata.name", "")))
        return true;
    snprintf(ret->check.task, sizeof(ret->check.task), "%s", stage->task.id);
    ret->check.phase = stage->check_fails ? CHECK_PHASE_FAILED : CHECK_PHASE_PASSED;
    ret->check.tables = 12;
    snprintf(ret->check.gtid, sizeof(ret->check.gtid), "0-1-120");
    snprintf(ret->check.reason, sizeof(ret->check.reason), "%s", str_or_empty(stage->check_fails));
    snprintf(ret->check.message, sizeof(ret->check.message), "table d.t: Corrupt");
    return true;
}

static void act(struct stage *stage);

static void check(void *arg, const char *cluster_key, const char *pod, const struct check_task *task)
{
    struct stage *stage = arg;
    UNUSED(cluster_key);
    UNUSED(pod);
    if (stage->is_dead || str_eq(stage->task.id, task->id))
        return;
    stage->task = *task;
    act(stage);
}

/* ---- the operator, as far as drills go ---- */

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
    const struct drill_agents agents = {look, check, arg};
    const struct drill_controller_options options = {
        .clusters = informer_of(manager, &kube_kind_mysql_cluster, &projection_mysql_cluster),
        .backups = informer_of(manager, &kube_kind_mysql_backup, &projection_mysql_backup),
        .agents = &agents,
        .now_ms = now_of,
        .now_arg = arg,
        .recheck_ms = 5,
    };
    drill_controller_setup(manager, &options);
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
    drill_controller_use_kinds(stage->manager);
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
    tend_scratch(stage);
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
static void act(struct stage *stage)
{
    static const struct kube_api_fault nothing = {.kind = KUBE_API_FAULT_STATUS, .status = 403, .times = -1};
    stage->acts++;
    if (stage->kill_after == 0 || stage->acts != stage->kill_after)
        return;
    stage->is_dead = true;
    kube_api_double_fault(stage->api, &nothing);
    raise(SIGTERM);
}

static void on_write(void *arg)
{
    act(arg);
}

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

static void put_backup(struct stage *stage, const char *name, const char *when, const char *phase, const char *uid)
{
    _cleanup_(freep) char *path = xasprintf(BACKUPS "%s", name);
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlBackup', 'metadata': {'name': '%s', 'namespace': 'ns1'},"
        "'spec': {'cluster': 'shop'}, 'status': {'phase': '%s', 'completionTime': '%s', 'clusterUid': '%s'}}",
        name, phase, when, uid);
    _cleanup_(json_decrefp) json_t *object = world_json(text);
    kube_api_double_put(stage->api, path, object);
}

static struct stage *stage_new(const char *backup, const char *more)
{
    struct stage *stage = xnew(struct stage);
    log_setup(getenv("V") ? LOG_DEBUG : LOG_ERROR, LOG_FORMAT_TEXT, 2);
    clock_stand_still();
    stage->loop = loop_new();
    stage->api = kube_api_double_new(stage->loop);
    assert_int_equal(clock_parse_rfc3339("2026-11-21T12:00:00Z", &stage->now_ms), 0);
    kube_api_double_on_write(stage->api, on_write, stage);
    loop_timer_init(&stage->timer, stage->loop, on_tick, stage);
    put_cluster(stage, backup, more);
    _cleanup_(freep) char *uid = xstrdup(cluster_str(stage, "metadata.uid"));
    put_backup(stage, "old", "2026-11-20T03:00:00Z", "Completed", uid);
    put_backup(stage, "newest", "2026-11-21T03:00:00Z", "Completed", uid);
    put_backup(stage, "failed", "2026-11-21T04:00:00Z", "Failed", uid);
    put_backup(stage, "of-a-namesake", "2026-11-21T05:00:00Z", "Completed", "another");
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

/* ---- what there is ---- */

static bool has_event(const struct stage *stage, const char *reason)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(stage->api);
    return strstr(dump, reason) != NULL;
}

/* Nothing was done for a while in which the operator looked again and again. */
static bool is_quiet(struct stage *stage)
{
    int64_t now_ms = clock_monotonic_ms();
    if (stage->quiet_since_ms == 0 || stage->acts != stage->acts_then) {
        stage->acts_then = stage->acts;
        stage->quiet_since_ms = now_ms;
    }
    return now_ms - stage->quiet_since_ms >= QUIET_MS;
}

static bool is_clean(const struct stage *stage)
{
    return kube_api_double_count(stage->api, CLUSTER_LIST) == 1 && kube_api_double_count(stage->api, CLAIMS) == 0 &&
        str_eq(cluster_str(stage, "status.backup.drill.phase"), "");
}

static const char *verified_of(const struct stage *stage, const char *backup, const char *member)
{
    _cleanup_(freep) char *path = xasprintf(BACKUPS "%s", backup);
    _cleanup_(freep) char *whole = xasprintf("status.verified.%s", member);
    return json_path_str(kube_api_double_get(stage->api, path), whole, "");
}

static bool move_clock(struct stage *stage, const char *now)
{
    return clock_parse_rfc3339(now, &stage->now_ms) == 0;
}

/* ---- a drill's life ---- */

static bool waits_for_its_time(struct stage *stage)
{
    return str_eq(cluster_str(stage, "status.backup.drill.nextTime"), "2026-11-22T04:00:00Z") && is_quiet(stage) &&
        str_eq(cluster_str(stage, "status.backup.drill.reason"), "NotYet") && stage->made == 0 &&
        json_path_int(cluster_of(stage), "status.epoch", 0) == 7;
}

static bool its_time_comes(struct stage *stage)
{
    return move_clock(stage, "2026-11-22T04:00:01Z");
}

static bool is_verified(struct stage *stage)
{
    return str_eq(cluster_str(stage, "status.backup.drill.reason"), "Verified") && is_clean(stage) && is_quiet(stage) &&
        str_eq(cluster_str(stage, "status.backup.lastVerifiedRestore"), "2026-11-22T04:00:01Z") &&
        str_eq(cluster_str(stage, "status.backup.drill.verifiedBackup"), "newest") &&
        str_eq(cluster_str(stage, "status.backup.drill.verifiedGtid"), "0-1-120") &&
        str_eq(cluster_str(stage, "status.backup.drill.verifiedUntil"), "2026-11-21T03:00:00Z") &&
        str_eq(verified_of(stage, "newest", "result"), "Passed") &&
        str_eq(verified_of(stage, "newest", "time"), "2026-11-22T04:00:01Z") &&
        str_eq(verified_of(stage, "old", "time"), "") && str_eq(verified_of(stage, "of-a-namesake", "time"), "") &&
        json_path_int(cluster_of(stage), "status.epoch", 0) == 7;
}

static const step_fn good_life[] = {waits_for_its_time, its_time_comes, is_verified, NULL};

/* Events come later than what they are about. */
static bool is_told(struct stage *stage)
{
    return has_event(stage, "RestoreDrillStarted") && has_event(stage, "\"RestoreVerified\"");
}

static void test_goes_well(void **state)
{
    static const step_fn steps[] = {waits_for_its_time, its_time_comes, is_verified, is_told, NULL};
    UNUSED(state);
    struct stage *stage = stage_new(DRILL, "");
    stage_run(stage, steps);
    assert_int_equal(stage->made, 1);
    assert_string_equal(stage->task.gtid, "0-1-99");
    stage_free(stage);
}

static void test_killed_after_each_act(void **state)
{
    size_t acts = 0;
    UNUSED(state);
    for (size_t i = 0; i == 0 || i <= acts; i++) {
        struct stage *stage = stage_new(DRILL, "");
        stage->kill_after = i;
        stage_run(stage, good_life);
        if (i == 0)
            acts = stage->acts;
        assert_int_equal(stage->made, 1);
        assert_int_equal(json_path_int(cluster_of(stage), "status.backup.drill.failures", 0), 0);
        stage_free(stage);
    }
    printf("  %zu acts\n", acts);
    assert_true(acts >= 8);
}

/* ---- with archived binary logs ---- */

static bool replays(struct stage *stage)
{
    const json_t *scratch = scratch_of(stage);
    return scratch && str_eq(json_path_str(scratch, "spec.restoreFrom.pointInTime", ""), "latest") &&
        str_eq(json_path_str(scratch, "spec.restoreFrom.backup.name", ""), "newest");
}

static bool replays_not(struct stage *stage)
{
    const json_t *scratch = scratch_of(stage);
    return scratch && str_eq(json_path_str(scratch, "spec.restoreFrom.pointInTime", ""), "");
}

static void test_the_archive_counts_where_the_backup_is(void **state)
{
    static const step_fn beside[] = {waits_for_its_time, its_time_comes, replays, NULL};
    static const step_fn elsewhere[] = {waits_for_its_time, its_time_comes, replays_not, NULL};
    static const struct {
        const char *status;
        const step_fn *steps;
    } cases[] = {
        {"'destination': {'persistentVolumeClaim': {'claimName': 'backups'}},"
         "'encryption': {'keySecret': {'name': 'k'}}",
            beside},
        {"'destination': {'persistentVolumeClaim': {'claimName': 'other'}},"
         "'encryption': {'keySecret': {'name': 'k'}}",
            elsewhere},
        {"'destination': {'persistentVolumeClaim': {'claimName': 'backups'}}", elsewhere},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct stage *stage =
            stage_new(DRILL ", 'binlogs': {'enabled': true}, 'encryption': {'keySecret': {'name': 'k'}}", "");
        _cleanup_(freep) char *text = xasprintf("{'status': {%s}}", cases[i].status);
        stage->hangs = true;
        edit(stage, BACKUPS "newest", text);
        edit(stage, PATH_CLUSTER,
            "{'status': {'backup': {'recoverableFrom': '2026-11-20T03:00:00Z', 'archive': {'untilTime': '2026-11-21T11:59:00Z'}}}}");
        stage_run(stage, cases[i].steps);
        stage_free(stage);
    }
}

/* ---- failures ---- */

static bool has_failed(struct stage *stage, const char *reason, const char *words)
{
    return str_eq(cluster_str(stage, "status.backup.drill.reason"), reason) && is_clean(stage) && is_quiet(stage) &&
        strstr(cluster_str(stage, "status.backup.drill.message"), words) &&
        json_path_int(cluster_of(stage), "status.backup.drill.failures", 0) == 1 &&
        str_eq(cluster_str(stage, "status.backup.lastVerifiedRestore"), "");
}

static bool fails_to_restore(struct stage *stage)
{
    return has_failed(stage, "BackupDamaged", "piece 3 is damaged") &&
        str_eq(verified_of(stage, "newest", "result"), "Failed") &&
        strstr(verified_of(stage, "newest", "message"), "piece 3 is damaged");
}

static bool gives_up(struct stage *stage)
{
    return has_failed(stage, "KeyInvalid", "piece 3 is damaged");
}

static bool fails_the_check(struct stage *stage)
{
    return has_failed(stage, "TablesDamaged", "table d.t: Corrupt") &&
        str_eq(verified_of(stage, "newest", "result"), "Failed");
}

static void test_failures(void **state)
{
    static const step_fn unrestorable[] = {waits_for_its_time, its_time_comes, fails_to_restore, NULL};
    static const step_fn given_up[] = {waits_for_its_time, its_time_comes, gives_up, NULL};
    static const step_fn damaged[] = {waits_for_its_time, its_time_comes, fails_the_check, NULL};
    UNUSED(state);
    for (size_t kill_after = 0; kill_after < 9; kill_after++) {
        struct stage *stage = stage_new(DRILL, "");
        stage->kill_after = kill_after;
        stage->restore_fails = "BackupDamaged";
        stage_run(stage, unrestorable);
        stage_free(stage);
        stage = stage_new(DRILL, "");
        stage->kill_after = kill_after;
        stage->hangs = true;
        stage->gives_up = "KeyInvalid";
        stage_run(stage, given_up);
        stage_free(stage);
        stage = stage_new(DRILL, "");
        stage->kill_after = kill_after;
        stage->check_fails = "TablesDamaged";
        stage_run(stage, damaged);
        stage_free(stage);
    }
}

/* ---- one that hangs ---- */

static bool is_made(struct stage *stage)
{
    return scratch_of(stage) && is_quiet(stage) && str_eq(cluster_str(stage, "status.backup.drill.phase"), "Restoring");
}

static bool time_passes(struct stage *stage)
{
    return move_clock(stage, "2026-11-22T05:00:02Z");
}

static bool is_overdue(struct stage *stage)
{
    return has_failed(stage, "DeadlineExceeded", "3600 s") && has_event(stage, "RestoreDrillFailed");
}

static void test_a_deadline_ends_it(void **state)
{
    static const step_fn steps[] = {waits_for_its_time, its_time_comes, is_made, time_passes, is_overdue, NULL};
    UNUSED(state);
    struct stage *stage = stage_new("'drill': {'schedule': '0 4 * * *', 'deadlineSeconds': 3600}", "");
    stage->hangs = true;
    stage_run(stage, steps);
    assert_int_equal(stage->made, 1);
    stage_free(stage);
}

/* ---- others ---- */

static bool name_is_taken(struct stage *stage)
{
    const json_t *scratch = scratch_of(stage);
    if (!scratch)
        return false;
    _cleanup_(freep) char *path = xasprintf(CLUSTERS "%s", json_path_str(scratch, "metadata.name", ""));
    snprintf(stage->seen, sizeof(stage->seen), "%s", json_path_str(scratch, "metadata.name", ""));
    edit(stage, path, "{'metadata': {'ownerReferences': null}}");
    return true;
}

static bool anothers_stays(struct stage *stage)
{
    _cleanup_(freep) char *path = xasprintf(CLUSTERS "%s", stage->seen);
    return str_eq(cluster_str(stage, "status.backup.drill.reason"), "ScratchNameTaken") && is_quiet(stage) &&
        str_eq(cluster_str(stage, "status.backup.drill.phase"), "") && kube_api_double_get(stage->api, path) &&
        kube_api_double_count(stage->api, CLAIMS) == 1;
}

static void test_what_is_anothers_stays(void **state)
{
    static const step_fn steps[] = {waits_for_its_time, its_time_comes, name_is_taken, anothers_stays, NULL};
    UNUSED(state);
    struct stage *stage = stage_new(DRILL, "");
    stage->hangs = true;
    stage_run(stage, steps);
    stage_free(stage);
}

static bool switch_off(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'metadata': {'generation': 2}, 'spec': {'backup': {'drill': null}}}");
    return true;
}

static bool nothing_is_left(struct stage *stage)
{
    return is_clean(stage) && is_quiet(stage) && !json_is_object(json_path(cluster_of(stage), "status.backup.drill")) &&
        str_eq(verified_of(stage, "newest", "time"), "");
}

static bool take_backup_away(struct stage *stage)
{
    edit(stage, PATH_CLUSTER, "{'metadata': {'generation': 2}, 'spec': {'backup': null}}");
    return true;
}

static void test_switched_off_in_its_middle(void **state)
{
    static const step_fn off[] = {waits_for_its_time, its_time_comes, is_made, switch_off, nothing_is_left, NULL};
    static const step_fn away[] = {waits_for_its_time, its_time_comes, is_made, take_backup_away, nothing_is_left, NULL};
    UNUSED(state);
    for (int i = 0; i < 2; i++) {
        struct stage *stage = stage_new(DRILL, "");
        stage->hangs = true;
        stage_run(stage, i == 0 ? off : away);
        stage_free(stage);
    }
}

static bool problem_is_told(struct stage *stage)
{
    return strstr(cluster_str(stage, "status.backup.drill.problem"), "a volume of its own") && is_quiet(stage) &&
        has_event(stage, "RestoreDrillProblem") && its_time_comes(stage);
}

static bool nothing_begins(struct stage *stage)
{
    return is_quiet(stage) && stage->made == 0;
}

static void test_a_volume_that_would_be_shared(void **state)
{
    static const step_fn steps[] = {problem_is_told, nothing_begins, NULL};
    UNUSED(state);
    struct stage *stage = stage_new(DRILL, "");
    edit(stage, PATH_CLUSTER, "{'spec': {'storage': {'volumeSource': {'emptyDir': null, 'hostPath': {'path': '/d'}}}}}");
    stage_run(stage, steps);
    stage_free(stage);
}

/* Neither a scratch cluster nor one without drills is any of its business. */
static void test_who_has_none(void **state)
{
    static const step_fn steps[] = {its_time_comes, nothing_begins, NULL};
    UNUSED(state);
    struct stage *stage = stage_new("'method': 'logical'", "");
    stage_run(stage, steps);
    assert_int_equal(stage->acts, 0);
    stage_free(stage);
    stage = stage_new(DRILL, "");
    edit(stage, PATH_CLUSTER, "{'metadata': {'labels': {'kubemysql.dev/drill': 'another'}}}");
    stage_run(stage, steps);
    assert_int_equal(stage->acts, 0);
    stage_free(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_well),
        cmocka_unit_test(test_killed_after_each_act),
        cmocka_unit_test(test_the_archive_counts_where_the_backup_is),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_a_deadline_ends_it),
        cmocka_unit_test(test_what_is_anothers_stays),
        cmocka_unit_test(test_switched_off_in_its_middle),
        cmocka_unit_test(test_a_volume_that_would_be_shared),
        cmocka_unit_test(test_who_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
