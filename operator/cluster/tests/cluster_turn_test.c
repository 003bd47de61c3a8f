/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for another cluster before its members get another agent or what a MysqlConfig says now, who takes a mark,
 * and when that goes. */
#include "common/base.h"

#include "operator/cluster/state/cluster_turn.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/api/ready_conditions.h"
#include "operator/cluster/state/roll_before.h"

/* A cluster of one member that is Ready, has what is wanted, and the agent of the operator, "agent:2". */
struct row {
    const char *what;
    const char *image; /* of the agent, in the StatefulSet; NULL: agent:2 */
    const char *mark;
    char *configured, *config; /* images.agent of the configuration; the MysqlConfig */
    const char *live, *proven; /* template in force, and with which all were ready; NULL: what is wanted */
    bool is_stopped, own;      /* hibernated; its spec has changed */
    bool unready, old_pod, sleeps, old_mycnf; /* the cluster; its member: an older template, not ready, other my.cnf */
    bool paused, went_back;
    bool others; /* there is somebody who comes first */
    enum cluster_turn_cause cause;
    bool waits, marked;
};

static void fill_roll(const struct row *row, struct stateful_set_object *set, struct cluster_snapshot *snapshot)
{
    const char *live = row->live ? row->live : "wanted", *proven = row->proven ? row->proven : live;
    set->applied_hash = "runtime";
    set->applied_template = live;
    roll_hash("runtime", "wanted", snapshot->roll_wanted);
    roll_hash("runtime", proven, snapshot->last.roll.proven);
}

static void look(const struct row *row)
{
    static const struct roll_before before;
    struct stateful_set_object set = {.replicas = row->is_stopped ? 0 : 1,
        .update_revision = "new",
        .observed_generation = 1,
        .object.generation = 1,
        .agent_image = row->image ? row->image : "agent:2",
        .turn = str_or_empty(row->mark)};
    struct pod_object pod = {.revision = row->old_pod ? "old" : "new", .ready = !row->sleeps};
    struct agent_status agent = {.mycnf_hash = "mycnf"};
    struct cluster_snapshot snapshot = {.usable = true,
        .default_agent_image = "agent:2",
        .config.image_agent = row->configured,
        .cluster = {.config_name = row->config, .paused = row->paused},
        .generation = row->own ? 8 : 7,
        .last.applied_generation = 7,
        .stateful_set = &set,
        .member_count = 1,
        .scale = {set.replicas, set.replicas},
        .before = row->went_back ? &before : NULL,
        .members = {{.pod = row->is_stopped ? NULL : &pod, .agent = &agent}}};
    snprintf(snapshot.mycnf_hash, sizeof(snapshot.mycnf_hash), "%s", row->old_mycnf ? "other" : "mycnf");
    fill_roll(row, &set, &snapshot);
    kube_conditions_set(&snapshot.last.conditions, CONDITION_READY,
        row->unready ? KUBE_CONDITION_FALSE : KUBE_CONDITION_TRUE, "Any", 7, 1, "%s", "");
    cluster_turn_decide(&snapshot, row->others ? "ns2/crm" : NULL);
    if (snapshot.turn.cause == row->cause && str_eq(snapshot.turn.waits_for, row->waits ? "ns2/crm" : "") &&
        snapshot.turn.marked == row->marked)
        return;
    fail_msg("%s: cause %d, waits for \"%s\", %s", row->what, (int)snapshot.turn.cause, snapshot.turn.waits_for,
        snapshot.turn.marked ? "marked" : "not marked");
}

static void look_at_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        look(&rows[i]);
}

#define AGENT .cause = CLUSTER_TURN_AGENT
#define CONFIG .cause = CLUSTER_TURN_CONFIG

static void for_an_agent(void **state)
{
    UNUSED(state);
    static char own[] = "agent:9";
    static const struct row rows[] = {
        {"waits", "agent:1", .live = "old", .others = true, AGENT, .waits = true},
        {"begins", "agent:1", .live = "old", AGENT, .marked = true},
        {"goes on", .mark = "agent:2", .proven = "old", .old_pod = true, .others = true, .marked = true},
        {"is not ready again", .mark = "agent:2", .unready = true, .marked = true},
        {"its member is not ready again", .mark = "agent:2", .sleeps = true, .marked = true},
        {"it does not stand in the status yet", .mark = "agent:2", .proven = "old", .marked = true},
        {"went back", "agent:1", "agent:2", .live = "old", .went_back = true, .marked = true},
        {"is over", .mark = "agent:2"},
        {"hibernated on its turn", .mark = "agent:2", .proven = "old", .is_stopped = true},
        {"has it", .others = true},
        {"was not ready before: nobody is to wait for it", "agent:1", .live = "old", .unready = true, AGENT},
        {"was not ready before, and waits", "agent:1", .live = "old", .unready = true, .others = true, AGENT,
            .waits = true},
        {"a changed spec brings it along", "agent:1", .live = "old", .own = true, .others = true},
        {"a roll brings it along", "agent:1", .live = "old", .old_pod = true, .others = true},
        {"a wish of its own", "agent:1", .configured = own, .others = true},
        {"hibernated: nobody is replaced", "agent:1", .live = "old", .is_stopped = true, .others = true},
        {"paused: nobody is to wait for it", "agent:1", .live = "old", .paused = true},
        {"of a version that told no image", "", .others = true},
        {"the next agent comes in the midst of a turn", "agent:1", "agent:1", .live = "old", .others = true, AGENT,
            .waits = true, .marked = true},
    };
    look_at_all(rows, ARRAY_LEN(rows));
}

static void for_a_config(void **state)
{
    UNUSED(state);
    static char config[] = "plat-cfg", agent[] = "agent:9";
    static const struct row rows[] = {
        {"waits", .config = config, .live = "old", .others = true, CONFIG, .waits = true},
        {"begins", .config = config, .live = "old", CONFIG, .marked = true},
        {"another agent", "agent:1", .configured = agent, .config = config, .live = "old", .others = true, CONFIG,
            .waits = true},
        {"the operator's comes with it", "agent:1", .config = config, .live = "old", .others = true, AGENT,
            .waits = true},
        {"goes on", .mark = "any", .config = config, .proven = "old", .others = true, .marked = true},
        {"has yet to take up my.cnf", .mark = "any", .config = config, .old_mycnf = true, .marked = true},
        {"is not ready again", .mark = "any", .config = config, .unready = true, .marked = true},
        {"went back", .mark = "any", .config = config, .live = "old", .went_back = true, .others = true, .marked = true},
        {"is over", .mark = "any", .config = config},
        {"the next change comes in the midst of a turn", .mark = "any", .config = config, .live = "mid",
            .proven = "old", .others = true, .marked = true},
        {"the next change comes after it failed", .mark = "any", .config = config, .live = "old", .unready = true,
            .others = true, .marked = true},
        {"has it", .config = config, .others = true},
        {"may be healed by it", .config = config, .live = "old", .unready = true, .others = true},
        {"a roll that could not go back", .config = config, .live = "bad", .proven = "old", .others = true},
        {"a changed spec brings it along", .config = config, .live = "old", .own = true, .others = true},
        {"a roll brings it along", .config = config, .live = "old", .proven = "older", .others = true},
        {"hibernated: nobody is replaced", .config = config, .live = "old", .is_stopped = true, .others = true},
        {"paused: nobody is to wait for it", .config = config, .live = "old", .paused = true},
        {"of a version that told no template", .config = config, .live = "", .others = true},
        {"it names none: this operator makes something else of it", .live = "old", .others = true,
            .cause = CLUSTER_TURN_OPERATOR, .waits = true},
    };
    look_at_all(rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(for_an_agent), cmocka_unit_test(for_a_config)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
