/* SPDX-License-Identifier: Apache-2.0 */
/* Restores in place as a table: from what stands in the status and what members say to the next step and to what they
 * are told. */
#include "common/base.h"

#include "operator/cluster/restore/cluster_in_place.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/restore/restore_store.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_state.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define SOURCE "'source':{'phase':'Restoring','backup':'b1','from':{'backup':{'name':'nightly'}}}"
#define RESOLVING \
    "{'phase':'Resolving','wish':'nightly','number':1,'source':{'phase':'Resolving','from':{'backup':{'name':'nightly'}}}}"
#define RESTORING "{'phase':'Restoring','wish':'nightly','number':1,'member':'shop-mysql-0'," SOURCE "}"
#define TAKING                                                                              \
    "{'phase':'Taking','wish':'nightly','number':1,'taken':1,'takenEpoch':3,'stale':[1,2]," \
    "'member':'shop-mysql-0'," SOURCE "}"
#define RESEEDING(stale) \
    "{'phase':'Reseeding','wish':'nightly','number':1,'taken':1,'member':'shop-mysql-0','stale':" stale "," SOURCE "}"
#define OVER(phase) "{'phase':'" phase "','wish':'nightly','number':1,'taken':1,'member':'shop-mysql-0'," SOURCE "}"

/* What members say. */
#define SEEDING "'phase':'Seeding','role':'','writable':false,'ready':false,'receiver':'','applier':'','seedTask':'b1'"
#define STOPPED "'role':'','writable':false,'ready':false,'receiver':'','applier':'','sourceHost':'','appliedEpoch':2"
#define OTHERS_STOPPED ",'1':{" STOPPED "},'2':{" STOPPED "}"
#define OTHERS_SEEDING ",'1':{" SEEDING ",'mark':'reseed'},'2':{" SEEDING ",'data':'Empty'}"

static const struct row {
    const char *name, *wish, *before, *agents;
    enum restore_finding finding;
    enum in_place_step step;
    bool epoch_rises;
    enum agent_seed seed;       /* of member 0 */
    enum agent_role role;       /* likewise */
    enum agent_mark mark;       /* of member 1 */
    const char *state, *reason; /* of the condition; NULL: there is none */
} rows[] = {
    {"no wish", "", NULL, "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY,
        AGENT_MARK_NONE, "Healthy", NULL},
    {"a wish", "nightly", NULL, "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_BEGIN, false, AGENT_SEED_NONE,
        AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", NULL},
    {"not to be read", "Nightly", NULL, "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE,
        AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "InvalidWish"},
    {"is looked for", "nightly", RESOLVING, "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE,
        AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Resolving"},
    {"is found", "nightly", RESOLVING, "{}", RESTORE_FINDING_BACKUP, IN_PLACE_STEP_RESTORE, true, AGENT_SEED_NONE,
        AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Resolving"},
    {"not while somebody is silent", "nightly", RESOLVING, "{'2':null}", RESTORE_FINDING_BACKUP, IN_PLACE_STEP_NONE,
        false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Degraded", "Resolving"},
    {"cannot be found", "nightly", RESOLVING, "{}", RESTORE_FINDING_FAILED, IN_PLACE_STEP_FAIL, false, AGENT_SEED_NONE,
        AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Resolving"},
    {"old data of somebody else", "nightly", RESOLVING, "{'0':{'dataBefore':true}}", RESTORE_FINDING_BACKUP,
        IN_PLACE_STEP_FAIL, false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Resolving"},
    {"taken back in time", "", RESOLVING, "{}", RESTORE_FINDING_BACKUP, IN_PLACE_STEP_FAIL, false, AGENT_SEED_NONE,
        AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Resolving"},
    {"is closed", "nightly", RESTORING, "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE,
        AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring", "Restoring"},
    {"restores beside", "nightly", RESTORING, "{'0':{" SEEDING "}" OTHERS_STOPPED "}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_NONE, false, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring",
        "Restoring"},
    {"another number waits there", "nightly", RESTORING, "{'0':{" SEEDING ",'besideNumber':7}" OTHERS_STOPPED "}",
        RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE,
        "Restoring", "Restoring"},
    {"is there", "nightly", RESTORING, "{'0':{" SEEDING ",'besideNumber':1}" OTHERS_STOPPED "}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_TAKE, true, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring", "Restoring"},
    {"not while somebody follows", "nightly", RESTORING, "{'0':{" SEEDING ",'besideNumber':1}}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_NONE, false, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring",
        "Restoring"},
    {"not while somebody is silent then", "nightly", RESTORING,
        "{'0':{" SEEDING ",'besideNumber':1},'1':{" STOPPED "},'2':null}", RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE,
        false, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring", "Restoring"},
    {"is damaged", "nightly", RESTORING, "{'0':{" SEEDING ",'seed':'Failed','seedReason':'BackupDamaged'}}",
        RESTORE_FINDING_NONE, IN_PLACE_STEP_FAIL, true, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE,
        "Restoring", "BackupDamaged"},
    {"may pass", "nightly", RESTORING,
        "{'0':{" SEEDING ",'seed':'Failed','seedReason':'StoreUnavailable','seedAttempts':4}}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_NONE, false, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring",
        "StoreUnavailable"},
    {"does not pass", "nightly", RESTORING,
        "{'0':{" SEEDING ",'seed':'Failed','seedReason':'StoreUnavailable','seedAttempts':5}}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_FAIL, true, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring",
        "StoreUnavailable"},
    {"a failure of before", "nightly", RESTORING,
        "{'0':{" SEEDING ",'epoch':2,'seed':'Failed','seedReason':'BackupDamaged'}}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_NONE, false, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring",
        "BackupDamaged"},
    {"taken back", "weekly", RESTORING, "{'0':{" SEEDING ",'besideNumber':1}" OTHERS_STOPPED "}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_FAIL, true, AGENT_SEED_RESTORE_BESIDE, AGENT_ROLE_NONE, AGENT_MARK_NONE, "Restoring", "Restoring"},
    {"is taken", "nightly", TAKING, "{'0':{" SEEDING ",'besideNumber':1}" OTHERS_STOPPED "}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_NONE, false, AGENT_SEED_TAKE_RESTORED, AGENT_ROLE_NONE, AGENT_MARK_RESEED, "Restoring", "Taking"},
    {"cannot be taken back", "", TAKING, "{'0':{" SEEDING ",'besideNumber':1}" OTHERS_STOPPED "}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_NONE, false, AGENT_SEED_TAKE_RESTORED, AGENT_ROLE_NONE, AGENT_MARK_RESEED, "Restoring", "Taking"},
    {"has taken it", "nightly", TAKING, "{'0':{'role':'','writable':false,'restoredNumber':1}" OTHERS_STOPPED "}",
        RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_RESEED,
        "Restoring", "Taking"},
    {"has not", "nightly", TAKING, "{'0':{'role':'','writable':false}" OTHERS_STOPPED "}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE, AGENT_ROLE_NONE, AGENT_MARK_RESEED, "Restoring", "Taking"},
    {"serves", "nightly", TAKING, "{'0':{'restoredNumber':1}" OTHERS_STOPPED "}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_RESEED, false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_RESEED, "Restoring", "Taking"},
    {"others are stale", "nightly", RESEEDING("[1,2]"), "{'0':{'restoredNumber':1}" OTHERS_STOPPED "}",
        RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_RESEED,
        "Degraded", "Reseeding"},
    {"others are not any more", "nightly", RESEEDING("[]"), "{'0':{'restoredNumber':1}" OTHERS_SEEDING "}",
        RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_NONE,
        "Cloning", "Reseeding"},
    {"all follow", "nightly", RESEEDING("[]"), "{'0':{'restoredNumber':1}}", RESTORE_FINDING_NONE,
        IN_PLACE_STEP_COMPLETE, false, AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Reseeding"},
    {"is done once", "nightly", OVER("Completed"), "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false,
        AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Completed"},
    {"has failed once", "nightly", OVER("Failed"), "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_NONE, false,
        AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Failed"},
    {"another wish", "nightly@latest", OVER("Failed"), "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_BEGIN, false,
        AGENT_SEED_NONE, AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Failed"},
    {"is forgotten", "", OVER("Completed"), "{}", RESTORE_FINDING_NONE, IN_PLACE_STEP_FORGET, false, AGENT_SEED_NONE,
        AGENT_ROLE_PRIMARY, AGENT_MARK_NONE, "Healthy", "Completed"},
};

static json_t *parse(const char *text)
{
    _cleanup_(freep) char *copy = xstrdup(text);
    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    json_t *json = json_parse(copy, strlen(copy), NULL);
    if (!json)
        fail_msg("%s", text);
    return json;
}

static json_t *cluster_of(const char *wish, const char *before)
{
    json_t *spec = parse("{'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}}, 'replicas': 3,"
                         "'storage': {'resources': {'requests': {'storage': '1Gi'}}}}");
    json_t *status = parse("{'epoch':3,'currentPrimary':'shop-mysql-0','initialized':true,'semiSync':true}");
    if (before)
        json_object_set_new(status, "restoreInPlace", parse(before));
    return json_build("{s:{s:i, s:{s:s}}, s:o, s:o}", "metadata", "generation", 2, "annotations",
        ANNOTATION_RESTORE_IN_PLACE, wish, "spec", spec, "status", status);
}

static void answer(const struct row *row, struct restore_answer *ret)
{
    *ret = (struct restore_answer){.finding = row->finding};
    snprintf(ret->found.backup, sizeof(ret->found.backup), "b1");
    snprintf(ret->found.reason, sizeof(ret->found.reason), "BackupMissing");
    ret->found.from = parse("{'backup':{'name':'nightly'}}");
}

static void check_orders(const struct row *row, const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xcalloc(1, sizeof(*orders));
    golden_order(snapshot, orders);
    const struct agent_order *first = &orders->orders[0], *second = &orders->orders[1];
    if (!orders->given[0] || first->seed != row->seed || first->role != row->role || second->mark != row->mark)
        fail_msg("%s: seed %d, role %d, mark %d", row->name, (int)first->seed, (int)first->role, (int)second->mark);
    if (first->seed == AGENT_SEED_RESTORE_BESIDE)
        assert_string_equal(first->restore_id, "b1");
    assert_int_equal(first->restore_number, row->seed == AGENT_SEED_NONE ? 0 : 1);
    if (in_place_holds(snapshot) || in_place_is_stale(snapshot, &snapshot->members[1])) {
        assert_int_equal(second->role, AGENT_ROLE_NONE);
        assert_int_equal(second->nobody_stays, !member_is_seeding(&snapshot->members[1]));
    }
    assert_int_equal(second->seed == AGENT_SEED_KEEP, 0);
    free(orders);
}

/* What is written is read back as it was, and then the same step is not taken again. */
static void check_written(const struct row *row, struct golden *golden, const struct cluster_intent *intent)
{
    struct cluster_intent next;
    struct cluster_status after, again;
    cluster_status_copy(&golden->snapshot.last, &after);
    cluster_intent_apply(&golden->snapshot, intent, &after);
    _cleanup_(json_decrefp) json_t *json = cluster_status_encode(&after);
    cluster_status_decode(json, &again);
    assert_true(cluster_status_same(&after, &again));
    if (row->step == IN_PLACE_STEP_TAKE) { /* what was acknowledged before needs nobody's word any more */
        assert_int_equal(after.in_place.stale, 6);
        assert_int_equal(after.in_place.taken_epoch, 4);
        assert_int_equal(after.roles.acknowledgers, 0);
        assert_false(after.roles.semi_sync || after.roles.confirmed.semi_sync);
    }
    cluster_status_release(&golden->snapshot.last);
    golden->snapshot.last = again;
    cluster_intend(&golden->snapshot, false, &next);
    if (row->step != IN_PLACE_STEP_NONE && next.in_place_step == row->step)
        fail_msg("%s: taken twice", row->name);
    cluster_status_release(&after);
}

static void check(const struct row *row, struct golden *golden)
{
    struct cluster_intent intent;
    struct cluster_status status = {0};
    const struct cluster_snapshot *snapshot = &golden->snapshot;
    cluster_intend(snapshot, false, &intent);
    in_place_report(snapshot, &status);
    const struct kube_condition *condition = kube_conditions_find(&status.conditions, CONDITION_RESTORED_IN_PLACE);
    const char *state = cluster_state_names[cluster_state_decide(snapshot)],
               *reason = condition ? condition->reason : NULL;
    bool same_reason = reason == row->reason || str_eq(reason, row->reason);
    if (intent.in_place_step != row->step || (intent.roles.epoch > 3) != row->epoch_rises ||
        !str_eq(state, row->state) || !same_reason)
        fail_msg("%s: step %d, epoch %lld, state %s, RestoredInPlace %s; %s", row->name, intent.in_place_step,
            (long long)intent.roles.epoch, state, reason ? reason : "-", intent.next_action);
    assert_false(cluster_transition_is_set(&intent.roles.transition));
    check_orders(row, snapshot);
    cluster_status_release(&status);
    check_written(row, golden, &intent);
}

static struct golden *make(const char *wish, const char *before, const char *agents)
{
    _cleanup_(json_decrefp) json_t *cluster = cluster_of(wish, before);
    _cleanup_(json_decrefp) json_t *observed =
        parse("{'children': {}, 'pods': {'0': {}, '1': {}, '2': {}}, 'claims': {'0': {}, '1': {}, '2': {}}}");
    json_object_set_new(observed, "agents", parse(agents));
    return golden_new(cluster, observed);
}

static void test_rows(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct golden *golden = make(rows[i].wish, rows[i].before, rows[i].agents);
        struct restore_answer found;
        answer(&rows[i], &found);
        golden->snapshot.restore_answer = &found;
        if (!golden->snapshot.usable)
            fail_msg("%s: %s", rows[i].name, golden->snapshot.message);
        check(&rows[i], golden);
        restore_answer_release(&found);
        golden_free(golden);
    }
}

#define RESOLVING_GTID                                                                      \
    "{'phase':'Resolving','wish':'nightly@0-1-7','number':1,'source':{'phase':'Resolving'," \
    "'from':{'backup':{'name':'nightly'},'gtid':'0-1-7'}}}"

/* Before anybody is closed: what cannot be replayed over a gap that is known is refused. */
static void test_not_over_a_gap(void **state)
{
    UNUSED(state);
    static const struct {
        const char *reason, *binlogs;
        int64_t until_ms;
        bool refused, by_gtid;
    } cases[] = {
        {"Gap", "ns1/shop/binlogs/" GOLDEN_UID, 5000, true, false},
        {"Gap", "ns1/shop/binlogs/" GOLDEN_UID, 4999, false, false}, /* what is before it may be there */
        {"Gap", "ns1/shop/binlogs/" GOLDEN_UID, 0, true, false},     /* all that is archived */
        {"Gap", "ns1/shop/binlogs/" GOLDEN_UID, 0, false, true},     /* it may be before it */
        {"Gap", "ns1/shop/binlogs/another", 5000, false, false},
        {"Gap", "", 0, false, false}, /* a backup as it is */
        {"UpToDate", "ns1/shop/binlogs/" GOLDEN_UID, 5000, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool by_gtid = cases[i].by_gtid;
        struct golden *golden = make(by_gtid ? "nightly@0-1-7" : "nightly", by_gtid ? RESOLVING_GTID : RESOLVING, "{}");
        struct restore_answer found = {.finding = RESTORE_FINDING_BACKUP};
        struct cluster_intent intent;
        snprintf(found.found.backup, sizeof(found.found.backup), "b1");
        snprintf(found.found.binlogs, sizeof(found.found.binlogs), "%s", cases[i].binlogs);
        found.found.until_ms = cases[i].until_ms;
        found.found.from =
            parse(by_gtid ? "{'backup':{'name':'nightly'},'gtid':'0-1-7'}" : "{'backup':{'name':'nightly'}}");
        golden->snapshot.restore_answer = &found;
        snprintf(
            golden->snapshot.last.archive.reason, sizeof(golden->snapshot.last.archive.reason), "%s", cases[i].reason);
        golden->snapshot.last.archive.gap_ms = 5000;
        cluster_intend(&golden->snapshot, false, &intent);
        assert_int_equal(intent.in_place_step, cases[i].refused ? IN_PLACE_STEP_FAIL : IN_PLACE_STEP_RESTORE);
        assert_string_equal(intent.in_place_reason, cases[i].refused ? "GapInArchive" : "");
        restore_answer_release(&found);
        golden_free(golden);
    }
}

/* ---- to a target that cannot be reached ---- */

#define NOW GOLDEN_NOW_MS
#define OWN "ns1/shop/binlogs/" GOLDEN_UID
#define PLACE "{'persistentVolumeClaim':{'claimName':'safe'}}"
#define OTHER_PLACE "{'persistentVolumeClaim':{'claimName':'other'}}"
#define MINUTE_MS (60 * 1000)
#define HOUR_MS (60 * MINUTE_MS)

static const struct target_case {
    const char *name, *binlogs, *destination;
    int64_t until_ms, begun_ms; /* of the wish, of the backup */
    int64_t newest_ms;          /* of the archive, as the primary reports; 0: it does not */
    int64_t since_ms;           /* since when it is wished */
    int64_t agent_ms;           /* the primary's clock */
    enum in_place_step step;
    const char *reason, *says; /* NULL: nothing */
} target_cases[] = {
    {"is archived", OWN, PLACE, NOW - HOUR_MS, NOW - 2 * HOUR_MS, NOW - 5000, 0, NOW, IN_PLACE_STEP_RESTORE, "", NULL},
    {"is archived with its last second", OWN, PLACE, NOW - 5000, NOW - HOUR_MS, NOW - 5000, 0, NOW,
        IN_PLACE_STEP_RESTORE, "", NULL},
    {"all of it", OWN, PLACE, 0, NOW - HOUR_MS, NOW - 5000, 0, NOW, IN_PLACE_STEP_RESTORE, "", NULL},
    {"lies in the future", OWN, PLACE, NOW + 24 * HOUR_MS, NOW - HOUR_MS, NOW - 5000, 0, NOW, IN_PLACE_STEP_FAIL,
        "TargetNotCovered",
        "the archive of binary logs does not reach 2026-02-03T02:40:00Z, which lies in the future: the last "
        "transaction in it is of 2026-02-02T02:39:55Z"},
    {"lies in the future of another cluster", "ns1/other/binlogs/uid", PLACE, NOW + HOUR_MS, NOW - HOUR_MS, NOW - 5000,
        0, NOW, IN_PLACE_STEP_FAIL, "TargetNotCovered",
        "the archive of binary logs does not reach 2026-02-02T03:40:00Z, which lies in the future"},
    {"lies in the future where nothing is archived", OWN, PLACE, NOW + HOUR_MS, NOW - HOUR_MS, 0, 0, NOW,
        IN_PLACE_STEP_FAIL, "TargetNotCovered", NULL},
    {"clocks that differ", OWN, PLACE, NOW + HOUR_MS, NOW - HOUR_MS, NOW + HOUR_MS, 0, NOW + HOUR_MS,
        IN_PLACE_STEP_RESTORE, "", NULL},
    {"clocks that differ, not archived yet", OWN, PLACE, NOW + HOUR_MS, NOW - HOUR_MS, NOW + HOUR_MS - 5000, 0,
        NOW + HOUR_MS, IN_PLACE_STEP_NONE, "", NULL},
    {"has just passed", OWN, PLACE, NOW - 3000, NOW - HOUR_MS, NOW - 5000, 0, NOW, IN_PLACE_STEP_NONE, "", NULL},
    {"is still not archived", OWN, PLACE, NOW - 93000, NOW - HOUR_MS, NOW - 95000, 89999, NOW, IN_PLACE_STEP_NONE, "",
        NULL},
    {"has not been archived for long", OWN, PLACE, NOW - 93000, NOW - HOUR_MS, NOW - 95000, 90000, NOW,
        IN_PLACE_STEP_FAIL, "TargetNotCovered",
        "the archive of binary logs does not reach 2026-02-02T02:38:27Z: the last transaction in it is of "
        "2026-02-02T02:38:25Z"},
    {"was archived elsewhere", OWN, OTHER_PLACE, NOW - 93000, NOW - HOUR_MS, NOW - 95000, 90000, NOW,
        IN_PLACE_STEP_RESTORE, "", NULL},
    {"of another history", OWN "-r1", PLACE, NOW - 93000, NOW - HOUR_MS, NOW - 95000, 90000, NOW, IN_PLACE_STEP_RESTORE,
        "", NULL},
    {"without a word of the archive", OWN, PLACE, NOW - 93000, NOW - HOUR_MS, 0, 90000, NOW, IN_PLACE_STEP_RESTORE, "",
        NULL},
    {"a backup as it is", "", PLACE, 0, NOW - HOUR_MS, NOW - 5000, 0, NOW, IN_PLACE_STEP_RESTORE, "", NULL},
    {"before the backup", OWN, PLACE, NOW - 2 * HOUR_MS, NOW - HOUR_MS, NOW - 5000, 0, NOW, IN_PLACE_STEP_FAIL,
        "BackupTooNew",
        "the backup is later than 2026-02-02T00:40:00Z: it was begun at 2026-02-02T01:40:00Z; an older backup is "
        "needed, or this one as it is, without a time"},
    {"before the backup of another cluster", "ns1/other/binlogs/uid", PLACE, NOW - 2 * HOUR_MS, NOW - HOUR_MS, 0, 0,
        NOW, IN_PLACE_STEP_FAIL, "BackupTooNew", NULL},
    {"just before the backup", OWN, PLACE, NOW - HOUR_MS - MINUTE_MS, NOW - HOUR_MS, NOW - 5000, 0, NOW,
        IN_PLACE_STEP_RESTORE, "", NULL},
    {"a backup that does not tell when", OWN, PLACE, NOW - 2 * HOUR_MS, 0, NOW - 5000, 0, NOW, IN_PLACE_STEP_RESTORE,
        "", NULL},
};

static void check_target(const struct target_case *row)
{
    struct golden *golden = make("nightly", RESOLVING, "{}");
    struct cluster_snapshot *snapshot = &golden->snapshot;
    struct restore_answer found;
    struct cluster_intent intent;
    struct cluster_status status = {0};
    answer(&(struct row){.finding = RESTORE_FINDING_BACKUP}, &found);
    found.begun_ms = row->begun_ms;
    found.found.until_ms = row->until_ms;
    found.found.destination = parse(row->destination);
    snprintf(found.found.binlogs, sizeof(found.found.binlogs), "%s", row->binlogs);
    json_object_set_new(snapshot->cluster.document, "backup", json_build("{s:o}", "destination", parse(PLACE)));
    cluster_restore_release(&snapshot->last.in_place.source);
    cluster_restore_copy(&found.found, &snapshot->last.in_place.source); /* known to be on a volume */
    const struct pod_object pod = {
        .name = "shop-rstore-1", .uid = "u", .role = "store-v1-0123456789abcdef", .pod_ip = "10.0.0.9", .ready = true};
    snapshot->restore_store = &pod;
    snapshot->restore_answer = &found;
    snapshot->last.in_place.start_ms = snapshot->now_ms - row->since_ms;
    golden->agents[0].now_ms = row->agent_ms;
    if (row->newest_ms)
        golden->agents[0].archive = (struct archive_report){.task = "t", .known = true, .newest_ms = row->newest_ms};
    cluster_intend(snapshot, false, &intent);
    in_place_report(snapshot, &status);
    if (intent.in_place_step != row->step || !str_eq(intent.in_place_reason, row->reason) ||
        (row->says && !str_eq(intent.in_place_message, row->says)))
        fail_msg(
            "%s: step %d, %s, %s", row->name, intent.in_place_step, intent.in_place_reason, intent.in_place_message);
    bool waits = row->step == IN_PLACE_STEP_NONE;
    assert_int_equal(waits, strstr(intent.next_action, "binary logs are archived") != NULL);
    assert_string_equal(status.in_place.reason, waits ? "TargetNotCovered" : "");
    assert_true(!waits || (intent.again_ms > 0 && intent.again_ms <= 1000));
    cluster_status_release(&status);
    restore_answer_release(&found);
    golden_free(golden);
}

/* What is known of backup and archive is said while the cluster serves. */
static void test_target_is_there(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(target_cases); i++)
        check_target(&target_cases[i]);
}

/* By GTID the same: the backup has it, the archive has it, or it does not. */
static void test_gtid_is_there(void **state)
{
    UNUSED(state);
    static const struct {
        const char *of_backup, *of_archive;
        int64_t since_ms;
        enum in_place_step step;
    } cases[] = {
        {"0-1-3", "0-1-7", 0, IN_PLACE_STEP_RESTORE},
        {"0-1-3", "0-1-6", 0, IN_PLACE_STEP_NONE},
        {"0-1-3", "0-1-6", 90000, IN_PLACE_STEP_FAIL},
        {"0-1-7", "0-1-6", 90000, IN_PLACE_STEP_RESTORE}, /* there is nothing to replay */
        {"0-1-3", NULL, 90000, IN_PLACE_STEP_RESTORE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct golden *golden = make("nightly@0-1-7", RESOLVING_GTID, "{}");
        struct restore_answer found = {.finding = RESTORE_FINDING_BACKUP};
        struct cluster_intent intent;
        found.found.from = parse("{'backup':{'name':'nightly'},'gtid':'0-1-7'}");
        snprintf(found.found.backup, sizeof(found.found.backup), "b1");
        snprintf(found.found.binlogs, sizeof(found.found.binlogs), OWN);
        snprintf(found.found.gtid, sizeof(found.found.gtid), "%s", cases[i].of_backup);
        struct archive_report *archive = &golden->agents[0].archive;
        if (cases[i].of_archive) {
            *archive = (struct archive_report){.task = "t", .known = true};
            snprintf(archive->until_gtid, sizeof(archive->until_gtid), "%s", cases[i].of_archive);
        }
        golden->snapshot.restore_answer = &found;
        golden->snapshot.last.in_place.start_ms = golden->snapshot.now_ms - cases[i].since_ms;
        cluster_intend(&golden->snapshot, false, &intent);
        assert_int_equal(intent.in_place_step, cases[i].step);
        restore_answer_release(&found);
        golden_free(golden);
    }
}

#define VOLUME "{'persistentVolumeClaim':{'claimName':'safe'}}"
#define ON_VOLUME                                                                                                        \
    "{'phase':'Resolving','wish':'nightly','number':1,'source':{'phase':'Resolving','backup':'b1','destination':" VOLUME \
    ",'from':{'backup':{'name':'nightly'}}}}"
#define LATER_ON_VOLUME                                                                                       \
    "{'phase':'Restoring','wish':'nightly','number':1,'member':'shop-mysql-0','source':{'phase':'Restoring'," \
    "'backup':'b1','destination':" VOLUME ",'from':{'backup':{'name':'nightly'}}}}"
static const struct store_case {
    const char *name, *wish, *before;
    bool there, serves, understood;
    enum in_place_step step;
    bool makes;
    const char *says;
} store_cases[] = {
    {"it is not known where it is", "nightly", RESOLVING, false, false, false, IN_PLACE_STEP_FOUND, false, ""},
    {"there is no pod", "nightly", ON_VOLUME, false, false, false, IN_PLACE_STEP_NONE, true, "StoreUnavailable"},
    {"it begins", "nightly", ON_VOLUME, true, false, true, IN_PLACE_STEP_NONE, false, "StoreUnavailable"},
    {"it is of another version", "nightly", ON_VOLUME, true, true, false, IN_PLACE_STEP_NONE, false, "StoreUnavailable"},
    {"it serves", "nightly", ON_VOLUME, true, true, true, IN_PLACE_STEP_RESTORE, false, ""},
    {"it is lost then", "nightly", LATER_ON_VOLUME, true, false, true, IN_PLACE_STEP_NONE, false, "StoreUnavailable"},
    {"it is read from", "nightly", LATER_ON_VOLUME, true, true, true, IN_PLACE_STEP_NONE, false, ""},
    {"taken back", "", ON_VOLUME, true, false, true, IN_PLACE_STEP_FAIL, false, "StoreUnavailable"},
};

static void check_store(const struct store_case *row)
{
    struct golden *golden = make(
        row->wish, row->before, str_eq(row->before, LATER_ON_VOLUME) ? "{'0':{" SEEDING "}" OTHERS_STOPPED "}" : "{}");
    struct cluster_intent intent;
    struct cluster_status status = {0};
    struct restore_answer found;
    struct plan *plan = plan_new();
    const struct pod_object pod = {.name = "shop-rstore-1",
        .uid = "u",
        .role = row->understood ? "store-v1-0123456789abcdef" : "store-0123456789abcdef",
        .pod_ip = "10.0.0.9",
        .scheduled = true,
        .ready = row->serves,
        .problem_message = "it is Pending"};
    answer(&(struct row){.finding = RESTORE_FINDING_BACKUP}, &found);
    found.found.destination = parse(VOLUME);
    golden->snapshot.restore_answer = &found;
    golden->snapshot.restore_store = row->there ? &pod : NULL;
    cluster_intend(&golden->snapshot, false, &intent);
    in_place_report(&golden->snapshot, &status);
    restore_store_decide(&golden->snapshot, plan);
    bool makes = !plan_is_empty(plan);
    bool begins = intent.roles.epoch > 3;
    if (intent.in_place_step != row->step || begins != (row->step == IN_PLACE_STEP_RESTORE) ||
        !str_eq(status.in_place.reason, row->says) || (!row->there && makes != row->makes))
        fail_msg("%s: step %d, %s, makes %d", row->name, intent.in_place_step, status.in_place.reason, makes);
    bool tells = row->step == IN_PLACE_STEP_NONE && *row->says;
    if (tells && !strstr(intent.next_action, "which serves the volume"))
        fail_msg("%s: %s", row->name, intent.next_action);
    cluster_status_release(&status);
    plan_free(plan);
    restore_answer_release(&found);
    golden_free(golden);
}

/* What it reads from, on a volume, is made and serves before anything is closed. */
static void test_store_comes_first(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(store_cases); i++)
        check_store(&store_cases[i]);
}

/* Whose pod is replaced, and whether it need not wait for somebody to take over. Once: the server on the restored data
 * is left alone, however long it starts. */
static void test_who_leaves(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name, *before, *agents;
        bool leaves, goes_at_once;
    } cases[] = {
        {"is open", RESTORING, "{}", false, true},
        {"has closed", RESTORING, "{'0':{" STOPPED "}" OTHERS_STOPPED "}", true, true},
        {"restores beside", RESTORING, "{'0':{" SEEDING "}" OTHERS_STOPPED "}", false, false},
        {"has not taken it", TAKING, "{'0':{" STOPPED "}" OTHERS_STOPPED "}", true, true},
        {"has that of an earlier wish", TAKING, "{'0':{" STOPPED ",'restoredNumber':7}" OTHERS_STOPPED "}", true, true},
        {"its server starts", TAKING, "{'0':{" STOPPED ",'phase':'Starting','restoredNumber':1}" OTHERS_STOPPED "}",
            false, false},
        {"its server has ended", TAKING, "{'0':{" STOPPED ",'phase':'Down','restoredNumber':1}" OTHERS_STOPPED "}",
            false, false},
        {"its server runs", TAKING, "{'0':{" STOPPED ",'restoredNumber':1}" OTHERS_STOPPED "}", false, false},
        {"serves", RESEEDING("[1,2]"), "{'0':{'restoredNumber':1}" OTHERS_STOPPED "}", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct golden *golden = make("nightly", cases[i].before, cases[i].agents);
        struct cluster_orders *orders = xcalloc(1, sizeof(*orders));
        golden_order(&golden->snapshot, orders);
        const struct cluster_member *leaver = in_place_leaver(&golden->snapshot);
        bool leaves = leaver == &golden->snapshot.members[0];
        if (leaves != cases[i].leaves || orders->orders[0].nobody_stays != cases[i].goes_at_once)
            fail_msg("%s: leaves %d, at once %d", cases[i].name, leaves, orders->orders[0].nobody_stays);
        free(orders);
        golden_free(golden);
    }
}

/* The status after what the round intends. */
static void apply(const struct golden *golden, struct cluster_status *ret)
{
    struct cluster_intent intent;
    cluster_intend(&golden->snapshot, false, &intent);
    cluster_status_copy(&golden->snapshot.last, ret);
    cluster_intent_apply(&golden->snapshot, &intent, ret);
}

/* Who is listed as stale, and says what only who has been seeded since can say, is not. */
static void test_who_is_stale(void **state)
{
    UNUSED(state);
#define TAKEN_UNDER_2 \
    "{'phase':'Reseeding','wish':'nightly','number':1,'taken':1,'takenEpoch':2,'stale':[1,2],'member':'shop-mysql-0'}"
    static const struct {
        const char *name, *before, *agents;
        uint64_t stale;
    } cases[] = {
        {"of before", RESEEDING("[1,2]"), "{'1':{'appliedEpoch':2},'2':{'appliedEpoch':0}}", 6},
        {"silent", RESEEDING("[1,2]"), "{'1':null,'2':null}", 6},
        {"has applied", RESEEDING("[1,2]"), "{'2':{'appliedEpoch':2}}", 4},
        {"was opened", RESEEDING("[1,2]"), "{'1':{'appliedEpoch':2},'2':{'appliedEpoch':0,'openedEpoch':3}}", 2},
        {"has applied under the epoch of the take", TAKEN_UNDER_2, "{'1':{'appliedEpoch':2},'2':{'appliedEpoch':1}}", 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct golden *golden = make("nightly", cases[i].before, cases[i].agents);
        struct cluster_orders *orders = xcalloc(1, sizeof(*orders));
        struct cluster_status after;
        golden_order(&golden->snapshot, orders);
        apply(golden, &after);
        for (int m = 1; m <= 2; m++) {
            bool is_told = orders->orders[m].mark == AGENT_MARK_RESEED;
            bool is_listed = (cases[i].stale >> m & 1) && member_speaks(&golden->snapshot.members[m]);
            if (after.in_place.stale != cases[i].stale || is_told != is_listed)
                fail_msg(
                    "%s: %d: stale %llx, told %d", cases[i].name, m, (unsigned long long)after.in_place.stale, is_told);
        }
        cluster_status_release(&after);
        free(orders);
        golden_free(golden);
    }
}

/* Volumes that were kept bring numbers along: of another cluster of this name, which began at 1, too. */
static void test_numbers(void **state)
{
    UNUSED(state);
    static const struct {
        const char *before, *agents;
        enum in_place_phase phase;
        int64_t number;
    } cases[] = {
        {NULL, "{}", IN_PLACE_PHASE_RESOLVING, 1},
        {NULL, "{'0':{'restoredNumber':1}}", IN_PLACE_PHASE_RESOLVING, 2},
        {NULL, "{'2':{'restoredNumber':4}}", IN_PLACE_PHASE_RESOLVING, 5},
        {NULL, "{'1':{" SEEDING ",'data':'Database','besideNumber':6}}", IN_PLACE_PHASE_RESOLVING, 7},
        {NULL, "{'2':{'restoredNumber':9223372036854775807}}", IN_PLACE_PHASE_RESOLVING, 1},
        {RESOLVING, "{}", IN_PLACE_PHASE_RESTORING, 1},
        {RESOLVING, "{'0':{'restoredNumber':1}}", IN_PLACE_PHASE_RESTORING, 2}, /* who was silent when it was begun */
        {RESOLVING, "{'2':{'restoredNumber':8}}", IN_PLACE_PHASE_RESTORING, 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct golden *golden = make("nightly", cases[i].before, cases[i].agents);
        struct restore_answer found;
        struct cluster_status after;
        answer(&(struct row){.finding = RESTORE_FINDING_BACKUP}, &found);
        golden->snapshot.restore_answer = &found;
        apply(golden, &after);
        assert_int_equal(after.in_place.phase, cases[i].phase);
        assert_int_equal(after.in_place.number, cases[i].number);
        cluster_status_release(&after);
        restore_answer_release(&found);
        golden_free(golden);
    }
}

/* What somebody has to do about a wish that came to nothing. */
static void test_remedy(void **state)
{
    UNUSED(state);
    static const struct {
        const char *wish, *before, *says; /* NULL: nothing */
    } cases[] = {
        {"nightly", OVER("Failed"), "take annotation kubemysql.dev/restore-in-place away; set it again once"},
        {"other", OVER("Failed"), NULL}, /* is about to begin */
        {"", OVER("Failed"), NULL},
        {"nightly", OVER("Completed"), NULL},
        {"nightly", RESTORING, NULL},
        {"Nightly", NULL, "correct annotation kubemysql.dev/restore-in-place, or take it away: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[512] = "";
        struct golden *golden = make(cases[i].wish, cases[i].before, "{}");
        bool says = in_place_remedy(&golden->snapshot, text, sizeof(text));
        if (says != (cases[i].says != NULL) || (says && !strstr(text, cases[i].says)))
            fail_msg("case %zu: %s", i, text);
        golden_free(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_not_over_a_gap),
        cmocka_unit_test(test_target_is_there), cmocka_unit_test(test_gtid_is_there),
        cmocka_unit_test(test_store_comes_first), cmocka_unit_test(test_who_leaves), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_who_is_stale), cmocka_unit_test(test_remedy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
