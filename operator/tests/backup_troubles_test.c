/* SPDX-License-Identifier: Apache-2.0 */
/* Backups by the whole operator: bad input, an operator that dies, an API server that fails, schedules. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/tests/backup_world.h"

#define PATH_SEAL PATH_CORE "secrets/seal"

/* ---- bad input ---- */

struct bad_input {
    const char *patch; /* of the MysqlBackup, before the operator looks */
    const char *path;  /* a Secret that is put; NULL: none */
    const char *secret_data;
    const char *reason, *message;
    const char *repair_path, *repair; /* NULL: stays as it is */
};

static const struct bad_input *bad;

static bool is_refused(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_condition_of("Accepted"), bad->reason);
}

static void put_secret(const char *path, const char *data)
{
    _cleanup_(freep) char *text =
        xasprintf("{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': '%s', 'namespace': 'ns1'}, 'data': %s}",
            strrchr(path, '/') + 1, data);
    world_put_json(backup_world_the()->world, path, text);
}

static bool repair(struct operator_world *world)
{
    put_secret(bad->repair_path, bad->repair);
    /* Secrets have no watch; any news is an occasion to look. */
    world_edit_json(world, PATH_BACKUP, "{'metadata': {'annotations': {'a': 'b'}}}");
    return true;
}

static void bad_input_is_named(void **state)
{
    UNUSED(state);
    static const char seal[] = "{'spec': {'encryption': {'keySecret': {'name': 'seal'}}}}";
    static const char good_key[] = "{'key': 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='}";
    static const char good_keys[] = "{'AWS_ACCESS_KEY_ID': 'YWNjZXNz', 'AWS_SECRET_ACCESS_KEY': 'c2VjcmV0'}";
    static const struct bad_input cases[] = {
        {"{'spec': {'destination': {'s3': {'credentialsSecret': {'name': 'none'}}}}}", NULL, NULL, "SecretMissing",
            "spec.destination.s3.credentialsSecret: there is no Secret none", PATH_CORE "secrets/none", good_keys},
        {"{}", PATH_KEYS, "{'accessKey': 'YWNjZXNz'}", "SecretKeyMissing",
            "spec.destination.s3.credentialsSecret: Secret keys has no key secretKey", PATH_KEYS, good_keys},
        {seal, NULL, NULL, "SecretMissing", "spec.encryption.keySecret: there is no Secret seal", PATH_SEAL, good_key},
        {seal, PATH_SEAL, "{'other': 'YQ=='}", "SecretKeyMissing",
            "spec.encryption.keySecret: Secret seal has no key key", PATH_SEAL, good_key},
        {seal, PATH_SEAL, "{'key': 'c2hvcnQ='}", "KeyInvalid",
            "spec.encryption.keySecret: key key of Secret seal: ", PATH_SEAL, good_key},
        {"{'spec': {'cluster': 'nobody'}}", NULL, NULL, "ClusterNotFound",
            "spec.cluster: there is no MysqlCluster nobody", NULL, NULL},
        {"{'spec': {'destination': null}}", NULL, NULL, "DestinationMissing", "spec.destination: is missing", NULL,
            NULL},
        {"{'spec': {'destination': {'persistentVolumeClaim': {'claimName': 'x'}}}}", NULL, NULL, "InvalidSpec",
            "spec.destination: must have only one of s3 and persistentVolumeClaim", NULL, NULL},
    };
    static const world_step_fn stays[] = {is_refused, NULL};
    static const world_step_fn repaired[] = {is_refused, world_is_settled, repair, backup_world_completed, NULL};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bad = &cases[i];
        struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
        backup_world_put("");
        world_edit_json(it->world, PATH_BACKUP, bad->patch);
        if (bad->path)
            put_secret(bad->path, bad->secret_data);
        operator_world_run(it->world, bad->repair ? repaired : stays);
        if (!bad->repair && !str_starts_with(backup_world_status_of("message"), bad->message))
            fail_msg("case %zu: %s", i, backup_world_status_of("message"));
        if (str_eq(bad->reason, "InvalidSpec"))
            assert_string_equal(backup_world_status_of("phase"), "Failed");
        assert_int_equal(it->taken, bad->repair ? 1 : 0);
        backup_world_free(it);
    }
}

static bool has_failed(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_status_of("phase"), "Failed");
}

/* What a cluster made waits for nobody when the cluster is gone. */
static void no_backup_outlives_its_cluster_pending(void **state)
{
    static const char *const labels[] = {"scheduled", "final-backup"};
    static const world_step_fn steps[] = {has_failed, NULL};
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
        _cleanup_(freep) char *patch = xasprintf(
            "{'metadata': {'labels': {'kubemysql.dev/%s': 'true'}}, 'spec': {'cluster': 'nobody'}}", labels[i]);
        backup_world_put("");
        world_edit_json(it->world, PATH_BACKUP, patch);
        operator_world_run(it->world, steps);
        assert_string_equal(backup_world_condition_of("Failed"), "ClusterGone");
        assert_true(str_starts_with(backup_world_status_of("message"), "MysqlCluster nobody is gone"));
        backup_world_free(it);
    }
}

/* ---- restarts and faults ---- */

static char *end_of(const struct backup_world *it)
{
    return xasprintf("%s by %s, attempt %lld, %zu objects, finalizers %zu, failures %zu",
        backup_world_status_of("phase"), backup_world_status_of("donor"),
        (long long)world_int(it->world, PATH_BACKUP, "status.attempt"), bucket_double_count(it->s3, FOLDER_OF_ALL),
        json_array_size(json_path(kube_api_double_get(it->world->api, PATH_BACKUP), "metadata.finalizers")),
        json_array_size(json_path(kube_api_double_get(it->world->api, PATH_BACKUP), "status.failures")));
}

/* The operator dies after the nth of its acts since the backup was there. */
static char *tell(const void *arg, size_t n, struct world_copies *copies)
{
    UNUSED(arg);
    static const world_step_fn steps[] = {
        BACKUP_WORLD_BEGIN, backup_world_completed, backup_world_released, world_is_settled, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    it->world->kill_after_step = 2;
    it->world->kill_after = n;
    it->world->copies = copies;
    operator_world_run(it->world, steps);
    char *end = end_of(it);
    world_copy_end(copies, end);
    backup_world_free(it);
    return end;
}

static void an_operator_dies_at_every_step(void **state)
{
    UNUSED(state);
    world_dies_at_every_step(tell, NULL, 6);
}

static void an_api_server_that_fails(void **state)
{
    UNUSED(state);
    static const struct kube_api_fault faults[] = {
        {.method = "PATCH", .path_prefix = PATH_BACKUP, .times = 2, .status = 409},
        {.method = "PATCH", .path_prefix = PATH_BACKUP, .times = 2, .status = 429, .retry_after_s = 0},
        {.method = "PATCH", .path_prefix = PATH_BACKUP, .times = 2, .status = 500, .retry_after_s = -1},
        {.method = "PATCH", .path_prefix = PATH_BACKUP, .times = 1, .kind = KUBE_API_FAULT_RESET, .carried_out = true},
        {.method = "GET", .path_prefix = PATH_BACKUP, .times = 2, .status = 500, .retry_after_s = -1},
        {.method = "GET", .path_prefix = PATH_KEYS, .times = 6, .status = 500, .retry_after_s = -1},
        {.method = "PATCH", .path_prefix = PATH_BACKUP, .nth = 3, .times = 2, .status = 409},
    };
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_completed, backup_world_released, NULL};
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
        kube_api_double_fault(it->world->api, &faults[i]);
        operator_world_run(it->world, steps);
        assert_int_equal(it->taken, 1);
        assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
        backup_world_free(it);
    }
}

/* ---- by schedule ---- */

#define SCHEDULED_RUNS 4
#define SCHEDULED_KEPT 2

static bool schedule_it(struct operator_world *world)
{
    _cleanup_(freep) char *text = xasprintf(
        "{'spec': {'backup': {'schedule': '* * * * *', 'keep': {'last': %d}, 'destination': {'s3': {'bucket': 'safe',"
        "'endpoint': '%s', 'credentialsSecret': {'name': 'keys'}}}}}}",
        SCHEDULED_KEPT, bucket_double_endpoint(backup_world_the()->s3));
    world_edit_json(world, PATH_CLUSTER, text);
    return true;
}

static bool all_are_over(struct operator_world *world)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    for (const char *at = dump; (at = strstr(at, "/mysqlbackups")); at++) {
        const char *end = strchr(at, '\n');
        if (!memmem(at, (size_t)(end - at), "\"Completed\"", 11))
            return false;
    }
    return true;
}

/* Each minute of the schedule comes when the backup of the one before is over, and the schedule knows it: else it would
 * be left out. */
static bool minutes_go_by(struct operator_world *world)
{
    bool is_waiting = *world_str(world, PATH_CLUSTER, "status.backup.nextBackupTime") != '\0';
    bool is_over = world->numbers[0] == backup_world_the()->taken && all_are_over(world) && world_is_quiet(world, 300);
    if (is_waiting && is_over && backup_world_the()->taken < SCHEDULED_RUNS) {
        world->schedule_ahead_ms += 60000;
        world->numbers[0]++;
    }
    return backup_world_the()->taken == SCHEDULED_RUNS && all_are_over(world);
}

static bool the_last_ones_are_left(struct operator_world *world)
{
    return kube_api_double_count(world->api, "/apis/kubemysql.dev/v1alpha1/mysqlbackups") == SCHEDULED_KEPT &&
        bucket_double_count(backup_world_the()->s3, FOLDER_OF_ALL) == 2 * SCHEDULED_KEPT &&
        *world_str(world, PATH_CLUSTER, "status.lastBackupTime");
}

/* What retention deletes goes with its data. */
static void a_schedule_keeps_the_last_ones(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        world_is_settled, schedule_it, minutes_go_by, the_last_ones_are_left, world_is_settled, NULL};
    char now[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(clock_realtime_ms(), now);
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    kube_api_double_created(it->world->api, now);
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, SCHEDULED_RUNS);
    backup_world_free(it);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_keeps_the_last_ones),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(no_backup_outlives_its_cluster_pending),
        cmocka_unit_test(an_operator_dies_at_every_step),
        cmocka_unit_test(an_api_server_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
