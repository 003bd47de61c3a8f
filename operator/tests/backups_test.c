/* SPDX-License-Identifier: Apache-2.0 */
/* Backups by the whole operator: what becomes of a MysqlBackup. */
#include "common/base.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/tls.h"
#include "operator/api/backup_store_pod.h"
#include "operator/tests/backup_world.h"
#include "operator/tests/role_story.h"

#define PATH_SEAL PATH_CORE "secrets/seal"

static void a_backup_is_taken_from_the_replica(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BACKUP_WORLD_BEGIN, backup_world_completed, backup_world_released, world_is_settled, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_string_equal(backup_world_status_of("donor"), "shop-mysql-1");
    assert_string_equal(backup_world_status_of("gtid"), "0-1-17");
    assert_string_equal(backup_world_status_of("serverVersion"), "10.11.6-MariaDB");
    assert_string_equal(backup_world_status_of("size"), "10 B");
    assert_int_equal(world_int(it->world, PATH_BACKUP, "status.attempt"), 1);
    assert_string_equal(backup_world_condition_of("Complete"), "Completed");
    assert_string_equal(backup_world_condition_of("Accepted"), "Accepted");
    _cleanup_(freep) char *location = xasprintf("s3://safe/" FOLDER_OF_ALL "%s", backup_world_status_of("id"));
    assert_string_equal(backup_world_status_of("location"), location);
    assert_string_equal(world_agent(it->world, 1)->backup_task.store.secret_key, SECRET_KEY);
    assert_int_equal(agent_doubles_backups(it->world->agents), 1);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
    /* I9: nobody but the Secret and the donor knows the key. */
    kube_api_double_remove(it->world->api, PATH_KEYS);
    _cleanup_(freep) char *dump = kube_api_double_dump(it->world->api);
    assert_null(strstr(dump, SECRET_KEY));
    assert_null(strstr(dump, SECRET_KEY_BASE64));
    backup_world_free(it);
}

static void deletion_leaves_or_removes_the_data(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BACKUP_WORLD_BEGIN, backup_world_completed, backup_world_delete_it, backup_world_gone, NULL};
    static const char *const policies[] = {"'deletionPolicy': 'Retain'", "'deletionPolicy': 'Delete'"};
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        struct backup_world *it = backup_world_new(DONOR_COMPLETES, policies[i]);
        operator_world_run(it->world, steps);
        assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), i == 0 ? 2 : 0);
        backup_world_free(it);
    }
}

static bool has_finalizer(struct operator_world *world)
{
    return !backup_world_released(world);
}

static bool break_the_store(struct operator_world *world)
{
    UNUSED(world);
    bucket_double_fail(backup_world_the()->s3, 403);
    return true;
}

static bool deletion_says_why(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_condition_of("Clean"), "RemovalFailed") &&
        strstr(backup_world_status_of("message"), "skip-data-deletion");
}

static bool give_up(struct operator_world *world)
{
    world_edit_json(world, PATH_BACKUP, "{'metadata': {'annotations': {'kubemysql.dev/skip-data-deletion': 'true'}}}");
    return true;
}

static void deletion_does_not_hang(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_completed, has_finalizer, break_the_store,
        backup_world_delete_it, deletion_says_why, give_up, backup_world_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
    backup_world_free(it);
}

static void deleted_while_it_runs(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BACKUP_WORLD_BEGIN, backup_world_running, backup_world_delete_it, backup_world_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_HANGS, "");
    operator_world_run(it->world, steps);
    assert_int_equal(agent_doubles_ended(it->world->agents), 1);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 0);
    backup_world_free(it);
}

static bool clean(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_condition_of("Clean"), "Clean");
}

static void a_deadline_ends_it(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BACKUP_WORLD_BEGIN, backup_world_running, backup_world_failed, clean, backup_world_released, NULL};
    struct backup_world *it = backup_world_new(DONOR_HANGS, "'deadlineSeconds': 10");
    operator_world_run(it->world, steps);
    assert_string_equal(backup_world_condition_of("Failed"), "DeadlineExceeded");
    assert_int_equal(agent_doubles_ended(it->world->agents), 1);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 0);
    backup_world_free(it);
}

static void a_failed_attempt_is_followed_by_another_donor(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BACKUP_WORLD_BEGIN, backup_world_completed, clean, backup_world_released, NULL};
    struct backup_world *it = backup_world_new(DONOR_FAILS_FIRST, "");
    operator_world_run(it->world, steps);
    assert_string_equal(backup_world_status_of("failures[0].donor"), "shop-mysql-1");
    assert_string_equal(backup_world_status_of("failures[0].reason"), "ToolFailed");
    assert_string_equal(backup_world_status_of("failures[0].id"), it->first_id);
    assert_string_equal(backup_world_status_of("donor"), "shop-mysql-0");
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2); /* of the second alone */
    backup_world_free(it);
}

static bool kill_the_donor(struct operator_world *world)
{
    return kube_api_double_remove(world->api, PATH_CORE "pods/shop-mysql-1");
}

static void a_donor_that_goes_is_replaced(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_running, kill_the_donor,
        backup_world_completed, clean, backup_world_released, NULL};
    struct backup_world *it = backup_world_new(DONOR_DIES_FIRST, "");
    operator_world_run(it->world, steps);
    assert_string_equal(backup_world_status_of("failures[0].reason"), "DonorLost");
    assert_int_equal(world_int(it->world, PATH_BACKUP, "status.attempt"), 2);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
    backup_world_free(it);
}

static bool first_failed(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_status_of("failures[0].reason"), "CheckFailed");
}

static void what_is_not_whole_is_no_backup(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, first_failed, clean, NULL};
    struct backup_world *it = backup_world_new(DONOR_LIES, "");
    operator_world_run(it->world, steps);
    assert_non_null(strstr(backup_world_status_of("failures[0].message"), "data-000001"));
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 0);
    backup_world_free(it);
}

static bool refuse_at_the_replica(struct operator_world *world)
{
    world_agent(world, 1)->backup_answer = 409;
    return true;
}

static void a_member_that_refuses_is_left_alone(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, refuse_at_the_replica, backup_world_put_it,
        backup_world_completed, backup_world_released, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_string_equal(backup_world_status_of("failures[0].reason"), "TaskRefused");
    assert_non_null(strstr(backup_world_status_of("failures[0].message"), "409"));
    assert_string_equal(backup_world_status_of("donor"), "shop-mysql-0");
    backup_world_free(it);
}

static bool lack_the_tool(struct operator_world *world)
{
    for (int i = 0; i < 2; i++)
        world_agent(world, i)->backup_answer = AGENT_TASK_IMPOSSIBLE;
    return true;
}

/* What the image lacks it lacks at every attempt. */
static void a_method_that_is_impossible_fails_at_once(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        world_is_settled, lack_the_tool, backup_world_put_it, backup_world_failed, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_int_equal(world_int(it->world, PATH_BACKUP, "status.attempt"), 1);
    assert_string_equal(backup_world_condition_of("Failed"), "MethodImpossible");
    assert_non_null(strstr(backup_world_status_of("message"), "the agent answered 422: of the test"));
    backup_world_free(it);
}

static bool rotate(struct operator_world *world)
{
    world_edit_json(world, PATH_KEYS, "{'data': {'secretKey': 'bmV3'}}");
    return true;
}

static bool donor_has_the_new_key(struct operator_world *world)
{
    return str_eq(world_agent(world, 1)->backup_task.store.secret_key, "new");
}

static bool donor_completes(struct operator_world *world)
{
    backup_world_store(world_agent(world, 1));
    return true;
}

static void rotated_keys_reach_the_donor(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_running, rotate, donor_has_the_new_key,
        donor_completes, backup_world_completed, NULL};
    struct backup_world *it = backup_world_new(DONOR_HANGS, "");
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, 1);
    backup_world_free(it);
}

/* ---- keys of another wish ---- */

#define SAFE_OF_CLUSTER \
    "'destination': {'s3': {'bucket': 'safe', 'endpoint': '%s', 'credentialsSecret': {'name': 'keys'}}}"

/* Members that do not get through `init` give no backup. */
static void hold_members(struct operator_world *world, bool held)
{
    for (int i = 0; i < 3; i++)
        world_agent(world, i)->order_is_stuck = held;
}

static bool put_one_that_inherits(struct operator_world *world)
{
    _cleanup_(freep) char *spec =
        xasprintf("{'spec': {'backup': {" SAFE_OF_CLUSTER "}}}", bucket_double_endpoint(backup_world_the()->s3));
    world_edit_json(world, PATH_CLUSTER, spec);
    backup_world_put("");
    world_edit_json(world, PATH_BACKUP, "{'spec': {'destination': null}}");
    return true;
}

static bool waits_with_keys(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_status_of("phase"), "Pending") &&
        str_eq(backup_world_condition_of("Accepted"), "Accepted") &&
        strstr(backup_world_status_of("message"), "waits for a member");
}

static bool wish_for_a_seal(struct operator_world *world)
{
    world_put_json(world, PATH_SEAL,
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'seal', 'namespace': 'ns1'},"
        "'data': {'key': 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='}}");
    role_story_edit_spec(world, "{'replicas': 3, 'backup': {'encryption': {'keySecret': {'name': 'seal'}}}}");
    return true;
}

static bool the_wish_is_seen(struct operator_world *world)
{
    if (world_int(world, PATH_STATEFUL_SET, "spec.replicas") != 3)
        return false;
    hold_members(world, false);
    return true;
}

/* What was read of Secrets for the spec as it was does not seal what is begun by the spec as it is. */
static void a_seal_that_is_wished_late_is_put_on(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        put_one_that_inherits, waits_with_keys, wish_for_a_seal, the_wish_is_seen, backup_world_running, NULL};
    struct backup_world *it = backup_world_new(DONOR_HANGS, "");
    it->world->secrets_fresh_ms = 60000;
    hold_members(it->world, true);
    operator_world_run(it->world, steps);
    const json_t *backup = kube_api_double_get(it->world->api, PATH_BACKUP);
    assert_true(json_path_bool(backup, "status.encrypted", false));
    int donor = names_ordinal(backup_world_status_of("donor"));
    assert_in_range(donor, 0, 2);
    assert_true(world_agent(it->world, donor)->backup_task.sealed);
    assert_int_equal(it->taken, 1);
    backup_world_free(it);
}

static bool waits_for_the_secret(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(backup_world_condition_of("Accepted"), "StoreRefused") &&
        str_eq(backup_world_status_of("phase"), "Pending");
}

/* Without the change it would be begun anew after a minute: more than a step may take. */
static void a_refusal_waits_for_the_secret(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BACKUP_WORLD_BEGIN, waits_for_the_secret, rotate, backup_world_completed, backup_world_released, NULL};
    struct backup_world *it = backup_world_new(DONOR_IS_REFUSED_FIRST, "");
    operator_world_run(it->world, steps);
    assert_string_equal(backup_world_status_of("failures[0].reason"), "StoreRefused");
    assert_non_null(strstr(backup_world_status_of("failures[0].message"), "InvalidAccessKeyId"));
    assert_string_equal(backup_world_condition_of("Accepted"), "Accepted");
    assert_int_equal(it->taken, 2);
    backup_world_free(it);
}

/* ---- a volume ---- */

#define VOLUME "'destination': {'s3': null, 'persistentVolumeClaim': {'claimName': 'vol', 'path': 'deep'}}"

static char *store_path(void)
{
    char name[DERIVED_NAME_SIZE];
    backup_store_pod_name(name, "shop", "vol", BACKUP_STORE_FOR_BACKUPS);
    return xasprintf(PATH_CORE "pods/%s", name);
}

static struct tls_server *tls_of_secret(struct operator_world *world)
{
    static const char *const members[] = {"data[\"tls.key\"]", "data[\"tls.crt\"]", "data[\"ca.crt\"]"};
    char *texts[3];
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *encoded = world_str(world, PATH_CORE "secrets/shop-mysql-tls", members[i]);
        texts[i] = tls_base64_decode(encoded, strlen(encoded), NULL, NULL);
    }
    const struct tls_keypair pair = {texts[0], texts[1]};
    struct tls_server *tls = tls_server_new(&pair, texts[2], NULL);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        free(texts[i]);
    return tls;
}

/* What the kubelet does with the pod. */
static bool pod_serves(struct operator_world *world)
{
    _cleanup_(freep) char *path = store_path();
    if (!*world_str(world, path, "metadata.name"))
        return false;
    _cleanup_(freep) char *status = xasprintf("{'status': {'phase': 'Running', 'podIP': '%s',"
                                              "'conditions': [{'type': 'Ready', 'status': 'True'}]}}",
        backup_world_the()->address);
    world_edit_json(world, path, status);
    return true;
}

static bool door_opens(struct operator_world *world)
{
    backup_world_the()->tls = tls_of_secret(world);
    snprintf(backup_world_the()->address, sizeof(backup_world_the()->address), "127.%d.%d.7", 200 + (int)getpid() % 50,
        (int)getpid() / 50 % 250);
    assert_true(bucket_double_listen_tls(
        backup_world_the()->s3, world->loop, backup_world_the()->tls, backup_world_the()->address, AGENT_PORT_TLS));
    return true;
}

static bool store_is_gone(struct operator_world *world)
{
    _cleanup_(freep) char *path = store_path();
    return !*world_str(world, path, "metadata.name");
}

static bool put_it_on_a_volume(struct operator_world *world)
{
    backup_world_put(backup_world_the()->more);
    world_edit_json(world, PATH_BACKUP, "{'spec': {" VOLUME "}}");
    return true;
}

static void a_volume_is_served_while_it_is_needed(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, door_opens, put_it_on_a_volume, pod_serves,
        backup_world_completed, store_is_gone, has_finalizer, backup_world_delete_it, pod_serves, backup_world_gone,
        store_is_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    const struct backup_store *store = &world_agent(it->world, 1)->backup_task.store;
    assert_true(store->is_volume);
    assert_string_equal(store->bucket, "backup");
    assert_string_equal(store->prefix, "deep");
    assert_non_null(store->connect_to);
    assert_non_null(strstr(store->server_name, ".shop-mysql.ns1.svc"));
    assert_string_equal(str_or_empty(store->access_key), "");
    assert_int_equal(bucket_double_count(it->s3, ""), 0);
    backup_world_free(it);
}

static bool namespace_ends(struct operator_world *world)
{
    kube_api_double_end_namespace(world->api);
    world->kubernetes.is_ending = true;
    return true;
}

/* No pod is made there that could serve it. */
static void a_volume_of_a_namespace_that_ends(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, door_opens, put_it_on_a_volume, pod_serves,
        backup_world_completed, store_is_gone, namespace_ends, backup_world_delete_it, backup_world_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    backup_world_free(it);
}

/* ---- a pod of an earlier version ---- */

static bool pod_is_old(struct operator_world *world)
{
    if (!pod_serves(world))
        return false;
    _cleanup_(freep) char *path = store_path();
    world_edit_json(world, path, "{'metadata': {'labels': {'kubemysql.dev/role': 'store-0123456789abcdef'}}}");
    return true;
}

static bool pod_is_new(struct operator_world *world)
{
    _cleanup_(freep) char *path = store_path();
    return backup_store_pod_is_understood(world_str(world, path, "metadata.labels[\"kubemysql.dev/role\"]"));
}

static bool pod_is_still_old(struct operator_world *world)
{
    return !pod_is_new(world) && world_is_settled(world) && str_eq(backup_world_status_of("phase"), "Running");
}

static bool donor_is_done(struct operator_world *world)
{
    for (int i = 0; i < 2; i++) {
        struct agent_double *agent = world_agent(world, i);
        if (agent->backup.state == BACKUP_STATE_RUNNING) {
            backup_world_store(agent);
            return true;
        }
    }
    return false;
}

/* It is replaced when nothing is sent to it: before a backup begins, and not while one runs; what the donor has
 * stored is then looked at through the new one. */
static void a_pod_of_an_earlier_version_is_replaced(void **state)
{
    UNUSED(state);
    static const world_step_fn before[] = {world_is_settled, door_opens, put_it_on_a_volume, pod_is_old, pod_is_new,
        pod_serves, backup_world_completed, NULL};
    static const world_step_fn midst[] = {world_is_settled, door_opens, put_it_on_a_volume, pod_serves,
        backup_world_running, pod_is_old, pod_is_still_old, donor_is_done, pod_is_new, pod_serves,
        backup_world_completed, NULL};
    const world_step_fn *const stories[] = {before, midst};
    for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
        struct backup_world *it = backup_world_new(i == 0 ? DONOR_COMPLETES : DONOR_HANGS, "'deletionPolicy': 'Retain'");
        operator_world_run(it->world, stories[i]);
        assert_int_equal(it->taken, 1);
        backup_world_free(it);
    }
}

static bool store_is_wanted(struct operator_world *world)
{
    _cleanup_(freep) char *path = store_path();
    return *world_str(world, path, "metadata.name") != '\0';
}

/* A claim that cannot be mounted, and a person who loses patience. */
static void a_pod_that_never_serves_is_not_left_behind(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, put_it_on_a_volume, store_is_wanted, backup_world_delete_it,
        backup_world_gone, store_is_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, 0);
    backup_world_free(it);
}

#define SIZED \
    "'destination': {'s3': null, 'persistentVolumeClaim': {'claimName': 'vol', 'path': '/deep', 'size': '5Gi'}}"
#define PATH_CLAIM PATH_CORE "persistentvolumeclaims/vol"

static bool put_it_on_a_sized_volume(struct operator_world *world)
{
    backup_world_put(backup_world_the()->more);
    world_edit_json(world, PATH_BACKUP, "{'spec': {" SIZED "}}");
    return true;
}

static bool claim_is_there(struct operator_world *world)
{
    return *world_str(world, PATH_CLAIM, "metadata.name") != '\0';
}

static bool take_the_claim_away(struct operator_world *world)
{
    return kube_api_double_remove(world->api, PATH_CLAIM);
}

/* Without anything to store it is not made anew: neither for what is removed, nor for what is there. */
static void a_claim_with_a_size_is_made(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, door_opens, put_it_on_a_sized_volume, claim_is_there,
        pod_serves, backup_world_completed, store_is_gone, take_the_claim_away, backup_world_delete_it, pod_serves,
        backup_world_gone, store_is_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    assert_string_equal(world_agent(it->world, 1)->backup_task.store.prefix, "deep");
    assert_false(claim_is_there(it->world));
    backup_world_free(it);
}

static bool somebody_made_the_claim(struct operator_world *world)
{
    _cleanup_(json_decrefp) json_t *claim = json_build("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind",
        "PersistentVolumeClaim", "metadata", "name", "vol", "namespace", "ns1", "spec", "volumeName", "mine");
    kube_api_double_put(world->api, PATH_CLAIM, claim);
    return true;
}

static void a_claim_of_somebody_else_is_used(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, door_opens, somebody_made_the_claim,
        put_it_on_a_sized_volume, pod_serves, backup_world_completed, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_string_equal(world_str(it->world, PATH_CLAIM, "spec.volumeName"), "mine");
    assert_null(json_path(kube_api_double_get(it->world->api, PATH_CLAIM), "metadata.labels"));
    backup_world_free(it);
}

static bool claims_are_refused(struct operator_world *world)
{
    static const struct kube_api_fault fault = {.method = "POST",
        .path_prefix = PATH_CORE "persistentvolumeclaims",
        .status = 403,
        .reason = "Forbidden",
        .times = -1};
    kube_api_double_fault(world->api, &fault);
    return true;
}

static bool refusal_is_told(struct operator_world *world)
{
    UNUSED(world);
    return strstr(
        backup_world_status_of("message"), "waits for the pod that serves the volume: PersistentVolumeClaim vol");
}

static void a_claim_that_is_refused_is_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        world_is_settled, claims_are_refused, put_it_on_a_sized_volume, refusal_is_told, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_true(store_is_gone(it->world)); /* no pod without it */
    backup_world_free(it);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backup_is_taken_from_the_replica),
        cmocka_unit_test(deletion_leaves_or_removes_the_data),
        cmocka_unit_test(deletion_does_not_hang),
        cmocka_unit_test(deleted_while_it_runs),
        cmocka_unit_test(a_deadline_ends_it),
        cmocka_unit_test(a_failed_attempt_is_followed_by_another_donor),
        cmocka_unit_test(a_donor_that_goes_is_replaced),
        cmocka_unit_test(what_is_not_whole_is_no_backup),
        cmocka_unit_test(a_member_that_refuses_is_left_alone),
        cmocka_unit_test(a_method_that_is_impossible_fails_at_once),
        cmocka_unit_test(rotated_keys_reach_the_donor),
        cmocka_unit_test(a_seal_that_is_wished_late_is_put_on),
        cmocka_unit_test(a_refusal_waits_for_the_secret),
        cmocka_unit_test(a_volume_is_served_while_it_is_needed),
        cmocka_unit_test(a_volume_of_a_namespace_that_ends),
        cmocka_unit_test(a_pod_of_an_earlier_version_is_replaced),
        cmocka_unit_test(a_pod_that_never_serves_is_not_left_behind),
        cmocka_unit_test(a_claim_with_a_size_is_made),
        cmocka_unit_test(a_claim_of_somebody_else_is_used),
        cmocka_unit_test(a_claim_that_is_refused_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
