/* An operator that dies after every single write and order of a story: the next one ends it as if nothing had been (I10). */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/operator_world.h"

/* ---- looking and doing ---- */

static const char *status_str(struct operator_world *world, const char *member)
{
    _cleanup_(freep) char *path = xasprintf("status.%s", member);
    return world_str(world, PATH_CLUSTER, path);
}

static bool status_names(struct operator_world *world, int ordinal)
{
    return str_eq(status_str(world, "currentPrimary"), world_agent(world, ordinal)->name);
}

static bool primary_is(struct operator_world *world, int ordinal)
{
    return status_names(world, ordinal) && agent_double_is_open(world_agent(world, ordinal));
}

static bool settled(struct operator_world *world)
{
    return world_is_settled(world);
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

#define UNTIL_SETTLED settled, quiet

static bool want_primary_1(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'" ANNOTATION_SWITCHOVER_TO "': '1'}}}");
    return true;
}

static bool primary_is_1(struct operator_world *world)
{
    return primary_is(world, 1);
}

static void edit_spec(struct operator_world *world, const char *spec)
{
    _cleanup_(freep) char *text = xasprintf("{'metadata': {'generation': %lld}, 'spec': %s}",
        (long long)world_int(world, PATH_CLUSTER, "metadata.generation") + 1, spec);
    world_edit_json(world, PATH_CLUSTER, text);
}

/* ---- the stories, told again and again ---- */

struct story {
    const char *more;           /* of the cluster's spec */
    const world_step_fn *steps; /* the first ones lead to where it begins, as `begin` says */
    int begin;                  /* step */
};

/* What must not depend on where an operator died. */
static char *end_of(struct operator_world *world)
{
    _cleanup_(freep) char *children = world_children(world);
    return xasprintf("primary %s, state %s, semi-sync %d, retained %s %s, wished %s\n%s",
        status_str(world, "currentPrimary"), status_str(world, "state"),
        json_path_bool(kube_api_double_get(world->api, PATH_CLUSTER), "status.semiSync", false),
        status_str(world, "retainedVolumes[0]"), status_str(world, "retainedVolumes[1]"),
        status_str(world, "switchoverDone"), children);
}

/* The operator dies after the nth of its acts since the story began; n 0: never. *ret_acts: how many there were. */
static char *tell(const struct story *story, size_t n, size_t *ret_acts)
{
    struct operator_world *world = operator_world_new();
    world->kill_after_step = story->begin;
    world->kill_after = n;
    world_put_cluster(world, story->more);
    operator_world_run(world, story->steps);
    char *end = end_of(world);
    if (ret_acts)
        *ret_acts = world->acts - world->acts_before;
    operator_world_free(world);
    return end;
}

static void dies_at_every_step(const struct story *story, size_t at_least)
{
    size_t acts = 0;
    _cleanup_(freep) char *wanted = tell(story, 0, &acts);
    assert_true(acts >= at_least);
    for (size_t n = 1; n <= acts; n++) {
        _cleanup_(freep) char *end = tell(story, n, NULL);
        if (!str_eq(end, wanted))
            fail_msg("killed after act %zu of %zu it ends in\n%s\ninstead of\n%s", n, acts, end, wanted);
    }
}

static void an_operator_may_die_at_any_step_of_a_switchover(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, want_primary_1, primary_is_1, UNTIL_SETTLED, NULL};
    dies_at_every_step(&(struct story){"'replicas': 2", steps, 1}, 6);
}

static bool scale_to_2(struct operator_world *world)
{
    edit_spec(world, "{'replicas': 2}");
    return true;
}

static void an_operator_may_die_at_any_step_of_a_clone(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, scale_to_2, UNTIL_SETTLED, NULL};
    dies_at_every_step(&(struct story){"'replicas': 1", steps, 1}, 6);
}

static bool scale_to_1(struct operator_world *world)
{
    edit_spec(world, "{'replicas': 1}");
    return true;
}

static void check_marks(struct operator_world *world)
{
    if (world_int(world, PATH_STATEFUL_SET, "spec.replicas") == 1 && world_agent(world, 1)->mark != AGENT_MARK_LEFT &&
        !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "the set shrinks before the volume is marked");
}

static bool shrunk(struct operator_world *world)
{
    check_marks(world);
    return world_is_settled(world) && !*world_pod_str(world, 1, "metadata.name") &&
        *status_str(world, "retainedVolumes[0]");
}

static void an_operator_may_die_at_any_step_of_scale_in(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, want_primary_1, primary_is_1, settled, scale_to_1, shrunk, quiet, NULL};
    dies_at_every_step(&(struct story){"'replicas': 2", steps, 4}, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_may_die_at_any_step_of_a_switchover),
        cmocka_unit_test(an_operator_may_die_at_any_step_of_a_clone),
        cmocka_unit_test(an_operator_may_die_at_any_step_of_scale_in),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
