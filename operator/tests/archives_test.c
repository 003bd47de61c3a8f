/* SPDX-License-Identifier: Apache-2.0 */
/* The archive of binary logs by the whole operator: who is told what, what the status says of it, whatever happens on
 * the way. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/archive_status.h"
#include "operator/api/backup_store_pod.h"
#include "operator/tests/archive_world.h"

/* ---- what is there ---- */

static const char *archive_of(struct operator_world *world, const char *member)
{
    _cleanup_(freep) char *path = xasprintf("backup.archive.%s", member);
    return role_story_status(world, path);
}

static const char *condition_of(struct operator_world *world)
{
    return world_condition(world, "BinlogsArchived");
}

static bool up_to_date(struct operator_world *world)
{
    return str_eq(archive_of(world, "reason"), "UpToDate") && str_eq(condition_of(world), "True/UpToDate");
}

static bool says(struct operator_world *world, const char *condition, const char *message)
{
    return str_eq(condition_of(world), condition) && strstr(archive_of(world, "message"), message);
}

static bool has_event(struct operator_world *world, const char *reason)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    return strstr(dump, reason) != NULL;
}

/* ---- a quiet life ---- */

static bool told_0(struct operator_world *world)
{
    return *world_agent(world, 0)->archive.task != '\0';
}

static bool back_up(struct operator_world *world)
{
    archive_world_put_backup(world, "second", "0-1-2", clock_realtime_ms() - HOUR_MS);
    archive_world_put_backup(world, "first", "0-1-1", clock_realtime_ms() - 2 * HOUR_MS);
    return true;
}

static int64_t time_in(struct operator_world *world, const char *member)
{
    int64_t ms = 0;
    return clock_parse_rfc3339(role_story_status(world, member), &ms) == 0 ? ms : 0;
}

static bool is_recoverable(struct operator_world *world)
{
    int64_t from_ms = time_in(world, "backup.recoverableFrom"), until_ms = time_in(world, "backup.recoverableUntil");
    return from_ms > 0 && llabs(clock_realtime_ms() - 2 * HOUR_MS - from_ms) < HOUR_MS / 2 &&
        llabs(clock_realtime_ms() - until_ms) < HOUR_MS / 2;
}

static bool lose_first(struct operator_world *world)
{
    return archive_world_remove_backup(world, "first");
}

static bool recoverable_from_second(struct operator_world *world)
{
    return llabs(clock_realtime_ms() - HOUR_MS - time_in(world, "backup.recoverableFrom")) < HOUR_MS / 2;
}

static bool no_backup_yet(struct operator_world *world)
{
    return up_to_date(world) && strstr(archive_of(world, "message"), "no backup yet") &&
        !*role_story_status(world, "backup.recoverableFrom");
}

static void test_quiet_life(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, told_0, no_backup_yet, back_up, is_recoverable,
        up_to_date, lose_first, recoverable_from_second, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(2, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    const struct agent_double *primary = world_agent(world, 0);
    _cleanup_(freep) char *folder = xasprintf("ns1/shop/binlogs/%s", world_str(world, PATH_CLUSTER, "metadata.uid"));
    assert_string_equal(primary->archive.folder, folder);
    assert_string_equal(primary->archive.key, "key1");
    assert_int_equal(primary->archive.interval_s, 7);
    assert_in_range(agent_doubles_archive_tasks(world->agents), 1, 2); /* again after a stream that broke */
    assert_string_equal(world_agent(world, 1)->archive.task, "");
    assert_int_equal(
        world_int(world, PATH_CLUSTER, "status.backup.archive.epoch"), world_int(world, PATH_CLUSTER, "status.epoch"));
    char *status = json_text(kube_api_double_get(world->api, PATH_CLUSTER)); /* I9 */
    assert_null(strstr(status, "secret1"));
    free(status);
    archive_world_free(world);
}

/* ---- on kept volumes ---- */

/* Its binary logs are older than the cluster. */
static bool keep_volume(struct operator_world *world)
{
    int64_t created_ms = 0;
    assert_int_equal(clock_parse_rfc3339(world_str(world, PATH_CLUSTER, "metadata.creationTimestamp"), &created_ms), 0);
    world_agent(world, 0)->status.binlogs_from_ms = created_ms - HOUR_MS;
    return true;
}

static bool asks_for_backup(struct operator_world *world)
{
    static const char wanted[] = "make a backup (a MysqlBackup of shop): nothing can be restored: what is committed is "
                                 "archived, but there is no backup yet to go on from";
    return says(world, "False/NoBackup", "no backup yet") && str_eq(role_story_status(world, "state"), "Degraded") &&
        str_eq(role_story_status(world, "nextAction"), wanted);
}

static bool asks_for_nothing(struct operator_world *world)
{
    return up_to_date(world) && !*role_story_status(world, "nextAction");
}

/* What it holds from before is in no backup of its own. */
static void test_kept_volume(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, told_0, keep_volume, asks_for_backup, role_story_quiet,
        back_up, asks_for_nothing, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    archive_world_free(world);
}

static bool waits_for_schedule(struct operator_world *world)
{
    return up_to_date(world) && strstr(archive_of(world, "message"), "the schedule makes one at 20") &&
        !*role_story_status(world, "nextAction");
}

static void test_kept_volume_with_a_schedule(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, told_0, keep_volume, waits_for_schedule, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES ", 'schedule': '0 0 1 1 *'");
    operator_world_run(world, steps);
    archive_world_free(world);
}

/* ---- a member is copied ---- */

/* Its binary logs begin later than what is archived: by a clock that is wrong, in an hour. */
static bool copy_1(struct operator_world *world)
{
    world_agent(world, 0)->status.binlogs_from_ms = clock_realtime_ms() - HOUR_MS;
    world_agent(world, 1)->status.binlogs_from_ms = clock_realtime_ms() + HOUR_MS;
    return true;
}

/* The primary was, too, after it. */
static bool copy_both(struct operator_world *world)
{
    struct agent_double *primary = world_agent(world, 0);
    primary->archive.is_stuck = true;
    primary->archive.report.until_ms = clock_realtime_ms() - 10000;
    world_agent(world, 1)->status.binlogs_from_ms = clock_realtime_ms() - 5000;
    primary->status.binlogs_from_ms = clock_realtime_ms() - 2000;
    return true;
}

/* The primary's agent is of an earlier version, which does not tell. */
static bool copy_1_unseen(struct operator_world *world)
{
    world_agent(world, 1)->status.binlogs_from_ms = clock_realtime_ms() + HOUR_MS;
    return true;
}

static bool hurries(struct operator_world *world)
{
    return world_agent(world, 0)->archive.interval_s == ARCHIVE_INTERVAL_MIN_S;
}

static bool takes_its_time(struct operator_world *world)
{
    return world_agent(world, 0)->archive.interval_s == 7;
}

static void test_a_copied_member(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, told_0, takes_its_time, copy_1, hurries, takes_its_time,
        up_to_date, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(2, ARCHIVE_WORLD_ARCHIVES);
    int64_t began_ms = clock_realtime_ms();
    operator_world_run(world, steps);
    assert_true(clock_realtime_ms() >= began_ms + ARCHIVE_CLOCKS_MS);
    archive_world_free(world);
}

static void assert_left_alone(world_step_fn copy)
{
    const world_step_fn steps[] = {
        role_story_settled, told_0, takes_its_time, copy, role_story_quiet, up_to_date, takes_its_time, NULL};
    struct operator_world *world = archive_world_new(2, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    assert_in_range(agent_doubles_archive_tasks(world->agents), 1, 2); /* again after a stream that broke */
    archive_world_free(world);
}

/* A round that begins at once would change nothing, or, by an agent of an earlier version, take all of the chain's end
 * to be found again. */
static void test_no_hurry_in_vain(void **state)
{
    UNUSED(state);
    assert_left_alone(copy_both);
    assert_left_alone(copy_1_unseen);
}

/* ---- the primary moves ---- */

static bool crash_0(struct operator_world *world)
{
    agent_double_crash(world_agent(world, 0));
    return true;
}

static bool told_1(struct operator_world *world)
{
    return *world_agent(world, 1)->archive.task && agent_double_is_open(world_agent(world, 1));
}

static bool recover_0(struct operator_world *world)
{
    agent_double_recover(world_agent(world, 0));
    return true;
}

/* Only who is primary is told (a rule of the doubles); what the status knew stays until the next one has looked. */
static void test_failover(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, up_to_date, crash_0, told_1, recover_0, role_story_settled, up_to_date, NULL};
    struct operator_world *world = archive_world_new(3, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    assert_true(agent_doubles_archive_tasks(world->agents) >= 2); /* again after a stream that broke */
    archive_world_free(world);
}

static bool restart_agent_0(struct operator_world *world)
{
    agent_double_stop(world_agent(world, 0));
    return true;
}

static bool told_again(struct operator_world *world)
{
    return agent_doubles_archive_tasks(world->agents) == 2;
}

/* Another process of the agent knows nothing. */
static void test_agent_restarts(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, up_to_date, restart_agent_0, told_again, role_story_settled, up_to_date, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    archive_world_free(world);
}

/* ---- Secrets ---- */

static bool rotate(struct operator_world *world)
{
    archive_world_put_keys(world, "a2V5Mgo="); /* "key2" and a line end, as of a file */
    return true;
}

static bool has_new_key(struct operator_world *world)
{
    return str_eq(world_agent(world, 0)->archive.key, "key2");
}

static bool lose_keys(struct operator_world *world)
{
    return kube_api_double_remove(world->api, PATH_KEYS);
}

static bool says_secret_missing(struct operator_world *world)
{
    return says(world, "False/SecretMissing", "spec.backup.destination.s3.credentialsSecret: there is no Secret keys");
}

static void test_secrets(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, up_to_date, rotate, has_new_key, lose_keys,
        says_secret_missing, role_story_quiet, rotate, up_to_date, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    archive_world_free(world);
}

/* ---- what goes wrong ---- */

static bool answer_500(struct operator_world *world)
{
    world_agent(world, 0)->archive.answer = 500;
    return role_story_settled(world);
}

static bool says_not_told(struct operator_world *world)
{
    return says(world, "False/NotToldYet", "shop-mysql-0: the agent answered 500");
}

static bool answer_well(struct operator_world *world)
{
    world_agent(world, 0)->archive.answer = 0;
    return true;
}

static void test_agent_answers_500(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {answer_500, says_not_told, answer_well, up_to_date, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    world_agent(world, 0)->archive.answer = 500;
    operator_world_run(world, steps);
    archive_world_free(world);
}

static bool refuse(struct operator_world *world)
{
    struct archive_report *report = &world_agent(world, 0)->archive.report;
    snprintf(report->error_reason, sizeof(report->error_reason), "StoreRefused");
    snprintf(report->message, sizeof(report->message), "AccessDenied");
    return true;
}

static bool says_refused(struct operator_world *world)
{
    return says(world, "False/StoreRefused", "AccessDenied") && has_event(world, "BinlogsArchived: AccessDenied");
}

static bool allow(struct operator_world *world)
{
    world_agent(world, 0)->archive.report = (struct archive_report){.known = false};
    return true;
}

static bool lose_binlogs(struct operator_world *world)
{
    struct archive_report *report = &world_agent(world, 0)->archive.report;
    report->gap_ms = clock_realtime_ms() - 60000;
    snprintf(report->from_gtid, sizeof(report->from_gtid), "0-1-5");
    return true;
}

static bool says_gap(struct operator_world *world)
{
    return says(world, "False/Gap", "a new backup is needed") && has_event(world, "BinlogsLost") &&
        !*role_story_status(world, "backup.recoverableFrom") && *archive_of(world, "gapTime");
}

static bool back_up_again(struct operator_world *world)
{
    archive_world_put_backup(world, "third", "0-1-5", clock_realtime_ms() - 30000);
    return true;
}

static bool recoverable_again(struct operator_world *world)
{
    return up_to_date(world) && *role_story_status(world, "backup.recoverableFrom");
}

static void test_store_refuses_and_a_gap(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, up_to_date, refuse, says_refused, role_story_quiet, allow,
        up_to_date, back_up, is_recoverable, lose_binlogs, says_gap, role_story_quiet, back_up_again, recoverable_again,
        role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    archive_world_free(world);
}

static bool get_stuck(struct operator_world *world)
{
    struct agent_double *agent = world_agent(world, 0);
    agent->archive.is_stuck = true;
    agent->archive.report.until_ms = clock_realtime_ms() - HOUR_MS;
    return true;
}

static bool says_behind(struct operator_world *world)
{
    return says(world, "False/Behind", "its primary gets no further");
}

static bool get_on(struct operator_world *world)
{
    world_agent(world, 0)->archive.is_stuck = false;
    return true;
}

static void test_behind(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, up_to_date, get_stuck, says_behind, role_story_quiet, get_on, up_to_date, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    archive_world_free(world);
}

/* ---- an API server that fails ---- */

static bool fail_writes(struct operator_world *world)
{
    static const struct kube_api_fault faults[] = {
        {.method = "PATCH", .path_prefix = PATH_CLUSTER, .times = 2, .kind = KUBE_API_FAULT_STATUS, .status = 409},
        {.method = "PATCH", .path_prefix = PATH_CLUSTER, .times = 2, .kind = KUBE_API_FAULT_STATUS, .status = 500},
        {.method = "PATCH", .path_prefix = PATH_CLUSTER, .kind = KUBE_API_FAULT_RESET, .carried_out = true},
        {.method = "GET", .path_prefix = PATH_KEYS, .times = 2, .kind = KUBE_API_FAULT_STATUS, .status = 500},
    };
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        kube_api_double_fault(world->api, &faults[i]);
    return back_up(world);
}

static void test_api_server_fails(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, fail_writes, up_to_date, is_recoverable, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    archive_world_free(world);
}

/* ---- on and off ---- */

static bool switch_off(struct operator_world *world)
{
    role_story_edit_spec(world, "{'backup': {'binlogs': {'enabled': false}}}");
    return true;
}

static bool is_over(struct operator_world *world)
{
    const json_t *status = json_object_get(kube_api_double_get(world->api, PATH_CLUSTER), "status");
    return !told_0(world) && !json_path(status, "backup.archive") && !*condition_of(world) &&
        !*role_story_status(world, "backup.recoverableUntil");
}

static bool switch_on(struct operator_world *world)
{
    role_story_edit_spec(world, "{'backup': {'binlogs': {'enabled': true}}}");
    return true;
}

static void test_on_and_off(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, is_over, role_story_quiet, switch_on, told_0, up_to_date,
        switch_off, is_over, role_story_quiet, switch_on, up_to_date, NULL};
    struct operator_world *world = archive_world_new(2, "");
    operator_world_run(world, steps);
    assert_true(agent_doubles_archive_ends(world->agents) >= 1);
    archive_world_free(world);
}

static bool take_backup_away(struct operator_world *world)
{
    role_story_edit_spec(world, "{'backup': null}");
    return true;
}

/* Without a word on where it was, nor on anything else. */
static void test_spec_taken_away(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, up_to_date, take_backup_away, is_over, role_story_settled, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(2, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    assert_string_equal(world_agent(world, 0)->archive.task, "");
    archive_world_free(world);
}

static char *tell(const void *arg, size_t n, struct world_copies *copies)
{
    UNUSED(arg);
    static const world_step_fn steps[] = {role_story_settled, switch_on, up_to_date, back_up, is_recoverable,
        switch_off, is_over, role_story_settled, role_story_quiet, NULL};
    struct operator_world *world = archive_world_new(2, "");
    world->kill_after_step = 1;
    world->kill_after = n;
    world->copies = copies;
    operator_world_run(world, steps);
    assert_string_equal(world_agent(world, 0)->archive.task, "");
    world_copy_end(copies, "over");
    archive_world_free(world);
    return xstrdup("over");
}

/* Whatever was written, or told, last: the next operator ends in the same world. */
static void test_operator_dies_at_every_step(void **state)
{
    UNUSED(state);
    world_dies_at_every_step(tell, NULL, 6);
}

static bool is_refused(struct operator_world *world)
{
    return str_eq(world_condition(world, "Accepted"), "False/InvalidSpec") && !told_0(world);
}

static void test_needs_a_destination(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {is_refused, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'backup': {'binlogs': {'enabled': true}}");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- to a volume ---- */

static const char *find_store(struct operator_world *world)
{
    static char path[256];
    char name[DERIVED_NAME_SIZE];
    backup_store_pod_name(name, WORLD_CLUSTER, "nas", BACKUP_STORE_FOR_BACKUPS);
    snprintf(path, sizeof(path), PATH_CORE "pods/%s", name);
    return kube_api_double_get(world->api, path) ? path : NULL;
}

static bool waits_for_store(struct operator_world *world)
{
    return find_store(world) && says(world, "False/StoreUnavailable", "the pod that serves the volume is not ready");
}

static bool nobody_is_told(struct operator_world *world)
{
    return !told_0(world);
}

static bool store_serves(struct operator_world *world)
{
    world_edit_json(world, find_store(world),
        "{'status': {'phase': 'Running', 'podIP': '127.9.9.9', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    return true;
}

static bool put_old_backup(struct operator_world *world)
{
    archive_world_put_backup(world, "old", "0-1-1", clock_realtime_ms());
    return true;
}

static bool store_stands(struct operator_world *world)
{
    return find_store(world) && role_story_quiet(world);
}

static bool store_is_gone(struct operator_world *world)
{
    return !find_store(world);
}

static bool take_store_away(struct operator_world *world)
{
    return kube_api_double_remove(world->api, find_store(world));
}

#define STORE_REFUSED "exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1"

static bool refusal_is_told(struct operator_world *world)
{
    if (!says(world, "False/PodRefused", STORE_REFUSED "; raise the ResourceQuota of namespace ns1"))
        return false;
    kube_api_double_clear_faults(world->api);
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'a': 'b'}}}"); /* asked about at once */
    return true;
}

static void test_to_a_volume_whose_pod_is_refused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {refusal_is_told, waits_for_store, store_serves, told_0, NULL};
    struct operator_world *world = operator_world_new();
    world->secrets_fresh_ms = 50;
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = PATH_CORE "pods",
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = 403,
            .message = STORE_REFUSED});
    world_put_cluster(world,
        "'backup': {'destination': {'persistentVolumeClaim': {'claimName': 'nas'}}, 'binlogs': {'enabled': true}}");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* The pod in front of it is there for as long as it is archived to. */
static void test_to_a_volume(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {waits_for_store, nobody_is_told, store_serves, told_0, role_story_settled,
        up_to_date, put_old_backup, store_stands, take_store_away, waits_for_store, NULL};
    static const world_step_fn off[] = {
        waits_for_store, store_serves, up_to_date, switch_off, store_is_gone, is_over, role_story_quiet, NULL};
    const world_step_fn *const stories[] = {off, steps};
    for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
        struct operator_world *world = operator_world_new();
        world->secrets_fresh_ms = 50;
        world_put_cluster(world,
            "'backup': {'destination': {'persistentVolumeClaim': {'claimName': 'nas'}}, 'binlogs': {'enabled': true}}");
        operator_world_run(world, stories[i]);
        assert_string_equal(world_agent(world, 0)->archive.store, "127.9.9.9:8443");
        operator_world_free(world);
    }
}

/* ---- an upgrade of the operator ---- */

static bool is_of_an_earlier_version(struct operator_world *world)
{
    const char *path = find_store(world);
    if (!path)
        return false;
    world_agent(world, 0)->is_outdated = true;
    snprintf(world_agent(world, 0)->archive.task, sizeof(world_agent(world, 0)->archive.task), "0123456789abcdef");
    world_edit_json(world, path,
        "{'metadata': {'labels': {'kubemysql.dev/role': 'store-0123456789abcdef'}},"
        "'status': {'phase': 'Running', 'podIP': '127.9.9.8', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    return true;
}

static bool is_paused(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'paused': true}}");
    return true;
}

static bool pause_is_seen(struct operator_world *world)
{
    return str_eq(world_condition(world, "Progressing"), "False/Paused") && role_story_quiet(world);
}

static const char *role_of_store(struct operator_world *world)
{
    const char *path = find_store(world);
    return path ? world_str(world, path, "metadata.labels[\"kubemysql.dev/role\"]") : "";
}

static bool waits_for_agent(struct operator_world *world)
{
    return says(world, "False/AgentOutdated", "the agent of shop-mysql-0 is of an earlier version");
}

/* Somebody archives to it, and cannot be told to stop. */
static bool old_store_stands(struct operator_world *world)
{
    return told_0(world) && str_eq(role_of_store(world), "store-0123456789abcdef") && role_story_quiet(world);
}

static bool goes_on(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'paused': null}}");
    return true;
}

static bool store_is_replaced(struct operator_world *world)
{
    return !told_0(world) && backup_store_pod_is_understood(role_of_store(world));
}

static bool agent_is_not_told(struct operator_world *world)
{
    return waits_for_agent(world) && !told_0(world) && role_story_quiet(world);
}

static bool agent_is_replaced(struct operator_world *world)
{
    world_agent(world, 0)->is_outdated = false;
    return true;
}

/* A new operator, and an agent and a pod of an earlier version, which understand each other only. */
static void test_an_agent_of_an_earlier_version(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {waits_for_store, role_story_settled, is_paused, pause_is_seen,
        is_of_an_earlier_version, waits_for_agent, old_store_stands, goes_on, store_is_replaced, store_serves,
        agent_is_not_told, agent_is_replaced, told_0, up_to_date, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world->secrets_fresh_ms = 50;
    world_put_cluster(world,
        "'backup': {'destination': {'persistentVolumeClaim': {'claimName': 'nas'}}, 'binlogs': {'enabled': true}}");
    operator_world_run(world, steps);
    assert_string_equal(world_agent(world, 0)->archive.store, "127.9.9.9:8443");
    operator_world_free(world);
}

static bool is_of_another_build(struct operator_world *world)
{
    world_edit_json(
        world, find_store(world), "{'metadata': {'labels': {'kubemysql.dev/role': 'store-v1-0123456789abcdef'}}}");
    return true;
}

static bool store_is_of_this_build(struct operator_world *world)
{
    return find_store(world) && !str_eq(role_of_store(world), "store-v1-0123456789abcdef") && waits_for_store(world);
}

/* It understands us, so it lets end what is under way: rounds of the archive do not hold its replacement up. */
static void test_a_pod_of_another_build(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {waits_for_store, store_serves, told_0, role_story_settled,
        is_of_another_build, store_is_of_this_build, store_serves, up_to_date, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world->secrets_fresh_ms = 50;
    world_put_cluster(world,
        "'backup': {'destination': {'persistentVolumeClaim': {'claimName': 'nas'}}, 'binlogs': {'enabled': true}}");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool want_another_interval(struct operator_world *world)
{
    role_story_edit_spec(world, "{'backup': {'binlogs': {'intervalSeconds': 8}}}");
    return true;
}

static bool has_another_interval(struct operator_world *world)
{
    return world_agent(world, 0)->archive.interval_s == 8;
}

/* The primary may be moved then, too. What the spec says meanwhile it is not told. */
static void test_a_copied_member_while_paused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, told_0, is_paused, pause_is_seen, copy_1, hurries,
        takes_its_time, want_another_interval, role_story_quiet, takes_its_time, goes_on, has_another_interval, NULL};
    struct operator_world *world = archive_world_new(2, ARCHIVE_WORLD_ARCHIVES);
    operator_world_run(world, steps);
    archive_world_free(world);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet_life),
        cmocka_unit_test(test_kept_volume),
        cmocka_unit_test(test_kept_volume_with_a_schedule),
        cmocka_unit_test(test_a_copied_member),
        cmocka_unit_test(test_no_hurry_in_vain),
        cmocka_unit_test(test_failover),
        cmocka_unit_test(test_agent_restarts),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_agent_answers_500),
        cmocka_unit_test(test_store_refuses_and_a_gap),
        cmocka_unit_test(test_behind),
        cmocka_unit_test(test_api_server_fails),
        cmocka_unit_test(test_on_and_off),
        cmocka_unit_test(test_spec_taken_away),
        cmocka_unit_test(test_needs_a_destination),
        cmocka_unit_test(test_to_a_volume),
        cmocka_unit_test(test_to_a_volume_whose_pod_is_refused),
        cmocka_unit_test(test_an_agent_of_an_earlier_version),
        cmocka_unit_test(test_a_pod_of_another_build),
        cmocka_unit_test(test_a_copied_member_while_paused),
        cmocka_unit_test(test_operator_dies_at_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
