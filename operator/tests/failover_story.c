/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/failover_story.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/names.h"

/* ---- looking ---- */

bool failover_primary_is(struct operator_world *world, int ordinal)
{
    return str_eq(role_story_status(world, "currentPrimary"), world_agent(world, ordinal)->name) &&
        agent_double_is_open(world_agent(world, ordinal));
}

bool failover_says(struct operator_world *world, const char *text)
{
    return strstr(role_story_status(world, "nextAction"), text) != NULL;
}

bool failover_record_is(struct operator_world *world, const char *member, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("lastFailover.%s", member);
    return str_eq(role_story_status(world, path), text);
}

void failover_break_rule(struct operator_world *world, const char *text)
{
    if (!*world->failure)
        snprintf(world->failure, sizeof(world->failure), "%s", text);
}

/* Writes get through again: the history grows. */
bool failover_writes_go_on(struct operator_world *world)
{
    uint64_t acknowledged = agent_doubles_acknowledged(world->agents);
    if (world->numbers[2] == 0)
        world->numbers[2] = (int64_t)acknowledged;
    if (acknowledged < (uint64_t)world->numbers[2] + 10)
        return false;
    world->numbers[2] = 0;
    return true;
}

/* Acknowledged or not. */
bool failover_writes_go_on_anywhere(struct operator_world *world)
{
    uint64_t history = agent_doubles_history(world->agents);
    if (world->numbers[2] == 0)
        world->numbers[2] = (int64_t)history;
    if (history < (uint64_t)world->numbers[2] + 10)
        return false;
    world->numbers[2] = 0;
    return true;
}

/* The conditions are those of before for the first seconds of a failover. */
bool failover_settled(struct operator_world *world)
{
    return world_is_settled(world) && str_eq(role_story_status(world, "state"), "Healthy");
}

bool failover_quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

void failover_play(const char *more, const world_step_fn *steps, void (*check)(struct operator_world *world))
{
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, more);
    operator_world_run(world, steps);
    if (check)
        check(world);
    operator_world_free(world);
}

/* ---- doing ---- */

bool failover_begin_clock(struct operator_world *world)
{
    world->numbers[0] = clock_monotonic_ms();
    return true;
}

bool failover_passed(const struct operator_world *world, int64_t ms)
{
    return clock_monotonic_ms() - world->numbers[0] >= ms;
}

bool failover_crash_0(struct operator_world *world)
{
    agent_double_crash(world_agent(world, 0));
    return failover_begin_clock(world);
}

bool failover_recover_0(struct operator_world *world)
{
    agent_double_recover(world_agent(world, 0));
    return true;
}

bool failover_cut_0(struct operator_world *world)
{
    world_agent(world, 0)->is_cut = true;
    return failover_begin_clock(world);
}

bool failover_link_all(struct operator_world *world)
{
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++)
        world_agent(world, i)->is_cut = world_agent(world, i)->silent = false;
    return true;
}

bool failover_another_is_primary(struct operator_world *world)
{
    return failover_primary_is(world, 1) || failover_primary_is(world, 2);
}

bool failover_record_is_written(struct operator_world *world)
{
    return failover_record_is(world, "from", "shop-mysql-0");
}

void failover_check_moved(struct operator_world *world)
{
    assert_true(failover_another_is_primary(world));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 3);
    assert_true(failover_record_is(world, "from", "shop-mysql-0"));
    assert_string_equal(role_story_status(world, "lastFailover.mayBeLost"), "");
    assert_true(*role_story_status(world, "lastFailover.evidence"));
    assert_true(*role_story_status(world, "lastFailover.candidateWhy"));
    assert_string_equal(role_story_status(world, "state"), "Healthy");
    assert_string_equal(role_story_status(world, "nextAction"), "");
    int open = failover_primary_is(world, 1) ? 1 : 2;
    assert_string_equal(
        world_str(world, PATH_SLICE, "endpoints[0].addresses[0]"), world_pod_str(world, open, "status.podIP"));
    assert_string_equal(world_pod_str(world, open, "metadata.labels[\"" LABEL_ROLE "\"]"), LABEL_ROLE_PRIMARY);
    assert_int_equal(world_agent(world, 0)->following, open);
}
