/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of failovers and of members: each step once, whatever else is written meanwhile. */
#include "common/base.h"

#include "operator/cluster/status/cluster_events.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/cluster/restore/cluster_restore.h"

static const struct cluster_failover_spec never = {.enabled = true}, allow = {.enabled = true, .allow_data_loss = true};

static struct cluster_status before, now;
static struct cluster_news news[CLUSTER_NEWS_MAX];

static int set_up(void **state)
{
    UNUSED(state);
    before = now = (struct cluster_status){.roles.epoch = 7, .roles.current_primary = "shop-mysql-0"};
    return 0;
}

static void lose_the_primary(struct cluster_status *status)
{
    status->roles.epoch = 8;
    status->roles.transition = (struct cluster_transition){.from = "shop-mysql-0",
        .reason = TRANSITION_SERVER_DOWN,
        .started_ms = 1000,
        .epoch = 8,
        .failover = true,
        .evidence = "its agent says that the server ended"};
}

static void choose_another(struct cluster_status *status)
{
    lose_the_primary(status);
    snprintf(status->roles.transition.to, sizeof(status->roles.transition.to), "shop-mysql-2");
    snprintf(status->roles.transition.candidate_why, sizeof(status->roles.transition.candidate_why),
        "it has the most: 0-1-17");
    snprintf(status->roles.current_primary, sizeof(status->roles.current_primary), "shop-mysql-2");
}

static void end(struct cluster_status *status)
{
    status->roles.transition = (struct cluster_transition){.from = ""};
    status->roles.last_failover =
        (struct cluster_failover){"shop-mysql-0", "shop-mysql-2", .epoch = 8, .finished_ms = 1060, .detected_ms = 0,
            .decided_ms = 12, .fenced_ms = -1, .drained_ms = 41, .published_ms = 44, .writes_blocked_ms = 40};
}

static void told(int index, enum event_type type, const char *reason, const char *message)
{
    assert_int_equal(news[index].type, type);
    assert_string_equal(news[index].reason, reason);
    assert_string_equal(news[index].message, message);
}

static int tell(const struct cluster_failover_spec *spec)
{
    return cluster_failover_news(&before, &now, spec, news);
}

static void each_step_is_told_once(void **state)
{
    UNUSED(state);
    assert_int_equal(tell(&never), 0);
    lose_the_primary(&now);
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_WARNING, "FailoverStarted",
        "shop-mysql-0 is lost (ServerDown): its agent says that the server ended; epoch 8");
    before = now;
    now.ready_replicas = 1;
    assert_int_equal(tell(&never), 0);
    choose_another(&now);
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_NORMAL, "FailoverChosen", "shop-mysql-2 takes over from shop-mysql-0: it has the most: 0-1-17");
    before = now;
    assert_int_equal(tell(&never), 0);
    end(&now);
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_NORMAL, "FailoverDone",
        "shop-mysql-2 is primary in place of shop-mysql-0; no member took writes for 40 ms; the loss was certain after 0 ms, "
        "decided after 12 ms, open after 41 ms, in the Service after 44 ms");
    before = now;
    assert_int_equal(tell(&never), 0);
}

/* An operator that was away, or so fast that steps fell together. */
static void steps_at_once(void **state)
{
    UNUSED(state);
    choose_another(&now);
    assert_int_equal(tell(&never), 2);
    assert_string_equal(news[0].reason, "FailoverStarted");
    assert_string_equal(news[1].reason, "FailoverChosen");
}

static void waiting_says_for_whom(void **state)
{
    UNUSED(state);
    lose_the_primary(&before);
    lose_the_primary(&now);
    snprintf(now.roles.transition.waits_for, sizeof(now.roles.transition.waits_for),
        "shop-mysql-1 may have commits that nobody else has");
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_WARNING, "FailoverWaits",
        "nobody takes over from shop-mysql-0 yet (failover.dataLoss: never): shop-mysql-1 may have commits that nobody else has");
    before = now;
    assert_int_equal(tell(&never), 0);
    now.roles.transition.waits_for[0] = '\0';
    assert_int_equal(tell(&never), 0);
}

static void what_may_be_lost_is_a_warning(void **state)
{
    UNUSED(state);
    lose_the_primary(&before);
    choose_another(&now);
    snprintf(now.roles.transition.may_be_lost, sizeof(now.roles.transition.may_be_lost),
        "commits of shop-mysql-0 after 0-1-17");
    assert_int_equal(tell(&allow), 2);
    told(1, EVENT_WARNING, "FailoverMayLoseData",
        "may be lost (failover.dataLoss: allow): commits of shop-mysql-0 after 0-1-17");
    before = now;
    end(&now);
    snprintf(now.roles.last_failover.may_be_lost, sizeof(now.roles.last_failover.may_be_lost), "commits");
    snprintf(now.roles.last_failover.salvaged, sizeof(now.roles.last_failover.salvaged), "0-1-18");
    assert_int_equal(tell(&allow), 1);
    assert_non_null(
        strstr(news[0].message, "; taken over from the binary logs of the lost one: 0-1-18; transactions may be lost"));
}

static void another_loss_is_another_story(void **state)
{
    UNUSED(state);
    choose_another(&before);
    choose_another(&now);
    now.roles.transition = (struct cluster_transition){.from = "shop-mysql-2",
        .reason = TRANSITION_MEMBER_LOST,
        .started_ms = 2000,
        .epoch = 9,
        .failover = true,
        .evidence = "nobody hears of it"};
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_WARNING, "FailoverStarted", "shop-mysql-2 is lost (MemberLost): nobody hears of it; epoch 9");
    /* The one before ends as the next begins. */
    end(&now);
    now.roles.transition = (struct cluster_transition){
        .from = "shop-mysql-2", .reason = TRANSITION_MEMBER_LOST, .started_ms = 2000, .epoch = 9, .failover = true};
    assert_int_equal(tell(&never), 2);
    assert_string_equal(news[0].reason, "FailoverDone");
    assert_string_equal(news[1].reason, "FailoverStarted");
}

static void a_lost_one_that_is_back(void **state)
{
    UNUSED(state);
    lose_the_primary(&before);
    lose_the_primary(&now);
    snprintf(now.roles.transition.to, sizeof(now.roles.transition.to), "shop-mysql-0");
    snprintf(now.roles.transition.candidate_why, sizeof(now.roles.transition.candidate_why), "it is back");
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_NORMAL, "FailoverChosen", "shop-mysql-0 goes on itself: it is back");
    before = now;
    end(&now);
    snprintf(now.roles.last_failover.to, sizeof(now.roles.last_failover.to), "shop-mysql-0");
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_NORMAL, "FailoverUndone",
        "shop-mysql-0 is back and stays the primary; no member took writes for 40 ms");
    before = now;
    assert_int_equal(tell(&never), 0);
}

/* Whoever was open is named, and not the one that was chosen in its place, given up, and chosen again. */
static void one_that_is_chosen_again_takes_over_from_who_was_open(void **state)
{
    UNUSED(state);
    now.roles.transition = (struct cluster_transition){.from = "shop-mysql-1",
        .before = "shop-mysql-2,shop-mysql-0",
        .reason = TRANSITION_MEMBER_LOST,
        .started_ms = 2000,
        .epoch = 9,
        .failover = true,
        .evidence = "the pod of shop-mysql-0 is gone",
        .waits_for = "1 answer"};
    assert_int_equal(tell(&never), 2);
    told(0, EVENT_WARNING, "FailoverStarted",
        "shop-mysql-1 was to be primary, and all are asked anew (MemberLost): the pod of shop-mysql-0 is gone; epoch 9");
    told(1, EVENT_WARNING, "FailoverWaits",
        "nobody takes over from shop-mysql-0 yet (failover.dataLoss: never): 1 answer");
    before = now;
    snprintf(now.roles.transition.to, sizeof(now.roles.transition.to), "shop-mysql-1");
    snprintf(now.roles.transition.candidate_why, sizeof(now.roles.transition.candidate_why), "it has most");
    assert_int_equal(tell(&never), 1);
    told(0, EVENT_NORMAL, "FailoverChosen", "shop-mysql-1 takes over from shop-mysql-0: it has most");
}

static void a_switchover_is_no_failover(void **state)
{
    UNUSED(state);
    now.roles.transition = (struct cluster_transition){
        .from = "shop-mysql-0", .to = "shop-mysql-1", .reason = TRANSITION_REQUESTED, .epoch = 8};
    assert_int_equal(tell(&never), 0);
    /* The target of a switchover is lost on the way. */
    before = now;
    lose_the_primary(&now);
    assert_int_equal(tell(&never), 1);
    assert_string_equal(news[0].reason, "FailoverStarted");
}

/* All at once, all as long as they can be: nothing is written beyond its room. */
static void the_longest(void **state)
{
    UNUSED(state);
    choose_another(&now);
    end(&now);
    choose_another(&now);
    memset(now.roles.transition.evidence, 'e', sizeof(now.roles.transition.evidence) - 1);
    memset(now.roles.transition.waits_for, 'w', sizeof(now.roles.transition.waits_for) - 1);
    memset(now.roles.transition.candidate_why, 'c', sizeof(now.roles.transition.candidate_why) - 1);
    memset(now.roles.transition.may_be_lost, 'm', sizeof(now.roles.transition.may_be_lost) - 1);
    memset(now.roles.last_failover.salvaged, 's', sizeof(now.roles.last_failover.salvaged) - 1);
    assert_int_equal(tell(&allow), CLUSTER_NEWS_MAX);
    for (int i = 0; i < CLUSTER_NEWS_MAX; i++)
        assert_true(strlen(news[i].message) < sizeof(news[i].message) - 1);
}

/* Once, when the status says so. */
static void an_outage_is_told_when_it_is_over(void **state)
{
    struct cluster_snapshot *snapshot = xnew(struct cluster_snapshot);
    struct cluster_news told_of[CLUSTER_INTENT_NEWS_MAX];
    struct cluster_intent intent = {.roles = before.roles};

    UNUSED(state);
    snapshot->last = before;
    assert_int_equal(cluster_intent_news(snapshot, &intent, told_of), 0);
    intent.roles.last_outage =
        (struct cluster_outage){.primary = "shop-mysql-0", .started_ms = 9, .writes_blocked_ms = 61000};
    assert_int_equal(cluster_intent_news(snapshot, &intent, told_of), 1);
    assert_string_equal(told_of[0].reason, "OutageEnded");
    assert_string_equal(told_of[0].message,
        "shop-mysql-0 takes writes again, and took none when this operator began to lead; "
        "no member took writes for 61000 ms");
    intent.roles.last_outage.writes_blocked_ms = -1;
    assert_int_equal(cluster_intent_news(snapshot, &intent, told_of), 1);
    assert_string_equal(
        told_of[0].message, "shop-mysql-0 takes writes again, and took none when this operator began to lead");
    snapshot->last.roles.last_outage = intent.roles.last_outage;
    assert_int_equal(cluster_intent_news(snapshot, &intent, told_of), 0);
    free(snapshot);
}

/* ---- members that get their data ---- */

static void seed(struct cluster_status *status, const char *step, const char *donor)
{
    if (status->instance_count == 0)
        cluster_status_add_instance(status, "shop-mysql-1", 1);
    struct cluster_instance *instance = &status->instances[0];
    instance->seed_step = agent_seed_step_of(step);
    snprintf(instance->seed_donor, sizeof(instance->seed_donor), "%s", donor);
    instance->phase = *step ? INSTANCE_PHASE_INITIALIZING : INSTANCE_PHASE_STARTING;
}

static int tell_of_members(void)
{
    return cluster_member_news(&before, &now, news);
}

static void a_copy_is_told_from_begin_to_end(void **state)
{
    UNUSED(state);
    seed(&now, "Waiting", "");
    assert_int_equal(tell_of_members(), 0);
    seed(&before, "Waiting", "");
    seed(&now, "Copying", "shop-mysql-0");
    now.instances[0].seed_total_bytes = 3 * UINT64_C(1073741824);
    assert_int_equal(tell_of_members(), 1);
    told(0, EVENT_NORMAL, "CopyStarted", "shop-mysql-1 copies about 3072 MiB from shop-mysql-0");
    before = now;
    now.instances[0].seed_percent = 50;
    assert_int_equal(tell_of_members(), 0);
    seed(&now, "Preparing", "shop-mysql-0");
    assert_int_equal(tell_of_members(), 0);
    seed(&now, "Done", "");
    assert_int_equal(tell_of_members(), 1);
    told(0, EVENT_NORMAL, "CopyDone", "shop-mysql-1 has its data, from shop-mysql-0");
    seed(&now, "", "");
    assert_int_equal(tell_of_members(), 1);
    before = now;
    assert_int_equal(tell_of_members(), 0);
}

/* A restore to a point in time: the backup, then what was archived after it. */
static void a_replay_is_part_of_the_copy(void **state)
{
    UNUSED(state);
    seed(&before, "Preparing", "");
    seed(&now, "Replaying", "");
    assert_int_equal(tell_of_members(), 0);
    before = now;
    seed(&now, "Failed", "");
    snprintf(now.instances[0].message, sizeof(now.instances[0].message), "a segment is damaged");
    assert_int_equal(tell_of_members(), 1);
    told(0, EVENT_WARNING, "CopyFailed",
        "shop-mysql-1 could not copy from the backup; it is tried again: a segment is damaged");
    seed(&now, "Done", "");
    assert_int_equal(tell_of_members(), 1);
    told(0, EVENT_NORMAL, "CopyDone", "shop-mysql-1 has its data, from the backup");
}

static void each_set_is_told_once(void **state)
{
    UNUSED(state);
    seed(&before, "", "");
    seed(&now, "", "");
    before.instances[0].set_aside = (struct agent_set_asides){.sets = {"aside-2: 0-1-17"}};
    /* An earlier version had told only of the newest, or a new one came meanwhile. */
    now.instances[0].set_aside =
        (struct agent_set_asides){.sets = {"aside-3: 0-1-18", "aside-2: 0-1-17", "aside-1: 0-1-16"}, .more = 1};
    assert_int_equal(tell_of_members(), 2);
    told(0, EVENT_WARNING, "TransactionsSetAside",
        "what shop-mysql-1 had and the cluster may not have is kept on its volume, in "
        ".kube-mysql/set-aside/aside-3: 0-1-18");
    told(1, EVENT_WARNING, "TransactionsSetAside",
        "what shop-mysql-1 had and the cluster may not have is kept on its volume, in "
        ".kube-mysql/set-aside/aside-1: 0-1-16");
    before = now;
    now.instances[0].set_aside = (struct agent_set_asides){.sets = {"aside-1: 0-1-16"}}; /* the others are known now */
    assert_int_equal(tell_of_members(), 0);
}

static void what_is_set_aside_is_told_once(void **state)
{
    UNUSED(state);
    seed(&before, "", "");
    seed(&now, "", "");
    snprintf(now.instances[0].set_aside.sets[0], AGENT_SET_ASIDE_SIZE, "2026-11-23T06-00-00Z-epoch8: 0-1001-17");
    assert_int_equal(tell_of_members(), 1);
    told(0, EVENT_WARNING, "TransactionsSetAside",
        "what shop-mysql-1 had and the cluster may not have is kept on its volume, in "
        ".kube-mysql/set-aside/2026-11-23T06-00-00Z-epoch8: 0-1001-17");
    before = now;
    now.ready_replicas = 1;
    assert_int_equal(tell_of_members(), 0);
    /* Once more, and with news of its copy. */
    seed(&now, "Copying", "shop-mysql-0");
    memset(now.instances[0].set_aside.sets[0], 's', AGENT_SET_ASIDE_SIZE - 1);
    assert_int_equal(tell_of_members(), 2);
    assert_string_equal(news[0].reason, "TransactionsSetAside");
    assert_true(strlen(news[0].message) < sizeof(news[0].message) - 1);
    assert_string_equal(news[1].reason, "CopyStarted");
    before = now;
    now.instances[0].set_aside.sets[0][0] = '\0';
    assert_int_equal(tell_of_members(), 0);
}

static void another_donor_is_another_copy(void **state)
{
    UNUSED(state);
    seed(&before, "Copying", "shop-mysql-0");
    seed(&now, "Failed", "shop-mysql-0");
    snprintf(now.instances[0].message, sizeof(now.instances[0].message), "the donor has gone");
    assert_int_equal(tell_of_members(), 1);
    told(0, EVENT_WARNING, "CopyFailed",
        "shop-mysql-1 could not copy from shop-mysql-0; it is tried again: the donor has gone");
    seed(&now, "Copying", "shop-mysql-2");
    assert_int_equal(tell_of_members(), 1);
    told(0, EVENT_NORMAL, "CopyStarted", "shop-mysql-1 copies from shop-mysql-2");
}

static void a_pod_that_goes_has_no_data(void **state)
{
    UNUSED(state);
    seed(&before, "Copying", "shop-mysql-0");
    seed(&now, "", "");
    now.instances[0].phase = INSTANCE_PHASE_PENDING;
    assert_int_equal(tell_of_members(), 0);
    now.instance_count = 0;
    assert_int_equal(tell_of_members(), 0);
}

static void accept(struct cluster_status *status, int64_t generation, bool accepted, const char *message)
{
    status->observed_generation = generation;
    kube_conditions_set(&status->conditions, CONDITION_ACCEPTED, accepted ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE,
        accepted ? "Accepted" : "InvalidSpec", generation, 1000, "%s", message);
}

static void each_spec_is_told(void **state)
{
    UNUSED(state);
    accept(&now, 1, true, "the spec is in force");
    assert_false(cluster_spec_news(&before, &now, news)); /* the condition's own news */
    accept(&before, 1, true, "the spec is good; the check pod tries it");
    assert_false(cluster_spec_news(&before, &now, news));
    accept(&now, 2, true, "the spec is in force");
    assert_true(cluster_spec_news(&before, &now, news));
    told(0, EVENT_NORMAL, "Accepted", "Accepted: generation 2: the spec is in force");
    accept(&before, 2, false, "spec.replicas: is wrong");
    assert_false(cluster_spec_news(&before, &now, news));
    accept(&now, 3, false, "spec.port: is wrong");
    assert_true(cluster_spec_news(&before, &now, news));
    told(0, EVENT_WARNING, "InvalidSpec", "Accepted: generation 3: spec.port: is wrong");
}

static void keep_claim(struct cluster_status *status, const char *name)
{
    snprintf(status->retained_volumes[status->retained_volume_count++], DERIVED_NAME_SIZE, "%s", name);
}

/* Of members that have left, and of one that was asked for and taken back before it came. */
static void claims_that_stay_are_told_once(void **state)
{
    UNUSED(state);
    assert_false(cluster_claim_news(&before, &now, news));
    keep_claim(&before, "data-shop-mysql-3");
    keep_claim(&now, "data-shop-mysql-2");
    keep_claim(&now, "data-shop-mysql-3");
    assert_true(cluster_claim_news(&before, &now, news));
    told(0, EVENT_NORMAL, "ClaimsKept",
        "more members would take these volumes up again; to remove them, with what is on them: kubectl delete pvc "
        "data-shop-mysql-2");
    before = now;
    assert_false(cluster_claim_news(&before, &now, news));
}

static void data_that_was_there_is_told(void **state)
{
    UNUSED(state);
    static struct agent_status agent = {.phase = AGENT_PHASE_SEEDING, .data = AGENT_DATA_DATABASE};
    struct cluster_news many[CLUSTER_INTENT_NEWS_MAX];
    struct cluster_snapshot snapshot = {
        .member_count = 1, .members = {{.name = "shop-mysql-0", .agent = &agent, .agent_connected = true}}};
    struct cluster_intent intent = {.roles = {.epoch = 1, .current_primary = "shop-mysql-0"}};
    assert_int_equal(cluster_intent_news(&snapshot, &intent, many), 1);
    assert_string_equal(many[0].message,
        "shop-mysql-0 is the first primary, epoch 1; the data on its volume, of a cluster that had this name before, is "
        "taken over");
    agent.data = AGENT_DATA_EMPTY;
    assert_int_equal(cluster_intent_news(&snapshot, &intent, many), 1);
    assert_string_equal(many[0].message, "shop-mysql-0 is the first primary, epoch 1");
}

/* That it was wished for is no warning, that it failed is one. */
static void steps_of_a_restore_in_place_are_told(void **state)
{
    static const struct {
        enum in_place_step step;
        enum event_type type;
        const char *reason;
    } rows[] = {
        {IN_PLACE_STEP_RESTORE, EVENT_NORMAL, "RestoreInPlaceStarted"},
        {IN_PLACE_STEP_TAKE, EVENT_NORMAL, "RestoreInPlaceTaken"},
        {IN_PLACE_STEP_COMPLETE, EVENT_NORMAL, "RestoreInPlaceCompleted"},
        {IN_PLACE_STEP_FAIL, EVENT_WARNING, "RestoreInPlaceFailed"},
        {IN_PLACE_STEP_REFUSE, EVENT_WARNING, "RestoreInPlaceFailed"},
    };
    static const struct restore_answer answer = {.found.backup = "nightly", .found.location = "s3://b/nightly"};
    static struct cluster_snapshot snapshot = {.last.roles.initialized = true, .restore_answer = &answer};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cluster_news many[CLUSTER_INTENT_NEWS_MAX];
        const struct cluster_intent intent = {.in_place_step = rows[i].step, .roles = {.initialized = true}};
        assert_int_equal(cluster_intent_news(&snapshot, &intent, many), 1);
        assert_string_equal(many[0].reason, rows[i].reason);
        assert_int_equal(many[0].type, rows[i].type);
    }
}

static void commits_that_waited_are_told_at_their_end(void **state)
{
    UNUSED(state);
    assert_false(cluster_wait_news(&before, &now, news));
    now.commit_wait = (struct cluster_commit_wait){.member = "shop-mysql-0", .started_ms = 1000};
    assert_false(cluster_wait_news(&before, &now, news));
    before.commit_wait = now.commit_wait;
    assert_false(cluster_wait_news(&before, &now, news));
    now.commit_wait.finished_ms = 9400;
    assert_true(cluster_wait_news(&before, &now, news));
    assert_string_equal(news[0].reason, "CommitsWaited");
    assert_string_equal(news[0].message, "commits on shop-mysql-0 waited for 8400 ms for acknowledgements");
    now.commit_wait = (struct cluster_commit_wait){.member = "shop-mysql-1", .started_ms = 7800}; /* the next ones do */
    assert_true(cluster_wait_news(&before, &now, news));
    assert_string_equal(news[0].message, "commits on shop-mysql-0 waited for 6800 ms for acknowledgements");
    before.commit_wait.finished_ms = 9400;
    assert_false(cluster_wait_news(&before, &now, news));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_step_is_told_once, set_up),
        cmocka_unit_test_setup(steps_at_once, set_up),
        cmocka_unit_test_setup(waiting_says_for_whom, set_up),
        cmocka_unit_test_setup(what_may_be_lost_is_a_warning, set_up),
        cmocka_unit_test_setup(another_loss_is_another_story, set_up),
        cmocka_unit_test_setup(a_lost_one_that_is_back, set_up),
        cmocka_unit_test_setup(one_that_is_chosen_again_takes_over_from_who_was_open, set_up),
        cmocka_unit_test_setup(a_switchover_is_no_failover, set_up),
        cmocka_unit_test_setup(the_longest, set_up),
        cmocka_unit_test_setup(a_copy_is_told_from_begin_to_end, set_up),
        cmocka_unit_test_setup(a_replay_is_part_of_the_copy, set_up),
        cmocka_unit_test_setup(an_outage_is_told_when_it_is_over, set_up),
        cmocka_unit_test_setup(what_is_set_aside_is_told_once, set_up),
        cmocka_unit_test_setup(each_set_is_told_once, set_up),
        cmocka_unit_test_setup(another_donor_is_another_copy, set_up),
        cmocka_unit_test_setup(a_pod_that_goes_has_no_data, set_up),
        cmocka_unit_test_setup(each_spec_is_told, set_up),
        cmocka_unit_test_setup(claims_that_stay_are_told_once, set_up),
        cmocka_unit_test_setup(data_that_was_there_is_told, set_up),
        cmocka_unit_test_setup(steps_of_a_restore_in_place_are_told, set_up),
        cmocka_unit_test_setup(commits_that_waited_are_told_at_their_end, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
