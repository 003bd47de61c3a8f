/* SPDX-License-Identifier: Apache-2.0 */
/* How many members a cluster has, as a table. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/rollout/cluster_scale.h"
#include "operator/cluster/state/cluster_snapshot.h"

struct scale_case {
    const char *name;
    int spec, set;    /* replicas; set -1: there is none */
    const char *pods; /* n newest template, o older, - none */
    bool other_image; /* than the one in force */
    bool not_observed, not_made;
    bool not_accepted; /* the spec */
    int accepted;      /* replicas of the last spec that was; 0: none was */
    bool backup_due;   /* the cluster is deleted, its last backup is to be made; the primary is 1 */
    int wanted, effective;
};

static const struct scale_case cases[] = {
    {"nothing changes", .spec = 3, .set = 3, .pods = "nnn", .wanted = 3, .effective = 3},
    {"grows", .spec = 5, .set = 3, .pods = "nnn", .wanted = 5, .effective = 5},
    {"grows with a new image", .spec = 5, .set = 3, .pods = "nnn", .other_image = true, .wanted = 5, .effective = 3},
    {"grows while the set is not observed", .spec = 5, .set = 3, .pods = "nnn", .not_observed = true, .wanted = 5,
        .effective = 3},
    {"grows before the roll", .spec = 5, .set = 3, .pods = "ooo", .wanted = 5, .effective = 3},
    {"grows in a roll", .spec = 5, .set = 3, .pods = "onn", .wanted = 5, .effective = 3},
    {"grows while one is missing", .spec = 5, .set = 3, .pods = "n-n", .wanted = 5, .effective = 5},
    {"one alone grows before its roll", .spec = 3, .set = 1, .pods = "o", .wanted = 3, .effective = 1},
    {"the set has them already", .spec = 5, .set = 5, .pods = "ooonn", .wanted = 5, .effective = 5},
    {"shrinks in a roll", .spec = 2, .set = 3, .pods = "oon", .wanted = 2, .effective = 2},
    {"wakes with more", .spec = 5, .set = 0, .pods = "---", .other_image = true, .wanted = 5, .effective = 5},
    {"sleeps", .spec = 0, .set = 3, .pods = "ooo", .wanted = 0, .effective = 0},
    {"there is no set", .spec = 3, .set = -1, .pods = "---", .wanted = 3, .effective = 3},
    {"wakes for its last backup", .spec = 0, .set = 0, .pods = "---", .backup_due = true, .wanted = 2, .effective = 2},
    {"deleted, with members", .spec = 3, .set = 3, .pods = "nnn", .backup_due = true, .wanted = 3, .effective = 3},
    {"not accepted", .spec = 5, .set = 3, .pods = "ooo", .not_accepted = true, .wanted = 3, .effective = 3},
    {"not accepted, no set", .spec = 5, .set = -1, .pods = "---", .not_accepted = true, .accepted = 4, .wanted = 4,
        .effective = 4},
    {"never accepted", .spec = 5, .set = -1, .pods = "---", .not_accepted = true, .wanted = 0, .effective = 0},
    {"no database yet", .spec = 3, .set = 1, .pods = "o", .not_made = true, .wanted = 3, .effective = 3},
};

static struct cluster_scale scale_of(const struct scale_case *of)
{
    static struct cluster_snapshot snapshot;
    static struct pod_object pods[CLUSTER_REPLICAS_MAX + 1];
    char hash[17];
    struct stateful_set_object set = {.replicas = of->set, .update_revision = "new", .observed_generation = 1};

    set.object.generation = of->not_observed ? 2 : 1;
    snapshot = (struct cluster_snapshot){.stateful_set = of->set >= 0 ? &set : NULL};
    snapshot.cluster.replicas = of->spec;
    snapshot.usable = !of->not_accepted;
    snapshot.last.roles.initialized = !of->not_made;
    snapshot.last.accepted_spec = of->accepted > 0 ? json_build("{s:i}", "replicas", of->accepted) : NULL;
    snprintf(snapshot.last.roles.current_primary, sizeof(snapshot.last.roles.current_primary), "shop-mysql-1");
    snapshot.final = (struct final_backup_facts){
        .deleting = of->backup_due, .has_finalizer = of->backup_due, .wanted = of->backup_due};
    snapshot.default_agent_image = "agent:1";
    snapshot.member_count = (int)strlen(of->pods);
    for (int i = 0; of->pods[i]; i++) {
        pods[i] = (struct pod_object){.revision = of->pods[i] == 'n' ? "new" : "old"};
        snapshot.members[i].ordinal = i;
        snapshot.members[i].pod = of->pods[i] == '-' ? NULL : &pods[i];
    }
    desired_runtime_hash(&snapshot, hash);
    set.applied_hash = of->other_image ? "another" : hash;
    struct cluster_scale scale = cluster_scale(&snapshot);
    json_decref(snapshot.last.accepted_spec);
    return scale;
}

static void the_spec_is_followed_when_it_may_be(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster_scale scale = scale_of(&cases[i]);
        if (scale.wanted != cases[i].wanted || scale.effective != cases[i].effective)
            fail_msg("%s: %d wanted, %d effective", cases[i].name, scale.wanted, scale.effective);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spec_is_followed_when_it_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
