/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which changes of conditions are Warnings: of every state that the goldens of clusters show, as if it had come about
 * in a cluster of which nothing was said before; and what depends on how a member came to be missing.
 */
#include "common/base.h"

#include "operator/cluster/status/condition_news.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/strvec.h"
#include "common/tests/folder_util.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define DATA "operator/cluster/tests/data"

/* "Warning Available NoPrimary", one of each condition that is news. */
static json_t *news_of(const json_t *cluster, const json_t *observed, int64_t generation_before)
{
    struct golden *golden = golden_new(cluster, observed);
    struct cluster_decision decision;
    struct cluster_status status;
    const struct cluster_outcome outcome = {
        golden->error.kind ? &golden->error : NULL, golden->error_kind, golden->error_child};
    json_t *ret = json_array();
    golden_decide(&golden->snapshot, &decision);
    if (golden->snapshot.last.observed_generation == 0)
        golden->snapshot.last.observed_generation = generation_before;
    cluster_report(&golden->snapshot, &decision, &outcome, &status);
    for (int i = 0; i < status.conditions.count; i++) {
        const struct kube_condition *condition = &status.conditions.items[i];
        enum condition_news news = condition_news_of(&golden->snapshot, condition);
        if (news != CONDITION_NEWS_NONE)
            json_array_append_new(ret,
                json_sprintf("%s %s %s", news == CONDITION_NEWS_WARNING ? "Warning" : "Normal", condition->type,
                    condition->reason));
    }
    cluster_status_release(&status);
    cluster_decision_release(&decision);
    golden_free(golden);
    return ret;
}

static json_t *read_part(const char *name, const char *part)
{
    _cleanup_(freep) char *path = xasprintf(DATA "/decide/%s.%s.json", name, part);
    return golden_read(path);
}

/* ---- every state of the goldens ---- */

static void each_state_has_its_news(void **state)
{
    UNUSED(state);
    struct strvec names;
    _cleanup_(json_decrefp) json_t *all = json_object();
    strvec_init(&names);
    folder_list(DATA "/decide", ".status.json", 31, &names);
    for (size_t i = 0; i < names.n; i++) {
        _cleanup_(json_decrefp) json_t *cluster = read_part(names.v[i], "cluster");
        _cleanup_(json_decrefp) json_t *observed = read_part(names.v[i], "observed");
        json_put(all, names.v[i], news_of(cluster, observed, 1));
    }
    strvec_release(&names);
    assert_true(golden_matches(DATA "/news.json", all));
}

/* ---- how a member came to be missing ---- */

/* Of one member: how old its pod is, and what its agent says. */
struct member {
    int age_s; /* 0: there is no pod */
    bool deleted;
    const char *phase; /* NULL: it is as it should be */
};

#define GOOD           \
    {                  \
        .age_s = 90000 \
    }
#define STARTS(age)                       \
    {                                     \
        .age_s = age, .phase = "Starting" \
    }
#define ENDED                           \
    {                                   \
        .age_s = 90000, .phase = "Down" \
    }

static const struct {
    const char *why;
    struct member members[3]; /* the first is the primary; without a pod and after the last: there is none */
    int count;
    const char *news; /* that there is */
} cases[] = {
    {"all is well", {GOOD, GOOD, GOOD}, 3, "Normal Healthy AllReady"},
    {"the pod of a replica was made anew", {GOOD, STARTS(20), GOOD}, 3, "Normal Healthy MemberNotReady"},
    {"so it does not follow yet", {GOOD, STARTS(20), GOOD}, 3, "Normal Replicated ReplicaNotFollowing"},
    {"a replica has no pod yet", {GOOD, {0}, GOOD}, 3, "Normal Healthy MemberNotReady"},
    {"its pod is on its way out", {GOOD, {90000, true, "Starting"}, GOOD}, 3, "Normal Healthy MemberNotReady"},
    {"it starts for too long", {GOOD, STARTS(181), GOOD}, 3, "Warning Healthy MemberNotReady"},
    {"its server ended", {GOOD, ENDED, GOOD}, 3, "Warning Healthy MemberNotReady"},
    {"so it does not follow", {GOOD, ENDED, GOOD}, 3, "Warning Replicated ReplicaNotFollowing"},
    {"one starts, another one ended", {GOOD, STARTS(20), ENDED}, 3, "Warning Healthy MemberNotReady"},
    {"the server of the primary ended", {ENDED, GOOD, GOOD}, 3, "Warning Available PrimaryNotReady"},
    {"the pod of the only member was made anew", {STARTS(20)}, 1, "Normal Available PrimaryNotReady"},
    {"the server of the only member ended", {ENDED}, 1, "Warning Available PrimaryNotReady"},
};

static json_t *world_of(const struct member *members, int count)
{
    json_t *pods = json_object(), *agents = json_object(), *claims = json_object();
    for (int i = 0; i < count; i++) {
        const struct member *member = &members[i];
        char ordinal[12], made[CLOCK_RFC3339_SIZE];
        snprintf(ordinal, sizeof(ordinal), "%d", i);
        clock_format_rfc3339(GOLDEN_NOW_MS - member->age_s * 1000LL, made);
        json_put(claims, ordinal, json_object());
        if (member->age_s == 0) {
            json_put(agents, ordinal, json_null());
            continue;
        }
        json_t *pod = json_build("{s:{s:s}}", "metadata", "creationTimestamp", made);
        if (member->deleted)
            json_put(json_object_get(pod, "metadata"), "deletionTimestamp", json_string("2026-02-02T02:40:30Z"));
        if (member->phase)
            json_put(pod, "status",
                json_build("{s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}", "conditions", "type", "PodScheduled", "status",
                    "True", "type", "Initialized", "status", "True", "type", "Ready", "status", "False"));
        json_put(pods, ordinal, pod);
        json_put(agents, ordinal,
            member->phase ? json_build("{s:s, s:b}", "phase", member->phase, "ready", 0) : json_object());
    }
    return json_build("{s:s, s:o, s:o, s:o}", "children", "settled", "pods", pods, "agents", agents, "claims", claims);
}

static bool has_news(const json_t *news, const char *text)
{
    size_t i;
    const json_t *one;
    json_array_foreach(news, i, one) {
        if (str_eq(json_string_value(one), text))
            return true;
    }
    return false;
}

static void what_is_asked_for_is_no_warning(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(json_decrefp) json_t *cluster = read_part("replica-stopped", "cluster");
        _cleanup_(json_decrefp) json_t *observed = world_of(cases[i].members, cases[i].count);
        json_put(json_object_get(cluster, "spec"), "replicas", json_integer(cases[i].count));
        _cleanup_(json_decrefp) json_t *news = news_of(cluster, observed, 1);
        _cleanup_(freep) char *text = json_dumps(news, 0);
        if (!has_news(news, cases[i].news))
            fail_msg("%s: no \"%s\" in %s", cases[i].why, cases[i].news, text);
    }
}

/* Neither are the first conditions of a cluster that was just made, nor that it sleeps. */
static void a_new_cluster_has_no_bad_news(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *cluster = read_part("create", "cluster");
    _cleanup_(json_decrefp) json_t *observed = read_part("create", "observed");
    _cleanup_(json_decrefp) json_t *news = news_of(cluster, observed, 0);
    _cleanup_(freep) char *text = json_dumps(news, 0);
    if (strstr(text, "Warning") || strstr(text, "NoPrimary"))
        fail_msg("%s", text);
}

static void steps_of_a_restore_in_place_are_no_warnings(void **state)
{
    static const struct {
        const char *reason;
        enum kube_condition_status status;
        enum condition_news news;
    } rows[] = {
        {"Resolving", KUBE_CONDITION_FALSE, CONDITION_NEWS_NORMAL},
        {"Restoring", KUBE_CONDITION_FALSE, CONDITION_NEWS_NORMAL},
        {"Taking", KUBE_CONDITION_FALSE, CONDITION_NEWS_NORMAL},
        {"Reseeding", KUBE_CONDITION_FALSE, CONDITION_NEWS_NORMAL},
        {"Completed", KUBE_CONDITION_TRUE, CONDITION_NEWS_NORMAL},
        {"Failed", KUBE_CONDITION_FALSE, CONDITION_NEWS_WARNING},
        {"StoreUnavailable", KUBE_CONDITION_FALSE, CONDITION_NEWS_WARNING},
        {"BackupDamaged", KUBE_CONDITION_FALSE, CONDITION_NEWS_WARNING},
    };
    static struct cluster_snapshot snapshot;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_conditions conditions = {.count = 0};
        kube_conditions_set(
            &conditions, CONDITION_RESTORED_IN_PLACE, rows[i].status, rows[i].reason, 1, GOLDEN_NOW_MS, "%s", "words");
        if (condition_news_of(&snapshot, &conditions.items[0]) != rows[i].news)
            fail_msg("%s", rows[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_has_its_news),
        cmocka_unit_test(what_is_asked_for_is_no_warning),
        cmocka_unit_test(a_new_cluster_has_no_bad_news),
        cmocka_unit_test(steps_of_a_restore_in_place_are_no_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
