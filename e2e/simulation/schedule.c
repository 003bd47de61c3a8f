/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/schedule.h"

#include <jansson.h>

const char *const violation_names[VIOLATION_COUNT] = {[VIOLATION_NONE] = "none",
    [VIOLATION_LOST] = "lost",
    [VIOLATION_TWO_OPEN] = "twoOpen",
    [VIOLATION_TWO_TXNS] = "oneGtidTwoTransactions",
    [VIOLATION_SET_ASIDE] = "acknowledgedSetAside",
    [VIOLATION_EPOCH] = "epochFell",
    [VIOLATION_STUCK] = "stuck",
    [VIOLATION_GTIDS] = "gtidsSaidToBeLost",
    [VIOLATION_UNEQUAL] = "unequal"};

const char *const fault_names[FAULT_KIND_COUNT] = {[FAULT_SERVER_KILLED] = "serverKilled",
    [FAULT_SERVER_FROZEN] = "serverFrozen",
    [FAULT_ALL_SERVERS_KILLED] = "allServersKilled",
    [FAULT_AGENT_KILLED] = "agentKilled",
    [FAULT_AGENT_FROZEN] = "agentFrozen",
    [FAULT_MEMBER_FROZEN] = "memberFrozen",
    [FAULT_NODE_LOST] = "nodeLost",
    [FAULT_POD_DELETED] = "podDeleted",
    [FAULT_POD_FORCED] = "podForced",
    [FAULT_VOLUME_LOST] = "volumeLost",
    [FAULT_LINK_CUT] = "linkCut",
    [FAULT_LINK_ONE_WAY] = "linkOneWay",
    [FAULT_MEMBER_CUT] = "memberCut",
    [FAULT_REPLICATION_CUT] = "replicationCut",
    [FAULT_OPERATOR_KILLED] = "operatorKilled",
    [FAULT_OPERATOR_FROZEN] = "operatorFrozen",
    [FAULT_OPERATORS_KILLED] = "operatorsKilled",
    [FAULT_CACHE_OLD] = "cacheOld",
    [FAULT_API_AWAY] = "apiAway",
    [FAULT_API_SLOW] = "apiSlow",
    [FAULT_SWITCHOVER] = "switchover",
    [FAULT_SCALE] = "scale",
    [FAULT_HIBERNATE] = "hibernate",
    [FAULT_ROLL] = "roll",
    [FAULT_RECREATE] = "recreate",
    [FAULT_APPLIER_STUCK] = "applierStuck",
    [FAULT_ERRANT] = "errant",
    [FAULT_DDL_KILLED] = "ddlKilled",
    [FAULT_LOSS_ALLOWED] = "lossAllowed",
    [FAULT_CONFIRMED_LOST] = "confirmedLost",
    [FAULT_STATUS_PAST] = "statusPast",
    [FAULT_STATUS_UNLISTED] = "statusUnlisted",
    [FAULT_SEMI_SYNC_OFF] = "semiSyncOff",
    [FAULT_SEMI_SYNC_TIMEOUT] = "semiSyncTimeout",
    [FAULT_COMMITS_KILLED] = "commitsKilled",
    [FAULT_VOLUME_FILLS] = "volumeFills",
    [FAULT_VOLUME_FULL] = "volumeFull",
    [FAULT_TABLES_LOCKED] = "tablesLocked",
    [FAULT_LONG_TRANSACTION] = "longTransaction",
    [FAULT_PAUSED] = "paused",
    [FAULT_FAILOVER_OFF] = "failoverOff",
    [FAULT_PRIMARY_WISHED] = "primaryWished",
    [FAULT_SPEC_REFUSED] = "specRefused",
    [FAULT_STATUS_OLD] = "statusOld",
};

const char *const when_names[WHEN_COUNT] = {[WHEN_AT_ONCE] = "",
    [WHEN_TRANSITION] = "transition",
    [WHEN_NOBODY_CHOSEN] = "nobodyChosen",
    [WHEN_CHOSEN] = "chosen",
    [WHEN_SALVAGE] = "salvage",
    [WHEN_OPENED] = "opened",
    [WHEN_LET_GO] = "letGo",
    [WHEN_JOINING] = "joining"};

static const char *const target_names[] = {"", "primary", "to", "from", "replica", "open"};

/* How often each comes. */
static const int weights[FAULT_KIND_COUNT] = {[FAULT_SERVER_KILLED] = 16,
    [FAULT_SERVER_FROZEN] = 4,
    [FAULT_ALL_SERVERS_KILLED] = 6,
    [FAULT_AGENT_KILLED] = 5,
    [FAULT_AGENT_FROZEN] = 3,
    [FAULT_MEMBER_FROZEN] = 4,
    [FAULT_NODE_LOST] = 4,
    [FAULT_POD_DELETED] = 5,
    [FAULT_POD_FORCED] = 3,
    [FAULT_VOLUME_LOST] = 2,
    [FAULT_LINK_CUT] = 4,
    [FAULT_LINK_ONE_WAY] = 4,
    [FAULT_MEMBER_CUT] = 4,
    [FAULT_REPLICATION_CUT] = 3,
    [FAULT_OPERATOR_KILLED] = 4,
    [FAULT_OPERATOR_FROZEN] = 2,
    [FAULT_OPERATORS_KILLED] = 2,
    [FAULT_CACHE_OLD] = 2,
    [FAULT_API_AWAY] = 2,
    [FAULT_API_SLOW] = 2,
    [FAULT_SWITCHOVER] = 9,
    [FAULT_SCALE] = 2,
    [FAULT_HIBERNATE] = 1,
    [FAULT_ROLL] = 1,
    [FAULT_RECREATE] = 1,
    [FAULT_APPLIER_STUCK] = 8,
    [FAULT_ERRANT] = 3,
    [FAULT_DDL_KILLED] = 3,
    [FAULT_LOSS_ALLOWED] = 1,
    [FAULT_CONFIRMED_LOST] = 1,
    [FAULT_STATUS_PAST] = 1,
    [FAULT_STATUS_UNLISTED] = 1,
    [FAULT_SEMI_SYNC_OFF] = 3,
    [FAULT_SEMI_SYNC_TIMEOUT] = 3,
    [FAULT_COMMITS_KILLED] = 3,
    [FAULT_VOLUME_FILLS] = 3,
    [FAULT_VOLUME_FULL] = 3,
    [FAULT_TABLES_LOCKED] = 2,
    [FAULT_LONG_TRANSACTION] = 2,
    [FAULT_PAUSED] = 1,
    [FAULT_FAILOVER_OFF] = 1,
    [FAULT_PRIMARY_WISHED] = 1,
    [FAULT_SPEC_REFUSED] = 1};

/* ---- making ---- */

struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *dice)
{
    uint64_t x = dice->state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static int64_t between(struct dice *dice, int64_t low, int64_t high)
{
    return low + (int64_t)(roll(dice) % (uint64_t)(high - low + 1));
}

static bool chance(struct dice *dice, int percent)
{
    return between(dice, 0, 99) < percent;
}

static enum fault_kind pick_kind(struct dice *dice, uint64_t without)
{
    int64_t total = 0;
    for (int i = 0; i < FAULT_KIND_COUNT; i++)
        total += weights[i];
    int64_t at = between(dice, 0, total - 1);
    for (int i = 0; i < FAULT_KIND_COUNT; i++) {
        at -= weights[i];
        if (at < 0)
            return without >> i & 1 ? FAULT_SERVER_KILLED : (enum fault_kind)i;
    }
    return FAULT_SERVER_KILLED;
}

static int64_t pause_ms(struct dice *dice)
{
    int64_t what = between(dice, 0, 99);
    if (what < 40)
        return between(dice, 0, 500);
    return what < 75 ? between(dice, 500, 4000) : between(dice, 4000, 15000);
}

static bool lasts(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_SERVER_FROZEN:
    case FAULT_AGENT_FROZEN:
    case FAULT_MEMBER_FROZEN:
    case FAULT_NODE_LOST:
    case FAULT_LINK_CUT:
    case FAULT_LINK_ONE_WAY:
    case FAULT_MEMBER_CUT:
    case FAULT_REPLICATION_CUT:
    case FAULT_OPERATOR_FROZEN:
    case FAULT_CACHE_OLD:
    case FAULT_API_AWAY:
    case FAULT_API_SLOW:
    case FAULT_SCALE:
    case FAULT_HIBERNATE:
    case FAULT_APPLIER_STUCK:
    case FAULT_LOSS_ALLOWED:
    case FAULT_CONFIRMED_LOST:
    case FAULT_VOLUME_FILLS:
    case FAULT_VOLUME_FULL:
    case FAULT_TABLES_LOCKED:
    case FAULT_LONG_TRANSACTION:
    case FAULT_PAUSED:
    case FAULT_FAILOVER_OFF:
    case FAULT_PRIMARY_WISHED:
    case FAULT_SPEC_REFUSED:
        return true;
    default:
        return false;
    }
}

static void make_fault(
    struct dice *dice, const struct schedule *schedule, uint64_t without, int64_t at_ms, struct fault *ret)
{
    static const int targets[] = {TARGET_PRIMARY, TARGET_PRIMARY, TARGET_TO, TARGET_FROM, TARGET_REPLICA, TARGET_OPEN};
    *ret = (struct fault){.kind = pick_kind(dice, without), .at_ms = at_ms};
    if (chance(dice, 55)) {
        ret->when = (enum fault_when)between(dice, WHEN_TRANSITION, WHEN_COUNT - 1);
        ret->after_ms = chance(dice, 50) ? between(dice, 0, 60) : between(dice, 60, 1500);
    }
    ret->target = chance(dice, 60) ? targets[between(dice, 0, ARRAY_LEN(targets) - 1)]
                                   : (int)between(dice, 0, schedule->members - 1);
    ret->other = (int)between(dice, 0, schedule->members + 1);
    if (ret->other >= schedule->members)
        ret->other = SIM_MEMBERS_MAX + ret->other - schedule->members; /* an operator's place */
    if (lasts(ret->kind))
        ret->for_ms = chance(dice, 60) ? between(dice, 200, 5000) : between(dice, 5000, 20000);
    bool hinders = ret->kind == FAULT_VOLUME_FULL || ret->kind == FAULT_APPLIER_STUCK;
    if (hinders && chance(dice, 15)) /* longer than a chosen one is given to open */
        ret->for_ms = between(dice, 30000, 60000);
    ret->number = (int)between(dice, 0, 5);
    if (ret->kind == FAULT_SCALE)
        ret->number = (int)between(dice, 1, MIN_OF(schedule->members + 1, SIM_MEMBERS_MAX));
    else if (ret->kind == FAULT_RECREATE)
        ret->number = chance(dice, 50) ? 0 : (int)between(dice, 1, schedule->members);
    else if (ret->kind == FAULT_STATUS_PAST && ret->number >= 3 && !(without >> FAULT_STATUS_OLD & 1)) {
        ret->kind = FAULT_STATUS_OLD;
        ret->number--;
    }
}

static void put(struct schedule *schedule, uint64_t without, const struct fault *fault)
{
    if (schedule->fault_count < SCHEDULE_FAULTS_MAX && !(without >> fault->kind & 1))
        schedule->faults[schedule->fault_count++] = *fault;
}

static enum fault_kind pick_loss(struct dice *dice)
{
    static const enum fault_kind losses[] = {
        FAULT_SERVER_KILLED, FAULT_NODE_LOST, FAULT_POD_FORCED, FAULT_MEMBER_CUT, FAULT_MEMBER_FROZEN};
    return losses[between(dice, 0, ARRAY_LEN(losses) - 1)];
}

/* Commits wait, are let go by hand, and the only one who has them is lost. */
static void make_let_go(struct dice *dice, uint64_t without, int64_t at_ms, struct schedule *ret)
{
    int64_t cut_ms = between(dice, 500, 1800);
    const struct fault cut = {.kind = FAULT_REPLICATION_CUT, .at_ms = at_ms, .target = TARGET_PRIMARY, .for_ms = cut_ms};
    const struct fault let_go = {.kind = (enum fault_kind)between(dice, FAULT_SEMI_SYNC_OFF, FAULT_COMMITS_KILLED),
        .at_ms = at_ms + between(dice, 0, cut_ms),
        .target = TARGET_PRIMARY,
        .number = (int)between(dice, 0, 5)};
    const struct fault loss = {.kind = pick_loss(dice),
        .at_ms = at_ms + cut_ms + between(dice, -300, 1500),
        .target = TARGET_PRIMARY,
        .for_ms = between(dice, 3000, 9000)};
    put(ret, without, &cut);
    put(ret, without, &let_go);
    put(ret, without, &loss);
}

/* One is lost, and in the midst of what comes of it another one. */
static void make_two_losses(struct dice *dice, uint64_t without, int64_t at_ms, struct schedule *ret)
{
    static const int targets[] = {TARGET_TO, TARGET_TO, TARGET_FROM, TARGET_OPEN, TARGET_REPLICA};
    struct fault loss = {
        .kind = pick_loss(dice), .at_ms = at_ms, .target = TARGET_PRIMARY, .for_ms = between(dice, 2000, 9000)};
    put(ret, without, &loss);
    loss = (struct fault){.kind = pick_loss(dice),
        .at_ms = at_ms,
        .when = (enum fault_when)between(dice, WHEN_NOBODY_CHOSEN, WHEN_OPENED),
        .after_ms = chance(dice, 50) ? between(dice, 0, 60) : between(dice, 60, 1500),
        .target = targets[between(dice, 0, ARRAY_LEN(targets) - 1)],
        .for_ms = between(dice, 2000, 9000)};
    put(ret, without, &loss);
}

/* A failover leaves one behind that goes on taking writes; then the one that was opened is lost, the status is of the
 * past, and the one that was left behind is heard again. */
static void make_left_behind(struct dice *dice, uint64_t without, int64_t at_ms, struct schedule *ret)
{
    int64_t for_ms = between(dice, 6000, 15000), loss_ms = at_ms + for_ms - between(dice, 100, 2000);
    const struct fault frozen = {.kind = chance(dice, 50) ? FAULT_AGENT_FROZEN : FAULT_MEMBER_FROZEN,
        .at_ms = at_ms,
        .target = TARGET_PRIMARY,
        .for_ms = for_ms};
    const struct fault cut = {
        .kind = FAULT_REPLICATION_CUT,
        .at_ms = at_ms,
        .target = TARGET_PRIMARY,
        .for_ms = for_ms,
    };
    const struct fault loss = {
        .kind = pick_loss(dice), .at_ms = loss_ms, .target = TARGET_PRIMARY, .for_ms = between(dice, 5000, 20000)};
    const struct fault past = {
        .kind = FAULT_STATUS_PAST, .at_ms = loss_ms + between(dice, 10, 1000), .target = TARGET_PRIMARY};
    put(ret, without, &frozen);
    put(ret, without, &cut);
    put(ret, without, &loss);
    put(ret, without, &past);
}

void schedule_make(uint64_t seed, const struct schedule_wish *wish, struct schedule *ret)
{
    static const int sizes[] = {3, 3, 3, 3, 3, 3, 5, 5, 2, 4};
    struct dice dice = {seed * 7919 + 17};
    int64_t at_ms = 0;
    memset(ret, 0, sizeof(*ret));
    ret->seed = seed;
    bool mariadb = chance(&dice, 50);
    int members = sizes[between(&dice, 0, ARRAY_LEN(sizes) - 1)];
    ret->mariadb = wish->any_family ? mariadb : wish->mariadb;
    ret->members = wish->members > 0 ? wish->members : members;
    ret->semi_sync = chance(&dice, 92);
    ret->slow = chance(&dice, 35);
    ret->strict = wish->strict;
    int faults = wish->faults > 0 ? wish->faults : (int)between(&dice, 3, 20);
    while (ret->fault_count < faults) {
        struct fault fault;
        at_ms += pause_ms(&dice);
        make_fault(&dice, ret, wish->without, at_ms, &fault);
        int64_t what = between(&dice, 0, 99);
        bool fits = ret->fault_count + 4 <= faults;
        if (what < 5 && fits && ret->semi_sync)
            make_let_go(&dice, wish->without, at_ms, ret);
        else if (what >= 95 && fits)
            make_two_losses(&dice, wish->without, at_ms, ret);
        else if (what >= 92 && fits && ret->semi_sync)
            make_left_behind(&dice, wish->without, at_ms, ret);
        else
            put(ret, 0, &fault);
    }
    ret->idle = chance(&dice, 25);
    ret->impatient = chance(&dice, 50);
}

/* ---- telling ---- */

static const char *target_text(int target, char out[static 16])
{
    if (target < 0)
        return target_names[-target];
    snprintf(out, 16, "%d", target);
    return out;
}

void schedule_describe_fault(const struct fault *fault, char *out, size_t size)
{
    char target[16];
    size_t len = (size_t)snprintf(out, size, "%s of %s at %lld ms", fault_names[fault->kind],
        target_text(fault->target, target), (long long)fault->at_ms);
    if (fault->when != WHEN_AT_ONCE && len < size)
        len += (size_t)snprintf(
            out + len, size - len, ", %lld ms after \"%s\"", (long long)fault->after_ms, when_names[fault->when]);
    if (fault->for_ms > 0 && len < size)
        len += (size_t)snprintf(out + len, size - len, ", for %lld ms", (long long)fault->for_ms);
    if (len < size && (fault->kind == FAULT_LINK_CUT || fault->kind == FAULT_LINK_ONE_WAY))
        len += (size_t)snprintf(out + len, size - len, ", other end %d", fault->other);
    if (len < size && (fault->kind == FAULT_SCALE || fault->kind == FAULT_RECREATE))
        snprintf(out + len, size - len, ", %d members", fault->number);
    if (len < size && fault->kind == FAULT_STATUS_OLD)
        snprintf(out + len, size - len, ", %d epochs ago", fault->number);
}

/* ---- JSON ---- */

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (str_eq(names[i], name))
            return i;
    }
    return -1;
}

static json_t *encode_fault(const struct fault *fault)
{
    char target[16];
    json_t *json = json_pack("{s:I, s:s, s:s}", "atMs", (json_int_t)fault->at_ms, "kind", fault_names[fault->kind],
        "target", target_text(fault->target, target));
    if (fault->when != WHEN_AT_ONCE) {
        json_object_set_new(json, "when", json_string(when_names[fault->when]));
        json_object_set_new(json, "afterMs", json_integer(fault->after_ms));
    }
    if (fault->for_ms > 0)
        json_object_set_new(json, "forMs", json_integer(fault->for_ms));
    json_object_set_new(json, "other", json_integer(fault->other));
    json_object_set_new(json, "number", json_integer(fault->number));
    return json;
}

int schedule_write(const char *path, const struct schedule *schedule, enum violation was)
{
    json_t *faults = json_array();
    for (int i = 0; i < schedule->fault_count; i++)
        json_array_append_new(faults, encode_fault(&schedule->faults[i]));
    json_t *json = json_pack("{s:I, s:s, s:i, s:b, s:b, s:b, s:b, s:b, s:s, s:o}", "seed", (json_int_t)schedule->seed,
        "family", schedule->mariadb ? "mariadb" : "mysql", "members", schedule->members, "semiSync",
        schedule->semi_sync, "slow", schedule->slow, "idle", schedule->idle, "impatient", schedule->impatient, "strict",
        schedule->strict, "found", violation_names[was], "faults", faults);
    int rc = json_dump_file(json, path, JSON_INDENT(2));
    json_decref(json);
    return rc;
}

static int decode_fault(const json_t *json, struct fault *ret)
{
    const char *target = json_string_value(json_object_get(json, "target"));
    int kind = find_name(fault_names, FAULT_KIND_COUNT, json_string_value(json_object_get(json, "kind")));
    int named = find_name(target_names, ARRAY_LEN(target_names), str_or_empty(target));
    const char *when = json_string_value(json_object_get(json, "when"));
    int at = find_name(when_names, WHEN_COUNT, str_or_empty(when));
    if (kind < 0 || !target || at < 0)
        return -1;
    *ret = (struct fault){.kind = (enum fault_kind)kind,
        .at_ms = json_integer_value(json_object_get(json, "atMs")),
        .when = (enum fault_when)at,
        .after_ms = json_integer_value(json_object_get(json, "afterMs")),
        .target = named > 0 ? -named : (int)strtol(target, NULL, 10),
        .other = (int)json_integer_value(json_object_get(json, "other")),
        .for_ms = json_integer_value(json_object_get(json, "forMs")),
        .number = (int)json_integer_value(json_object_get(json, "number"))};
    bool good = ret->target >= TARGET_OPEN && ret->target < SIM_MEMBERS_MAX && ret->other >= 0 &&
        ret->other < SIM_MEMBERS_MAX + 2;
    return good ? 0 : -1;
}

int schedule_read(const char *path, struct schedule *ret)
{
    size_t i;
    json_t *fault, *json = json_load_file(path, 0, NULL);
    memset(ret, 0, sizeof(*ret));
    ret->seed = (uint64_t)json_integer_value(json_object_get(json, "seed"));
    ret->mariadb = str_eq(json_string_value(json_object_get(json, "family")), "mariadb");
    ret->members = (int)json_integer_value(json_object_get(json, "members"));
    ret->semi_sync = json_is_true(json_object_get(json, "semiSync"));
    ret->slow = json_is_true(json_object_get(json, "slow"));
    ret->idle = json_is_true(json_object_get(json, "idle"));
    ret->impatient = json_is_true(json_object_get(json, "impatient"));
    ret->strict = json_is_true(json_object_get(json, "strict"));
    bool good = json && ret->members >= 1 && ret->members <= SIM_MEMBERS_MAX;
    json_array_foreach(json_object_get(json, "faults"), i, fault) {
        good = good && i < SCHEDULE_FAULTS_MAX && decode_fault(fault, &ret->faults[ret->fault_count++]) == 0;
        if (!good)
            break;
    }
    json_decref(json);
    return good ? 0 : -1;
}
