/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as data, whose an object is, and plans carried out against the API double. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/kube/tests/kube_world.h"
#include "operator/plan/ownership.h"
#include "operator/plan/plan_executor.h"

#define OWNER "11111111-0000-4000-8000-000000000001"
#define FORMER "11111111-0000-4000-8000-00000000000f"

/* ---- pure ---- */

static json_t *metadata_of(const char *kind, const char *name, const char *uid, bool controller)
{
    return json_build("{s:[{s:s, s:s, s:s, s:b}]}", "ownerReferences", "kind", kind, "name", name, "uid", uid,
        "controller", controller);
}

static void ownership_is_judged_by_the_controller(void **state)
{
    UNUSED(state);
    static const struct {
        const char *kind, *name, *uid;
        bool controller;
        enum ownership wanted;
    } table[] = {
        {"K", "n", OWNER, true, OWNERSHIP_OURS},
        {"K", "n", OWNER, false, OWNERSHIP_FOREIGN},
        {"K", "n", FORMER, true, OWNERSHIP_PREDECESSOR},
        {"K", "m", FORMER, true, OWNERSHIP_FOREIGN},
        {"L", "n", FORMER, true, OWNERSHIP_FOREIGN},
    };
    _cleanup_(json_decrefp) json_t *ours = metadata_of("K", "n", OWNER, true);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _cleanup_(json_decrefp) json_t *live = json_build(
            "{s:o}", "metadata", metadata_of(table[i].kind, table[i].name, table[i].uid, table[i].controller));
        assert_int_equal(ownership_of(live, ours), table[i].wanted);
    }
    _cleanup_(json_decrefp) json_t *orphan = json_build("{s:{}}", "metadata");
    assert_int_equal(ownership_of(orphan, ours), OWNERSHIP_FOREIGN);
}

#define OURS_LABELS "{\"labels\": {\"app\": \"a\", \"part\": \"b\"}}"

/* What is known of an orphan is its labels and who has written it; and that nobody has it, or is about to delete it. */
static void orphans_are_known_by_labels_and_manager(void **state)
{
    UNUSED(state);
    static const struct {
        const char *why, *live;
        bool wanted;
    } table[] = {
        {"ours, and more labels",
            "{'metadata': {'labels': {'app': 'a', 'part': 'b', 'x': 'y'}, 'managedFields': [{'manager': 'them'}, {'manager': 'us'}]}}",
            true},
        {"no references",
            "{'metadata': {'labels': {'app': 'a', 'part': 'b'}, 'ownerReferences': [], 'managedFields': [{'manager': 'us'}]}}",
            true},
        {"a label is another one",
            "{'metadata': {'labels': {'app': 'a', 'part': 'c'}, 'managedFields': [{'manager': 'us'}]}}", false},
        {"no labels", "{'metadata': {'managedFields': [{'manager': 'us'}]}}", false},
        {"written by others",
            "{'metadata': {'labels': {'app': 'a', 'part': 'b'}, 'managedFields': [{'manager': 'them'}]}}", false},
        {"nobody says who has written it", "{'metadata': {'labels': {'app': 'a', 'part': 'b'}}}", false},
        {"somebody has it, although it controls nothing",
            "{'metadata': {'labels': {'app': 'a', 'part': 'b'}, 'managedFields': [{'manager': 'us'}], 'ownerReferences': [{'uid': 'u'}]}}",
            false},
        {"it is on its way out",
            "{'metadata': {'labels': {'app': 'a', 'part': 'b'}, 'managedFields': [{'manager': 'us'}], 'deletionTimestamp': 't'}}",
            false},
    };
    _cleanup_(json_decrefp) json_t *ours = json_parse(OURS_LABELS, strlen(OURS_LABELS), NULL);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _cleanup_(freep) char *text = xstrdup(table[i].live);
        for (char *at = text; (at = strchr(at, '\''));)
            *at = '"';
        _cleanup_(json_decrefp) json_t *live = json_parse(text, strlen(text), NULL);
        assert_non_null(live);
        if (ownership_is_orphan(live, ours, "us") != table[i].wanted)
            fail_msg("%s", table[i].why);
    }
    _cleanup_(json_decrefp) json_t *unlabelled = json_object();
    _cleanup_(json_decrefp) json_t *live = json_build("{s:{s:[{s:s}]}}", "metadata", "managedFields", "manager", "us");
    assert_false(ownership_is_orphan(live, unlabelled, "us"));
}

static void empty_stages_do_not_count(void **state)
{
    UNUSED(state);
    _cleanup_(plan_freep) struct plan *plan = plan_new();
    assert_true(plan_is_empty(plan));
    plan_next_stage(plan);
    plan_add_delete(plan, PLAN_POD, "ns", "a", "u", NULL);
    plan_next_stage(plan);
    plan_next_stage(plan);
    plan_add_delete(plan, PLAN_POD, "ns", "b", "u", "because");
    _cleanup_(json_decrefp) json_t *text = plan_describe(plan, true);
    assert_int_equal(json_array_size(text), 2);
    assert_string_equal(json_path_str(text, "[1][0].why", ""), "because");
}

static void secrets_are_never_described(void **state)
{
    UNUSED(state);
    _cleanup_(plan_freep) struct plan *plan = plan_new();
    plan_add_apply(
        plan, PLAN_SECRET, NULL, json_build("{s:{s:s}, s:{s:s}}", "metadata", "name", "s", "data", "k", "hush"), NULL);
    _cleanup_(json_decrefp) json_t *described = plan_describe(plan, true);
    _cleanup_(freep) char *text = json_text(described);
    assert_null(strstr(text, "hush"));
}

/* ---- carried out ---- */

struct result {
    struct world *world;
    struct plan_targets targets;
    int actions, done;
    struct error err;
};

static void on_action(
    void *arg, const struct plan_action *action, const struct kube_answer *answer, const struct error *err)
{
    struct result *result = arg;
    assert_true(err || action->verb == PLAN_DELETE || answer->object);
    result->actions++;
}

static void on_done(void *arg, const struct plan *plan, const struct error *err)
{
    struct result *result = arg;
    UNUSED(plan);
    result->done++;
    if (err)
        result->err = *err;
}

static bool is_done(const struct world *world, const void *arg)
{
    UNUSED(world);
    return ((const struct result *)arg)->done > 0;
}

/* Runs the plan with ConfigMaps that are cached. */
static struct result carry_out(struct world *world, struct plan *plan)
{
    struct result result = {.world = world, .targets.client = world->client};
    if (!world->informer) {
        world_start_informer(world, NULL);
        assert_true(world_run(world, world_in_step, NULL, 5000));
    }
    result.targets.kinds[PLAN_CONFIG_MAP].resource = &world->maps;
    result.targets.kinds[PLAN_CONFIG_MAP].informer = world->informer;
    plan_execute(world->loop, &result.targets, plan, on_action, on_done, &result);
    assert_int_equal(result.done, 0); /* never inside the call */
    assert_true(world_run(world, is_done, &result, 20000));
    assert_int_equal(result.done, 1);
    return result;
}

static json_t *owned_map(const char *name, const char *value, const char *uid)
{
    json_t *map = world_map(name, value);
    _cleanup_(json_decrefp) json_t *owner = metadata_of("MysqlCluster", "shop", uid, true);
    json_object_update(json_object_get(map, "metadata"), owner);
    return map;
}

static void add_map(struct plan *plan, const char *name)
{
    plan_add_apply(plan, PLAN_CONFIG_MAP, NULL, owned_map(name, "v", OWNER), NULL);
}

static void put_owned(struct world *world, const char *name, const char *uid)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", WORLD_MAPS_IN_NS, name);
    _cleanup_(json_decrefp) json_t *map = owned_map(name, "old", uid);
    kube_api_double_put(world->api, path, map);
}

static const char *live_value(const struct world *world, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", WORLD_MAPS_IN_NS, name);
    return json_path_str(kube_api_double_get(world->api, path), "data.key", "");
}

static void an_empty_plan_is_done(void **state)
{
    struct result result = carry_out(*state, plan_new());
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_int_equal(result.actions, 0);
}

static void writes_are_read_at_once(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    add_map(plan, "a");
    plan_next_stage(plan);
    add_map(plan, "b");
    world_start_informer(world, NULL);
    assert_true(world_run(world, world_in_step, NULL, 5000));
    kube_api_double_mute_watches(world->api, true);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_int_equal(result.actions, 2);
    assert_non_null(world_stored(world, "a"));
    assert_non_null(world_stored(world, "b"));
}

static void the_first_error_stops_later_stages_only(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    static const struct kube_api_fault fault = {
        .method = "POST", .path_prefix = WORLD_MAPS_IN_NS, .status = 422, .reason = "Invalid"};
    kube_api_double_fault(world->api, &fault);
    add_map(plan, "a");
    add_map(plan, "b");
    plan_next_stage(plan);
    add_map(plan, "c");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_INVALID);
    assert_true(str_starts_with(result.err.message, "ConfigMap a: "));
    assert_int_equal(result.actions, 2);
    assert_string_equal(live_value(world, "b"), "v");
    assert_string_equal(live_value(world, "c"), "");
}

static void what_lets_pass_stops_nothing_when_it_is_refused(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    static const struct kube_api_fault fault = {
        .method = "POST", .path_prefix = WORLD_MAPS_IN_NS, .status = 422, .reason = "Invalid"};
    kube_api_double_fault(world->api, &fault);
    add_map(plan, "a");
    plan_let_pass(plan);
    plan_next_stage(plan);
    add_map(plan, "b");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_INVALID);
    assert_true(str_starts_with(result.err.message, "ConfigMap a: "));
    assert_int_equal(result.actions, 2);
    assert_string_equal(live_value(world, "b"), "v");
}

/* The API double refuses whoever asks to be told of fields that it does not know. */
static void only_what_is_strict_asks_to_be_told_of_unknown_fields(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    static const struct kube_api_fault fault = {.method = "POST",
        .path_prefix = WORLD_MAPS_IN_NS,
        .query = "fieldValidation",
        .times = -1,
        .status = 400,
        .reason = "BadRequest"};
    kube_api_double_fault(world->api, &fault);
    add_map(plan, "a");
    add_map(plan, "b");
    plan_be_strict(plan);
    struct result result = carry_out(world, plan);
    kube_api_double_clear_faults(world->api);
    assert_int_equal(result.err.kind, ERROR_INVALID);
    assert_true(str_starts_with(result.err.message, "ConfigMap b: "));
    assert_string_equal(live_value(world, "a"), "v");
    assert_string_equal(live_value(world, "b"), "");
}

/* No word about this object: nothing else would fare better. */
static void a_server_in_trouble_stops_all(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    static const struct kube_api_fault fault = {
        .method = "POST", .path_prefix = WORLD_MAPS_IN_NS, .status = 500, .reason = "InternalError"};
    kube_api_double_fault(world->api, &fault);
    add_map(plan, "a");
    plan_let_pass(plan);
    plan_next_stage(plan);
    add_map(plan, "b");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_UNAVAILABLE);
    assert_int_equal(result.actions, 1);
    assert_string_equal(live_value(world, "b"), "");
}

static void a_foreign_object_is_not_taken_over(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    world_put(world, "a", "theirs");
    add_map(plan, "a");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_EXISTS);
    assert_string_equal(live_value(world, "a"), "theirs");
    assert_int_equal(kube_api_double_requests(world->api, "PATCH", NULL), 0);
}

static void what_a_former_owner_left_is_waited_for(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    put_owned(world, "a", FORMER);
    add_map(plan, "a");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_CONFLICT);
    assert_string_equal(live_value(world, "a"), "old");
    assert_int_equal(kube_api_double_requests(world->api, "PATCH", NULL), 0);
}

/* ---- orphans ---- */

static json_t *labelled(json_t *map)
{
    json_put(json_object_get(map, "metadata"), "labels", json_build("{s:s}", "app", "a"));
    return map;
}

static void put_orphan(struct world *world, const char *name, const char *manager)
{
    _cleanup_(freep) char *path = xasprintf(WORLD_MAPS_IN_NS "/%s", name);
    _cleanup_(json_decrefp) json_t *map = labelled(world_map(name, "old"));
    json_put(json_object_get(map, "metadata"), "managedFields", json_build("[{s:s}]", "manager", manager));
    kube_api_double_put(world->api, path, map);
}

static const char *owner_of(struct world *world, const char *name)
{
    _cleanup_(freep) char *path = xasprintf(WORLD_MAPS_IN_NS "/%s", name);
    return json_path_str(kube_api_double_get(world->api, path), "metadata.ownerReferences[0].uid", "");
}

static void add_adoption(struct plan *plan, const char *name)
{
    plan_add_adopt(plan, PLAN_CONFIG_MAP, labelled(owned_map(name, "new", OWNER)), "because");
}

static void an_orphan_gets_an_owner_and_keeps_what_it_holds(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    put_orphan(world, "a", kube_client_field_manager(world->client));
    add_adoption(plan, "a");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_string_equal(owner_of(world, "a"), OWNER);
    assert_string_equal(live_value(world, "a"), "old");
    plan = plan_new();
    add_adoption(plan, "a"); /* it is ours by now */
    size_t writes = kube_api_double_writes(world->api);
    result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_int_equal(kube_api_double_writes(world->api), writes);
}

static void an_apply_takes_no_orphan_over(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    put_orphan(world, "a", kube_client_field_manager(world->client));
    plan_add_apply(plan, PLAN_CONFIG_MAP, NULL, labelled(owned_map("a", "new", OWNER)), NULL);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_EXISTS);
    assert_string_equal(live_value(world, "a"), "old");
}

static void what_is_no_orphan_is_not_adopted(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *name;
        enum error_kind kind;
    } table[] = {{"theirs", ERROR_EXISTS}, {"former", ERROR_CONFLICT}, {"gone", ERROR_CONFLICT}};
    put_orphan(world, "theirs", "somebody");
    put_owned(world, "former", FORMER);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct plan *plan = plan_new();
        add_adoption(plan, table[i].name);
        struct result result = carry_out(world, plan);
        assert_int_equal(result.err.kind, table[i].kind);
    }
    assert_int_equal(kube_api_double_requests(world->api, "PATCH", NULL), 0);
}

static void ours_without_our_labels_is_applied(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    put_owned(world, "a", OWNER);
    add_map(plan, "a");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_string_equal(live_value(world, "a"), "v");
}

static void a_creation_whose_answer_was_lost_is_applied(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    static const struct kube_api_fault fault = {
        .method = "POST", .kind = KUBE_API_FAULT_STATUS, .status = 409, .reason = "AlreadyExists", .carried_out = true};
    kube_api_double_fault(world->api, &fault);
    add_map(plan, "a");
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_string_equal(live_value(world, "a"), "v");
}

static void another_object_of_the_name_is_a_conflict(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    put_owned(world, "a", OWNER);
    plan_add_apply(plan, PLAN_CONFIG_MAP, FORMER, owned_map("a", "v", OWNER), NULL);
    plan_add_delete(plan, PLAN_CONFIG_MAP, WORLD_NS, "a", FORMER, NULL);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_CONFLICT);
    assert_string_equal(live_value(world, "a"), "old");
}

static void what_is_gone_needs_no_deletion(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    plan_add_delete(plan, PLAN_CONFIG_MAP, WORLD_NS, "nothing", FORMER, NULL);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
}

static void what_takes_its_time_to_go_is_known_as_leaving(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    _cleanup_(json_decrefp) json_t *map = owned_map("a", "v", OWNER);
    json_put(json_object_get(map, "metadata"), "finalizers", json_build("[s]", "example.com/wait"));
    kube_api_double_put(world->api, WORLD_MAPS_IN_NS "/a", map);
    world_start_informer(world, NULL);
    assert_true(world_run(world, world_in_step, NULL, 5000));
    kube_api_double_mute_watches(world->api, true);
    plan_add_delete(plan, PLAN_CONFIG_MAP, WORLD_NS, "a", NULL, NULL);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_true(world_stored(world, "a")->deleting);
}

static void a_creation_leaves_what_is_there(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    world_put(world, "a", "theirs");
    plan_add_create(plan, PLAN_CONFIG_MAP, world_map("a", "ours"), NULL);
    plan_next_stage(plan);
    plan_add_create(plan, PLAN_CONFIG_MAP, world_map("b", "ours"), NULL);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_int_equal(result.actions, 2);
    assert_string_equal(live_value(world, "a"), "theirs");
    assert_string_equal(live_value(world, "b"), "ours");
    /* Not even asked for: a quota would refuse it. */
    assert_int_equal(kube_api_double_requests(world->api, "POST", NULL), 1);
    assert_int_equal(kube_api_double_requests(world->api, "PATCH", NULL), 0);
}

static void who_is_faster_has_made_it(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    static const struct kube_api_fault fault = {
        .method = "POST", .kind = KUBE_API_FAULT_STATUS, .status = 409, .reason = "AlreadyExists", .carried_out = true};
    kube_api_double_fault(world->api, &fault);
    plan_add_create(plan, PLAN_CONFIG_MAP, world_map("a", "v"), NULL);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_string_equal(live_value(world, "a"), "v");
}

static void a_creation_that_is_refused_says_so(void **state)
{
    struct world *world = *state;
    struct plan *plan = plan_new();
    static const struct kube_api_fault fault = {
        .method = "POST", .kind = KUBE_API_FAULT_STATUS, .status = 403, .reason = "Forbidden", .times = -1};
    kube_api_double_fault(world->api, &fault);
    plan_add_create(plan, PLAN_CONFIG_MAP, world_map("a", "v"), NULL);
    struct result result = carry_out(world, plan);
    assert_int_equal(result.err.kind, ERROR_FORBIDDEN);
    assert_true(str_starts_with(result.err.message, "ConfigMap a: "));
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ownership_is_judged_by_the_controller),
        cmocka_unit_test(orphans_are_known_by_labels_and_manager),
        cmocka_unit_test(empty_stages_do_not_count),
        cmocka_unit_test(secrets_are_never_described),
        WORLD_TEST(an_empty_plan_is_done),
        WORLD_TEST(writes_are_read_at_once),
        WORLD_TEST(the_first_error_stops_later_stages_only),
        WORLD_TEST(what_lets_pass_stops_nothing_when_it_is_refused),
        WORLD_TEST(only_what_is_strict_asks_to_be_told_of_unknown_fields),
        WORLD_TEST(a_server_in_trouble_stops_all),
        WORLD_TEST(a_foreign_object_is_not_taken_over),
        WORLD_TEST(what_a_former_owner_left_is_waited_for),
        WORLD_TEST(an_orphan_gets_an_owner_and_keeps_what_it_holds),
        WORLD_TEST(an_apply_takes_no_orphan_over),
        WORLD_TEST(what_is_no_orphan_is_not_adopted),
        WORLD_TEST(ours_without_our_labels_is_applied),
        WORLD_TEST(a_creation_whose_answer_was_lost_is_applied),
        WORLD_TEST(another_object_of_the_name_is_a_conflict),
        WORLD_TEST(what_is_gone_needs_no_deletion),
        WORLD_TEST(what_takes_its_time_to_go_is_known_as_leaving),
        WORLD_TEST(a_creation_leaves_what_is_there),
        WORLD_TEST(who_is_faster_has_made_it),
        WORLD_TEST(a_creation_that_is_refused_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
