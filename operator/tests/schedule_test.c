/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of schedules against an API server inside the test, with a clock that the test moves. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/tests/operator_world.h"
#include "operator/tests/schedule_stage.h"

/* As the backup controller does when it has run it. */
static bool end_backup(struct schedule_stage *stage, const char *name, const char *phase)
{
    char when[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(stage->now_ms, when);
    _cleanup_(freep) char *path = xasprintf(SCHEDULE_BACKUPS "%s", name);
    _cleanup_(freep) char *text = xasprintf("{'status': {'phase': '%s', 'startTime': '%s', 'completionTime': '%s',"
                                            "'clusterUid': '%s', 'message': 'the disk is full'}}",
        phase, when, when, schedule_stage_cluster_str(stage, "metadata.uid"));
    if (!kube_api_double_get(stage->api, path))
        return false;
    schedule_stage_edit(stage, path, text);
    return true;
}

/* ---- a schedule's life ---- */

static bool waits_for_the_first(struct schedule_stage *stage)
{
    return schedule_stage_is_next(stage, "2026-11-22T01:30:00Z") && schedule_stage_is_quiet(stage) &&
        schedule_stage_count_backups(stage) == 0 &&
        str_eq(schedule_stage_cluster_str(stage, "status.backup.lastScheduleTime"), "2026-11-21T12:00:00Z") &&
        str_eq(schedule_stage_cluster_str(stage, "status.backup.schedule"), "30 2 * * * Europe/Berlin") &&
        json_path_int(kube_api_double_get(stage->api, PATH_CLUSTER), "status.epoch", 0) == 7;
}

static bool a_second_early(struct schedule_stage *stage)
{
    return schedule_stage_move_clock(stage, "2026-11-22T01:29:59Z");
}

static bool nothing_yet(struct schedule_stage *stage)
{
    return schedule_stage_is_quiet(stage) && schedule_stage_count_backups(stage) == 0;
}

static bool its_time(struct schedule_stage *stage)
{
    return schedule_stage_move_clock(stage, "2026-11-22T01:30:00Z");
}

/* An event comes later than what it is about, and may go down with the operator. */
static bool is_told(const struct schedule_stage *stage, const char *reason)
{
    return stage->kill_after > 0 || schedule_stage_has_event(stage, reason);
}

static bool the_first_is_made(struct schedule_stage *stage)
{
    const json_t *backup = schedule_stage_backup_of(stage, "shop-202611220130");
    if (!backup || !schedule_stage_is_next(stage, "2026-11-23T01:30:00Z"))
        return false;
    bool good = str_eq(json_path_str(backup, "metadata.labels[\"kubemysql.dev/cluster\"]", ""), "shop") &&
        str_eq(json_path_str(backup, "metadata.labels[\"kubemysql.dev/scheduled\"]", ""), "true") &&
        !json_path(backup, "metadata.ownerReferences") && str_eq(json_path_str(backup, "spec.cluster", ""), "shop") &&
        str_eq(json_path_str(backup, "spec.destination.persistentVolumeClaim.claimName", ""), "backups") &&
        str_eq(json_path_str(backup, "spec.method", ""), "logical") &&
        str_eq(json_path_str(backup, "spec.deletionPolicy", ""), "Delete") && !json_path(backup, "spec.schedule");
    if (good && !is_told(stage, "BackupScheduled"))
        return false;
    if (!good || schedule_stage_count_backups(stage) != 1 || schedule_stage_has_event(stage, "BackupSkipped"))
        snprintf(stage->failure, sizeof(stage->failure), "the first backup is not as it should be");
    return good;
}

static bool the_first_completes(struct schedule_stage *stage)
{
    schedule_stage_move_clock(stage, "2026-11-22T01:40:00Z");
    return end_backup(stage, "shop-202611220130", "Completed");
}

static bool it_is_told(struct schedule_stage *stage)
{
    return str_eq(schedule_stage_cluster_str(stage, "status.lastBackupTime"), "2026-11-22T01:40:00Z") &&
        str_eq(schedule_stage_cluster_str(stage, "status.backup.lastBackup"), "shop-202611220130") &&
        str_eq(schedule_stage_cluster_str(stage, "status.backup.lastBackupTime"), "2026-11-22T01:40:00Z");
}

static bool three_days_later(struct schedule_stage *stage)
{
    return schedule_stage_move_clock(stage, "2026-11-25T09:00:00Z");
}

static bool missed_ones_are_caught_up_once(struct schedule_stage *stage)
{
    return schedule_stage_backup_of(stage, "shop-202611250130") &&
        schedule_stage_is_next(stage, "2026-11-26T01:30:00Z") && schedule_stage_is_quiet(stage) &&
        schedule_stage_count_backups(stage) == 2;
}

static bool another_day(struct schedule_stage *stage)
{
    return schedule_stage_move_clock(stage, "2026-11-26T02:00:00Z");
}

static bool the_next_is_left_out(struct schedule_stage *stage)
{
    return schedule_stage_is_next(stage, "2026-11-27T01:30:00Z") && schedule_stage_is_quiet(stage) &&
        schedule_stage_count_backups(stage) == 2 &&
        str_eq(schedule_stage_cluster_str(stage, "status.backup.lastScheduleTime"), "2026-11-26T01:30:00Z") &&
        is_told(stage, "BackupSkipped");
}

static bool the_long_one_fails(struct schedule_stage *stage)
{
    return end_backup(stage, "shop-202611250130", "Failed");
}

static bool the_failure_is_told(struct schedule_stage *stage)
{
    return str_eq(
               schedule_stage_cluster_str(stage, "status.backup.lastFailure"), "shop-202611250130: the disk is full") &&
        str_eq(schedule_stage_cluster_str(stage, "status.backup.lastFailureTime"), "2026-11-26T02:00:00Z") &&
        schedule_stage_is_quiet(stage) && schedule_stage_count_backups(stage) == 2;
}

static bool the_next_two_complete(struct schedule_stage *stage)
{
    static const char *const names[] = {"shop-202611270130", "shop-202611280130"};
    static const char *const times[] = {"2026-11-27T01:30:00Z", "2026-11-28T01:30:00Z"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const json_t *backup = schedule_stage_backup_of(stage, names[i]);
        if (!backup)
            return schedule_stage_move_clock(stage, times[i]) && false;
        if (!json_path(backup, "status.phase"))
            return end_backup(stage, names[i], "Completed") && false;
    }
    return true;
}

/* keep.last is 2; the failed one is a record. */
static bool the_oldest_goes(struct schedule_stage *stage)
{
    return !schedule_stage_backup_of(stage, "shop-202611220130") && schedule_stage_is_quiet(stage) &&
        schedule_stage_count_backups(stage) == 3;
}

static bool suspend(struct schedule_stage *stage)
{
    schedule_stage_edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'suspend': true}}}");
    return true;
}

static bool nothing_is_next(struct schedule_stage *stage)
{
    const json_t *cluster = kube_api_double_get(stage->api, PATH_CLUSTER);
    return schedule_stage_is_next(stage, "") && json_path_bool(cluster, "status.backup.suspended", false) &&
        str_eq(schedule_stage_cluster_str(stage, "status.backup.schedule"), "30 2 * * * Europe/Berlin");
}

static bool days_go_by(struct schedule_stage *stage)
{
    return schedule_stage_move_clock(stage, "2026-12-03T12:00:00Z");
}

static bool still_three(struct schedule_stage *stage)
{
    return schedule_stage_is_quiet(stage) && schedule_stage_count_backups(stage) == 3;
}

static bool resume(struct schedule_stage *stage)
{
    schedule_stage_edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'suspend': null}}}");
    return true;
}

static bool waits_again(struct schedule_stage *stage)
{
    const json_t *cluster = kube_api_double_get(stage->api, PATH_CLUSTER);
    return schedule_stage_is_next(stage, "2026-12-04T01:30:00Z") && still_three(stage) &&
        !json_path(cluster, "status.backup.suspended");
}

/* A time before the change was never due. */
static bool change(struct schedule_stage *stage)
{
    schedule_stage_edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'schedule': '0 12 * * *', 'timeZone': null}}}");
    schedule_stage_move_clock(stage, "2026-12-03T12:30:00Z");
    return true;
}

static bool waits_for_the_new_time(struct schedule_stage *stage)
{
    return schedule_stage_is_next(stage, "2026-12-04T12:00:00Z") && still_three(stage);
}

static bool wrong_zone(struct schedule_stage *stage)
{
    schedule_stage_edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'timeZone': 'Europe/Berlim'}}}");
    return true;
}

static bool the_problem_is_told(struct schedule_stage *stage)
{
    return str_eq(schedule_stage_cluster_str(stage, "status.backup.problem"),
               "spec.backup.timeZone: there is no time zone \"Europe/Berlim\"") &&
        is_told(stage, "BackupScheduleProblem") && schedule_stage_is_next(stage, "") && still_three(stage);
}

/* What was due while it could not be known is caught up. */
static bool right_zone(struct schedule_stage *stage)
{
    schedule_stage_edit(stage, PATH_CLUSTER, "{'spec': {'backup': {'timeZone': null}}}");
    return schedule_stage_move_clock(stage, "2026-12-05T13:00:00Z");
}

static bool caught_up(struct schedule_stage *stage)
{
    return schedule_stage_backup_of(stage, "shop-202612051200") &&
        schedule_stage_is_next(stage, "2026-12-06T12:00:00Z") &&
        !*schedule_stage_cluster_str(stage, "status.backup.problem") && schedule_stage_is_quiet(stage) &&
        schedule_stage_count_backups(stage) == 4;
}

static const schedule_step_fn life[] = {waits_for_the_first, a_second_early, nothing_yet, its_time, the_first_is_made,
    the_first_completes, it_is_told, three_days_later, missed_ones_are_caught_up_once, another_day,
    the_next_is_left_out, the_long_one_fails, the_failure_is_told, the_next_two_complete, the_oldest_goes, suspend,
    nothing_is_next, days_go_by, still_three, resume, waits_again, change, waits_for_the_new_time, wrong_zone,
    the_problem_is_told, right_zone, caught_up, NULL};

static void play_life(size_t kill_after, size_t *ret_writes)
{
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    stage->kill_after = kill_after;
    schedule_stage_put_cluster(
        stage, "'schedule': '30 2 * * *', 'timeZone': 'Europe/Berlin', 'method': 'logical', 'keep': {'last': 2}", "");
    schedule_stage_run(stage, life);
    *ret_writes = stage->writes;
    schedule_stage_free(stage);
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

static bool made_once(struct schedule_stage *stage)
{
    return schedule_stage_backup_of(stage, "shop-202611220000") &&
        schedule_stage_is_next(stage, "2026-11-23T00:00:00Z") && schedule_stage_is_quiet(stage) &&
        schedule_stage_count_backups(stage) == 1 && !schedule_stage_has_event(stage, "BackupSkipped");
}

static bool midnight(struct schedule_stage *stage)
{
    return schedule_stage_is_next(stage, "2026-11-22T00:00:00Z") &&
        schedule_stage_move_clock(stage, "2026-11-22T00:00:30Z");
}

static void test_lost_answer(void **state)
{
    UNUSED(state);
    static const schedule_step_fn steps[] = {midnight, made_once, NULL};
    static const struct kube_api_fault faults[] = {
        {.method = "POST",
            .path_prefix = "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups",
            .kind = KUBE_API_FAULT_RESET,
            .carried_out = true},
        {.method = "PATCH", .path_prefix = PATH_CLUSTER, .nth = 2, .kind = KUBE_API_FAULT_STATUS, .status = 500}};
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    schedule_stage_put_cluster(stage, "'schedule': '@daily'", "");
    kube_api_double_fault(stage->api, &faults[0]);
    kube_api_double_fault(stage->api, &faults[1]);
    schedule_stage_run(stage, steps);
    schedule_stage_free(stage);
}

/* Another leader, or a person, was faster. */
static bool somebody_was_faster(struct schedule_stage *stage)
{
    if (!schedule_stage_is_next(stage, "2026-11-22T00:00:00Z"))
        return false;
    kube_api_double_mute_watches(stage->api, true);
    schedule_stage_put_backup(
        stage, "shop-202611220000", "2026-11-22T00:00:00Z", schedule_stage_cluster_str(stage, "metadata.uid"), "");
    return schedule_stage_move_clock(stage, "2026-11-22T00:00:30Z");
}

static void test_two_leaders(void **state)
{
    UNUSED(state);
    static const schedule_step_fn steps[] = {somebody_was_faster, made_once, NULL};
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    schedule_stage_put_cluster(stage, "'schedule': '@daily'", "");
    schedule_stage_run(stage, steps);
    schedule_stage_free(stage);
}

/* ---- waiting ---- */

static bool later(struct schedule_stage *stage)
{
    return str_eq(schedule_stage_cluster_str(stage, "status.backup.schedule"), "@daily UTC") &&
        schedule_stage_move_clock(stage, "2026-11-24T06:00:00Z");
}

static bool none_is_made(struct schedule_stage *stage)
{
    return schedule_stage_is_quiet(stage) && schedule_stage_count_backups(stage) == 0 &&
        schedule_stage_is_next(stage, "");
}

static bool wake_up(struct schedule_stage *stage)
{
    schedule_stage_edit(stage, PATH_CLUSTER, "{'spec': {'paused': null, 'replicas': 1}}");
    return true;
}

static bool one_is_made(struct schedule_stage *stage)
{
    return schedule_stage_backup_of(stage, "shop-202611240000") &&
        schedule_stage_is_next(stage, "2026-11-25T00:00:00Z") && schedule_stage_is_quiet(stage) &&
        schedule_stage_count_backups(stage) == 1;
}

static void test_paused_and_stopped(void **state)
{
    UNUSED(state);
    static const schedule_step_fn steps[] = {later, none_is_made, wake_up, one_is_made, NULL};
    static const char *const wishes[] = {", 'paused': true", ", 'replicas': 0"};
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
        schedule_stage_put_cluster(stage, "'schedule': '@daily'", wishes[i]);
        schedule_stage_run(stage, steps);
        schedule_stage_free(stage);
    }
}

/* ---- what retention leaves alone ---- */

#define OURS "'kubemysql.dev/scheduled': 'true', 'kubemysql.dev/cluster': 'shop'"

static bool others_stay(struct schedule_stage *stage)
{
    static const char *const stay[] = {"new", "hand-made", "of-a-namesake", "held", "of-elsewhere"};
    if (schedule_stage_backup_of(stage, "old") || !schedule_stage_is_quiet(stage))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(stay); i++) {
        if (!schedule_stage_backup_of(stage, stay[i]))
            snprintf(stage->failure, sizeof(stage->failure), "%s is gone", stay[i]);
    }
    return true;
}

/* The cluster that was made of it is there. */
static bool restored(struct schedule_stage *stage)
{
    schedule_stage_edit(stage, "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/copy",
        "{'status': {'initialized': true}, 'metadata': {'labels': {'a': 'b'}}}");
    schedule_stage_edit(stage, PATH_CLUSTER, "{'metadata': {'labels': {'a': 'b'}}}");
    return true;
}

static bool held_no_more(struct schedule_stage *stage)
{
    return !schedule_stage_backup_of(stage, "held") && schedule_stage_is_quiet(stage) &&
        schedule_stage_backup_of(stage, "new") && schedule_stage_backup_of(stage, "hand-made") &&
        schedule_stage_backup_of(stage, "of-a-namesake");
}

static void test_what_stays(void **state)
{
    UNUSED(state);
    static const schedule_step_fn steps[] = {others_stay, restored, held_no_more, NULL};
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    schedule_stage_put_cluster(stage, "'schedule': '@daily', 'keep': {'last': 1}", "");
    _cleanup_(json_decrefp) json_t *copy =
        world_json("{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlCluster', 'metadata': {'name': 'copy',"
                   "'namespace': 'ns1'}, 'spec': {'restoreFrom': {'backup': {'name': 'held'}}}}");
    kube_api_double_put(stage->api, "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/copy", copy);
    _cleanup_(freep) char *uid = xstrdup(schedule_stage_cluster_str(stage, "metadata.uid"));
    schedule_stage_put_backup(stage, "of-a-namesake", "2026-11-01T00:00:00Z", "another", OURS);
    schedule_stage_put_backup(stage, "hand-made", "2026-11-02T00:00:00Z", uid, "'kubemysql.dev/cluster': 'shop'");
    schedule_stage_put_backup(stage, "held", "2026-11-03T00:00:00Z", uid, OURS);
    schedule_stage_put_backup(stage, "old", "2026-11-04T00:00:00Z", uid, OURS);
    schedule_stage_put_backup(stage, "new", "2026-11-05T00:00:00Z", uid, OURS);
    schedule_stage_put_backup(stage, "of-elsewhere", "2026-11-01T00:00:00Z", uid, OURS);
    schedule_stage_edit(stage, SCHEDULE_BACKUPS "of-elsewhere", "{'spec': {'cluster': 'garden'}}");
    schedule_stage_run(stage, steps);
    schedule_stage_free(stage);
}

/* A restore in place: what the annotation asks for, what is under way, and what is over. */
static const struct {
    const char *wish, *status; /* the annotation; status.restoreInPlace */
    bool stays;
} in_place_cases[] = {
    {"old", "null", true},
    {"old@2026-11-04T12:00:00Z", "null", true},
    {"old", "{'phase': 'Resolving', 'wish': 'old', 'number': 1}", true},
    {"old@latest", "{'phase': 'Restoring', 'wish': 'old@latest', 'number': 1}", true},
    {"", "{'phase': 'Restoring', 'wish': 'old', 'number': 1}", true},
    {"new", "{'phase': 'Taking', 'wish': 'old', 'number': 1}", true},
    {"old", "{'phase': 'Reseeding', 'wish': 'old', 'number': 1}", true},
    {"old", "{'phase': 'Failed', 'wish': 'new', 'number': 1}", true},
    {"old", "{'phase': 'Completed', 'wish': 'old', 'number': 1}", false},
    {"old", "{'phase': 'Failed', 'wish': 'old', 'number': 1}", false},
    {"old and more", "null", false},
    {"older", "null", false},
};

static bool old_stays(struct schedule_stage *stage)
{
    return schedule_stage_is_quiet(stage) && schedule_stage_backup_of(stage, "old") &&
        !schedule_stage_backup_of(stage, "oldest") && schedule_stage_backup_of(stage, "new");
}

static bool old_goes(struct schedule_stage *stage)
{
    return schedule_stage_is_quiet(stage) && !schedule_stage_backup_of(stage, "old") &&
        schedule_stage_backup_of(stage, "new");
}

static void play_in_place(size_t i)
{
    const schedule_step_fn steps[] = {in_place_cases[i].stays ? old_stays : old_goes, NULL};
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    schedule_stage_put_cluster(stage, "'schedule': '@daily', 'keep': {'last': 1}", "");
    _cleanup_(freep) char *text = xasprintf("{'metadata': {'annotations': {'kubemysql.dev/restore-in-place': '%s'}}, "
                                            "'status': {'initialized': true, 'restoreInPlace': %s}}",
        in_place_cases[i].wish, in_place_cases[i].status);
    schedule_stage_edit(stage, PATH_CLUSTER, text);
    _cleanup_(freep) char *uid = xstrdup(schedule_stage_cluster_str(stage, "metadata.uid"));
    schedule_stage_put_backup(stage, "oldest", "2026-11-03T00:00:00Z", uid, OURS);
    schedule_stage_put_backup(stage, "old", "2026-11-04T00:00:00Z", uid, OURS);
    schedule_stage_put_backup(stage, "new", "2026-11-05T00:00:00Z", uid, OURS);
    schedule_stage_run(stage, steps);
    schedule_stage_free(stage);
}

static void test_restore_in_place_holds(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(in_place_cases); i++) {
        print_message("case %zu: %s, %s\n", i, in_place_cases[i].wish, in_place_cases[i].status);
        play_in_place(i);
    }
}

/* The last one that was proven stays behind two whose drills failed. */
static bool only_doubtless_stay(struct schedule_stage *stage)
{
    return schedule_stage_is_quiet(stage) && schedule_stage_count_backups(stage) == 4 &&
        schedule_stage_backup_of(stage, "proven");
}

static void test_drills_count(void **state)
{
    UNUSED(state);
    static const schedule_step_fn steps[] = {only_doubtless_stay, NULL};
    static const char *const names[] = {"oldest", "proven", "untried", "doubtful", "newest"};
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    schedule_stage_put_cluster(stage, "'keep': {'last': 2}", "");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(freep) char *when = xasprintf("2026-11-0%zuT00:00:00Z", i + 1);
        schedule_stage_put_backup(stage, names[i], when, schedule_stage_cluster_str(stage, "metadata.uid"), OURS);
    }
    schedule_stage_edit(stage, SCHEDULE_BACKUPS "proven", "{'status': {'verified': {'result': 'Passed'}}}");
    schedule_stage_edit(stage, SCHEDULE_BACKUPS "doubtful", "{'status': {'verified': {'result': 'Failed'}}}");
    schedule_stage_edit(stage, SCHEDULE_BACKUPS "newest", "{'status': {'verified': {'result': 'Failed'}}}");
    schedule_stage_run(stage, steps);
    schedule_stage_free(stage);
}

/* More than go in one turn. */
static bool only_the_newest(struct schedule_stage *stage)
{
    return schedule_stage_is_quiet(stage) && schedule_stage_count_backups(stage) == 1 &&
        schedule_stage_backup_of(stage, "b39");
}

static void test_many_go(void **state)
{
    UNUSED(state);
    static const schedule_step_fn steps[] = {only_the_newest, NULL};
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    schedule_stage_put_cluster(stage, "'keep': {'last': 1}", "");
    for (int i = 10; i < 40; i++) {
        char name[8], when[CLOCK_RFC3339_SIZE];
        snprintf(name, sizeof(name), "b%d", i);
        clock_format_rfc3339(1760000000000 + i * 60000LL, when);
        schedule_stage_put_backup(stage, name, when, schedule_stage_cluster_str(stage, "metadata.uid"), OURS);
    }
    schedule_stage_run(stage, steps);
    schedule_stage_free(stage);
}

/* A spec that says nothing of backups is left alone, but those made by hand are told. */
static bool told(struct schedule_stage *stage)
{
    return str_eq(schedule_stage_cluster_str(stage, "status.lastBackupTime"), "2026-11-02T00:00:00Z") &&
        schedule_stage_is_quiet(stage) && schedule_stage_count_backups(stage) == 2;
}

static void test_no_schedule(void **state)
{
    UNUSED(state);
    static const schedule_step_fn steps[] = {told, NULL};
    struct schedule_stage *stage = schedule_stage_new("2026-11-21T12:00:00Z");
    schedule_stage_put_cluster(stage, "'method': 'logical'", "");
    schedule_stage_edit(stage, PATH_CLUSTER, "{'spec': {'backup': null}}");
    _cleanup_(freep) char *uid = xstrdup(schedule_stage_cluster_str(stage, "metadata.uid"));
    schedule_stage_put_backup(stage, "one", "2026-11-01T00:00:00Z", uid, OURS);
    schedule_stage_put_backup(stage, "two", "2026-11-02T00:00:00Z", uid, "");
    schedule_stage_run(stage, steps);
    schedule_stage_free(stage);
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
        cmocka_unit_test(test_restore_in_place_holds),
        cmocka_unit_test(test_drills_count),
        cmocka_unit_test(test_many_go),
        cmocka_unit_test(test_no_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
