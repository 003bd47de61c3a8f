/* MysqlCluster.status: what is written comes back; what is the same is not written again. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/api/cluster_status.h"
#include "operator/api/mysql_terminal.h"

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = json_parse(text, strlen(text), &err);
    if (!json)
        fail_msg("%s: %s", err.message, text);
    return json;
}

static void fill_replication(struct cluster_status *status)
{
    status->epoch = 12;
    status->initialized = true;
    snprintf(status->state, sizeof(status->state), "Degraded");
    status->transition = (struct cluster_transition){
        "a-mysql-0", "a-mysql-1", "Requested", "0-1-100", .started_ms = INT64_C(1767323045678), .epoch = 13};
    status->last_switchover = (struct cluster_switchover){
        "a-mysql-1", "a-mysql-0", "Roll", INT64_C(1767323045000), INT64_C(1767323045123), .writes_blocked_ms = 57};
    snprintf(status->retained_volumes[status->retained_volume_count++], DERIVED_NAME_SIZE, "data-a-mysql-2");
}

static void fill(struct cluster_status *status)
{
    *status =
        (struct cluster_status){.observed_generation = 3, .applied_generation = 2, .replicas = 2, .ready_replicas = 1};
    status->config_spec = parse("{\"images\":{\"mysql\":\"m:1\"}}");
    status->storage = parse("{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}");
    snprintf(status->stateful_set, sizeof(status->stateful_set), "a-mysql");
    snprintf(status->next_action, sizeof(status->next_action), "roll a-mysql-1, when a-mysql-0 is ready");
    snprintf(status->volumes[status->volume_count++], DERIVED_NAME_SIZE, "data-a-mysql-0");
    struct cluster_instance *instance = cluster_status_add_instance(status, "a-mysql-0", 0);
    instance->ready = true;
    snprintf(instance->version, sizeof(instance->version), "10.11.6-MariaDB");
    instance = cluster_status_add_instance(status, "a-mysql-1", 1);
    snprintf(instance->message, sizeof(instance->message), "ImagePullBackOff");
    snprintf(instance->problem, sizeof(instance->problem), "SeedFailed");
    snprintf(instance->errant, sizeof(instance->errant), "0-2-17");
    snprintf(instance->seed_step, sizeof(instance->seed_step), "Copying");
    snprintf(instance->seed_donor, sizeof(instance->seed_donor), "a-mysql-0");
    instance->seed_percent = 45;
    instance->lag_known = true;
    instance->lag_ms = 7000;
    fill_replication(status);
    kube_conditions_set(
        &status->conditions, CONDITION_AVAILABLE, KUBE_CONDITION_TRUE, "PrimaryReady", 3, 1000, "a-mysql-0 serves");
}

static void round_trip(void **state)
{
    UNUSED(state);
    static struct cluster_status status, again, copy;
    fill(&status);
    json_t *json = cluster_status_encode(&status);
    cluster_status_decode(json, &again);
    cluster_status_copy(&status, &copy);
    assert_true(cluster_status_same(&status, &again));
    assert_true(cluster_status_same(&status, &copy));
    assert_string_equal(json_path_str(json, "instances[1].message", ""), "ImagePullBackOff");
    assert_string_equal(json_path_str(json, "volumes[0]", ""), "data-a-mysql-0");
    assert_string_equal(json_path_str(json, "retainedVolumes[0]", ""), "data-a-mysql-2");
    assert_string_equal(json_path_str(json, "transition.startedAt", ""), "2026-01-02T03:04:05.678Z");
    assert_string_equal(json_path_str(json, "lastSwitchover.finishedAt", ""), "2026-01-02T03:04:05.123Z");
    assert_int_equal(json_path_int(json, "instances[1].seed.percent", 0), 45);
    assert_int_equal(again.transition.started_ms, INT64_C(1767323045678));
    assert_string_equal(again.transition.position, "0-1-100");
    assert_int_equal(again.transition.epoch, 13);
    assert_int_equal(again.last_switchover.writes_blocked_ms, 57);
    assert_int_equal(again.epoch, 12);
    assert_true(again.initialized);
    assert_false(again.instances[0].lag_known);
    assert_int_equal(again.instances[1].lag_ms, 7000);
    assert_int_equal(again.instances[1].ordinal, 1);
    assert_true(again.instances[0].ready);
    assert_true(kube_conditions_is_true(&again.conditions, CONDITION_AVAILABLE));
    json_decref(json);
    cluster_status_release(&status);
    cluster_status_release(&again);
    assert_string_equal(json_path_str(copy.config_spec, "images.mysql", ""), "m:1");
    cluster_status_release(&copy);
}

static void every_change_counts(void **state)
{
    UNUSED(state);
    static struct cluster_status a, b;
#define CHANGED(change)                            \
    do {                                           \
        fill(&a);                                  \
        fill(&b);                                  \
        assert_true(cluster_status_same(&a, &b));  \
        change;                                    \
        assert_false(cluster_status_same(&a, &b)); \
        assert_false(cluster_status_same(&b, &a)); \
        cluster_status_release(&a);                \
        cluster_status_release(&b);                \
    } while (0)
    CHANGED(b.observed_generation++);
    CHANGED(b.ready_replicas = 2);
    CHANGED(b.updated_replicas = 1);
    CHANGED(b.instances[1].ready = true);
    CHANGED(b.instances[0].node[0] = 'n');
    CHANGED(b.instance_count--);
    CHANGED(b.volume_count = 0);
    CHANGED(b.next_action[0] = '\0');
    CHANGED(b.current_primary[0] = 'x');
    CHANGED(b.state[0] = 'H');
    CHANGED(b.epoch++);
    CHANGED(b.initialized = false);
    CHANGED(b.transition.to[0] = 'b');
    CHANGED(b.transition.position[0] = '1');
    CHANGED(b.transition.epoch++);
    CHANGED(b.transition.started_ms++);
    CHANGED(b.last_switchover.finished_ms++);
    CHANGED(b.retained_volume_count = 0);
    CHANGED(b.instances[1].errant[0] = '\0');
    CHANGED(b.instances[1].problem[0] = '\0');
    CHANGED(b.instances[1].seed_step[0] = 'P');
    CHANGED(b.instances[1].seed_donor[0] = 'b');
    CHANGED(b.instances[1].seed_percent += 5);
    CHANGED(b.instances[1].lag_known = false);
    CHANGED(b.instances[0].lag_known = true);
    CHANGED(b.instances[1].lag_ms += 1000);
    CHANGED(json_object_set_new(b.config_spec, "flavour", json_string("mysql")));
    CHANGED(kube_conditions_remove(&b.conditions, CONDITION_AVAILABLE));
#undef CHANGED
}

/* Or the status would be written for ever. */
static void small_progress_is_no_change(void **state)
{
    UNUSED(state);
    static struct cluster_status a, b;
    fill(&a);
    fill(&b);
    b.instances[1].lag_ms += 999;
    b.instances[1].seed_percent += 4;
    assert_true(cluster_status_same(&a, &b));
    b.instances[1].lag_ms = 6001;
    assert_true(cluster_status_same(&a, &b));
    a.instances[1].lag_ms = 100000;
    b.instances[1].lag_ms = 91000;
    assert_true(cluster_status_same(&a, &b));
    b.instances[1].lag_ms = 90000;
    assert_false(cluster_status_same(&a, &b));
    cluster_status_release(&a);
    cluster_status_release(&b);
}

static void a_transition_that_ended_is_not_told(void **state)
{
    UNUSED(state);
    struct cluster_status status = {.transition = {.started_ms = 5, .epoch = 3, .position = "x"}};
    json_t *json = cluster_status_encode(&status);
    assert_null(json_object_get(json, "transition"));
    assert_null(json_object_get(json, "lastSwitchover"));
    assert_false(cluster_transition_is_set(&status.transition));
    json_decref(json);
}

/* Kubernetes 1.20 stores a map that lost its members as null. */
static void null_is_empty(void **state)
{
    UNUSED(state);
    static struct cluster_status a, b;
    a = b = (struct cluster_status){0};
    a.config_spec = parse("{\"podTemplate\":{\"spec\":{\"x\":{}}},\"mycnf\":{\"a\":0}}");
    b.config_spec = parse("{\"podTemplate\":null,\"mycnf\":{\"a\":0,\"b\":null}}");
    assert_true(cluster_status_same(&a, &b));
    json_object_set_new(json_object_get(b.config_spec, "mycnf"), "b", json_integer(0));
    assert_false(cluster_status_same(&a, &b));
    cluster_status_release(&a);
    cluster_status_release(&b);
}

static void malformed(void **state)
{
    UNUSED(state);
    static const char *const texts[] = {"[]", "{\"instances\":{},\"volumes\":\"x\",\"replicas\":\"a\",\"conditions\":5}",
        "{\"instances\":[1,null,{\"ordinal\":-5,\"name\":7}],\"volumes\":[1],\"configSpec\":[],\"statefulSet\":{}}",
        "{\"instances\":[{},{},{},{},{},{},{},{},{},{},{},{},{}]}",
        "{\"epoch\":-1,\"transition\":[],\"lastSwitchover\":7,\"retainedVolumes\":{},\"instances\":[{\"lagSeconds\":\"x\",\"seed\":[]}]}",
        "{\"transition\":{\"startedAt\":\"yesterday\",\"epoch\":-4,\"from\":1}}"};
    static struct cluster_status status;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_t *json = parse(texts[i]);
        cluster_status_decode(json, &status);
        assert_true(status.instance_count <= CLUSTER_REPLICAS_MAX + 1);
        assert_null(status.config_spec);
        assert_int_equal(status.replicas, 0);
        assert_int_equal(status.epoch, 0);
        assert_int_equal(status.transition.epoch, 0);
        assert_int_equal(status.transition.started_ms, 0);
        assert_false(status.instance_count > 0 && status.instances[0].lag_known);
        cluster_status_release(&status);
        json_decref(json);
    }
    cluster_status_decode(NULL, &status);
    assert_int_equal(status.instance_count, 0);
}

static void terminals(void **state)
{
    UNUSED(state);
    static struct terminal_status a = {.observed_generation = 1, .ready = true, .pod = "t-terminal"}, b;
    kube_conditions_set(&a.conditions, CONDITION_ACCEPTED, KUBE_CONDITION_TRUE, "Accepted", 1, 1000, "ok");
    json_t *json = terminal_status_encode(&a);
    terminal_status_decode(json, &b);
    assert_true(terminal_status_same(&a, &b));
    b.ready = false;
    assert_false(terminal_status_same(&a, &b));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(every_change_counts),
        cmocka_unit_test(small_progress_is_no_change),
        cmocka_unit_test(a_transition_that_ended_is_not_told),
        cmocka_unit_test(null_is_empty),
        cmocka_unit_test(malformed),
        cmocka_unit_test(terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
