/* SPDX-License-Identifier: Apache-2.0 */
/* STATE of a cluster of which no member is heard: what comes by itself is not lost. The other states are in goldens. */
#include "common/base.h"

#include "operator/cluster/status/cluster_state.h"

#include <setjmp.h>
#include <cmocka.h>

#define NOW_MS 1000000

struct pod_case {
    bool there, deleting, initialized, ready;
    int age_s;
    const char *problem;
};

#define NONE       \
    {              \
        .age_s = 0 \
    }
#define GOES                            \
    {                                   \
        .there = true, .deleting = true \
    }
#define IS_MADE       \
    {                 \
        .there = true \
    }
#define UP                                                              \
    {                                                                   \
        .there = true, .initialized = true, .ready = true, .age_s = 900 \
    }
#define STARTS(age)                                        \
    {                                                      \
        .there = true, .initialized = true, .age_s = (age) \
    }
#define ENDS(why)                                   \
    {                                               \
        .there = true, .age_s = 5, .problem = (why) \
    }

static const struct {
    const char *why;
    struct pod_case pods[2];
    int count;
    enum cluster_state last, wanted;
    bool has_no_set;
    int64_t again_ms;
} rows[] = {
    {"its pod is evicted", {GOES}, 1, .last = CLUSTER_STATE_HEALTHY, .wanted = CLUSTER_STATE_INCOMPLETE},
    {"it went long ago, with its node", {GOES}, 1, .last = CLUSTER_STATE_LOST, .wanted = CLUSTER_STATE_LOST},
    {"there is no pod yet", {NONE}, 1, .last = CLUSTER_STATE_INCOMPLETE, .wanted = CLUSTER_STATE_INCOMPLETE},
    {"it was lost, and its pod is taken away", {NONE}, 1, .last = CLUSTER_STATE_LOST,
        .wanted = CLUSTER_STATE_INCOMPLETE},
    {"nobody makes a pod", {NONE}, 1, .last = CLUSTER_STATE_INCOMPLETE, .wanted = CLUSTER_STATE_LOST,
        .has_no_set = true},
    {"its pod is being made", {IS_MADE}, 1, .last = CLUSTER_STATE_INCOMPLETE, .wanted = CLUSTER_STATE_INCOMPLETE},
    {"its server starts", {STARTS(20)}, 1, .last = CLUSTER_STATE_INCOMPLETE, .wanted = CLUSTER_STATE_INCOMPLETE,
        .again_ms = 160000},
    {"it is not heard for too long", {STARTS(180)}, 1, .last = CLUSTER_STATE_INCOMPLETE, .wanted = CLUSTER_STATE_LOST},
    {"no node takes it", {ENDS("Unschedulable")}, 1, .last = CLUSTER_STATE_INCOMPLETE, .wanted = CLUSTER_STATE_LOST},
    {"its server ended", {ENDS("Error")}, 1, .last = CLUSTER_STATE_INCOMPLETE, .wanted = CLUSTER_STATE_LOST},
    {"it should be heard", {UP}, 1, .last = CLUSTER_STATE_HEALTHY, .wanted = CLUSTER_STATE_LOST},
    {"all of them are being made", {IS_MADE, NONE}, 2, .last = CLUSTER_STATE_OFFLINE,
        .wanted = CLUSTER_STATE_INCOMPLETE},
    {"one is, another should be heard", {IS_MADE, UP}, 2, .last = CLUSTER_STATE_HEALTHY, .wanted = CLUSTER_STATE_LOST},
};

static void what_comes_by_itself_is_not_lost(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct cluster_snapshot snapshot;
        static const struct stateful_set_object set;
        struct pod_object pods[2];
        snapshot = (struct cluster_snapshot){.now_ms = NOW_MS,
            .usable = true,
            .stateful_set = rows[i].has_no_set ? NULL : &set,
            .member_count = rows[i].count,
            .scale = {rows[i].count, rows[i].count},
            .last = {
                .state = rows[i].last, .roles = {.initialized = true, .epoch = 1, .current_primary = "shop-mysql-0"}}};
        for (int k = 0; k < rows[i].count; k++) {
            const struct pod_case *pod = &rows[i].pods[k];
            pods[k] = (struct pod_object){.object.deleting = pod->deleting,
                .initialized = pod->initialized,
                .ready = pod->ready,
                .created_ms = NOW_MS - pod->age_s * 1000LL,
                .problem_container = "",
                .problem_reason = pod->problem ? pod->problem : "",
                .problem_message = ""};
            snapshot.members[k] = (struct cluster_member){.ordinal = k, .pod = pod->there ? &pods[k] : NULL};
            snprintf(snapshot.members[k].name, sizeof(snapshot.members[k].name), "shop-mysql-%d", k);
        }
        enum cluster_state is = cluster_state_decide(&snapshot);
        if (is != rows[i].wanted)
            fail_msg("%s: state %d, not %d", rows[i].why, is, rows[i].wanted);
        assert_int_equal(cluster_state_again_ms(&snapshot, is), rows[i].again_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_by_itself_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
