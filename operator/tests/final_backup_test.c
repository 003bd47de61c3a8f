/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster that is deleted goes only when its last backup holds all that it had (deletion.finalBackup), whatever
 * happens on the way. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/tests/bucket_double.h"
#include "operator/tests/operator_world.h"
#include "operator/tests/stored_backup.h"

#define PATH_KEYS PATH_CORE "secrets/keys"
#define PATH_BACKUPS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/"
#define PATH_CLAIM PATH_CORE "persistentvolumeclaims/data-shop-mysql-0"
#define FOLDER_OF_ALL "ns1/shop/backups/"
#define CLOSED "status.finalBackup.closedTime"

struct goodbye {
    struct operator_world *world;
    struct bucket_double *s3;
    bool hangs; /* the donor's tool */
    int taken;
    uint64_t saved; /* what the donor had: of the history */
    char donor[64];
    char path[256]; /* of the last MysqlBackup */
    char now[CLOCK_RFC3339_SIZE];
};

/* Steps get the operator_world only. */
static struct goodbye *the;

static const char *name_of_final(struct operator_world *world)
{
    return world_str(world, PATH_CLUSTER, "status.finalBackup.backup");
}

static void note_path(struct operator_world *world)
{
    const char *name = name_of_final(world);
    if (*name)
        snprintf(the->path, sizeof(the->path), PATH_BACKUPS "%s", name);
}

static void on_taken(void *arg, struct agent_double *agent)
{
    UNUSED(arg);
    the->taken++;
    the->saved = agent->executed;
    snprintf(the->donor, sizeof(the->donor), "%s", agent->name);
    note_path(the->world);
    if (!the->hangs)
        stored_backup_put(the->s3, agent);
}

static struct goodbye *goodbye_new(const char *more, const char *deletion)
{
    the = xnew(struct goodbye);
    the->world = operator_world_new();
    the->world->secrets_fresh_ms = 50;
    the->s3 = bucket_double_new(the->world->loop);
    clock_format_rfc3339(clock_realtime_ms(), the->now);
    kube_api_double_created(the->world->api, the->now);
    agent_doubles_on_backup(the->world->agents, on_taken, the);
    _cleanup_(freep) char *text =
        xasprintf("'deletion': {'finalBackup': true%s%s}, 'backup': {'destination': {'s3': {"
                  "'bucket': 'safe', 'endpoint': '%s', 'credentialsSecret': {'name': 'keys'}}}}, %s",
            *deletion ? ", " : "", deletion, bucket_double_endpoint(the->s3), more);
    world_put_cluster(the->world, text);
    world_put_json(the->world, PATH_KEYS,
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys', 'namespace': 'ns1'},"
        "'data': {'accessKey': 'YWNjZXNz', 'secretKey': 'c2VjcmV0'}}");
    return the;
}

static void goodbye_free(struct goodbye *it)
{
    bucket_double_free(it->s3);
    operator_world_free(it->world);
    free(it);
}

/* ---- steps ---- */

static bool is_held(const struct operator_world *world)
{
    size_t i;
    const json_t *each;
    json_array_foreach(json_path(kube_api_double_get(world->api, PATH_CLUSTER), "metadata.finalizers"), i, each) {
        if (str_eq(json_string_value(each), "kubemysql.dev/final-backup"))
            return true;
    }
    return false;
}

static bool settled(struct operator_world *world)
{
    return world_is_settled(world) && is_held(world);
}

static bool delete_it(struct operator_world *world)
{
    assert_true(kube_api_double_remove(world->api, PATH_CLUSTER));
    return true;
}

static bool gone(struct operator_world *world)
{
    note_path(world);
    return !kube_api_double_get(world->api, PATH_CLUSTER);
}

/* Garbage collection and the pods' ends. */
static bool all_gone(struct operator_world *world)
{
    for (int i = 0; i < 3; i++) {
        if (*world_pod_str(world, i, "metadata.name"))
            return false;
    }
    return !kube_api_double_get(world->api, PATH_STATEFUL_SET);
}

static bool taken(struct operator_world *world)
{
    note_path(world);
    return the->taken > 0;
}

/* With everything that any client was ever told of, and nothing came after it. */
static void assert_saved(const struct goodbye *it)
{
    assert_string_equal(world_str(it->world, it->path, "status.phase"), "Completed");
    assert_string_equal(world_str(it->world, it->path, "spec.deletionPolicy"), "Retain");
    assert_string_equal(world_str(it->world, it->path, "metadata.labels[\"kubemysql.dev/final-backup\"]"), "true");
    assert_null(json_path(kube_api_double_get(it->world->api, it->path), "metadata.ownerReferences"));
    assert_true(bucket_double_count(it->s3, FOLDER_OF_ALL) >= 2);
    assert_true(it->saved > 0);
    assert_int_equal(it->saved, agent_doubles_history(it->world->agents));
}

static size_t backups(const struct goodbye *it)
{
    return kube_api_double_count(it->world->api, "/apis/kubemysql.dev/v1alpha1/mysqlbackups");
}

/* ---- tests ---- */

static bool claims_are_free(struct operator_world *world)
{
    return json_array_size(json_path(kube_api_double_get(world->api, PATH_CLAIM), "metadata.ownerReferences")) == 0;
}

static void it_goes_after_its_backup(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, claims_are_free, delete_it, gone, all_gone, NULL};
    static const struct {
        const char *more, *deletion;
        bool claim_stays;
    } cases[] = {
        {"'replicas': 1", "", true},
        {"'replicas': 1", "'volumes': 'Delete'", false},
        {"'replicas': 3", "'volumes': 'Delete'", false},
        {"'replicas': 2, 'replication': {'mode': 'async'}", "'volumes': 'Retain'", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct goodbye *it = goodbye_new(cases[i].more, cases[i].deletion);
        operator_world_run(it->world, steps);
        assert_saved(it);
        assert_string_equal(it->donor, "shop-mysql-0");
        assert_int_equal(backups(it), 1);
        assert_int_equal(kube_api_double_get(it->world->api, PATH_CLAIM) != NULL, cases[i].claim_stays);
        goodbye_free(it);
    }
}

/* The operator dies after the nth of its acts since the deletion. */
static char *tell(const void *arg, size_t n, struct world_copies *copies)
{
    UNUSED(arg);
    static const world_step_fn steps[] = {settled, delete_it, gone, all_gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 2", "'volumes': 'Delete'");
    it->world->kill_after_step = 2;
    it->world->kill_after = n;
    it->world->copies = copies;
    operator_world_run(it->world, steps);
    assert_saved(it);
    char *end = xasprintf("%zu by %s, %zu objects, %d times", backups(it), it->donor,
        bucket_double_count(it->s3, FOLDER_OF_ALL), it->taken);
    assert_null(kube_api_double_get(it->world->api, PATH_CLAIM));
    world_copy_end(copies, end);
    goodbye_free(it);
    return end;
}

static void an_operator_dies_at_every_step(void **state)
{
    UNUSED(state);
    world_dies_at_every_step(tell, NULL, 12);
}

static bool delete_it_again(struct operator_world *world)
{
    assert_true(kube_api_double_remove(world->api, PATH_CLUSTER));
    the->hangs = false;
    stored_backup_put(the->s3, world_agent(world, 0));
    return true;
}

static void a_second_deletion_changes_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, delete_it, taken, delete_it_again, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    it->hangs = true;
    operator_world_run(it->world, steps);
    assert_saved(it);
    assert_int_equal(backups(it), 1);
    assert_int_equal(it->taken, 1);
    goodbye_free(it);
}

static bool waits_running(struct operator_world *world)
{
    return taken(world) && str_eq(world_condition(world, "FinalBackup"), "False/Running") &&
        strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), "skip-final-backup") &&
        json_array_size(json_path(kube_api_double_get(world->api, PATH_SLICE), "endpoints")) == 0;
}

static bool skip_it(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'kubemysql.dev/skip-final-backup': 'true'}}}");
    return true;
}

static void the_annotation_lets_it_go(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, delete_it, waits_running, skip_it, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 2", "'volumes': 'Delete'");
    it->hangs = true;
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, 1);
    assert_null(kube_api_double_get(it->world->api, PATH_CLAIM));
    goodbye_free(it);
}

static bool fail_it(struct operator_world *world)
{
    note_path(world);
    world_edit_json(world, the->path, "{'status': {'phase': 'Failed', 'message': 'the bucket is full'}}");
    the->hangs = false;
    return true;
}

static bool says_retrying(struct operator_world *world)
{
    return str_eq(world_condition(world, "FinalBackup"), "False/Retrying") &&
        strstr(world_str(world, PATH_CLUSTER, "status.finalBackup.failure"), "the bucket is full");
}

/* As if the time had come; names tell the second. */
static bool hurry(struct operator_world *world)
{
    if (world->numbers[0] == 0)
        world->numbers[0] = clock_realtime_ms() / 1000;
    if (clock_realtime_ms() / 1000 == world->numbers[0])
        return false;
    world_edit_json(world, PATH_CLUSTER, "{'status': {'finalBackup': {'retryTime': '2026-01-01T00:00:00.000Z'}}}");
    return true;
}

/* What the donor double was told first runs on: it has to end. */
static bool end_first(struct operator_world *world)
{
    world_agent(world, 0)->backup.state = BACKUP_STATE_FAILED;
    return true;
}

static void one_that_fails_is_followed_by_another(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, delete_it, waits_running, fail_it, says_retrying, end_first, hurry, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    it->hangs = true;
    operator_world_run(it->world, steps);
    assert_saved(it);
    assert_int_equal(backups(it), 2);
    assert_int_equal(it->taken, 2);
    goodbye_free(it);
}

static bool primary_dies(struct operator_world *world)
{
    the->hangs = false;
    agent_double_crash(world_agent(world, 0));
    return true;
}

static bool another_is_primary(struct operator_world *world)
{
    return !str_eq(world_str(world, PATH_CLUSTER, "status.currentPrimary"), "shop-mysql-0");
}

static bool first_attempt_is_given_up(struct operator_world *world)
{
    return json_array_size(json_path(kube_api_double_get(world->api, the->path), "status.failures")) == 1;
}

/* Who takes over is open for a moment: what it wrote then is saved, too. */
static void a_failover_in_the_midst(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, delete_it, waits_running, primary_dies, another_is_primary, first_attempt_is_given_up, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 3, 'failover': {'startMilliseconds': 200}", "");
    it->hangs = true;
    operator_world_run(it->world, steps);
    assert_saved(it);
    assert_true(it->taken >= 2);
    assert_string_not_equal(it->donor, "shop-mysql-0");
    goodbye_free(it);
}

/* ---- it cannot be taken ---- */

static bool namespace_ends(struct operator_world *world)
{
    static const struct kube_api_fault refused = {.method = "POST",
        .path_prefix = "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups",
        .times = -1,
        .status = 403};
    kube_api_double_fault(world->api, &refused);
    return delete_it(world);
}

static bool says_cannot_be_made(struct operator_world *world)
{
    return str_eq(world_condition(world, "FinalBackup"), "False/CannotBeMade");
}

/* Nothing can be made in a namespace that is being deleted. */
static void a_namespace_that_goes(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, namespace_ends, says_cannot_be_made, skip_it, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, 0);
    goodbye_free(it);
}

static bool pods_go_first(struct operator_world *world)
{
    kube_api_double_end_namespace(world->api);
    world->kubernetes.is_ending = true;
    kube_api_double_remove(world->api, PATH_CORE "pods/shop-mysql-0");
    return true;
}

static bool its_pod_is_gone(struct operator_world *world)
{
    return !*world_pod_str(world, 0, "metadata.name") && delete_it(world);
}

/* Since Kubernetes 1.33: nobody is there to be closed. */
static void a_namespace_whose_pods_go_first(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, pods_go_first, its_pod_is_gone, says_cannot_be_made, skip_it, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    operator_world_run(it->world, steps);
    assert_int_equal(it->taken, 0);
    goodbye_free(it);
}

static bool spoil_the_spec(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'username': 'x'}}");
    return true;
}

static bool is_refused(struct operator_world *world)
{
    return str_eq(world_condition(world, "Accepted"), "False/InvalidSpec");
}

static void the_rest_of_the_spec_need_not_be_good(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, spoil_the_spec, is_refused, delete_it, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 2", "");
    operator_world_run(it->world, steps);
    assert_saved(it);
    goodbye_free(it);
}

static bool lose_the_destination(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'backup': null}}");
    return true;
}

static bool says_destination(struct operator_world *world)
{
    return str_eq(world_condition(world, "FinalBackup"), "False/InvalidSpec") &&
        strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), "spec.backup.destination: is missing") &&
        !*world_str(world, PATH_CLUSTER, CLOSED);
}

static bool want_it_no_more(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'deletion': {'finalBackup': false}}}");
    return true;
}

static bool bring_it_back(struct operator_world *world)
{
    _cleanup_(freep) char *text = xasprintf("{'spec': {'backup': {'destination': {'s3': {'bucket': 'safe',"
                                            "'endpoint': '%s', 'credentialsSecret': {'name': 'keys'}}}}}}",
        bucket_double_endpoint(the->s3));
    world_edit_json(world, PATH_CLUSTER, text);
    return true;
}

static void without_a_destination_it_waits_open(void **state)
{
    UNUSED(state);
    static const world_step_fn given_up[] = {
        settled, lose_the_destination, is_refused, delete_it, says_destination, want_it_no_more, gone, NULL};
    static const world_step_fn mended[] = {
        settled, lose_the_destination, is_refused, delete_it, says_destination, bring_it_back, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    operator_world_run(it->world, given_up);
    assert_int_equal(it->taken, 0);
    goodbye_free(it);
    it = goodbye_new("'replicas': 1", "");
    operator_world_run(it->world, mended);
    assert_saved(it);
    goodbye_free(it);
}

static bool pause_it(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'paused': true}}");
    return true;
}

static bool says_paused(struct operator_world *world)
{
    return str_eq(world_condition(world, "FinalBackup"), "False/Paused");
}

static bool go_on(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'paused': false}}");
    return true;
}

static void a_paused_one_waits(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, pause_it, delete_it, says_paused, go_on, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    operator_world_run(it->world, steps);
    assert_saved(it);
    goodbye_free(it);
}

/* ---- there is nobody to take it from ---- */

static bool stop_it(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'replicas': 0}}");
    return true;
}

static bool stopped(struct operator_world *world)
{
    return world_is_settled(world) && all_gone(world) == false && !*world_pod_str(world, 0, "metadata.name");
}

static void a_stopped_one_is_woken(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, stop_it, stopped, delete_it, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 2", "'volumes': 'Delete'");
    operator_world_run(it->world, steps);
    assert_saved(it);
    goodbye_free(it);
}

static bool held_but_empty(struct operator_world *world)
{
    return is_held(world);
}

static void one_that_was_never_open_goes_at_once(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {held_but_empty, delete_it, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    it->world->kubernetes.is_held = true;
    operator_world_run(it->world, steps);
    assert_int_equal(backups(it), 0);
    goodbye_free(it);
}

/* ---- dependents ---- */

static bool delete_dependents_first(struct operator_world *world)
{
    world_edit_json(
        world, PATH_CLUSTER, "{'metadata': {'finalizers': ['foregroundDeletion', 'kubemysql.dev/final-backup']}}");
    return delete_it(world);
}

static bool is_kept(struct operator_world *world)
{
    note_path(world);
    return json_array_size(json_path(kube_api_double_get(world->api, PATH_CLUSTER), "metadata.finalizers")) == 1;
}

/* Else the garbage collector would take the members away before they are saved. */
static void members_do_not_go_first(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, delete_dependents_first, is_kept, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "");
    operator_world_run(it->world, steps);
    assert_saved(it);
    goodbye_free(it);
}

static bool leave_dependents(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'finalizers': ['orphan', 'kubemysql.dev/final-backup']}}");
    return delete_it(world);
}

static bool released(struct operator_world *world)
{
    return !is_held(world);
}

static void members_that_stay_need_no_backup(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, leave_dependents, released, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "'volumes': 'Delete'");
    operator_world_run(it->world, steps);
    assert_int_equal(backups(it), 0);
    assert_true(claims_are_free(it->world));
    goodbye_free(it);
}

static bool claims_are_owned(struct operator_world *world)
{
    return !claims_are_free(world);
}

/* While it lives the wish may come and go. */
static void the_wish_is_taken_back_in_time(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, want_it_no_more, released, claims_are_owned, delete_it, gone, NULL};
    struct goodbye *it = goodbye_new("'replicas': 1", "'volumes': 'Delete'");
    operator_world_run(it->world, steps);
    assert_int_equal(backups(it), 0);
    goodbye_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_after_its_backup),
        cmocka_unit_test(an_operator_dies_at_every_step),
        cmocka_unit_test(a_second_deletion_changes_nothing),
        cmocka_unit_test(the_annotation_lets_it_go),
        cmocka_unit_test(one_that_fails_is_followed_by_another),
        cmocka_unit_test(a_failover_in_the_midst),
        cmocka_unit_test(a_namespace_that_goes),
        cmocka_unit_test(a_namespace_whose_pods_go_first),
        cmocka_unit_test(the_rest_of_the_spec_need_not_be_good),
        cmocka_unit_test(without_a_destination_it_waits_open),
        cmocka_unit_test(a_paused_one_waits),
        cmocka_unit_test(a_stopped_one_is_woken),
        cmocka_unit_test(one_that_was_never_open_goes_at_once),
        cmocka_unit_test(members_do_not_go_first),
        cmocka_unit_test(members_that_stay_need_no_backup),
        cmocka_unit_test(the_wish_is_taken_back_in_time),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
