/* SPDX-License-Identifier: Apache-2.0 */
/* A status of the past that is of the time of a restore in place: what it becomes, and what is ordered then. The status
 * is of epoch 4; since then the restore has ended, and rows have been written. */
#include "common/base.h"

#include "operator/cluster/restore/in_place_past.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define SOURCE "'source':{'phase':'Restoring','backup':'b1','from':{'backup':{'name':'nightly'}}}"
#define NUMBER "'wish':'nightly','number':1"
#define RESOLVING "{'phase':'Resolving'," NUMBER ",'source':{'phase':'Resolving','from':{'backup':{'name':'nightly'}}}}"
#define RESTORING "{'phase':'Restoring'," NUMBER ",'member':'shop-mysql-0'," SOURCE "}"
#define TAKEN(phase) "{'phase':'" phase "'," NUMBER ",'taken':1,'stale':[1,2],'member':'shop-mysql-0'," SOURCE "}"
#define COMPLETED "{'phase':'Completed'," NUMBER ",'taken':1,'takenEpoch':4,'member':'shop-mysql-0'," SOURCE "}"
#define FAILED "{'phase':'Failed','reason':'StatusOutdated'," NUMBER ",'taken':1,'takenEpoch':4,'stale':[2]," SOURCE "}"

/* What members say. */
#define OPEN(epoch, gtid, more)                                                \
    "{'role':'primary','writable':true,'epoch':" epoch ",'openedEpoch':" epoch \
    ",'semiSync':true,'gtidExecuted':'" gtid "','serverId':1001" more "}"
#define FOLLOWS(n, epoch, gtid, more)                                                                    \
    "{'role':'replica','writable':false,'receiver':'Running','applier':'Running','epoch':" epoch         \
    ",'appliedEpoch':" epoch ",'sourceHost':'shop-mysql-" n ".shop-mysql.ns1.svc','gtidExecuted':'" gtid \
    "','gtidReceived':'" gtid "'" more "}"
#define NOTHING(epoch, more) \
    "{'role':'','writable':false,'receiver':'Off','applier':'Off','sourceHost':'','epoch':" epoch more "}"
#define SEEDING(epoch, more) \
    "{'phase':'Seeding','role':'','appliedEpoch':0,'writable':false,'receiver':'','applier':'','epoch':" epoch more "}"
/* 1 is primary by now, and commits were acknowledged by 2; 0 lags. */
#define MOVED                                                                    \
    "{'0':" FOLLOWS("1", "9", "0-1001-150", ",'restoredNumber':1") ",'1':" OPEN( \
        "9", "0-1001-200", "") ",'2':" FOLLOWS("1", "9", "0-1001-200", "") "}"
/* Likewise, and 0 was copied since. */
#define COPIED                                                                                       \
    "{'0':" FOLLOWS("1", "9", "0-1001-200", "") ",'1':" OPEN("9", "0-1001-200", "") ",'2':" FOLLOWS( \
        "1", "9", "0-1001-200", "") "}"
/* 0 is primary still. */
#define SAME(third) \
    "{'0':" OPEN("6", "0-1000-200", ",'restoredNumber':1") ",'1':" FOLLOWS("0", "6", "0-1000-200", "") ",'2':" third "}"
#define SAME_ALL SAME(FOLLOWS("0", "6", "0-1000-200", ""))
/* As the operator left it while data was taken; a volume of another life has come since. */
#define LEFT(taker, second) "{'0':" taker ",'1':" second ",'2':" NOTHING("12", ",'appliedEpoch':2") "}"
#define LEFT_ALONE NOTHING("4", ",'appliedEpoch':3")

static const struct row {
    const char *name, *wish, *before, *agents;
    enum in_place_step step;
    bool fails_over;
    uint64_t stale; /* by the status then, as are number and taken */
    int64_t number, taken;
    enum agent_role roles[2]; /* of members 0 and 1, in the next round */
    enum agent_mark mark;     /* of member 2 then */
} rows[] = {
    {"taking", "nightly", TAKEN("Taking"), MOVED, IN_PLACE_STEP_REFUSE, true, 0, 1, 1,
        {AGENT_ROLE_REPLICA, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"taking, the same is primary", "nightly", TAKEN("Taking"), SAME_ALL, IN_PLACE_STEP_REFUSE, false, 0, 1, 1,
        {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"reseeding", "nightly", TAKEN("Reseeding"), MOVED, IN_PLACE_STEP_REFUSE, true, 0, 1, 1,
        {AGENT_ROLE_REPLICA, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"reseeding, the same is primary", "nightly", TAKEN("Reseeding"), SAME_ALL, IN_PLACE_STEP_REFUSE, false, 0, 1, 1,
        {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"one is of before still", "nightly", TAKEN("Reseeding"), SAME(NOTHING("3", ",'appliedEpoch':3")),
        IN_PLACE_STEP_REFUSE, false, 4, 1, 1, {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_RESEED},
    {"one is silent", "nightly", TAKEN("Reseeding"), SAME("null"), IN_PLACE_STEP_REFUSE, false, 4, 1, 1,
        {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"one has not started its server", "nightly", TAKEN("Reseeding"), SAME(SEEDING("6", ",'data':'Database'")),
        IN_PLACE_STEP_REFUSE, false, 4, 1, 1, {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"restoring, it was taken", "nightly", RESTORING, MOVED, IN_PLACE_STEP_REFUSE, true, 0, 1, 1,
        {AGENT_ROLE_REPLICA, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"restoring, nothing shows that it was taken", "nightly", RESTORING, COPIED, IN_PLACE_STEP_REFUSE, true, 0, 1, 0,
        {AGENT_ROLE_REPLICA, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"restoring, and the annotation is gone", "", RESTORING, MOVED, IN_PLACE_STEP_REFUSE, true, 0, 1, 1,
        {AGENT_ROLE_REPLICA, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"resolving", "nightly", RESOLVING, SAME_ALL, IN_PLACE_STEP_REFUSE, false, 0, 1, 1,
        {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"before it was begun", "nightly", NULL, SAME_ALL, IN_PLACE_STEP_REFUSE, false, 0, 1, 0,
        {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"before the next was begun", "weekly", COMPLETED, SAME_ALL, IN_PLACE_STEP_REFUSE, false, 0, 1, 1,
        {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"over", "nightly", COMPLETED, SAME_ALL, IN_PLACE_STEP_NONE, false, 0, 1, 1,
        {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA}, AGENT_MARK_NONE},
    {"none", "", NULL, SAME_ALL, IN_PLACE_STEP_NONE, false, 0, 0, 0, {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA},
        AGENT_MARK_NONE},
    /* Nobody has gone on from there. */
    {"is being taken", "nightly", TAKEN("Taking"), LEFT(SEEDING("4", ",'besideNumber':1"), LEFT_ALONE),
        IN_PLACE_STEP_NONE, false, 6, 1, 1, {AGENT_ROLE_NONE, AGENT_ROLE_NONE}, AGENT_MARK_RESEED},
    {"has been taken", "nightly", TAKEN("Taking"), LEFT(NOTHING("4", ",'restoredNumber':1"), LEFT_ALONE),
        IN_PLACE_STEP_NONE, false, 6, 1, 1, {AGENT_ROLE_PRIMARY, AGENT_ROLE_NONE}, AGENT_MARK_RESEED},
    {"it was told something later", "nightly", TAKEN("Taking"), LEFT(NOTHING("5", ",'restoredNumber':1"), LEFT_ALONE),
        IN_PLACE_STEP_REFUSE, true, 6, 1, 1, {AGENT_ROLE_REPLICA, AGENT_ROLE_NONE}, AGENT_MARK_RESEED},
    {"another one was opened", "nightly", TAKEN("Taking"),
        LEFT(NOTHING("4", ",'restoredNumber':1"), NOTHING("4", ",'openedEpoch':5")), IN_PLACE_STEP_REFUSE, true, 4, 1,
        1, {AGENT_ROLE_REPLICA, AGENT_ROLE_REPLICA}, AGENT_MARK_RESEED},
    {"another one is silent", "nightly", TAKEN("Taking"), LEFT(NOTHING("4", ",'restoredNumber':1"), "null"),
        IN_PLACE_STEP_NONE, false, 6, 1, 1, {AGENT_ROLE_NONE, AGENT_ROLE_NONE}, AGENT_MARK_NONE},
    {"it bears another number", "nightly", TAKEN("Taking"), LEFT(NOTHING("4", ",'restoredNumber':3"), LEFT_ALONE),
        IN_PLACE_STEP_REFUSE, true, 6, 3, 3, {AGENT_ROLE_REPLICA, AGENT_ROLE_NONE}, AGENT_MARK_RESEED},
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

static json_t *spec_of(void)
{
    return parse("{'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}}, 'replicas': 3,"
                 "'storage': {'resources': {'requests': {'storage': '1Gi'}}}}");
}

static struct golden *make(const char *wish, json_t *status, const char *agents)
{
    _cleanup_(json_decrefp) json_t *cluster = json_build("{s:{s:i, s:{s:s}}, s:o, s:o}", "metadata", "generation", 2,
        "annotations", ANNOTATION_RESTORE_IN_PLACE, wish, "spec", spec_of(), "status", status);
    _cleanup_(json_decrefp) json_t *observed =
        parse("{'children': {}, 'pods': {'0': {}, '1': {}, '2': {}}, 'claims': {'0': {}, '1': {}, '2': {}}}");
    json_object_set_new(observed, "agents", parse(agents));
    return golden_new(cluster, observed);
}

/* Of epoch 4, or as it is given. */
static struct golden *make_past(const char *wish, const char *before, const char *agents)
{
    json_t *status = parse(
        "{'epoch':4,'currentPrimary':'shop-mysql-0','initialized':true,'semiSync':true,'acks':1,"
        "'acknowledgers':[1,2],'confirmed':{'semiSync':true,'acks':1},'reigns':[{'epoch':2,'primary':'shop-mysql-0',"
        "'origin':'900','floor':'0-900-100','opened':true}]}");
    if (before)
        json_object_set_new(status, "restoreInPlace", parse(before));
    return make(wish, status, agents);
}

/* Puts the status after a round in the place of the one before. */
static void take_round(struct golden *golden, struct cluster_intent *intent)
{
    struct cluster_snapshot *snapshot = &golden->snapshot;
    struct cluster_status after, again;
    cluster_intend(snapshot, false, intent);
    cluster_status_copy(&snapshot->last, &after);
    cluster_intent_apply(snapshot, intent, &after);
    _cleanup_(json_decrefp) json_t *json = cluster_status_encode(&after);
    cluster_status_decode(json, &again);
    assert_true(cluster_status_same(&after, &again));
    cluster_status_release(&after);
    cluster_status_release(&snapshot->last);
    snapshot->last = again;
}

static void check_orders(const struct row *row, const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xcalloc(1, sizeof(*orders));
    struct cluster_intent next;
    cluster_intend(snapshot, false, &next);
    cluster_order(snapshot, &next, orders);
    for (int i = 0; i < 2; i++) {
        if (orders->orders[i].role != row->roles[i])
            fail_msg("%s: role of %d is %d", row->name, i, (int)orders->orders[i].role);
    }
    if (orders->orders[2].mark != row->mark)
        fail_msg("%s: mark of 2 is %d", row->name, (int)orders->orders[2].mark);
    if (next.in_place_step != IN_PLACE_STEP_NONE && !str_empty(row->wish))
        fail_msg("%s: then step %d", row->name, (int)next.in_place_step);
    const struct cluster_member *third = &snapshot->members[2];
    if (member_is_seeding(third))
        assert_int_equal(orders->orders[2].seed, AGENT_SEED_KEEP);
    free(orders);
}

static void check(const struct row *row)
{
    struct golden *golden = make_past(row->wish, row->before, row->agents);
    const struct cluster_snapshot *snapshot = &golden->snapshot;
    const struct cluster_in_place *now = &snapshot->last.in_place;
    struct cluster_intent intent;
    assert_null(in_place_leaver(snapshot));
    take_round(golden, &intent);
    bool ends = row->step == IN_PLACE_STEP_REFUSE;
    if (intent.in_place_step != row->step || intent.roles.transition.failover != row->fails_over ||
        now->stale != row->stale || now->number != row->number || now->taken != row->taken)
        fail_msg("%s: step %d, failover %d, stale %llx, number %lld, taken %lld; %s", row->name,
            (int)intent.in_place_step, intent.roles.transition.failover, (unsigned long long)now->stale,
            (long long)now->number, (long long)now->taken, intent.next_action);
    assert_int_equal(ends, now->phase == IN_PLACE_PHASE_FAILED && str_eq(now->reason, "StatusOutdated"));
    assert_true(!ends || !snapshot->last.roles.confirmed.semi_sync);
    if (ends)
        assert_string_equal(now->wish, str_empty(row->wish) ? "nightly" : row->wish);
    check_orders(row, snapshot);
    golden_free(golden);
}

static void test_rows(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(&rows[i]);
}

/* Positions of the old data are no measure for the new; unless it is not known that there is any. */
static void test_reigns(void **state)
{
    UNUSED(state);
    static const struct {
        const char *before, *agents, *floor;
        int count;
    } cases[] = {
        {RESTORING, MOVED, "", 1},
        {RESTORING, COPIED, "0-900-100", 2},
        {RESTORING, SAME_ALL, "", 0},
        {RESOLVING, MOVED, "0-900-100", 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct golden *golden = make_past("nightly", cases[i].before, cases[i].agents);
        struct cluster_intent intent;
        take_round(golden, &intent);
        const struct cluster_role_status *roles = &golden->snapshot.last.roles;
        assert_int_equal(roles->reigns.count, cases[i].count);
        assert_string_equal(str_or_empty(roles->transition.position), cases[i].floor);
        golden_free(golden);
    }
}

/* Who is not surely of after the restore keeps nobody from a failover, but is not counted on: neither elected nor
 * waited for once it says of which time it is. */
static void test_who_is_asked(void **state)
{
    UNUSED(state);
    static const struct {
        const char *third;
        uint64_t acknowledgers;
    } cases[] = {
        {NOTHING("6", ",'appliedEpoch':3"), 2},
        {NOTHING("6", ",'appliedEpoch':4"), 6},
        {SEEDING("6", ",'data':'Database'"), 6},
        {"null", 6},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(freep) char *agents =
            xasprintf("{'0':null,'1':" FOLLOWS("0", "6", "0-1000-200", "") ",'2':%s}", cases[i].third);
        json_t *status = parse("{'epoch':6,'currentPrimary':'shop-mysql-0','initialized':true,'semiSync':true,'acks':1,"
                               "'acknowledgers':[1,2],'transition':{'from':'shop-mysql-0','to':'','failover':true,"
                               "'epoch':6,'reason':'MemberLost','startTime':'2026-02-02T02:40:00Z'}}");
        json_object_set_new(status, "restoreInPlace", parse(FAILED));
        struct golden *golden = make("nightly", status, agents);
        struct cluster_intent intent;
        cluster_intend(&golden->snapshot, false, &intent);
        assert_int_equal(intent.roles.acknowledgers, cases[i].acknowledgers);
        assert_false(in_place_is_under_way(&golden->snapshot));
        golden_free(golden);
    }
}

/* A cluster made on volumes, or anew: the annotation was in its manifest. */
static void test_wish_of_old(void **state)
{
    UNUSED(state);
#define HOLDS \
    "{"       \
    "'phase':'Running','role':'','writable':false,'epoch':9,'gtidExecuted':'0-1000-200','restoredNumber':2}"
#define EMPTY "{'phase':'Seeding','role':'','writable':false,'ready':false,'data':'Empty','epoch':0}"
    static const struct {
        const char *wish, *agents, *reason;
        int64_t number;
    } cases[] = {
        {"nightly", "{'0':" HOLDS ",'1':" HOLDS ",'2':" HOLDS "}", "WishOlderThanCluster", 2},
        {"nightly", "{'0':" EMPTY ",'1':" EMPTY ",'2':" EMPTY "}", "", 0},
        {"Nightly", "{'0':" HOLDS ",'1':" HOLDS ",'2':" HOLDS "}", "", 0},
        {"", "{'0':" HOLDS ",'1':" HOLDS ",'2':" HOLDS "}", "", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct golden *golden = make(cases[i].wish, parse("{'epoch':0}"), cases[i].agents);
        struct cluster_snapshot *snapshot = &golden->snapshot;
        struct cluster_intent intent;
        struct cluster_status status = {0};
        take_round(golden, &intent);
        assert_string_equal(snapshot->last.roles.current_primary, "shop-mysql-0");
        assert_string_equal(snapshot->last.in_place.reason, cases[i].reason);
        assert_int_equal(snapshot->last.in_place.number, cases[i].number);
        in_place_report(snapshot, &status);
        const struct kube_condition *condition = kube_conditions_find(&status.conditions, CONDITION_RESTORED_IN_PLACE);
        assert_true(!*cases[i].reason || (condition && str_eq(condition->reason, cases[i].reason)));
        cluster_status_release(&status);
        golden_free(golden);
    }
}

/* What was refused is carried out once it has been taken away and set again, or is another one. */
static void test_wish_set_again(void **state)
{
    UNUSED(state);
#define REFUSED(wish) "{'phase':'Failed','reason':'WishOlderThanCluster','number':2" wish "}"
    static const struct {
        const char *wish, *before;
        enum in_place_step step;
        bool says;
    } cases[] = {
        {"nightly", REFUSED(",'wish':'nightly'"), IN_PLACE_STEP_NONE, true},
        {"", REFUSED(",'wish':'nightly'"), IN_PLACE_STEP_FORGET, false},
        {"nightly", REFUSED(""), IN_PLACE_STEP_BEGIN, false},
        {"weekly", REFUSED(",'wish':'nightly'"), IN_PLACE_STEP_BEGIN, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct golden *golden = make_past(cases[i].wish, cases[i].before, "{}");
        struct cluster_intent intent;
        take_round(golden, &intent);
        assert_int_equal(intent.in_place_step, cases[i].step);
        assert_int_equal(strstr(intent.next_action, "take it away, and set it again") != NULL, cases[i].says);
        assert_int_equal(golden->snapshot.last.in_place.number, cases[i].step == IN_PLACE_STEP_BEGIN ? 3 : 2);
        golden_free(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_reigns),
        cmocka_unit_test(test_who_is_asked), cmocka_unit_test(test_wish_of_old), cmocka_unit_test(test_wish_set_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
