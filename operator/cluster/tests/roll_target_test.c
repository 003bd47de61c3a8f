/* SPDX-License-Identifier: Apache-2.0 */
/* When a roll has failed, what members are made of then, and when it is tried again: tables. */
#include "common/base.h"

#include "operator/cluster/rollout/roll_target.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

#define NOW_MS 1770000000000LL
#define MINUTE_MS 60000LL

/* Three members of which the last was replaced; the spec, W, is in force, and A ran before. */
struct model {
    struct cluster_snapshot snapshot;
    struct stateful_set_object set;
    struct pod_object pods[3];
    struct agent_status agents[3];
    struct roll_before before;
    struct cluster_decision decision;
};

static void model_init(struct model *model)
{
    *model = (struct model){.set = {.update_revision = "new", .observed_generation = 1}};
    struct cluster_snapshot *snapshot = &model->snapshot;
    model->set.object.generation = 1;
    model->set.applied_hash = "runtime-w";
    model->set.applied_template = "template-w";
    model->decision.gate = GATE_OPEN;
    snapshot->usable = true;
    snapshot->now_ms = NOW_MS;
    snapshot->stateful_set = &model->set;
    snapshot->scale = (struct cluster_scale){3, 3};
    snapshot->member_count = 3;
    snapshot->config.image_mysql = (char *)(uintptr_t) "db:1";
    snapshot->last.roles.initialized = true;
    roll_hash("runtime-w", "template-w", snapshot->roll_wanted);
    roll_hash("runtime-a", "template-a", model->before.hash);
    memcpy(snapshot->last.roll.proven, model->before.hash, sizeof(snapshot->last.roll.proven));
    model->before.template =
        json_build("{s:{s:[{s:s, s:s}]}}", "spec", "containers", "name", CONTAINER_MYSQL, "image", "db:1");
    snprintf(model->before.version, sizeof(model->before.version), "11.4.5-MariaDB");
    model->before.kept_ms = NOW_MS - 20 * MINUTE_MS;
    snapshot->before_kept = &model->before;
    snapshot->before_known = true;
    snprintf(snapshot->mycnf_hash, sizeof(snapshot->mycnf_hash), "w");
    for (int i = 0; i < 3; i++) {
        struct cluster_member *member = &snapshot->members[i];
        struct pod_object *pod = &model->pods[i];
        snprintf(member->name, sizeof(member->name), "m-%d", i);
        member->ordinal = i;
        member->pod = pod;
        *pod = (struct pod_object){.revision = i == 2 ? "new" : "old",
            .ready = i != 2,
            .scheduled = true,
            .initialized = true,
            .created_ms = NOW_MS - 19 * MINUTE_MS,
            .problem_container = "",
            .problem_reason = "",
            .problem_message = ""};
    }
}

static void model_release(struct model *model)
{
    json_decref(model->before.template);
}

static void speak(struct model *model, int i, const char *version, const char *mycnf_hash)
{
    struct agent_status *agent = &model->agents[i];
    *agent = (struct agent_status){.phase = AGENT_PHASE_RUNNING};
    snprintf(agent->version, sizeof(agent->version), "%s", version);
    snprintf(agent->mycnf_hash, sizeof(agent->mycnf_hash), "%s", mycnf_hash);
    model->snapshot.members[i].agent = agent;
    model->snapshot.members[i].agent_connected = true;
}

static void ends(struct model *model)
{
    model->pods[2].most_ends = 3;
    model->pods[2].problem_container = CONTAINER_MYSQL;
    model->pods[2].problem_reason = "CrashLoopBackOff";
    model->pods[2].problem_message = "Unknown/unsupported storage engine: ARCHIVE";
}

static void blocked_since(struct model *model, int64_t ms)
{
    snprintf(model->snapshot.last.roll.blocked, sizeof(model->snapshot.last.roll.blocked), "m-2");
    model->snapshot.last.roll.blocked_ms = NOW_MS - ms;
}

static void unplaced(struct model *model)
{
    model->pods[2].scheduled = model->pods[2].initialized = false;
    model->pods[2].problem_reason = "Unschedulable";
}

/* ---- how it fails ---- */

static void is_killed(struct model *model)
{
    ends(model);
    model->pods[2].problem_exit = 137;
}
static void has_no_memory(struct model *model)
{
    is_killed(model);
    model->pods[2].problem_reason = "OOMKilled";
}
static void two_ends(struct model *model)
{
    ends(model);
    model->pods[2].most_ends = 2;
}
static void ends_and_is_ready(struct model *model)
{
    ends(model);
    model->pods[2].ready = true;
}
static void ends_of_an_older_pod(struct model *model)
{
    ends(model);
    model->pods[2].created_ms = NOW_MS - 30 * MINUTE_MS;
}
static void ends_of_who_was_not_replaced(struct model *model)
{
    ends(model);
    model->pods[2].revision = "old";
}
static void ends_while_checking(struct model *model)
{
    ends(model);
    model->decision.gate = GATE_CHECKING;
}
static void ends_while_paused(struct model *model)
{
    ends(model);
    model->snapshot.cluster.paused = true;
}
static void ends_and_nothing_is_stored(struct model *model)
{
    ends(model);
    model->snapshot.before_kept = NULL;
}
static void ends_and_it_is_not_read_yet(struct model *model)
{
    ends_and_nothing_is_stored(model);
    model->snapshot.before_known = false;
}
static void ends_and_something_else_is_stored(struct model *model)
{
    ends(model);
    roll_hash("runtime-z", "template-z", model->before.hash);
}
static void ends_and_nothing_was_proven(struct model *model)
{
    ends(model);
    *model->snapshot.last.roll.proven = '\0';
}
static void ends_in_the_same_version(struct model *model)
{
    ends(model);
    model->snapshot.config.image_mysql = (char *)(uintptr_t) "db:2";
    speak(model, 2, "11.4.5-MariaDB-log", "w");
}
static void ends_in_another_version(struct model *model)
{
    ends(model);
    speak(model, 2, "11.4.7-MariaDB-log", "w");
}
static void ends_in_another_image(struct model *model)
{
    ends(model);
    model->snapshot.config.image_mysql = (char *)(uintptr_t) "db:2";
}
static void ends_after_another_was_upgraded(struct model *model)
{
    ends_in_the_same_version(model);
    model->pods[1].revision = "new";
    speak(model, 1, "11.4.7-MariaDB-log", "w");
}
static void ends_without_a_copy(struct model *model)
{
    ends(model);
    speak(model, 2, "", "");
    model->pods[2].initialized = false;
    model->agents[2].phase = AGENT_PHASE_SEEDING;
    model->agents[2].data = AGENT_DATA_EMPTY;
}
static void stays_unplaced_with_nothing_stored(struct model *model)
{
    struct cluster_roll_status *roll = &model->snapshot.last.roll;
    unplaced(model);
    model->snapshot.before_kept = NULL;
    roll->phase = ROLL_PHASE_FAILED;
    roll->attempts = 1;
    memcpy(roll->refused, model->snapshot.roll_wanted, sizeof(roll->refused));
    roll->reason = ROLL_REASON_UNPLACED;
    snprintf(roll->member, sizeof(roll->member), "m-2");
}
static void unplaced_for_long(struct model *model)
{
    unplaced(model);
    blocked_since(model, 5 * MINUTE_MS);
}
static void unplaced_for_a_while(struct model *model)
{
    unplaced(model);
    blocked_since(model, 4 * MINUTE_MS);
}
static void unplaced_since_now(struct model *model)
{
    unplaced(model);
}
static void unplaced_another_image(struct model *model)
{
    unplaced_for_long(model);
    model->snapshot.config.image_mysql = (char *)(uintptr_t) "db:2";
}
static void unpulled_for_long(struct model *model)
{
    blocked_since(model, 6 * MINUTE_MS);
    model->pods[2].initialized = false;
    model->pods[2].problem_container = CONTAINER_INIT;
    model->pods[2].problem_reason = "ImagePullBackOff";
    model->snapshot.config.image_mysql = (char *)(uintptr_t) "db:2";
}
static void pulled_after_all(struct model *model)
{
    blocked_since(model, 6 * MINUTE_MS);
}
static void not_made_for_long(struct model *model)
{
    blocked_since(model, 6 * MINUTE_MS);
    model->snapshot.members[2].pod = NULL;
    model->snapshot.members[2].refused = "exceeded quota: small";
}
static void recovers(struct model *model)
{
    speak(model, 2, "", "w");
    model->agents[2].phase = AGENT_PHASE_STARTING;
    model->pods[2].created_ms = NOW_MS - 600 * MINUTE_MS;
    model->before.kept_ms = NOW_MS - 601 * MINUTE_MS;
}

static const struct {
    const char *what;
    void (*make)(struct model *model);
    enum roll_phase phase;
    enum roll_reason reason;
    bool blocked; /* its time runs */
} failures[] = {
    {"three ends", ends, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_ENDED, false},
    {"killed by somebody", is_killed, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_KILLED, false},
    {"killed for want of memory", has_no_memory, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_ENDED, false},
    {"two ends", two_ends, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"three ends, and it is ready", ends_and_is_ready, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"a pod that is older than the roll", ends_of_an_older_pod, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"a pod of the older template", ends_of_who_was_not_replaced, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"something is still tried", ends_while_checking, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"paused", ends_while_paused, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"nothing is stored", ends_and_nothing_is_stored, ROLL_PHASE_FAILED, ROLL_REASON_ENDED, false},
    {"not read yet", ends_and_it_is_not_read_yet, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"stored is something else", ends_and_something_else_is_stored, ROLL_PHASE_FAILED, ROLL_REASON_ENDED, false},
    {"nothing was proven", ends_and_nothing_was_proven, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"another image of the same version", ends_in_the_same_version, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_ENDED, false},
    {"another version", ends_in_another_version, ROLL_PHASE_FAILED, ROLL_REASON_ENDED, false},
    {"another image, its version unknown", ends_in_another_image, ROLL_PHASE_FAILED, ROLL_REASON_ENDED, false},
    {"another member has been upgraded", ends_after_another_was_upgraded, ROLL_PHASE_FAILED, ROLL_REASON_ENDED, false},
    {"a copy that does not come", ends_without_a_copy, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"still not placed, nothing stored", stays_unplaced_with_nothing_stored, ROLL_PHASE_FAILED, ROLL_REASON_UNPLACED,
        true},
    {"not placed since just now", unplaced_since_now, ROLL_PHASE_NONE, ROLL_REASON_NONE, true},
    {"not placed for a while", unplaced_for_a_while, ROLL_PHASE_NONE, ROLL_REASON_NONE, true},
    {"not placed for long", unplaced_for_long, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_UNPLACED, false},
    {"not placed, another image", unplaced_another_image, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_UNPLACED, false},
    {"not pulled for long", unpulled_for_long, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_UNPULLED, false},
    {"pulled after all", pulled_after_all, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
    {"not made for long", not_made_for_long, ROLL_PHASE_ROLLED_BACK, ROLL_REASON_UNMADE, false},
    {"a recovery of ten hours", recovers, ROLL_PHASE_NONE, ROLL_REASON_NONE, false},
};

static void a_roll_fails_only_for_these(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct model model;
        struct cluster_roll_status roll;
        model_init(&model);
        failures[i].make(&model);
        roll_record(&model.snapshot, &model.decision, &roll);
        if (roll.phase != failures[i].phase || roll.reason != failures[i].reason ||
            (roll.blocked_ms > 0) != failures[i].blocked)
            fail_msg("%s: phase %d, reason \"%s\", blocked %d, obstacle \"%s\"", failures[i].what, (int)roll.phase,
                roll_reason_name(roll.reason), roll.blocked_ms > 0, roll.obstacle);
        if (roll.phase != ROLL_PHASE_NONE) {
            assert_string_equal(roll.member, "m-2");
            assert_string_equal(roll.refused, model.snapshot.roll_wanted);
            assert_int_equal(roll.attempts, 1);
            assert_int_equal(roll.phase == ROLL_PHASE_FAILED, *roll.obstacle != '\0');
        }
        model_release(&model);
    }
}

static void what_is_told_names_the_backup(void **state)
{
    UNUSED(state);
    struct model model;
    struct cluster_roll_status roll;
    model_init(&model);
    ends_in_another_version(&model);
    snprintf(model.snapshot.last.last_backup, sizeof(model.snapshot.last.last_backup), "shop-1");
    roll_record(&model.snapshot, &model.decision, &roll);
    assert_non_null(strstr(roll.obstacle, "another version than 11.4.5-MariaDB"));
    assert_non_null(strstr(roll.obstacle, "the newest backup is shop-1"));
    assert_non_null(strstr(roll.message, "storage engine: ARCHIVE"));
    model_release(&model);
}

/* ---- the target ---- */

static void model_refuse(struct model *model, enum roll_reason reason, int attempts)
{
    struct cluster_roll_status *roll = &model->snapshot.last.roll;
    roll->phase = ROLL_PHASE_ROLLED_BACK;
    memcpy(roll->refused, model->snapshot.roll_wanted, sizeof(roll->refused));
    roll->reason = reason;
    roll->attempts = attempts;
    roll->failed_ms = NOW_MS - 15 * MINUTE_MS;
}

static void is_refused(struct model *model)
{
    model_refuse(model, ROLL_REASON_ENDED, 1);
}
static void has_changed(struct model *model)
{
    is_refused(model);
    roll_hash("runtime-c", "template-w", model->snapshot.roll_wanted);
}
static void is_asked_for(struct model *model)
{
    is_refused(model);
    model->snapshot.roll_again = (char *)(uintptr_t) "2";
}
static void was_asked_for_before(struct model *model)
{
    is_asked_for(model);
    snprintf(model->snapshot.last.roll.again, sizeof(model->snapshot.last.roll.again), "2");
}
static void was_unplaced_once(struct model *model)
{
    model_refuse(model, ROLL_REASON_UNPLACED, 1);
}
static void was_unplaced_twice(struct model *model)
{
    model_refuse(model, ROLL_REASON_UNPLACED, 2);
}
static void is_not_read_yet(struct model *model)
{
    is_refused(model);
    model->snapshot.before_kept = NULL;
    model->snapshot.before_known = false;
}
static void is_gone(struct model *model)
{
    is_refused(model);
    model->snapshot.before_kept = NULL;
}
static void is_gone_and_in_force(struct model *model)
{
    is_gone(model);
    model->set.applied_hash = "runtime-a";
    model->set.applied_template = "template-a";
}
static void failed_without_going_back(struct model *model)
{
    is_refused(model);
    model->snapshot.last.roll.phase = ROLL_PHASE_FAILED;
}

static const struct {
    const char *what;
    void (*make)(struct model *model);
    enum roll_target target;
} targets[] = {
    {"it failed", is_refused, ROLL_TARGET_BEFORE},
    {"something else is wanted", has_changed, ROLL_TARGET_WANTED},
    {"the annotation has a new value", is_asked_for, ROLL_TARGET_WANTED},
    {"the annotation had it already", was_asked_for_before, ROLL_TARGET_BEFORE},
    {"not placed, after ten minutes", was_unplaced_once, ROLL_TARGET_WANTED},
    {"not placed twice, after twenty", was_unplaced_twice, ROLL_TARGET_BEFORE},
    {"what ran before is not read yet", is_not_read_yet, ROLL_TARGET_HELD},
    {"what ran before is gone", is_gone, ROLL_TARGET_WANTED},
    {"what ran before is gone, and runs", is_gone_and_in_force, ROLL_TARGET_HELD},
    {"nothing went back", failed_without_going_back, ROLL_TARGET_WANTED},
};

static void members_are_made_of(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct model model;
        model_init(&model);
        targets[i].make(&model);
        enum roll_target target = roll_target(&model.snapshot);
        if (target != targets[i].target)
            fail_msg("%s: %d, not %d", targets[i].what, (int)target, (int)targets[i].target);
        model_release(&model);
    }
}

static void pauses_grow(void **state)
{
    UNUSED(state);
    static const int minutes[] = {10, 20, 40, 80, 160, 320, 360, 360};
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++) {
        struct cluster_roll_status roll = {
            .phase = ROLL_PHASE_ROLLED_BACK, .reason = ROLL_REASON_UNPULLED, .attempts = (int)i + 1};
        assert_int_equal(roll_retry_at_ms(&roll), minutes[i] * MINUTE_MS);
    }
    const struct cluster_roll_status ended = {.phase = ROLL_PHASE_ROLLED_BACK, .reason = ROLL_REASON_ENDED};
    assert_int_equal(roll_retry_at_ms(&ended), 0);
    struct cluster_roll_status killed = {
        .phase = ROLL_PHASE_ROLLED_BACK, .reason = ROLL_REASON_KILLED, .attempts = 1, .failed_ms = 5000};
    assert_int_equal(roll_retry_at_ms(&killed), 5000 + MINUTE_MS);
    killed.attempts = 3;
    assert_int_equal(roll_retry_at_ms(&killed), 5000 + 4 * MINUTE_MS);
    killed.phase = ROLL_PHASE_FAILED;
    assert_int_equal(roll_retry_at_ms(&killed), 0);
}

/* Tried again by itself it goes on counting; by hand, or for another wish, it begins anew. */
static void attempts_are_counted(void **state)
{
    UNUSED(state);
    static const struct {
        void (*make)(struct model *model);
        int attempts;
    } tries[] = {{was_unplaced_once, 2}, {is_asked_for, 1}, {has_changed, 1}};
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        struct model model;
        struct cluster_roll_status roll;
        model_init(&model);
        tries[i].make(&model);
        roll_record(&model.snapshot, &model.decision, &roll);
        assert_int_equal(roll.phase, ROLL_PHASE_NONE);
        model.snapshot.last.roll = roll;
        roll_hash("runtime-w", "template-w", model.snapshot.roll_wanted);
        ends(&model);
        roll_record(&model.snapshot, &model.decision, &roll);
        assert_int_equal(roll.phase, ROLL_PHASE_ROLLED_BACK);
        assert_int_equal(roll.attempts, tries[i].attempts);
        assert_string_equal(roll.again, str_or_empty(model.snapshot.roll_again));
        model_release(&model);
    }
}

/* ---- what is proven ---- */

static void proven_is_what_all_were_ready_with(void **state)
{
    UNUSED(state);
    static const struct {
        const char *revision, *mycnf;
        bool ready, proven;
    } last[] = {
        {"new", "w", true, true}, {"new", "a", true, false}, {"new", "w", false, false}, {"old", "w", true, false}};
    for (size_t i = 0; i < ARRAY_LEN(last); i++) {
        struct model model;
        struct cluster_roll_status roll;
        model_init(&model);
        for (int k = 0; k < 3; k++) {
            model.pods[k].revision = k == 2 ? last[i].revision : "new";
            model.pods[k].ready = k != 2 || last[i].ready;
            speak(&model, k, "11.4.5-MariaDB-log", k == 2 ? last[i].mycnf : "w");
        }
        roll_record(&model.snapshot, &model.decision, &roll);
        assert_string_equal(roll.proven, last[i].proven ? model.snapshot.roll_wanted : model.before.hash);
        model_release(&model);
    }
}

static void it_is_stored_before_another_is_applied(void **state)
{
    UNUSED(state);
    struct model model;
    model_init(&model);
    assert_false(roll_must_be_kept(&model.snapshot)); /* W is applied already */
    model.set.applied_hash = "runtime-a";
    model.set.applied_template = "template-a";
    assert_false(roll_must_be_kept(&model.snapshot)); /* it is stored */
    model.snapshot.before_kept = NULL;
    assert_true(roll_must_be_kept(&model.snapshot));
    memcpy(model.snapshot.roll_wanted, model.before.hash, sizeof(model.snapshot.roll_wanted));
    assert_false(roll_must_be_kept(&model.snapshot)); /* nothing else is wanted */
    model_release(&model);
}

/* ---- the way back ---- */

static void who_was_upgraded_stays(void **state)
{
    UNUSED(state);
    struct model model;
    struct roll roll;
    model_init(&model);
    model.set.update_revision = "old";
    model.snapshot.before = &model.before;
    ends(&model);
    cluster_roll(&model.snapshot, &roll);
    assert_int_equal(roll.step, ROLL_DELETE);
    assert_string_equal(roll.member->name, "m-2");
    speak(&model, 2, "11.4.7-MariaDB-log", "w");
    cluster_roll(&model.snapshot, &roll);
    assert_int_equal(roll.step, ROLL_WAIT);
    assert_non_null(strstr(roll.text, "m-2 stays as it is"));
    model_release(&model);
}

/* ---- the record as JSON, and what is stored ---- */

/* Who has just begun to lead hears nobody, and keeps it; it goes when all have it. */
static void what_a_check_pod_has_started_is_noted_until_all_have_it(void **state)
{
    UNUSED(state);
    struct cluster_roll_status roll;
    struct model model;
    model_init(&model);
    struct cluster_snapshot *snapshot = &model.snapshot;
    for (int i = 0; i < 3; i++) {
        speak(&model, i, "11.4.5-MariaDB", i == 2 ? "w" : "a");
        model.pods[i].revision = "new";
        model.pods[i].ready = true;
    }
    snprintf(snapshot->started, sizeof(snapshot->started), "runtime-w");
    roll_record(snapshot, &model.decision, &roll);
    assert_string_equal(roll.tried, "");
    snapshot->members[0].mycnf_verdict = MYCNF_NEEDS_RESTART;
    roll_record(snapshot, &model.decision, &roll);
    assert_string_equal(roll.tried, "runtime-w");
    snapshot->last.roll = roll;
    for (int i = 0; i < 3; i++)
        snapshot->members[i].agent_connected = false;
    roll_record(snapshot, &model.decision, &roll);
    assert_string_equal(roll.tried, "runtime-w");
    for (int i = 0; i < 3; i++)
        speak(&model, i, "11.4.5-MariaDB", "w");
    roll_record(snapshot, &model.decision, &roll);
    assert_string_equal(roll.tried, "");
    assert_string_equal(roll.proven, snapshot->roll_wanted);
    model_release(&model);
}

static void the_record_reads_back(void **state)
{
    UNUSED(state);
    struct cluster_roll_status roll = {.phase = ROLL_PHASE_FAILED,
        .proven = "0123456789abcdef",
        .refused = "fedcba9876543210",
        .tried = "00000000000000a1",
        .reason = ROLL_REASON_ENDED,
        .member = "m-2",
        .message = "no",
        .obstacle = "not stored",
        .again = "2",
        .attempts = 3,
        .failed_ms = NOW_MS,
        .blocked = "m-1",
        .blocked_ms = NOW_MS - 1000};
    struct cluster_roll_status read;
    _cleanup_(json_decrefp) json_t *json = cluster_roll_status_encode(&roll);
    cluster_roll_status_decode(json, &read);
    _cleanup_(json_decrefp) json_t *again = cluster_roll_status_encode(&read);
    assert_true(json_equal(json, again));
    assert_string_equal(json_path_str(again, "phase", ""), "Failed");
    assert_string_equal(read.tried, "00000000000000a1");
    const struct cluster_roll_status nothing = {.phase = ROLL_PHASE_NONE};
    assert_null(cluster_roll_status_encode(&nothing));
    cluster_roll_status_decode(NULL, &read);
    assert_int_equal(read.phase, ROLL_PHASE_NONE);
}

static void what_is_stored_reads_back(void **state)
{
    UNUSED(state);
    char hash[17];
    struct cluster_snapshot snapshot = {.ns = (char *)(uintptr_t) "ns",
        .name = (char *)(uintptr_t) "shop",
        .uid = (char *)(uintptr_t) "0c000000-0000-4000-8000-000000000001",
        .now_ms = NOW_MS};
    cluster_names_init(&snapshot.names, "shop");
    _cleanup_(json_decrefp) json_t *draft = desired_before(&snapshot);
    _cleanup_(json_decrefp) json_t *set = json_build("{s:{s:{s:s, s:s}}, s:{s:{s:{s:n}, s:{s:[{s:s, s:s}]}}}}",
        "metadata", "annotations", ANNOTATION_APPLIED_HASH, "r", ANNOTATION_APPLIED_TEMPLATE, "t", "spec", "template",
        "metadata", "creationTimestamp", "spec", "containers", "name", "mysql", "image", "db:1");
    _cleanup_(json_decrefp) json_t *config_map = json_build("{s:{s:s}}", "data", "my.cnf", "[mysqld]\n");
    _cleanup_(json_decrefp) json_t *object = desired_before_fill(draft, set, config_map);
    assert_string_equal(json_path_str(object, "metadata.name", ""), "shop-mysql-before");
    struct roll_before *before = roll_before_read(object);
    assert_non_null(before);
    roll_hash("r", "t", hash);
    assert_string_equal(before->hash, hash);
    assert_string_equal(before->mycnf, "[mysqld]\n");
    assert_string_equal(roll_before_image(before), "db:1");
    assert_int_equal(before->kept_ms, NOW_MS);
    assert_null(json_path(before->template, "metadata.creationTimestamp"));
    roll_before_free(before);
    json_object_clear(config_map);
    assert_null(desired_before_fill(draft, set, config_map));
    assert_null(roll_before_read(draft));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_roll_fails_only_for_these),
        cmocka_unit_test(what_is_told_names_the_backup),
        cmocka_unit_test(members_are_made_of),
        cmocka_unit_test(pauses_grow),
        cmocka_unit_test(attempts_are_counted),
        cmocka_unit_test(proven_is_what_all_were_ready_with),
        cmocka_unit_test(it_is_stored_before_another_is_applied),
        cmocka_unit_test(who_was_upgraded_stays),
        cmocka_unit_test(what_a_check_pod_has_started_is_noted_until_all_have_it),
        cmocka_unit_test(the_record_reads_back),
        cmocka_unit_test(what_is_stored_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
