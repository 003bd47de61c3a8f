/* SPDX-License-Identifier: Apache-2.0 */
/* When a cluster may get more members, as a table. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/cluster/cluster_growth.h"
#include "operator/cluster/desired.h"

struct growth_case {
    const char *name;
    int spec, set;    /* replicas; set -1: there is none */
    const char *pods; /* n newest template, o older, - none */
    bool other_image; /* than the one in force */
    bool not_observed, not_made;
    int wanted;
};

static const struct growth_case cases[] = {
    {"nothing changes", .spec = 3, .set = 3, .pods = "nnn", .wanted = 3},
    {"grows", .spec = 5, .set = 3, .pods = "nnn", .wanted = 5},
    {"grows with a new image", .spec = 5, .set = 3, .pods = "nnn", .other_image = true, .wanted = 3},
    {"grows while the set is not observed", .spec = 5, .set = 3, .pods = "nnn", .not_observed = true, .wanted = 3},
    {"grows before the roll", .spec = 5, .set = 3, .pods = "ooo", .wanted = 3},
    {"grows in a roll", .spec = 5, .set = 3, .pods = "onn", .wanted = 3},
    {"grows while one is missing", .spec = 5, .set = 3, .pods = "n-n", .wanted = 5},
    {"one alone grows before its roll", .spec = 3, .set = 1, .pods = "o", .wanted = 1},
    {"the set has them already", .spec = 5, .set = 5, .pods = "ooonn", .wanted = 5},
    {"shrinks in a roll", .spec = 2, .set = 3, .pods = "oon", .wanted = 2},
    {"wakes with more", .spec = 5, .set = 0, .pods = "---", .other_image = true, .wanted = 5},
    {"sleeps", .spec = 0, .set = 3, .pods = "ooo", .wanted = 0},
    {"there is no set", .spec = 3, .set = -1, .pods = "---", .wanted = 3},
    {"no database yet", .spec = 3, .set = 1, .pods = "o", .not_made = true, .wanted = 3},
};

static int replicas_of(const struct growth_case *of)
{
    static struct cluster_snapshot snapshot;
    static struct pod_object pods[CLUSTER_REPLICAS_MAX + 1];
    char hash[17];
    struct stateful_set_object set = {.replicas = of->set, .update_revision = "new", .observed_generation = 1};

    set.object.generation = of->not_observed ? 2 : 1;
    snapshot = (struct cluster_snapshot){.stateful_set = of->set >= 0 ? &set : NULL};
    snapshot.cluster.replicas = of->spec;
    snapshot.last.initialized = !of->not_made;
    snapshot.default_agent_image = "agent:1";
    snapshot.member_count = (int)strlen(of->pods);
    for (int i = 0; of->pods[i]; i++) {
        pods[i] = (struct pod_object){.revision = of->pods[i] == 'n' ? "new" : "old"};
        snapshot.members[i].ordinal = i;
        snapshot.members[i].pod = of->pods[i] == '-' ? NULL : &pods[i];
    }
    desired_runtime_hash(&snapshot, hash);
    set.applied_hash = of->other_image ? "another" : hash;
    return cluster_growth_replicas(&snapshot);
}

static void a_cluster_rolls_first(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int replicas = replicas_of(&cases[i]);
        if (replicas != cases[i].wanted)
            fail_msg("%s: %d", cases[i].name, replicas);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_rolls_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
