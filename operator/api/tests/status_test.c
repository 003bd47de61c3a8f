/* SPDX-License-Identifier: Apache-2.0 */
/* MysqlCluster.status: what is written comes back; what is the same is not written again. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/fs.h"
#include "common/json.h"
#include "operator/api/cluster_status.h"
#include "operator/api/mysql_terminal.h"
#include "operator/kube/yaml_json.h"

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = json_parse(text, strlen(text), &err);
    if (!json)
        fail_msg("%s: %s", err.message, text);
    return json;
}

static void fill_failover(struct cluster_status *status)
{
    status->roles.transition.failover = true;
    status->roles.transition.salvage = true;
    status->roles.reigns = (struct cluster_reigns){2,
        {{13, "a-mysql-1", "1001", "0-1000-100", .floor_is_partial = true},
            {11, "a-mysql-0", "1000", "0-1002-50", .opened = true}}};
    status->roles.transition.silent_ms = 2100;
    status->roles.transition.last_write_ms = INT64_C(1767323044321);
    status->roles.transition.last_write_span_ms = 12;
    snprintf(status->roles.transition.before, sizeof(status->roles.transition.before), "a-mysql-2,a-mysql-3");
    status->roles.loss_allowed = true;
    status->roles.heard_epoch = 9;
    status->roles.lock_awaited_ms = INT64_C(1767323041987);
    snprintf(status->roles.transition.evidence, sizeof(status->roles.transition.evidence), "its server ended");
    snprintf(status->roles.transition.waits_for, sizeof(status->roles.transition.waits_for), "a-mysql-2");
    snprintf(status->roles.transition.candidate_why, sizeof(status->roles.transition.candidate_why), "it has the most");
    snprintf(status->roles.transition.may_be_lost, sizeof(status->roles.transition.may_be_lost), "the last commits");
    status->roles.last_failover = (struct cluster_failover){"a-mysql-2", "a-mysql-1", TRANSITION_SERVER_DOWN,
        "its server ended", "it has the most", .epoch = 11, .started_ms = INT64_C(1767323045000),
        .finished_ms = INT64_C(1767323045050), .detected_ms = 0, .decided_ms = 12, .fenced_ms = 25, .drained_ms = -1,
        .published_ms = 50, .writes_blocked_ms = 48, .gap = {40, 31, WRITE_GAP_UNTIL_FIRST_COMMIT, 8},
        .position = "0-1-99", .may_be_lost = "the last commits", .salvaged = "0-1-100"};
    status->roles.last_outage =
        (struct cluster_outage){"a-mysql-1", 11, INT64_C(1767323044000), INT64_C(1767323045123), 61000,
            .gap = {.opened_ms = 60900, .uncertainty_ms = 31, .until = WRITE_GAP_UNTIL_FIRST_COMMIT, .route_ms = 100}};
    status->roles.acknowledgers = UINT64_C(1) << 63 | 5;
    status->roles.confirmed = (struct cluster_confirmed){true, 2, 7, "1f2e", 4000, 3};
    status->instances[1].set_aside =
        (struct agent_set_asides){.sets = {"aside-3: 0-2-19", "aside-2: 0-2-18", "aside-1: 0-2-17"}, .more = 4};
}

static void fill_replication(struct cluster_status *status)
{
    status->roles.epoch = 12;
    status->roles.initialized = true;
    status->state = CLUSTER_STATE_DEGRADED;
    status->roles.transition = (struct cluster_transition){
        "a-mysql-0", "a-mysql-1", TRANSITION_REQUESTED, "0-1-100", .started_ms = INT64_C(1767323045678), .epoch = 13};
    fill_failover(status);
    status->roles.last_switchover =
        (struct cluster_switchover){"a-mysql-1", "a-mysql-0", TRANSITION_ROLL, INT64_C(1767323045000),
            INT64_C(1767323045123), .writes_blocked_ms = 57, .epoch = 12, .gap = {57, 27, WRITE_GAP_UNTIL_OPENING, 0}};
    status->history = (struct cluster_history){1,
        {{CLUSTER_CHANGE_SWITCHOVER, "a-mysql-1", "a-mysql-0", TRANSITION_ROLL, "", .epoch = 12,
            .started_ms = INT64_C(1767323045000), .finished_ms = INT64_C(1767323045123), .writes_blocked_ms = 57}}};
    snprintf(status->retained_volumes[status->retained_volume_count++], DERIVED_NAME_SIZE, "data-a-mysql-2");
}

static void fill(struct cluster_status *status)
{
    *status =
        (struct cluster_status){.observed_generation = 3, .applied_generation = 2, .replicas = 2, .ready_replicas = 1};
    status->roles.acks = 1;
    status->accepted_spec = json_build("{s:i}", "replicas", 3);
    status->config_spec = parse("{\"images\":{\"mysql\":\"m:1\"}}");
    status->storage = parse("{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}");
    snprintf(status->stateful_set, sizeof(status->stateful_set), "a-mysql");
    snprintf(status->binding, sizeof(status->binding), "a-mysql-app");
    snprintf(status->next_action, sizeof(status->next_action), "roll a-mysql-1, when a-mysql-0 is ready");
    snprintf(status->volumes[status->volume_count++], DERIVED_NAME_SIZE, "data-a-mysql-0");
    struct cluster_instance *instance = cluster_status_add_instance(status, "a-mysql-0", 0);
    instance->ready = true;
    snprintf(instance->version, sizeof(instance->version), "10.11.6-MariaDB");
    instance = cluster_status_add_instance(status, "a-mysql-1", 1);
    snprintf(instance->message, sizeof(instance->message), "ImagePullBackOff");
    snprintf(instance->problem, sizeof(instance->problem), "SeedFailed");
    snprintf(instance->errant, sizeof(instance->errant), "0-2-17");
    instance->seed_step = AGENT_SEED_STEP_COPYING;
    snprintf(instance->seed_donor, sizeof(instance->seed_donor), "a-mysql-0");
    instance->seed_percent = 45;
    instance->seed_bytes = 4500;
    instance->seed_total_bytes = 10000;
    instance->seed_bytes_per_second = 1000;
    instance->lag_known = true;
    instance->lag_ms = 7000;
    fill_replication(status);
    kube_conditions_set(
        &status->conditions, CONDITION_AVAILABLE, KUBE_CONDITION_TRUE, "PrimaryReady", 3, 1000, "a-mysql-0 serves");
}

static void a_reason_of_a_later_version_is_read(void **state)
{
    UNUSED(state);
    struct cluster_status status;
    json_t *json = parse("{\"transition\":{\"kind\":\"Failover\",\"from\":\"a-mysql-0\",\"reason\":\"NodeOnFire\"}}");
    cluster_status_decode(json, &status);
    assert_int_equal(status.roles.transition.reason, TRANSITION_OTHER);
    json_decref(json);
    json = cluster_status_encode(&status);
    assert_string_equal(json_path_str(json, "transition.reason", ""), "Other");
    json_decref(json);
    cluster_status_release(&status);
    for (int i = 0; i < TRANSITION_REASON_COUNT; i++)
        assert_int_equal(transition_reason_parse(transition_reason_name((enum transition_reason)i)), i);
}

static void expect_told(
    const json_t *json, const struct cluster_role_status *again, const struct cluster_role_status *status)
{
    assert_int_equal(again->lock_awaited_ms, INT64_C(1767323041987));
    assert_int_equal(again->last_switchover.epoch, 12);
    assert_memory_equal(&again->last_switchover, &status->last_switchover, sizeof(again->last_switchover));
    assert_string_equal(json_path_str(json, "lastSwitchover.writesBlockedUntil", ""), "Opening");
    assert_null(json_path(json, "lastSwitchover.routeMs"));
    assert_string_equal(json_path_str(json, "lastFailover.writesBlockedUntil", ""), "FirstCommit");
    assert_int_equal(json_path_int(json, "lastFailover.uncertaintyMs", 0), 31);
    assert_int_equal(json_path_int(json, "lastFailover.routeMs", 0), 8);
    assert_int_equal(again->transition.last_write_ms, INT64_C(1767323044321));
    assert_string_equal(json_path_str(json, "transition.lastWriteAt", ""), "2026-01-02T03:04:04.321Z");
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
    assert_int_equal(json_path_int(json, "instances[1].seed.bytes", 0), 4500);
    assert_int_equal(json_path_int(json, "instances[1].seed.totalBytes", 0), 10000);
    assert_int_equal(json_path_int(json, "instances[1].seed.bytesPerSecond", 0), 1000);
    assert_int_equal(json_path_int(json, "instances[1].seed.secondsLeft", 0), 6);
    assert_int_equal(again.instances[1].seed_bytes, 4500);
    assert_int_equal(again.roles.transition.started_ms, INT64_C(1767323045678));
    assert_string_equal(again.roles.transition.position, "0-1-100");
    assert_int_equal(again.roles.transition.epoch, 13);
    assert_int_equal(again.roles.last_switchover.writes_blocked_ms, 57);
    expect_told(json, &again.roles, &status.roles);
    assert_int_equal(again.roles.epoch, 12);
    assert_true(again.roles.transition.failover);
    assert_true(again.roles.transition.salvage);
    assert_true(cluster_reigns_same(&again.roles.reigns, &status.roles.reigns));
    assert_int_equal(again.roles.transition.silent_ms, 2100);
    assert_true(again.roles.loss_allowed);
    assert_int_equal(again.roles.heard_epoch, 9);
    assert_string_equal(json_path_str(json, "transition.kind", ""), "Failover");
    assert_string_equal(again.roles.last_failover.position, "0-1-99");
    again.roles.last_failover.position = status.roles.last_failover.position;
    assert_memory_equal(&again.roles.last_failover, &status.roles.last_failover, sizeof(again.roles.last_failover));
    assert_string_equal(json_path_str(json, "lastFailover.finishedAt", ""), "2026-01-02T03:04:05.050Z");
    assert_int_equal(json_path_int(json, "lastFailover.phases.detectedMs", -7), 0);
    assert_null(json_path(json, "lastFailover.phases.openedMs"));
    assert_int_equal(json_path_int(json, "acknowledgers[1]", -7), 2);
    assert_true(again.roles.acknowledgers == status.roles.acknowledgers);
    assert_memory_equal(&again.roles.last_outage, &status.roles.last_outage, sizeof(again.roles.last_outage));
    assert_int_equal(json_path_int(json, "confirmed.selfFenceMs", -7), 4000);
    assert_memory_equal(&again.roles.confirmed, &status.roles.confirmed, sizeof(again.roles.confirmed));
    assert_string_equal(again.instances[1].set_aside.sets[0], "aside-3: 0-2-19"); /* as earlier versions read it */
    assert_memory_equal(
        &again.instances[1].set_aside, &status.instances[1].set_aside, sizeof(again.instances[1].set_aside));
    assert_true(again.roles.initialized);
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

static json_t *read_crd(const char *path)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    strbuf_init(&text, KM_MIB);
    if (fs_read_file(path, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *crd = yaml_to_json(text.buf, text.len, &err);
    if (!crd)
        fail_msg("%s: %s", path, err.message);
    return crd;
}

static void assert_in_schema(const json_t *value, const json_t *schema, const char *path)
{
    const char *key;
    json_t *member;
    if (!schema)
        fail_msg("the CRD has no %s", path);
    if (json_is_array(value)) {
        assert_in_schema(json_array_get(value, json_array_size(value) - 1), json_object_get(schema, "items"), path);
        return;
    }
    if (!json_is_object(value) || json_object_get(schema, "x-kubernetes-preserve-unknown-fields"))
        return;
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        char child[API_PATH_MAX];
        snprintf(child, sizeof(child), "%s.%s", path, key);
        assert_in_schema(member, json_object_get(json_object_get(schema, "properties"), key), child);
    }
}

/* What the schema has not, the API server drops: an operator that starts anew would not find it. */
static void the_crd_has_every_member(void **state)
{
    UNUSED(state);
    static struct cluster_status status;
    fill(&status);
    status.roles.semi_sync = true;
    status.roles.acks = 1;
    snprintf(status.roles.switchover_done, sizeof(status.roles.switchover_done), "1");
    snprintf(status.selector, sizeof(status.selector), "a=b");
    snprintf(status.applied_hash, sizeof(status.applied_hash), "83cad2f8d6c8ea23");
    json_t *json = cluster_status_encode(&status), *crd = read_crd("crds/mysqlclusters.yaml");
    assert_in_schema(json, json_path(crd, "spec.versions[0].schema.openAPIV3Schema.properties.status"), "status");
    json_decref(json);
    json_decref(crd);
    cluster_status_release(&status);
}

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

static void every_change_counts(void **state)
{
    UNUSED(state);
    static struct cluster_status a, b;
    CHANGED(b.observed_generation++);
    CHANGED(b.ready_replicas = 2);
    CHANGED(b.updated_replicas = 1);
    CHANGED(b.instances[1].ready = true);
    CHANGED(b.instances[0].node[0] = 'n');
    CHANGED(b.instance_count--);
    CHANGED(b.volume_count = 0);
    CHANGED(b.next_action[0] = '\0');
    CHANGED(b.binding[0] = '\0');
    CHANGED(b.roles.loss_allowed = false);
    CHANGED(b.roles.heard_epoch = 0);
    CHANGED(b.roles.lock_awaited_ms++);
    CHANGED(b.instances[1].set_aside.sets[0][0] = '\0');
    CHANGED(b.instances[1].set_aside.sets[2][0] = '\0');
    CHANGED(b.instances[1].set_aside.more = 0);
    CHANGED(b.retained_volume_count = 0);
    CHANGED(b.instances[1].errant[0] = '\0');
    CHANGED(b.instances[1].problem[0] = '\0');
    CHANGED(b.instances[1].seed_step = AGENT_SEED_STEP_PREPARING);
    CHANGED(b.instances[1].seed_donor[0] = 'b');
    CHANGED(b.instances[1].seed_percent += 5);
    CHANGED(b.instances[1].lag_known = false);
    CHANGED(b.instances[0].lag_known = true);
    CHANGED(b.instances[1].lag_ms += 1000);
    CHANGED(json_object_set_new(b.config_spec, "flavour", json_string("mysql")));
    CHANGED(kube_conditions_remove(&b.conditions, CONDITION_AVAILABLE));
}

/* A failover that a version without reigns has begun. */
static void doubt_of_an_earlier_version_is_read(void **state)
{
    UNUSED(state);
    static const char between_two[] =
        "{\"transition\": {\"kind\": \"Failover\", \"from\": \"a-mysql-1\", "
        "\"before\": \"a-mysql-0,a-mysql-2\", \"position\": \"0-1-7\", \"doubtful\": true}}";
    static const char of_all[] =
        "{\"transition\": {\"kind\": \"Failover\", \"from\": \"a-mysql-1\", \"doubtful\": true}}";
    static struct cluster_status status;
    json_t *json = parse(between_two);
    cluster_status_decode(json, &status);
    assert_int_equal(status.roles.reigns.count, 2);
    assert_string_equal(status.roles.reigns.list[0].primary, "a-mysql-1");
    assert_string_equal(status.roles.reigns.list[1].primary, "a-mysql-0");
    assert_string_equal(status.roles.reigns.list[1].floor, "0-1-7");
    assert_true(status.roles.reigns.list[0].floor_is_partial && status.roles.reigns.list[1].floor_is_partial);
    json_decref(json);
    cluster_status_release(&status);
    json = parse(of_all);
    cluster_status_decode(json, &status);
    assert_int_equal(status.roles.reigns.count, 1);
    assert_string_equal(status.roles.reigns.list[0].primary, "");
    json_decref(json);
    cluster_status_release(&status);
}

static void every_change_of_roles_counts(void **state)
{
    UNUSED(state);
    static struct cluster_status a, b;
    CHANGED(b.roles.current_primary[0] = 'x');
    CHANGED(b.state = CLUSTER_STATE_HEALTHY);
    CHANGED(b.roles.acks++);
    CHANGED(json_object_set_new(b.accepted_spec, "replicas", json_integer(5)));
    CHANGED(b.roles.epoch++);
    CHANGED(b.roles.initialized = false);
    CHANGED(b.roles.transition.to[0] = 'b');
    CHANGED(b.roles.transition.position = "1-1-100");
    CHANGED(b.roles.transition.epoch++);
    CHANGED(b.roles.transition.started_ms++);
    CHANGED(b.roles.last_switchover.finished_ms++);
    CHANGED(b.roles.transition.failover = false);
    CHANGED(b.roles.transition.salvage = false);
    CHANGED(b.roles.reigns.count--);
    CHANGED(b.roles.reigns.list[0].epoch++);
    CHANGED(b.roles.reigns.list[0].primary[0] = 'b');
    CHANGED(b.roles.reigns.list[0].origin[0] = '2');
    CHANGED(b.roles.reigns.list[1].floor = "1-1002-50");
    CHANGED(b.roles.reigns.list[1].opened = false);
    CHANGED(b.roles.reigns.list[0].floor_is_partial = false);
    CHANGED(b.roles.transition.silent_ms++);
    CHANGED(b.roles.transition.last_write_ms++);
    CHANGED(b.roles.last_outage.started_ms++);
    CHANGED(b.roles.last_outage.gap.route_ms++);
    CHANGED(b.roles.transition.last_write_span_ms++);
    CHANGED(b.roles.last_failover.gap.until = WRITE_GAP_UNTIL_OPENING);
    CHANGED(b.roles.last_failover.gap.route_ms++);
    CHANGED(b.roles.last_failover.gap.opened_ms++);
    CHANGED(b.roles.last_switchover.gap.uncertainty_ms++);
    CHANGED(b.roles.transition.evidence[0] = 'x');
    CHANGED(b.roles.transition.waits_for[0] = '\0');
    CHANGED(b.roles.transition.candidate_why[0] = 'x');
    CHANGED(b.roles.transition.may_be_lost[0] = '\0');
    CHANGED(b.roles.transition.before[0] = '\0');
    CHANGED(b.roles.last_failover.to[0] = 'b');
    CHANGED(b.roles.last_failover.evidence[0] = 'x');
    CHANGED(b.roles.last_failover.candidate_why[0] = 'x');
    CHANGED(b.roles.last_failover.epoch++);
    CHANGED(b.roles.last_failover.finished_ms++);
    CHANGED(b.roles.last_failover.detected_ms = -1);
    CHANGED(b.roles.last_failover.drained_ms = 40);
    CHANGED(b.roles.last_failover.writes_blocked_ms++);
    CHANGED(b.roles.last_failover.position = "1-1-99");
    CHANGED(b.roles.last_failover.may_be_lost[0] = '\0');
    CHANGED(b.roles.last_failover.salvaged[0] = '\0');
    CHANGED(b.roles.acknowledgers ^= 2);
    CHANGED(b.roles.confirmed.semi_sync = false);
    CHANGED(b.roles.confirmed.acks--);
    CHANGED(b.roles.confirmed.lapses++);
    CHANGED(b.roles.confirmed.lapses_boot_id[0] = 'x');
    CHANGED(b.roles.confirmed.self_fence_ms++);
    CHANGED(b.roles.confirmed.self_fence_members--);
}
#undef CHANGED

/* Or the status would be written for ever. */
static void small_progress_is_no_change(void **state)
{
    UNUSED(state);
    static struct cluster_status a, b;
    fill(&a);
    fill(&b);
    b.instances[1].lag_ms += 999;
    b.instances[1].seed_percent += 4;
    b.instances[1].seed_bytes += 499;
    b.instances[1].seed_bytes_per_second += 77;
    assert_true(cluster_status_same(&a, &b));
    b.instances[1].lag_ms = 6001;
    assert_true(cluster_status_same(&a, &b));
    a.instances[1].lag_ms = 100000;
    b.instances[1].lag_ms = 91000;
    assert_true(cluster_status_same(&a, &b));
    b.instances[1].lag_ms = 90000;
    assert_false(cluster_status_same(&a, &b));
    b.instances[1].lag_ms = a.instances[1].lag_ms;
    assert_true(cluster_status_same(&a, &b));
    b.instances[1].seed_percent += 1;
    assert_false(cluster_status_same(&a, &b));
    /* Of a whole that nobody knows. */
    a.instances[1].seed_total_bytes = b.instances[1].seed_total_bytes = 0;
    a.instances[1].seed_percent = b.instances[1].seed_percent = 0;
    assert_true(cluster_status_same(&a, &b));
    b.instances[1].seed_bytes += UINT64_C(1) << 30;
    assert_false(cluster_status_same(&a, &b));
    cluster_status_release(&a);
    cluster_status_release(&b);
}

static void a_transition_that_ended_is_not_told(void **state)
{
    UNUSED(state);
    struct cluster_status status = {.roles.transition = {.started_ms = 5, .epoch = 3, .position = "x"}};
    json_t *json = cluster_status_encode(&status);
    assert_null(json_object_get(json, "transition"));
    assert_null(json_object_get(json, "lastSwitchover"));
    assert_null(json_object_get(json, "lastFailover"));
    assert_null(json_object_get(json, "acknowledgers"));
    assert_false(cluster_transition_is_set(&status.roles.transition));
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
        "{\"transition\":{\"startedAt\":\"yesterday\",\"epoch\":-4,\"from\":1,\"kind\":1}}",
        "{\"lastFailover\":{\"from\":\"a\",\"to\":\"b\",\"finishedAt\":\"1013-01-02T03:04:05.050Z\"}}",
        "{\"lastFailover\":[],\"acknowledgers\":{}}", "{\"confirmed\":{\"semiSync\":1,\"acks\":3,\"selfFenceMs\":-1}}",
        "{\"lastFailover\":{\"phases\":[],\"from\":5,\"epoch\":-1,\"writesBlockedUntil\":7,\"routeMs\":\"x\"},\"acknowledgers\":[-1,64,\"1\",null,1e300]}"};
    static struct cluster_status status;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_t *json = parse(texts[i]);
        cluster_status_decode(json, &status);
        assert_true(status.instance_count <= CLUSTER_REPLICAS_MAX + 1);
        assert_null(status.config_spec);
        assert_int_equal(status.replicas, 0);
        assert_int_equal(status.roles.epoch, 0);
        assert_int_equal(status.roles.transition.epoch, 0);
        assert_false(status.roles.transition.failover);
        assert_int_equal(status.roles.last_failover.epoch, 0);
        assert_true(status.roles.last_failover.detected_ms <= 0);
        assert_int_equal(status.roles.last_failover.finished_ms, 0);
        assert_true(status.roles.acknowledgers == 0);
        assert_int_equal(status.roles.confirmed.acks + status.roles.confirmed.self_fence_ms, 0);
        assert_int_equal(status.roles.transition.started_ms, 0);
        assert_false(status.instance_count > 0 && status.instances[0].lag_known);
        cluster_status_release(&status);
        json_decref(json);
    }
    cluster_status_decode(NULL, &status);
    assert_int_equal(status.instance_count, 0);
    cluster_status_release(&status);
}

/* A MySQL cluster of some years: each member that was copied anew and was primary left a UUID. */
static void positions_of_400_servers_are_whole(void **state)
{
    UNUSED(state);
    static struct cluster_status status, again, copy;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, POSITION_TEXT_MAX);
    for (int i = 0; i < 400; i++)
        strbuf_addf(&text, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-%d", i ? "," : "", i, 10000000 + i);
    fill(&status);
    status.roles.transition.position = status.roles.last_failover.position = text.buf;
    status.roles.reigns.list[0].floor = status.roles.reigns.list[1].floor = text.buf;
    json_t *json = cluster_status_encode(&status);
    cluster_status_decode(json, &again);
    json_decref(json);
    assert_string_equal(again.roles.transition.position, text.buf);
    assert_string_equal(again.roles.reigns.list[0].floor, text.buf);
    assert_string_equal(again.roles.reigns.list[1].floor, text.buf);
    assert_string_equal(again.roles.last_failover.position, text.buf);
    assert_int_equal(position_pool_size(again.positions), text.len); /* stored once */
    cluster_status_copy(&again, &copy);
    cluster_status_release(&again);
    assert_string_equal(copy.roles.reigns.list[1].floor, text.buf); /* a copy stands by itself */
    assert_true(cluster_status_same(&copy, &status));
    cluster_status_release(&copy);
    cluster_status_release(&status);
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

static void instances_come_back_with_phase_and_step(void **state)
{
    UNUSED(state);
    for (int i = 0; i < INSTANCE_PHASE_COUNT; i++) {
        struct cluster_status status = {.observed_generation = 1}, read;
        struct cluster_instance *instance = cluster_status_add_instance(&status, "a-mysql-0", 0);
        instance->phase = (enum instance_phase)i;
        instance->seed_step = (enum agent_seed_step)MIN_OF(i, AGENT_SEED_STEP_COUNT - 1);
        _cleanup_(json_decrefp) json_t *json = cluster_status_encode(&status);
        cluster_status_decode(json, &read);
        assert_int_equal(read.instances[0].phase, i);
        assert_int_equal(read.instances[0].seed_step, instance->seed_step);
        cluster_status_release(&read);
        cluster_status_release(&status);
    }
    assert_int_equal(agent_seed_step_of("of a later version"), AGENT_SEED_STEP_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(instances_come_back_with_phase_and_step),
        cmocka_unit_test(a_reason_of_a_later_version_is_read),
        cmocka_unit_test(the_crd_has_every_member),
        cmocka_unit_test(every_change_counts),
        cmocka_unit_test(every_change_of_roles_counts),
        cmocka_unit_test(doubt_of_an_earlier_version_is_read),
        cmocka_unit_test(small_progress_is_no_change),
        cmocka_unit_test(a_transition_that_ended_is_not_told),
        cmocka_unit_test(null_is_empty),
        cmocka_unit_test(malformed),
        cmocka_unit_test(positions_of_400_servers_are_whole),
        cmocka_unit_test(terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
