/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a reconcile of a MysqlCluster looks, decides and works out the template of its pods. Calls are counted by
 * the linker's --wrap (Makefile), so the product has no counters for it.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/cluster/reconcile/cluster_gather.h"
#include "operator/cluster/state/cluster_roles.h"
#include "operator/tests/failover_story.h"

static struct {
    int reconciles, looks, intents, orders, templates;
    int intents_since_look, most_intents, most_orders, orders_since_look, templates_since_look, most_templates;
} counted;

static void note_look(void)
{
    counted.looks++;
    counted.intents_since_look = counted.orders_since_look = counted.templates_since_look = 0;
}

/* What the linker calls these. */
// NOLINTBEGIN(bugprone-reserved-identifier)
bool __real_cluster_gather(const struct cluster_sources *sources, const struct cluster_memory *memory, const char *key,
    int64_t now_ms, struct cluster_snapshot *ret);
bool __wrap_cluster_gather(const struct cluster_sources *sources, const struct cluster_memory *memory, const char *key,
    int64_t now_ms, struct cluster_snapshot *ret);
bool __wrap_cluster_gather(const struct cluster_sources *sources, const struct cluster_memory *memory, const char *key,
    int64_t now_ms, struct cluster_snapshot *ret)
{
    counted.reconciles++;
    note_look();
    return __real_cluster_gather(sources, memory, key, now_ms, ret);
}

bool __real_cluster_gather_again(const struct cluster_sources *sources, const struct cluster_memory *memory,
    const char *key, int64_t now_ms, struct cluster_snapshot *snapshot);
bool __wrap_cluster_gather_again(const struct cluster_sources *sources, const struct cluster_memory *memory,
    const char *key, int64_t now_ms, struct cluster_snapshot *snapshot);
bool __wrap_cluster_gather_again(const struct cluster_sources *sources, const struct cluster_memory *memory,
    const char *key, int64_t now_ms, struct cluster_snapshot *snapshot)
{
    note_look();
    return __real_cluster_gather_again(sources, memory, key, now_ms, snapshot);
}

void __real_cluster_intend(const struct cluster_snapshot *snapshot, bool roll_waits, struct cluster_intent *ret);
void __wrap_cluster_intend(const struct cluster_snapshot *snapshot, bool roll_waits, struct cluster_intent *ret);
void __wrap_cluster_intend(const struct cluster_snapshot *snapshot, bool roll_waits, struct cluster_intent *ret)
{
    counted.intents++;
    counted.intents_since_look++;
    counted.most_intents = MAX_OF(counted.most_intents, counted.intents_since_look);
    __real_cluster_intend(snapshot, roll_waits, ret);
}

void __real_cluster_order(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_orders *ret);
void __wrap_cluster_order(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_orders *ret);
void __wrap_cluster_order(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_orders *ret)
{
    counted.orders++;
    counted.orders_since_look++;
    counted.most_orders = MAX_OF(counted.most_orders, counted.orders_since_look);
    __real_cluster_order(snapshot, intent, ret);
}

void __real_desired_spec_template_hash(const struct cluster_snapshot *snapshot, char *out);
void __wrap_desired_spec_template_hash(const struct cluster_snapshot *snapshot, char *out);
void __wrap_desired_spec_template_hash(const struct cluster_snapshot *snapshot, char *out)
{
    counted.templates++;
    counted.templates_since_look++;
    counted.most_templates = MAX_OF(counted.most_templates, counted.templates_since_look);
    __real_desired_spec_template_hash(snapshot, out);
}
// NOLINTEND(bugprone-reserved-identifier)

/* A cluster is made, loses its primary and is whole again. */
static void each_look_is_decided_on_once(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_crash_0, failover_another_is_primary,
        failover_record_is_written, failover_recover_0, FAILOVER_UNTIL_SETTLED, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, FAILOVER_THREE);
    operator_world_run(world, steps);
    failover_check_moved(world);
    print_message("%d reconciles: %d looks, roles decided %d times, orders %d times, templates hashed %d times\n",
        counted.reconciles, counted.looks, counted.intents, counted.orders, counted.templates);
    assert_true(counted.reconciles > 10 && counted.intents > 10 && counted.orders > 10);
    assert_int_equal(counted.most_intents, 1);
    assert_int_equal(counted.most_orders, 1);
    assert_int_equal(counted.most_templates, 1);
    assert_true(counted.templates < counted.looks); /* a look at the same specs hashes nothing */
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_look_is_decided_on_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
