/* SPDX-License-Identifier: Apache-2.0 */
/* A MysqlConfig changes, and three clusters of one member name it: one after the other is changed (cluster_turn.h). */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/operator_world.h"
#include "operator/tests/world_copy.h"

#define PATH_CONFIG "/apis/kubemysql.dev/v1alpha1/mysqlconfigs/plat"
#define CONFIG(more)                                                                                                    \
    "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlConfig', 'metadata': {'name': 'plat'}, 'spec': {'images': " \
    "{'mysql': 'mysql:8.4'}, " more "}}"
#define CONFIG_OF(team) CONFIG("'podTemplate': {'metadata': {'labels': {'team': '" team "'}}}")
#define CONFIG_OF_MYCNF CONFIG("'podTemplate': {'metadata': {'labels': {'team': 'a'}}}, 'mycnf': {'back_log': 200}")
#define NEVER_MS (3600 * 1000)

static const char *const names[] = {WORLD_CLUSTER, "crm", "blog"};
#define CLUSTERS ((int)ARRAY_LEN(names))

/* ---- looking around ---- */

static const char *cluster_str(const struct operator_world *world, int cluster, const char *member)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CLUSTERS "%s", names[cluster]);
    return world_str(world, path, member);
}

static const char *set_str(const struct operator_world *world, int cluster, const char *member)
{
    _cleanup_(freep) char *path = xasprintf(PATH_STATEFUL_SETS "%s-mysql", names[cluster]);
    return world_str(world, path, member);
}

static const char *mark(const struct operator_world *world, int cluster)
{
    return set_str(world, cluster, "metadata.annotations[\"" ANNOTATION_AGENT_TURN "\"]");
}

static const char *team(const struct operator_world *world, int cluster)
{
    return set_str(world, cluster, "spec.template.metadata.labels.team");
}

static struct agent_double *agent_of(const struct operator_world *world, int cluster)
{
    return agent_doubles_get(cluster == 0 ? world->agents : world->others[cluster - 1].agents, 0);
}

static bool is_ready(struct operator_world *world, int cluster)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CLUSTERS "%s", names[cluster]);
    return str_starts_with(world_condition_of(world, path, "Ready"), "True/") &&
        str_starts_with(world_condition_of(world, path, "Progressing"), "False/") &&
        agent_double_is_ready(agent_of(world, cluster));
}

/* How many are on turn at a time, and how many do not serve, at most: looked at after each write. */
static void note_most(struct operator_world *world)
{
    int64_t marked = 0, down = 0;
    for (int i = 0; i < CLUSTERS; i++) {
        marked += *mark(world, i) != '\0';
        down += !agent_double_is_ready(agent_of(world, i));
    }
    world->numbers[0] = MAX_OF(world->numbers[0], marked);
    world->numbers[1] = MAX_OF(world->numbers[1], down);
}

static void let_checks_pass(struct operator_world *world)
{
    for (int i = 0; i < CLUSTERS; i++) {
        _cleanup_(freep) char *path = xasprintf(PATH_CORE "pods/%s-mysql-check", names[i]);
        if (kube_api_double_get(world->api, path) && !str_eq(world_str(world, path, "status.phase"), "Succeeded"))
            world_edit_json(world, path, "{'status': {'phase': 'Succeeded'}}");
    }
}

/* ---- steps ---- */

static bool all_have(struct operator_world *world, const char *wanted)
{
    let_checks_pass(world);
    for (int i = 0; i < CLUSTERS; i++) {
        if (!str_eq(team(world, i), wanted) || *mark(world, i) || !is_ready(world, i))
            return false;
    }
    return world_is_quiet(world, 200);
}

static bool all_have_a(struct operator_world *world)
{
    return all_have(world, "a");
}

static bool all_have_b(struct operator_world *world)
{
    return all_have(world, "b");
}

static bool all_have_c(struct operator_world *world)
{
    return all_have(world, "c");
}

static uint16_t lives_before[ARRAY_LEN(names)];

static void note_lives(const struct operator_world *world)
{
    for (int i = 0; i < CLUSTERS; i++)
        lives_before[i] = agent_of(world, i)->lives;
}

static bool was_replaced(const struct operator_world *world, int cluster)
{
    return agent_of(world, cluster)->lives != lives_before[cluster];
}

static bool b_is_wanted(struct operator_world *world)
{
    note_lives(world);
    kube_api_double_created(world->api, "2099-01-01T00:00:00Z"); /* later than what is stored of before */
    world->numbers[0] = world->numbers[1] = 0;
    world->after_act = note_most;
    world_put_json(world, PATH_CONFIG, CONFIG_OF("b"));
    return true;
}

/* Whoever is on turn first does not come up again. */
static void break_first(struct operator_world *world)
{
    for (int i = 0; i < CLUSTERS && world->numbers[2] < 0; i++) {
        if (!*mark(world, i))
            continue;
        assert_string_equal(mark(world, i), "MysqlConfig plat");
        world->numbers[2] = i;
        agent_of(world, i)->start_ms = NEVER_MS;
    }
}

static void note_first_with_c(struct operator_world *world)
{
    note_most(world);
    for (int i = 0; i < CLUSTERS && world->numbers[3] < 0; i++)
        world->numbers[3] = str_eq(team(world, i), "c") ? i : -1;
}

static bool b_is_wanted_and_bad(struct operator_world *world)
{
    b_is_wanted(world);
    world->numbers[2] = -1;
    world->after_act = break_first;
    return true;
}

static bool waits_for_first(const struct operator_world *world, int cluster)
{
    _cleanup_(freep) char *text =
        xasprintf("bring the members up to date with MysqlConfig plat; waits for ns1/%s, whose turn it is",
            names[world->numbers[2]]);
    return strstr(cluster_str(world, cluster, "status.nextAction"), text) != NULL;
}

static bool first_fails_and_the_others_wait(struct operator_world *world)
{
    let_checks_pass(world);
    int first = (int)world->numbers[2], waiting = 0;
    if (first < 0 || is_ready(world, first) || !was_replaced(world, first))
        return false;
    for (int i = 0; i < CLUSTERS; i++)
        waiting += i != first && waits_for_first(world, i);
    return waiting == CLUSTERS - 1 && world_is_quiet(world, 300);
}

static bool the_others_are_as_they_were(struct operator_world *world)
{
    for (int i = 0; i < CLUSTERS; i++) {
        if (i == world->numbers[2])
            continue;
        assert_string_equal(team(world, i), "a");
        assert_string_equal(mark(world, i), "");
        assert_false(was_replaced(world, i));
        assert_true(is_ready(world, i));
    }
    return true;
}

/* The server of whoever is on turn ends three times with the new template, and so it goes back. */
static bool first_goes_back_and_the_others_wait(struct operator_world *world)
{
    let_checks_pass(world);
    int waiting = 0, first = -1;
    for (int i = 0; i < CLUSTERS; i++)
        first = *mark(world, i) ? i : first;
    if (first < 0)
        return false;
    world->numbers[2] = first;
    _cleanup_(freep) char *cluster = xasprintf(PATH_CLUSTERS "%s", names[first]);
    _cleanup_(freep) char *pod = xasprintf(PATH_CORE "pods/%s-mysql-0", names[first]);
    bool went_back = str_starts_with(world_condition_of(world, cluster, "RolledBack"), "True/");
    if (!went_back && was_replaced(world, first) && agent_double_is_past_init(agent_of(world, first)) &&
        !*world_str(world, pod, "status.containerStatuses[0].name")) {
        agent_double_crash(agent_of(world, first));
        world_edit_json(world, pod,
            "{'status': {'containerStatuses': [{'name': 'mysql', 'restartCount': 2, 'ready': false, 'state': {'waiting':"
            "{'reason': 'CrashLoopBackOff'}}, 'lastState': {'terminated': {'exitCode': 1}}}]}}");
    }
    for (int i = 0; i < CLUSTERS; i++)
        waiting += i != first && waits_for_first(world, i);
    return went_back && waiting == CLUSTERS - 1 && str_eq(team(world, first), "a") &&
        agent_double_is_ready(agent_of(world, first)) && world_is_quiet(world, 300);
}

/* The image of the only check pod cannot be pulled. */
static bool the_check_of_first_fails(struct operator_world *world)
{
    int waiting = 0, checked = 0;
    for (int i = 0; i < CLUSTERS; i++) {
        _cleanup_(freep) char *path = xasprintf(PATH_CORE "pods/%s-mysql-check", names[i]);
        if (!kube_api_double_get(world->api, path))
            continue;
        checked++;
        world->numbers[2] = i;
        if (!*world_str(world, path, "status.phase"))
            world_edit_json(world, path,
                "{'status': {'phase': 'Pending', 'containerStatuses': [{'name': 'check', 'state': {'waiting': {'reason':"
                "'ImagePullBackOff', 'message': 'no such image'}}}]}}");
    }
    for (int i = 0; i < CLUSTERS && checked == 1; i++)
        waiting += i != world->numbers[2] && waits_for_first(world, i);
    return waiting == CLUSTERS - 1;
}

/* Longer than a note of it lasts (cluster_turns.c), in several steps. */
static bool for_fifteen_seconds(struct operator_world *world)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!the_check_of_first_fails(world) && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "another one tries what was refused, or does not wait");
    if (world->numbers[3] == 0)
        world->numbers[3] = now_ms;
    if (now_ms - world->numbers[3] < 15000)
        return false;
    world->numbers[3] = 0;
    return true;
}

static bool the_next_operator_leads(struct operator_world *world)
{
    world_kill_operator(world);
    return true;
}

static int last_but(const struct operator_world *world)
{
    return world->numbers[2] == CLUSTERS - 1 ? CLUSTERS - 2 : CLUSTERS - 1;
}

static bool one_changes_by_itself(struct operator_world *world)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CLUSTERS "%s", names[last_but(world)]);
    world_edit_json(world, path,
        "{'metadata': {'generation': 2}, 'spec': {'podTemplate': {'metadata': {'labels': {'tier': 'own'}}}}}");
    return true;
}

static bool that_is_at_once(struct operator_world *world)
{
    int own = last_but(world);
    let_checks_pass(world);
    if (!str_eq(set_str(world, own, "spec.template.metadata.labels.tier"), "own") || !is_ready(world, own))
        return false;
    assert_string_equal(team(world, own), "b");
    assert_string_equal(mark(world, own), "");
    assert_true(was_replaced(world, own));
    assert_true(*mark(world, (int)world->numbers[2]));
    return world_is_quiet(world, 200);
}

static bool c_is_wanted_and_good(struct operator_world *world)
{
    agent_of(world, (int)world->numbers[2])->start_ms = 0;
    world_put_json(world, PATH_CONFIG, CONFIG_OF("c"));
    world->after_act = note_first_with_c;
    world->numbers[0] = world->numbers[1] = 0;
    world->numbers[3] = -1;
    return true;
}

static bool it_is_released_by_hand(struct operator_world *world)
{
    _cleanup_(freep) char *path = xasprintf(PATH_STATEFUL_SETS "%s-mysql", names[world->numbers[2]]);
    world->after_act = NULL;
    world_edit_json(world, path, "{'metadata': {'annotations': {'" ANNOTATION_AGENT_TURN "': null}}}");
    return true;
}

static bool the_others_go_on(struct operator_world *world)
{
    let_checks_pass(world);
    for (int i = 0; i < CLUSTERS; i++) {
        if (i != world->numbers[2] && (!str_eq(team(world, i), "b") || *mark(world, i) || !is_ready(world, i)))
            return false;
    }
    assert_string_equal(mark(world, (int)world->numbers[2]), "");
    return true;
}

static bool another_mycnf_is_wanted(struct operator_world *world)
{
    b_is_wanted(world);
    world_put_json(world, PATH_CONFIG, CONFIG_OF_MYCNF);
    return true;
}

static bool all_have_the_mycnf(struct operator_world *world)
{
    let_checks_pass(world);
    for (int i = 0; i < CLUSTERS; i++) {
        _cleanup_(freep) char *path = xasprintf(PATH_CORE "configmaps/%s-mysql-config", names[i]);
        if (!strstr(world_str(world, path, "data[\"my.cnf\"]"), "back_log"))
            return false;
        assert_false(was_replaced(world, i));
    }
    return all_have_a(world);
}

static bool the_next_version_leads(struct operator_world *world)
{
    note_lives(world);
    world->version = "0.2.0";
    world_kill_operator(world);
    return true;
}

static bool nobody_was_replaced(struct operator_world *world)
{
    for (int i = 0; i < CLUSTERS; i++) {
        if (!str_eq(set_str(world, i, "metadata.labels[\"" LABEL_VERSION "\"]"), "0.2.0"))
            return false;
        assert_false(was_replaced(world, i));
        assert_string_equal(mark(world, i), "");
    }
    return world_is_quiet(world, 200);
}

/* ---- stories ---- */

static struct operator_world *three_clusters(void)
{
    struct operator_world *world = operator_world_new();
    world->turns = 1;
    world_put_json(world, PATH_CONFIG, CONFIG_OF("a"));
    for (int i = 0; i < CLUSTERS; i++) {
        _cleanup_(freep) char *path = xasprintf(PATH_CLUSTERS "%s", names[i]);
        _cleanup_(freep) char *text =
            xasprintf("{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlCluster', 'metadata': {'name': '%s',"
                      "'namespace': 'ns1'}, 'spec': {'config': {'name': 'plat'}, 'storage': {'resources': {'requests':"
                      "{'storage': '1Gi'}}}}}",
                names[i]);
        world_put_json(world, path, text);
        if (i > 0)
            world_add_other(world, names[i]);
    }
    return world;
}

static void one_after_the_other(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, b_is_wanted, all_have_b, NULL};
    struct operator_world *world = three_clusters();
    operator_world_run(world, steps);
    assert_int_equal(world->numbers[0], 1);
    assert_int_equal(world->numbers[1], 1);
    operator_world_free(world);
}

static void one_that_fails_stops_the_rest(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, b_is_wanted_and_bad, first_fails_and_the_others_wait,
        the_others_are_as_they_were, the_next_operator_leads, first_fails_and_the_others_wait,
        the_others_are_as_they_were, one_changes_by_itself, that_is_at_once, c_is_wanted_and_good, all_have_c, NULL};
    struct operator_world *world = three_clusters();
    operator_world_run(world, steps);
    assert_int_equal(world->numbers[3], world->numbers[2]);
    assert_int_equal(world->numbers[0], 1);
    assert_int_equal(world->numbers[1], 1);
    operator_world_free(world);
}

static void one_that_goes_back_stops_the_rest(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, b_is_wanted, first_goes_back_and_the_others_wait,
        the_others_are_as_they_were, the_next_operator_leads, first_goes_back_and_the_others_wait,
        the_others_are_as_they_were, c_is_wanted_and_good, all_have_c, NULL};
    struct operator_world *world = three_clusters();
    operator_world_run(world, steps);
    assert_int_equal(world->numbers[0], 1);
    assert_int_equal(world->numbers[1], 1);
    assert_int_equal(world->numbers[3], world->numbers[2]);
    operator_world_free(world);
}

static void one_whose_check_is_refused_stops_the_rest(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, b_is_wanted, the_check_of_first_fails, for_fifteen_seconds,
        for_fifteen_seconds, for_fifteen_seconds, the_others_are_as_they_were, c_is_wanted_and_good, all_have_c, NULL};
    struct operator_world *world = three_clusters();
    operator_world_run(world, steps);
    assert_int_equal(world->numbers[0], 1);
    assert_int_equal(world->numbers[1], 1);
    operator_world_free(world);
}

static void nobody_waits_for_one_that_was_released(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, b_is_wanted_and_bad, first_fails_and_the_others_wait,
        it_is_released_by_hand, the_others_go_on, NULL};
    struct operator_world *world = three_clusters();
    operator_world_run(world, steps);
    operator_world_free(world);
}

static void servers_take_up_a_mycnf_one_cluster_after_the_other(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, another_mycnf_is_wanted, all_have_the_mycnf, NULL};
    struct operator_world *world = three_clusters();
    operator_world_run(world, steps);
    assert_int_equal(world->numbers[0], 1);
    assert_int_equal(world->numbers[1], 0);
    operator_world_free(world);
}

/* Each operator is killed after any of its writes and orders (KM_CRASH_EVERY: after some). */
static void operators_that_die_on_the_way(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, b_is_wanted, all_have_b, NULL};
    for (size_t kill_after = 1; kill_after <= 12; kill_after += world_crash_every()) {
        struct operator_world *world = three_clusters();
        world->kill_after_step = 2;
        world->kill_after = kill_after;
        operator_world_run(world, steps);
        assert_int_equal(world->numbers[0], 1);
        assert_int_equal(world->numbers[1], 1);
        operator_world_free(world);
    }
}

static void another_version_of_the_operator(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_have_a, the_next_version_leads, nobody_was_replaced, NULL};
    struct operator_world *world = three_clusters();
    world->version = "0.1.9";
    operator_world_run(world, steps);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(one_that_fails_stops_the_rest),
        cmocka_unit_test(one_that_goes_back_stops_the_rest),
        cmocka_unit_test(one_whose_check_is_refused_stops_the_rest),
        cmocka_unit_test(nobody_waits_for_one_that_was_released),
        cmocka_unit_test(servers_take_up_a_mycnf_one_cluster_after_the_other),
        cmocka_unit_test(operators_that_die_on_the_way),
        cmocka_unit_test(another_version_of_the_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
