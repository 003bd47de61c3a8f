/* SPDX-License-Identifier: Apache-2.0 */
/* A new cluster that is made of a stored backup, against doubles of the API server, of a bucket and of its agents,
 * which hold the invariants. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/json.h"
#include "common/tests/s3_double.h"
#include "operator/api/backup_store_pod.h"
#include "operator/tests/role_story.h"

#define PATH_BACKUP "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/nightly"
#define BUCKET "backups"
#define GTID_OF "3e11fa47-71ca-11e1-9e33-c80aa9429562"
#define DESTINATION \
    "{'s3': {'bucket': '" BUCKET "', 'endpoint': '%s', 'pathStyle': true, 'credentialsSecret': {'name': 'keys'}}}"

/* ---- the world before ---- */

static void put_keys(struct operator_world *world)
{
    /* "key1", "secret1" */
    world_put_json(world, PATH_CORE "secrets/keys",
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys', 'namespace': 'ns1'},"
        "'data': {'accessKey': 'a2V5MQ==', 'secretKey': 'c2VjcmV0MQ=='}}");
}

static bool put_backup(struct operator_world *world)
{
    put_keys(world);
    world_put_json(world, PATH_BACKUP,
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlBackup', 'metadata': {'name': 'nightly', 'namespace': 'ns1'},"
        "'spec': {'cluster': 'old'}, 'status': {'phase': 'Completed', 'id': 'b-1', 'gtid': '0-1-40', 'digest': 'd1',"
        "'location': 's3://backups/ns1/old/backups/b-1', 'rawBytes': 1000, 'destination': {'s3': {'bucket': 'backups',"
        "'endpoint': 'http://127.0.0.1:1', 'credentialsSecret': {'name': 'keys'}}}}}");
    return true;
}

static void assert_restored(struct operator_world *world, const char *id)
{
    assert_string_equal(role_story_status(world, "restore.phase"), "Completed");
    assert_string_equal(role_story_status(world, "restore.backup"), id);
    assert_string_equal(role_story_status(world, "state"), "Healthy");
    assert_string_equal(world_condition(world, "Restored"), "True/Completed");
    assert_string_equal(world_agent(world, 0)->restored, id);
    assert_string_equal(world_agent(world, 0)->task_key, "key1");
    /* I9 */
    char *status = json_text(kube_api_double_get(world->api, PATH_CLUSTER));
    assert_null(strstr(status, "secret1"));
    free(status);
}

/* ---- by a MysqlBackup ---- */

static const world_step_fn by_backup[] = {put_backup, role_story_settled, role_story_quiet, NULL};

static void test_by_backup(void **state)
{
    UNUSED(state);
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 2, 'restoreFrom': {'backup': {'name': 'nightly'}}");
    operator_world_run(world, by_backup);
    assert_restored(world, "b-1");
    assert_string_equal(role_story_status(world, "restore.digest"), "d1");
    assert_string_equal(role_story_status(world, "restore.location"), "s3://backups/ns1/old/backups/b-1");
    assert_string_equal(world_agent(world, 1)->restored, ""); /* a clone */
    assert_true(world_agent(world, 1)->executed >= 40);
    operator_world_free(world);
}

static void test_operator_dies_at_every_step(void **state)
{
    UNUSED(state);
    static const struct role_story story = {
        .more = "'replicas': 2, 'restoreFrom': {'backup': {'name': 'nightly'}}", .steps = by_backup, .begin = 1};
    role_story_dies_at_every_step(&story, 10);
}

/* ---- from a volume ---- */

#define PODS PATH_CORE "pods/"

static bool put_volume_backup(struct operator_world *world)
{
    put_backup(world);
    world_edit_json(world, PATH_BACKUP,
        "{'status': {'destination': {'s3': null, 'persistentVolumeClaim': {'claimName': 'nas', 'path': 'mysql'}}}}");
    return true;
}

static const char *find_store(struct operator_world *world)
{
    static char path[256];
    char name[DERIVED_NAME_SIZE];
    backup_store_pod_name(name, WORLD_CLUSTER, "nas", BACKUP_STORE_FOR_RESTORE);
    snprintf(path, sizeof(path), PODS "%s", name);
    return kube_api_double_get(world->api, path) ? path : NULL;
}

static bool waits_for_store(struct operator_world *world)
{
    return find_store(world) && str_eq(world_condition(world, "Restored"), "False/StoreUnavailable") &&
        strstr(role_story_status(world, "restore.message"), "which serves the volume") &&
        str_empty(world_agent(world, 0)->status.seed.task);
}

static bool store_serves(struct operator_world *world)
{
    world_edit_json(world, find_store(world),
        "{'status': {'phase': 'Running', 'podIP': '127.9.9.9', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    return true;
}

static bool store_is_gone(struct operator_world *world)
{
    return !find_store(world);
}

/* The pod in front of it is there for as long as it is needed. */
static void test_from_a_volume(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        put_volume_backup, waits_for_store, store_serves, role_story_settled, store_is_gone, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'nightly'}}");
    operator_world_run(world, steps);
    assert_string_equal(role_story_status(world, "restore.phase"), "Completed");
    assert_string_equal(world_agent(world, 0)->restored, "b-1");
    assert_string_equal(world_agent(world, 0)->task_store, "127.9.9.9:8443");
    operator_world_free(world);
}

static bool store_is_old(struct operator_world *world)
{
    world_edit_json(world, find_store(world),
        "{'metadata': {'labels': {'kubemysql.dev/role': 'store-0123456789abcdef'}},"
        "'status': {'phase': 'Running', 'podIP': '127.9.9.8', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    return true;
}

static bool store_is_new(struct operator_world *world)
{
    const char *path = find_store(world);
    return path && backup_store_pod_is_understood(world_str(world, path, "metadata.labels[\"kubemysql.dev/role\"]")) &&
        str_empty(world_agent(world, 0)->status.seed.task);
}

/* The operator was exchanged before anybody was told how to restore: nobody is sent to the pod of an earlier
 * version. */
static void test_from_a_volume_behind_an_old_pod(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {put_volume_backup, waits_for_store, store_is_old, store_is_new, store_serves,
        role_story_settled, store_is_gone, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'nightly'}}");
    operator_world_run(world, steps);
    assert_string_equal(world_agent(world, 0)->restored, "b-1");
    assert_string_equal(world_agent(world, 0)->task_store, "127.9.9.9:8443");
    operator_world_free(world);
}

/* ---- what does not go ---- */

static bool says_damaged(struct operator_world *world)
{
    return str_eq(world_condition(world, "Restored"), "False/BackupDamaged") &&
        strstr(role_story_status(world, "restore.message"), "data-000003 is damaged") &&
        str_eq(role_story_status(world, "state"), "Restoring");
}

static bool mend(struct operator_world *world)
{
    world_agent(world, 0)->restore_fails = NULL;
    return true;
}

static bool break_restores(struct operator_world *world)
{
    world_agent(world, 0)->restore_fails = "BackupDamaged";
    return put_backup(world);
}

static void test_damaged(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        break_restores, says_damaged, mend, role_story_settled, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'nightly'}}");
    operator_world_run(world, steps);
    assert_restored(world, "b-1");
    operator_world_free(world);
}

static bool says_missing(struct operator_world *world)
{
    return str_eq(world_condition(world, "Restored"), "False/BackupMissing") &&
        strstr(role_story_status(world, "nextAction"), "there is no MysqlBackup weekly");
}

static bool wish_nightly(struct operator_world *world)
{
    role_story_edit_spec(world, "{'restoreFrom': {'backup': {'name': 'nightly'}}}");
    return true;
}

/* Nothing is made empty; another wish goes on. */
static void test_another_wish(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        put_backup, says_missing, role_story_quiet, wish_nightly, role_story_settled, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'weekly'}}");
    operator_world_run(world, steps);
    assert_restored(world, "b-1");
    operator_world_free(world);
}

static bool is_refused(struct operator_world *world)
{
    return str_eq(world_condition(world, "Accepted"), "False/RestoreChangeRefused");
}

static bool wish_weekly(struct operator_world *world)
{
    role_story_edit_spec(world, "{'restoreFrom': {'backup': {'name': 'weekly'}}, 'replicas': 2}");
    return true;
}

static bool has_two(struct operator_world *world)
{
    return world_int(world, PATH_CLUSTER, "status.readyReplicas") == 2 &&
        str_eq(world_condition(world, "Replicated"), "True/AllFollow") &&
        str_eq(role_story_status(world, "state"), "Degraded") && is_refused(world);
}

static bool is_healthy(struct operator_world *world)
{
    return role_story_settled(world) && str_eq(role_story_status(world, "state"), "Healthy");
}

static void test_no_change_afterwards(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        put_backup, role_story_settled, wish_weekly, is_refused, has_two, wish_nightly, is_healthy, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'nightly'}}");
    operator_world_run(world, steps);
    assert_restored(world, "b-1");
    operator_world_free(world);
}

/* ---- to a point ---- */

static void assert_replays(struct operator_world *world, const char *folder, int64_t until_ms, const char *until_gtid)
{
    const struct agent_double *agent = world_agent(world, 0);
    assert_string_equal(agent->task_binlogs, folder);
    assert_int_equal(agent->task_until_ms, until_ms);
    assert_string_equal(agent->task_until_gtid, until_gtid);
    assert_string_equal(role_story_status(world, "restore.binlogsFolder"), folder);
}

static bool put_backup_of_cluster(struct operator_world *world)
{
    put_backup(world);
    world_edit_json(world, PATH_BACKUP, "{'status': {'clusterUid': 'u-1'}}");
    return true;
}

#define TO_NOON "'replicas': 2, 'restoreFrom': {'backup': {'name': 'nightly'}, 'pointInTime': '2026-11-21T12:00:00.7Z'}"
static const world_step_fn to_a_time[] = {put_backup_of_cluster, role_story_settled, role_story_quiet, NULL};

static const char *message_of(struct operator_world *world, const char *type)
{
    size_t i;
    const json_t *each;
    json_array_foreach(json_path(kube_api_double_get(world->api, PATH_CLUSTER), "status.conditions"), i, each) {
        if (str_eq(json_path_str(each, "type", ""), type))
            return json_path_str(each, "message", "");
    }
    return "";
}

static void test_to_a_time(void **state)
{
    UNUSED(state);
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, TO_NOON);
    operator_world_run(world, to_a_time);
    assert_restored(world, "b-1");
    assert_replays(world, "ns1/old/binlogs/u-1", 1795262400000, "");
    assert_non_null(strstr(message_of(world, "Restored"),
        "of the binary logs archived in ns1/old/binlogs/u-1 until 2026-11-21T12:00:00Z"));
    operator_world_free(world);
}

static bool clone_had_no_task(struct operator_world *world)
{
    return str_empty(world_agent(world, 1)->task_binlogs);
}

static char *tell_to_a_time(const void *arg, size_t n, struct world_copies *copies)
{
    UNUSED(arg);
    static const world_step_fn steps[] = {
        put_backup_of_cluster, role_story_settled, clone_had_no_task, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world->kill_after_step = 1;
    world->kill_after = n;
    world->copies = copies;
    world_put_cluster(world, TO_NOON);
    operator_world_run(world, steps);
    assert_restored(world, "b-1");
    assert_replays(world, "ns1/old/binlogs/u-1", 1795262400000, "");
    world_copy_end(copies, "restored");
    operator_world_free(world);
    return xstrdup("restored");
}

/* Whoever goes on replays to the same point. */
static void test_operator_dies_on_the_way_to_a_time(void **state)
{
    UNUSED(state);
    world_dies_at_every_step(tell_to_a_time, NULL, 12);
}

static void test_to_all_and_to_a_gtid(void **state)
{
    UNUSED(state);
    static const struct {
        const char *point, *gtid, *said;
    } rows[] = {
        {"'pointInTime': 'latest'", "", "of the binary logs archived in ns1/old/binlogs/u-1, up to their end"},
        {"'gtid': '0-1-77'", "0-1-77", "of the binary logs archived in ns1/old/binlogs/u-1 until 0-1-77"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct operator_world *world = operator_world_new();
        _cleanup_(freep) char *more = xasprintf("'restoreFrom': {'backup': {'name': 'nightly'}, %s}", rows[i].point);
        world_put_cluster(world, more);
        operator_world_run(world, to_a_time);
        assert_restored(world, "b-1");
        assert_replays(world, "ns1/old/binlogs/u-1", 0, rows[i].gtid);
        assert_non_null(strstr(message_of(world, "Restored"), rows[i].said));
        operator_world_free(world);
    }
}

static const char *source_uid;
static int source_taken;

/* Of the name that the backup's cluster had; paused, so that nothing else comes of it. */
static bool put_backup_and_its_cluster(struct operator_world *world)
{
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlCluster', 'metadata': {'name': 'old', "
        "'namespace': 'ns1', 'uid': '%s'}, 'spec': {'paused': true}, 'status': {'restoreInPlace': {'phase': 'Completed', 'number': %d,"
        "'taken': %d}}}",
        source_uid, source_taken, source_taken);
    world_put_json(world, "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/old", text);
    return put_backup_of_cluster(world);
}

/* What that one has committed since may be in another archive. */
static void test_of_a_cluster_that_goes_on(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {put_backup_and_its_cluster, role_story_settled, role_story_quiet, NULL};
    static const struct {
        const char *uid;
        int taken;
        const char *said;
    } rows[] = {
        {"u-1", 0, ""},
        {"u-1", 2,
            "; cluster ns1/old was restored in place since: what it has committed since is in another archive "
            "(u-1-r2), which needs a backup of its own"},
        {"u-2", 0,
            "; cluster ns1/old was deleted and made anew since: what it has committed since is in another archive "
            "(u-2), which needs a backup of its own"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct operator_world *world = operator_world_new();
        _cleanup_(freep) char *said = xasprintf("the cluster was made of the backup and of the binary logs archived in "
                                                "ns1/old/binlogs/u-1, up to their end%s",
            rows[i].said);
        source_uid = rows[i].uid;
        source_taken = rows[i].taken;
        world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'nightly'}, 'pointInTime': 'latest'}");
        operator_world_run(world, steps);
        assert_restored(world, "b-1");
        assert_string_equal(message_of(world, "Restored"), said);
        operator_world_free(world);
    }
}

static bool is_not_accepted(struct operator_world *world)
{
    return str_eq(world_condition(world, "Accepted"), "False/InvalidSpec");
}

static bool says_unsuitable(struct operator_world *world)
{
    return str_eq(world_condition(world, "Restored"), "False/BackupUnsuitable");
}

/* Nothing is made of what cannot be meant. */
static void test_points_that_are_refused(void **state)
{
    UNUSED(state);
    static const struct {
        const char *point;
        world_step_fn said;
    } rows[] = {
        {"'pointInTime': 'noon'", is_not_accepted}, {"'pointInTime': 'latest', 'gtid': '0-1-77'", is_not_accepted},
        {"'gtid': 'all'", is_not_accepted},
        {"'pointInTime': 'latest'", says_unsuitable}, /* of which cluster it is, is not known */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const world_step_fn steps[] = {put_backup, rows[i].said, role_story_quiet, NULL};
        struct operator_world *world = operator_world_new();
        _cleanup_(freep) char *more = xasprintf("'restoreFrom': {'backup': {'name': 'nightly'}, %s}", rows[i].point);
        world_put_cluster(world, more);
        operator_world_run(world, steps);
        assert_false(world_agent(world, 0)->has_data);
        operator_world_free(world);
    }
}

static bool break_with_a_gap(struct operator_world *world)
{
    world_agent(world, 0)->restore_fails = "GapInArchive";
    return put_backup_of_cluster(world);
}

static bool says_gap(struct operator_world *world)
{
    return str_eq(world_condition(world, "Restored"), "False/GapInArchive") &&
        str_eq(role_story_status(world, "state"), "Restoring");
}

static void test_gap(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {break_with_a_gap, says_gap, mend, role_story_settled, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'nightly'}, 'pointInTime': 'latest'}");
    operator_world_run(world, steps);
    assert_restored(world, "b-1");
    operator_world_free(world);
}

static bool wish_for_a_gtid(struct operator_world *world)
{
    role_story_edit_spec(world, "{'restoreFrom': {'pointInTime': null, 'gtid': '0-1-77'}}");
    return true;
}

static bool is_told_of_the_gtid(struct operator_world *world)
{
    return str_eq(world_agent(world, 0)->task_until_gtid, "0-1-77");
}

/* The same backup, but another point: what was made for the wish before is not what is asked for now. */
static void test_another_point(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {break_with_a_gap, says_gap, wish_for_a_gtid, is_told_of_the_gtid, mend,
        role_story_settled, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'restoreFrom': {'backup': {'name': 'nightly'}, 'pointInTime': 'latest'}");
    operator_world_run(world, steps);
    assert_restored(world, "b-1");
    assert_replays(world, "ns1/old/binlogs/u-1", 0, "0-1-77");
    operator_world_free(world);
}

/* ---- by the store ---- */

static void put_manifest_at(struct s3_double *s3, const char *id, int64_t completed_ms, const char *gtid)
{
    struct backup_manifest manifest = {.method = BACKUP_METHOD_PHYSICAL,
        .stream = STREAM_METHOD_XBSTREAM,
        .compression = BACKUP_COMPRESSION_ZSTD,
        .started_ms = 1770000000000,
        .completed_ms = completed_ms,
        .data_bytes = 100,
        .raw_bytes = 100,
        .stored_bytes = 50,
        .part_bytes = BACKUP_PART_BYTES,
        .piece_bytes = BACKUP_PIECE_BYTES};
    _cleanup_(freep) char *key = xasprintf("ns1/shop/backups/%s/manifest.json", id);
    struct strbuf text;
    snprintf(manifest.id, sizeof(manifest.id), "%s", id);
    snprintf(manifest.ns, sizeof(manifest.ns), "ns1");
    snprintf(manifest.cluster, sizeof(manifest.cluster), "shop");
    snprintf(manifest.flavour, sizeof(manifest.flavour), "mysql");
    snprintf(manifest.server_version, sizeof(manifest.server_version), "8.4.0");
    snprintf(manifest.cluster_uid, sizeof(manifest.cluster_uid), "u-2");
    manifest.gtid = gtid;
    backup_manifest_add_piece(&manifest, 50, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    strbuf_init(&text, KM_MIB);
    backup_manifest_encode(&manifest, NULL, &text);
    s3_double_put(s3, key, text.buf, text.len);
    strbuf_release(&text);
    backup_manifest_release(&manifest);
}

static void put_manifest(struct s3_double *s3, const char *id)
{
    put_manifest_at(s3, id, 1770000100000, "0-1-40");
}

static struct operator_world *world_with_bucket(struct s3_double **ret_s3, const char *wish)
{
    struct operator_world *world = operator_world_new();
    *ret_s3 = s3_double_new(world->loop, BUCKET);
    struct object_target target = s3_double_target(*ret_s3);
    _cleanup_(freep) char *destination = xasprintf(DESTINATION, target.endpoint);
    _cleanup_(freep) char *more = xasprintf("'restoreFrom': {%s, 'destination': %s}", wish, destination);
    put_keys(world);
    world_put_cluster(world, more);
    return world;
}

static void free_world(struct operator_world *world, struct s3_double *s3)
{
    s3_double_free(s3);
    operator_world_free(world);
}

/* The newest that is complete. */
static void test_latest(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_quiet, NULL};
    struct s3_double *s3;
    struct operator_world *world = world_with_bucket(&s3, "'latest': true, 'orEmpty': true");
    s3_double_put(s3, "ns1/shop/backups/20260103T000000Z-c-1/data-000001", "x", 1);
    put_manifest(s3, "20260101T000000Z-a-1");
    put_manifest(s3, "20260102T000000Z-b-1");
    operator_world_run(world, steps);
    assert_restored(world, "20260102T000000Z-b-1");
    assert_string_equal(role_story_status(world, "restore.gtid"), "0-1-40");
    assert_int_equal(strlen(role_story_status(world, "restore.digest")), 64);
    free_world(world, s3);
}

static void test_by_name(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_quiet, NULL};
    struct s3_double *s3;
    struct operator_world *world = world_with_bucket(&s3, "'name': '20260101T000000Z-a-1'");
    put_manifest(s3, "20260101T000000Z-a-1");
    put_manifest(s3, "20260102T000000Z-b-1");
    operator_world_run(world, steps);
    assert_restored(world, "20260101T000000Z-a-1");
    free_world(world, s3);
}

static void test_or_empty(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_quiet, NULL};
    struct s3_double *s3;
    struct operator_world *world = world_with_bucket(&s3, "'latest': true, 'orEmpty': true");
    operator_world_run(world, steps);
    assert_string_equal(role_story_status(world, "restore.phase"), "Empty");
    assert_string_equal(world_agent(world, 0)->restored, "");
    assert_true(world_agent(world, 0)->has_data);
    free_world(world, s3);
}

/* Begun at noon, completed five minutes later: the one of the day before is the newest from which noon can be
 * reached. */
static void test_latest_before_a_point(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_quiet, NULL};
    static const struct {
        const char *wish, *id, *gtid;
        int64_t until_ms;
    } rows[] = {
        {"'latest': true, 'pointInTime': '2026-11-21T12:04:00Z'", "20261120T120000Z-a-1", "", 1795262640000},
        {"'latest': true, 'pointInTime': '2026-11-21T12:05:00Z'", "20261121T120000Z-b-1", "", 1795262700000},
        {"'latest': true, 'gtid': '" GTID_OF ":1-12'", "20261120T120000Z-a-1", GTID_OF ":1-12", 0},
        {"'latest': true, 'pointInTime': 'latest'", "20261122T120000Z-c-1", "", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct s3_double *s3;
        struct operator_world *world = world_with_bucket(&s3, rows[i].wish);
        put_manifest_at(s3, "20261120T120000Z-a-1", 1795176300000, GTID_OF ":1-10");
        put_manifest_at(s3, "20261121T120000Z-b-1", 1795262700000, GTID_OF ":1-20");
        put_manifest_at(s3, "20261122T120000Z-c-1", 1795349100000, GTID_OF ":1-30");
        operator_world_run(world, steps);
        assert_restored(world, rows[i].id);
        assert_replays(world, "ns1/shop/binlogs/u-2", rows[i].until_ms, rows[i].gtid);
        free_world(world, s3);
    }
}

static bool says_none_is_old_enough(struct operator_world *world)
{
    return str_eq(world_condition(world, "Restored"), "False/BackupMissing") &&
        strstr(role_story_status(world, "restore.message"), "of 1 complete backups none is old enough");
}

/* It is no empty store, either. */
static void test_no_backup_before_a_point(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {says_none_is_old_enough, role_story_quiet, NULL};
    struct s3_double *s3;
    struct operator_world *world =
        world_with_bucket(&s3, "'latest': true, 'orEmpty': true, 'pointInTime': '2026-11-01T12:00:00Z'");
    put_manifest_at(s3, "20261120T120000Z-a-1", 1795176300000, GTID_OF ":1-10");
    operator_world_run(world, steps);
    assert_false(world_agent(world, 0)->has_data);
    free_world(world, s3);
}

static bool says_nothing_stored(struct operator_world *world)
{
    return str_eq(world_condition(world, "Restored"), "False/BackupMissing");
}

static void test_nothing_stored(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {says_nothing_stored, role_story_quiet, NULL};
    struct s3_double *s3;
    struct operator_world *world = world_with_bucket(&s3, "'latest': true");
    operator_world_run(world, steps);
    assert_false(world_agent(world, 0)->has_data);
    free_world(world, s3);
}

static bool says_refused(struct operator_world *world)
{
    return str_eq(world_condition(world, "Restored"), "False/StoreRefused");
}

/* A store that refuses is not empty. */
static void test_refused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {says_refused, role_story_quiet, NULL};
    struct s3_double *s3;
    struct operator_world *world = world_with_bucket(&s3, "'latest': true, 'orEmpty': true");
    s3_double_fail(s3, S3_FAULT_403, 0, 1000, false);
    operator_world_run(world, steps);
    assert_false(world_agent(world, 0)->has_data);
    free_world(world, s3);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_backup),
        cmocka_unit_test(test_from_a_volume),
        cmocka_unit_test(test_from_a_volume_behind_an_old_pod),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_another_wish),
        cmocka_unit_test(test_no_change_afterwards),
        cmocka_unit_test(test_to_a_time),
        cmocka_unit_test(test_to_all_and_to_a_gtid),
        cmocka_unit_test(test_of_a_cluster_that_goes_on),
        cmocka_unit_test(test_points_that_are_refused),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_another_point),
        cmocka_unit_test(test_latest_before_a_point),
        cmocka_unit_test(test_no_backup_before_a_point),
        cmocka_unit_test(test_latest),
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_or_empty),
        cmocka_unit_test(test_nothing_stored),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_operator_dies_at_every_step),
        cmocka_unit_test(test_operator_dies_on_the_way_to_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
