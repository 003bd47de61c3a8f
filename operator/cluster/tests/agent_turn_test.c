/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for another cluster before its members get another agent, who takes a mark, and when that goes. */
#include "common/base.h"

#include "operator/cluster/state/agent_turn.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/api/ready_conditions.h"

struct row {
    const char *what;
    const char *image, *mark;      /* of the StatefulSet */
    char *configured;              /* images.agent of the configuration */
    int replicas;                  /* of the StatefulSet */
    int64_t applied, generation;   /* of the spec: in force, wanted */
    bool unready, old_pod, sleeps; /* the cluster; its member has an older template; its member is not ready */
    bool others;                   /* there is somebody who comes first */
    bool waits, marked;
};

static void look(const struct row *row)
{
    struct stateful_set_object set = {.replicas = row->replicas,
        .update_revision = "new",
        .observed_generation = 1,
        .object.generation = 1,
        .agent_image = row->image,
        .agent_turn = row->mark};
    struct pod_object pod = {.revision = row->old_pod ? "old" : "new", .ready = !row->sleeps};
    struct cluster_snapshot snapshot = {.usable = true,
        .default_agent_image = "agent:2",
        .config.image_agent = row->configured,
        .generation = row->generation,
        .last.applied_generation = row->applied,
        .stateful_set = &set,
        .member_count = 1,
        .scale = {1, 1},
        .members = {{.pod = &pod}}};
    kube_conditions_set(&snapshot.last.conditions, CONDITION_READY,
        row->unready ? KUBE_CONDITION_FALSE : KUBE_CONDITION_TRUE, "Any", 7, 1, "%s", "");
    agent_turn_decide(&snapshot, row->others ? "ns2/crm" : NULL);
    if (str_eq(snapshot.agent_turn.waits_for, row->waits ? "ns2/crm" : "") && snapshot.agent_turn.marked == row->marked)
        return;
    fail_msg("%s: waits for \"%s\", %s", row->what, snapshot.agent_turn.waits_for,
        snapshot.agent_turn.marked ? "marked" : "not marked");
}

static void turns(void **state)
{
    UNUSED(state);
    static char own[] = "agent:9";
    static const struct row rows[] = {
        {"waits", "agent:1", "", NULL, 1, 7, 7, .others = true, .waits = true},
        {"begins", "agent:1", "", NULL, 1, 7, 7, .marked = true},
        {"goes on", "agent:2", "agent:2", NULL, 1, 7, 7, .old_pod = true, .others = true, .marked = true},
        {"is not ready again", "agent:2", "agent:2", NULL, 1, 7, 7, .unready = true, .marked = true},
        {"its member is not ready again", "agent:2", "agent:2", NULL, 1, 7, 7, .sleeps = true, .marked = true},
        {"is over", "agent:2", "agent:2", NULL, 1, 7, 7, .marked = false},
        {"has it", "agent:2", "", NULL, 1, 7, 7, .others = true},
        {"was not ready before: nobody is to wait for it", "agent:1", "", NULL, 1, 7, 7, .unready = true},
        {"was not ready before, and waits", "agent:1", "", NULL, 1, 7, 7, .unready = true, .others = true,
            .waits = true},
        {"a changed spec brings it along", "agent:1", "", NULL, 1, 7, 8, .others = true},
        {"a roll brings it along", "agent:1", "", NULL, 1, 7, 7, .old_pod = true, .others = true},
        {"a wish of its own", "agent:1", "", own, 1, 7, 7, .others = true},
        {"hibernated: nobody is replaced", "agent:1", "", NULL, 0, 7, 7, .others = true},
        {"of a version that told no image", "", "", NULL, 1, 7, 7, .others = true},
        {"the next agent comes in the midst of a turn", "agent:1", "agent:1", NULL, 1, 7, 7, .others = true,
            .waits = true, .marked = true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        look(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
