/* Backups by the whole operator: what becomes of a MysqlBackup, whatever happens on the way. */
#include "common/base.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/tls.h"
#include "operator/api/backup_store_pod.h"
#include "operator/tests/bucket_double.h"
#include "operator/tests/operator_world.h"
#include "operator/tests/stored_backup.h"

#define PATH_BACKUP "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/first"
#define PATH_KEYS PATH_CORE "secrets/keys"
#define PATH_SEAL PATH_CORE "secrets/seal"
#define SECRET_KEY "very-secret-key"
#define SECRET_KEY_BASE64 "dmVyeS1zZWNyZXQta2V5"
#define FOLDER_OF_ALL "ns1/shop/backups/"

/* What the donor does with a task. */
enum donor_does {
    DONOR_COMPLETES,
    DONOR_HANGS,
    DONOR_LIES,
    DONOR_FAILS_FIRST,
    DONOR_DIES_FIRST,
    DONOR_IS_REFUSED_FIRST
};

struct backup_world {
    struct operator_world *world;
    struct bucket_double *s3;
    enum donor_does donor_does;
    const char *more;       /* of the backup's spec */
    struct tls_server *tls; /* of the pod in front of a volume */
    char address[32];
    int taken;
    char first_id[BACKUP_ID_SIZE];
};

/* Steps get the operator_world only. */
static struct backup_world *the;

static const char *status_of(const char *member)
{
    _cleanup_(freep) char *path = xasprintf("status.%s", member);
    return world_str(the->world, PATH_BACKUP, path);
}

static const char *condition_of(const char *type)
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

static void store_backup(struct agent_double *agent)
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
        store_backup(agent);
}

/* ---- what is there ---- */

static void put_keys(void)
{
    world_put_json(the->world, PATH_KEYS,
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys', 'namespace': 'ns1'},"
        "'data': {'accessKey': 'YWNjZXNz', 'secretKey': '" SECRET_KEY_BASE64 "'}}");
}

static void put_backup(const char *more)
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

static struct backup_world *backup_world_new(enum donor_does donor_does, const char *more)
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

static void backup_world_free(struct backup_world *world)
{
    bucket_double_free(world->s3);
    tls_server_free(world->tls);
    operator_world_free(world->world);
    free(world);
}

/* ---- steps ---- */

static bool settled(struct operator_world *world)
{
    return world_is_settled(world);
}

static bool put_it(struct operator_world *world)
{
    UNUSED(world);
    put_backup(the->more);
    return true;
}

#define BEGIN settled, put_it

static bool completed(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(status_of("phase"), "Completed");
}

static bool failed(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(status_of("phase"), "Failed");
}

static bool running(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(status_of("phase"), "Running") && the->taken > 0 &&
        json_path_bool(kube_api_double_get(the->world->api, PATH_BACKUP), "status.received", false);
}

static bool released(struct operator_world *world)
{
    return json_array_size(json_path(kube_api_double_get(world->api, PATH_BACKUP), "metadata.finalizers")) == 0;
}

static bool gone(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_BACKUP) == NULL;
}

static bool delete_it(struct operator_world *world)
{
    return kube_api_double_remove(world->api, PATH_BACKUP);
}

/* ---- stories ---- */

static void a_backup_is_taken_from_the_replica(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BEGIN, completed, released, settled, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_string_equal(status_of("donor"), "shop-mysql-1");
    assert_string_equal(status_of("gtid"), "0-1-17");
    assert_string_equal(status_of("serverVersion"), "10.11.6-MariaDB");
    assert_string_equal(status_of("size"), "10 B");
    assert_int_equal(world_int(it->world, PATH_BACKUP, "status.attempt"), 1);
    assert_string_equal(condition_of("Complete"), "Completed");
    assert_string_equal(condition_of("Accepted"), "Accepted");
    _cleanup_(freep) char *location = xasprintf("s3://safe/" FOLDER_OF_ALL "%s", status_of("id"));
    assert_string_equal(status_of("location"), location);
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
    static const world_step_fn steps[] = {BEGIN, completed, delete_it, gone, NULL};
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
    return !released(world);
}

static bool break_the_store(struct operator_world *world)
{
    UNUSED(world);
    bucket_double_fail(the->s3, 403);
    return true;
}

static bool deletion_says_why(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(condition_of("Clean"), "RemovalFailed") && strstr(status_of("message"), "skip-data-deletion");
}

static bool give_up(struct operator_world *world)
{
    world_edit_json(world, PATH_BACKUP, "{'metadata': {'annotations': {'kubemysql.dev/skip-data-deletion': 'true'}}}");
    return true;
}

static void deletion_does_not_hang(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BEGIN, completed, has_finalizer, break_the_store, delete_it, deletion_says_why, give_up, gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
    backup_world_free(it);
}

static void deleted_while_it_runs(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BEGIN, running, delete_it, gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_HANGS, "");
    operator_world_run(it->world, steps);
    assert_int_equal(agent_doubles_ended(it->world->agents), 1);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 0);
    backup_world_free(it);
}

static bool clean(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(condition_of("Clean"), "Clean");
}

static void a_deadline_ends_it(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BEGIN, running, failed, clean, released, NULL};
    struct backup_world *it = backup_world_new(DONOR_HANGS, "'deadlineSeconds': 10");
    operator_world_run(it->world, steps);
    assert_string_equal(condition_of("Failed"), "DeadlineExceeded");
    assert_int_equal(agent_doubles_ended(it->world->agents), 1);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 0);
    backup_world_free(it);
}

static void a_failed_attempt_is_followed_by_another_donor(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BEGIN, completed, clean, released, NULL};
    struct backup_world *it = backup_world_new(DONOR_FAILS_FIRST, "");
    operator_world_run(it->world, steps);
    assert_string_equal(status_of("failures[0].donor"), "shop-mysql-1");
    assert_string_equal(status_of("failures[0].reason"), "ToolFailed");
    assert_string_equal(status_of("failures[0].id"), it->first_id);
    assert_string_equal(status_of("donor"), "shop-mysql-0");
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
    static const world_step_fn steps[] = {BEGIN, running, kill_the_donor, completed, clean, released, NULL};
    struct backup_world *it = backup_world_new(DONOR_DIES_FIRST, "");
    operator_world_run(it->world, steps);
    assert_string_equal(status_of("failures[0].reason"), "DonorLost");
    assert_int_equal(world_int(it->world, PATH_BACKUP, "status.attempt"), 2);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
    backup_world_free(it);
}

static bool first_failed(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(status_of("failures[0].reason"), "CheckFailed");
}

static void what_is_not_whole_is_no_backup(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BEGIN, first_failed, clean, NULL};
    struct backup_world *it = backup_world_new(DONOR_LIES, "");
    operator_world_run(it->world, steps);
    assert_non_null(strstr(status_of("failures[0].message"), "data-000001"));
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
    static const world_step_fn steps[] = {settled, refuse_at_the_replica, put_it, completed, released, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_string_equal(status_of("failures[0].reason"), "TaskRefused");
    assert_non_null(strstr(status_of("failures[0].message"), "409"));
    assert_string_equal(status_of("donor"), "shop-mysql-0");
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
    store_backup(world_agent(world, 1));
    return true;
}

static void rotated_keys_reach_the_donor(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        BEGIN, running, rotate, donor_has_the_new_key, donor_completes, completed, NULL};
    struct backup_world *it = backup_world_new(DONOR_HANGS, "");
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, 1);
    backup_world_free(it);
}

static bool waits_for_the_secret(struct operator_world *world)
{
    UNUSED(world);
    return str_eq(condition_of("Accepted"), "StoreRefused") && str_eq(status_of("phase"), "Pending");
}

/* Without the change it would be begun anew after a minute: more than a step may take. */
static void a_refusal_waits_for_the_secret(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BEGIN, waits_for_the_secret, rotate, completed, released, NULL};
    struct backup_world *it = backup_world_new(DONOR_IS_REFUSED_FIRST, "");
    operator_world_run(it->world, steps);
    assert_string_equal(status_of("failures[0].reason"), "StoreRefused");
    assert_non_null(strstr(status_of("failures[0].message"), "InvalidAccessKeyId"));
    assert_string_equal(condition_of("Accepted"), "Accepted");
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
        the->address);
    world_edit_json(world, path, status);
    return true;
}

static bool door_opens(struct operator_world *world)
{
    the->tls = tls_of_secret(world);
    snprintf(the->address, sizeof(the->address), "127.%d.%d.7", 200 + (int)getpid() % 50, (int)getpid() / 50 % 250);
    assert_true(bucket_double_listen_tls(the->s3, world->loop, the->tls, the->address, AGENT_PORT_TLS));
    return true;
}

static bool store_is_gone(struct operator_world *world)
{
    _cleanup_(freep) char *path = store_path();
    return !*world_str(world, path, "metadata.name");
}

static bool put_it_on_a_volume(struct operator_world *world)
{
    put_backup(the->more);
    world_edit_json(world, PATH_BACKUP, "{'spec': {" VOLUME "}}");
    return true;
}

static void a_volume_is_served_while_it_is_needed(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, door_opens, put_it_on_a_volume, pod_serves, completed, store_is_gone,
        has_finalizer, delete_it, pod_serves, gone, store_is_gone, NULL};
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

static bool store_is_wanted(struct operator_world *world)
{
    _cleanup_(freep) char *path = store_path();
    return *world_str(world, path, "metadata.name") != '\0';
}

/* A claim that cannot be mounted, and a person who loses patience. */
static void a_pod_that_never_serves_is_not_left_behind(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, put_it_on_a_volume, store_is_wanted, delete_it, gone, store_is_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, 0);
    backup_world_free(it);
}

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
    return str_eq(condition_of("Accepted"), bad->reason);
}

static void put_secret(const char *path, const char *data)
{
    _cleanup_(freep) char *text =
        xasprintf("{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': '%s', 'namespace': 'ns1'}, 'data': %s}",
            strrchr(path, '/') + 1, data);
    world_put_json(the->world, path, text);
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
    static const world_step_fn repaired[] = {is_refused, settled, repair, completed, NULL};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bad = &cases[i];
        struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
        put_backup("");
        world_edit_json(it->world, PATH_BACKUP, bad->patch);
        if (bad->path)
            put_secret(bad->path, bad->secret_data);
        operator_world_run(it->world, bad->repair ? repaired : stays);
        if (!bad->repair && !str_starts_with(status_of("message"), bad->message))
            fail_msg("case %zu: %s", i, status_of("message"));
        if (str_eq(bad->reason, "InvalidSpec"))
            assert_string_equal(status_of("phase"), "Failed");
        assert_int_equal(it->taken, bad->repair ? 1 : 0);
        backup_world_free(it);
    }
}

/* ---- restarts and faults ---- */

static char *end_of(const struct backup_world *it)
{
    return xasprintf("%s by %s, attempt %lld, %zu objects, finalizers %zu, failures %zu", status_of("phase"),
        status_of("donor"), (long long)world_int(it->world, PATH_BACKUP, "status.attempt"),
        bucket_double_count(it->s3, FOLDER_OF_ALL),
        json_array_size(json_path(kube_api_double_get(it->world->api, PATH_BACKUP), "metadata.finalizers")),
        json_array_size(json_path(kube_api_double_get(it->world->api, PATH_BACKUP), "status.failures")));
}

/* The operator dies after the nth of its acts since the backup was there; 0: never. */
static char *tell(size_t n, size_t *ret_acts)
{
    static const world_step_fn steps[] = {BEGIN, completed, released, settled, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    it->world->kill_after_step = 2;
    it->world->kill_after = n;
    operator_world_run(it->world, steps);
    char *end = end_of(it);
    if (ret_acts)
        *ret_acts = it->world->acts - it->world->acts_before;
    backup_world_free(it);
    return end;
}

static void an_operator_dies_at_every_step(void **state)
{
    UNUSED(state);
    size_t acts = 0;
    _cleanup_(freep) char *wanted = tell(0, &acts);
    assert_true(acts >= 6);
    for (size_t n = 1; n <= acts; n++) {
        _cleanup_(freep) char *end = tell(n, NULL);
        if (!str_eq(end, wanted))
            fail_msg("killed after act %zu of %zu it ends as %s instead of %s", n, acts, end, wanted);
    }
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
    static const world_step_fn steps[] = {BEGIN, completed, released, NULL};
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
        SCHEDULED_KEPT, bucket_double_endpoint(the->s3));
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

/* Each minute of the schedule comes when the backup of the one before is over, and the schedule knows it: else it would be left out. */
static bool minutes_go_by(struct operator_world *world)
{
    bool is_waiting = *world_str(world, PATH_CLUSTER, "status.backup.nextBackupTime") != '\0';
    bool is_over = world->numbers[0] == the->taken && all_are_over(world) && world_is_quiet(world, 300);
    if (is_waiting && is_over && the->taken < SCHEDULED_RUNS) {
        world->schedule_ahead_ms += 60000;
        world->numbers[0]++;
    }
    return the->taken == SCHEDULED_RUNS && all_are_over(world);
}

static bool the_last_ones_are_left(struct operator_world *world)
{
    return kube_api_double_count(world->api, "/apis/kubemysql.dev/v1alpha1/mysqlbackups") == SCHEDULED_KEPT &&
        bucket_double_count(the->s3, FOLDER_OF_ALL) == 2 * SCHEDULED_KEPT &&
        *world_str(world, PATH_CLUSTER, "status.lastBackupTime");
}

/* What retention deletes goes with its data. */
static void a_schedule_keeps_the_last_ones(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, schedule_it, minutes_go_by, the_last_ones_are_left, settled, NULL};
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
        cmocka_unit_test(a_backup_is_taken_from_the_replica),
        cmocka_unit_test(deletion_leaves_or_removes_the_data),
        cmocka_unit_test(deletion_does_not_hang),
        cmocka_unit_test(deleted_while_it_runs),
        cmocka_unit_test(a_deadline_ends_it),
        cmocka_unit_test(a_failed_attempt_is_followed_by_another_donor),
        cmocka_unit_test(a_donor_that_goes_is_replaced),
        cmocka_unit_test(what_is_not_whole_is_no_backup),
        cmocka_unit_test(a_member_that_refuses_is_left_alone),
        cmocka_unit_test(rotated_keys_reach_the_donor),
        cmocka_unit_test(a_refusal_waits_for_the_secret),
        cmocka_unit_test(a_volume_is_served_while_it_is_needed),
        cmocka_unit_test(a_pod_that_never_serves_is_not_left_behind),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(an_operator_dies_at_every_step),
        cmocka_unit_test(an_api_server_that_fails),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
