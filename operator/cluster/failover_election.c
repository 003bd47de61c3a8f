#include "common/base.h"

#include "operator/cluster/failover_election.h"

#include <limits.h>

#include "common/gtid.h"
#include "operator/cluster/cluster_confirmed.h"
#include "operator/cluster/member_view.h"

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

int64_t failover_silence_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.silence_ms, CLUSTER_SILENCE_MS_DEFAULT);
}

int64_t failover_hung_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.hung_ms, CLUSTER_HUNG_MS_DEFAULT);
}

int64_t failover_writes_blocked_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.writes_blocked_ms, CLUSTER_WRITES_BLOCKED_MS_DEFAULT);
}

int64_t failover_stalled_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.stalled_ms, CLUSTER_STALLED_MS_DEFAULT);
}

int64_t failover_start_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.start_ms, CLUSTER_START_MS_DEFAULT);
}

int64_t failover_self_fence_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.self_fence_ms, CLUSTER_SELF_FENCE_MS_DEFAULT);
}

bool failover_has_lease(const struct cluster_snapshot *snapshot)
{
    return !snapshot->last.semi_sync || snapshot->last.loss_allowed;
}

/* ---- members ---- */

bool member_acknowledges(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->ordinal < CLUSTER_ACKNOWLEDGERS_MAX &&
        (snapshot->last.acknowledgers >> (unsigned)member->ordinal & 1) != 0;
}

bool failover_asks(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_wanted(snapshot, member) || member_acknowledges(snapshot, member);
}

bool member_is_held(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && snapshot->last.epoch > 0 && member->agent->epoch == (uint64_t)snapshot->last.epoch &&
        member->agent->role == AGENT_ROLE_REPLICA && member->agent->order_done && !member->agent->writable &&
        member->agent->replication.receiver == AGENT_THREAD_OFF;
}

/* The one that took writes last, for certain: it has all that was ever acknowledged. */
static bool is_from(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return !snapshot->last.transition.doubtful && str_eq(member->name, snapshot->last.transition.from);
}

static bool has_answered(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_held(snapshot, member);
}

/* A server that runs and has not answered yet soon will, unless it is cut off. */
static bool may_answer_soon(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && failover_asks(snapshot, member) && !has_answered(snapshot, member);
}

/* More than can be told: nobody can compare it. */
static bool is_cut(const char *position)
{
    return strstr(position, "...") != NULL;
}

/* One that was primary has received nothing; one that was only to become it has. */
static const char *position_of(const struct cluster_member *member)
{
    return str_empty(member->agent->gtid_received) ? member->agent->gtid_executed : member->agent->gtid_received;
}

static struct gtid_set *parse(const struct cluster_member *like, const char *text)
{
    enum gtid_flavour flavour = like->agent->flavour == AGENT_FLAVOUR_MARIADB ? GTID_MARIADB : GTID_MYSQL;
    return is_cut(text) ? NULL : gtid_set_parse(flavour, text, NULL);
}

/* a against b; what cannot be read is taken for different. */
static enum gtid_relation compare(const struct cluster_member *like, const char *a, const char *b)
{
    _cleanup_(gtid_set_freep) struct gtid_set *of_a = parse(like, a);
    _cleanup_(gtid_set_freep) struct gtid_set *of_b = parse(like, b);
    return of_a && of_b ? gtid_set_compare(of_a, of_b) : GTID_DIVERGED;
}

static bool holds(const struct cluster_member *like, const char *a, const char *b)
{
    enum gtid_relation relation = compare(like, a, b);
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

bool failover_has_received(const struct cluster_member *member, const char *gtids)
{
    return str_empty(gtids) || holds(member, position_of(member), gtids) ||
        holds(member, member->agent->gtid_executed, gtids);
}

/* ---- tails ---- */

#define REIGNS_MAX 8

/* 0: nobody has said what its own one is. */
static uint32_t server_id_of(const struct cluster_snapshot *snapshot, const char *name)
{
    int ordinal = names_ordinal(name);
    for (int i = 0; i < snapshot->member_count && ordinal >= 0; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->agent && member->agent->server_id > (uint32_t)member->ordinal)
            return member->agent->server_id - (uint32_t)member->ordinal + (uint32_t)ordinal;
    }
    return 0;
}

/* The name of the nth one before `from`, "" if there is none. */
static void name_before(const struct cluster_snapshot *snapshot, int n, char out[static DERIVED_NAME_SIZE])
{
    const char *at = snapshot->last.transition.before;
    for (; n > 0 && at; n--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    snprintf(out, DERIVED_NAME_SIZE, "%.*s", at ? (int)strcspn(at, ",") : 0, at ? at : "");
}

/* Server ids of those who may have written last, latest first. */
struct reigns {
    uint32_t ids[REIGNS_MAX];
    int count;
};

static struct reigns list_reigns(const struct cluster_snapshot *snapshot)
{
    struct reigns reigns = {{server_id_of(snapshot, snapshot->last.transition.from)}, 1};
    char name[DERIVED_NAME_SIZE];
    for (int n = 0; n + 1 < REIGNS_MAX; n++) {
        name_before(snapshot, n, name);
        if (str_empty(name))
            break;
        reigns.ids[reigns.count++] = server_id_of(snapshot, name);
    }
    return reigns;
}

/* The smaller, the later; of all others we only know that they are earlier. */
static int reign_of(const struct reigns *reigns, unsigned long long server_id)
{
    for (int i = 0; i < reigns->count; i++) {
        if (reigns->ids[i] == server_id)
            return i;
    }
    return reigns->count;
}

/* MariaDB's "domain-server-number"; *text goes on behind it. */
static bool next_position(const char **text, unsigned long long ret[static 3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        ret[i] = strtoull(*text, &end, 10);
        if (end == *text)
            return false;
        *text = end + (*end == '-' || *end == ',');
    }
    return true;
}

/* Whether `theirs` has something of a later primary where, or before, `ours` ends with something of an earlier one. */
static bool is_strange_beside(const char *ours, const char *theirs, const struct reigns *reigns)
{
    unsigned long long own[3], other[3];
    while (next_position(&ours, own)) {
        for (const char *at = theirs; next_position(&at, other);) {
            if (other[0] == own[0] && other[2] <= own[2] && reign_of(reigns, other[1]) < reign_of(reigns, own[1]))
                return true;
        }
    }
    return false;
}

/* What a finished failover had settled was written before the present reign, whoever wrote it: it says nothing of later ones. */
static bool floor_is_settled(const struct cluster_snapshot *snapshot)
{
    return str_eq(snapshot->last.transition.position, snapshot->last.last_failover.position);
}

/* Of MariaDB only a number is compared: that of an earlier primary which has come back with commits that nobody acknowledged may be the largest.
 * It ends with what was written before the lost primary began, or, should that one never have been open, the one before it. */
static bool has_strange_tail(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct reigns reigns = list_reigns(snapshot);
    if (member->agent->flavour != AGENT_FLAVOUR_MARIADB || reigns.ids[0] == 0 || is_from(snapshot, member))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other != member && has_answered(snapshot, other) &&
            is_strange_beside(position_of(member), position_of(other), &reigns))
            return true;
    }
    return !floor_is_settled(snapshot) &&
        is_strange_beside(position_of(member), snapshot->last.transition.position, &reigns);
}

/* Why it cannot be opened; "" it can. */
static const char *why_ineligible(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!failover_asks(snapshot, member))
        return "it is beyond spec.replicas";
    if (!member->pod || member->pod->object.deleting)
        return "its pod is leaving";
    if (is_cut(position_of(member)) && !is_from(snapshot, member))
        return "its GTID set is too long";
    if (member->agent->replication.applier_errno != 0)
        return "it cannot apply what it has received";
    if (!str_empty(member->agent->errant) || has_strange_tail(snapshot, member))
        return "it holds transactions that the lost primary had not";
    return "";
}

/* ---- how many must have answered ---- */

/* MariaDB waits for one, whatever is wished; so does who has said nothing yet, as far as we know. */
static int acks_in_force(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent && agent->flavour != AGENT_FLAVOUR_UNKNOWN)
            return agent->flavour == AGENT_FLAVOUR_MARIADB ? 1 : cluster_confirmed_acks(snapshot);
    }
    return 1;
}

static int answers_needed(const struct cluster_snapshot *snapshot, const char *lost, bool doubtful)
{
    int acknowledgers = 0;
    if (cluster_confirmed_acks(snapshot) < 1)
        return INT_MAX;
    for (int ordinal = 0; ordinal < CLUSTER_ACKNOWLEDGERS_MAX; ordinal++) {
        bool counts = (snapshot->last.acknowledgers >> (unsigned)ordinal & 1) != 0;
        acknowledgers += counts && (doubtful || ordinal != names_ordinal(lost));
    }
    /* When it is not known which one took writes last, both are asked as all others are: so one more holds each commit. */
    int holders = acks_in_force(snapshot) + doubtful;
    return acknowledgers < holders ? INT_MAX : acknowledgers - holders + 1;
}

int failover_answers_needed(const struct cluster_snapshot *snapshot, const char *lost)
{
    const struct cluster_transition *transition = &snapshot->last.transition;
    return answers_needed(snapshot, lost, transition->failover && transition->doubtful);
}

/* It was told to acknowledge, and still has all that it did: a server that was started anew may have dropped what it had received. */
static bool is_proof(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_acknowledges(snapshot, member) && member->agent->replication.caught_up;
}

/* ---- the choice ---- */

struct answers {
    int acknowledgers; /* that have answered */
    int needed;
    const struct cluster_member *from;     /* the lost one itself has answered, and can be opened */
    const struct cluster_member *witness;  /* the lost one itself has answered */
    const struct cluster_member *awaited;  /* one that may answer soon */
    const struct cluster_member *unfit;    /* has answered and cannot be opened */
    const struct cluster_member *best;     /* of the others: can be opened, has received most */
    const struct cluster_member *ahead;    /* of the others: has received more than the best, but cannot be opened */
    const struct cluster_member *diverged; /* of the others: holds what the best lacks, and the other way round */
};

static const struct cluster_member *wished(const struct cluster_snapshot *snapshot)
{
    int ordinal = snapshot->cluster.replication.primary;
    return ordinal >= 0 && ordinal < snapshot->member_count ? &snapshot->members[ordinal] : NULL;
}

static bool shares_node(const struct cluster_member *a, const struct cluster_member *b)
{
    return a->pod && b && b->pod && !str_empty(a->pod->node_name) && str_eq(a->pod->node_name, b->pod->node_name);
}

/* It was chosen and given up, as it did not open. The first of those before is the primary that was lost: nobody has tried that one yet. */
static bool was_tried(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_transition *transition = &snapshot->last.transition;
    char name[DERIVED_NAME_SIZE], earlier[DERIVED_NAME_SIZE];
    if (str_eq(member->name, transition->from))
        return str_eq(transition->reason, "CannotOpen") || str_eq(transition->reason, "CannotApply");
    name_before(snapshot, 0, name);
    for (int n = 1; !str_empty(name); n++) {
        name_before(snapshot, n, earlier);
        if (str_eq(member->name, name) && !str_empty(earlier))
            return true;
        memcpy(name, earlier, sizeof(name));
    }
    return false;
}

/* Both have received the same: one that stays, one that has not failed to open, one whose volume has room (where none has, the database still goes on: it is
 * told of before the last byte), the wished one, one that no roll waits for, one on another node than the lost one, one that has less to apply. */
static bool is_better_equal(
    const struct cluster_snapshot *snapshot, const struct cluster_member *a, const struct cluster_member *b)
{
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.transition.from);
    const struct cluster_member *wish = wished(snapshot);
    bool of_a[] = {member_is_wanted(snapshot, a), !was_tried(snapshot, a), !member_has_problem(a, "VolumeFull"),
        wish && a == wish, !member_is_outdated(snapshot, a), !shares_node(a, from)};
    bool of_b[] = {member_is_wanted(snapshot, b), !was_tried(snapshot, b), !member_has_problem(b, "VolumeFull"),
        wish && b == wish, !member_is_outdated(snapshot, b), !shares_node(b, from)};
    for (size_t i = 0; i < ARRAY_LEN(of_a); i++) {
        if (of_a[i] != of_b[i])
            return of_a[i];
    }
    return compare(a, a->agent->gtid_executed, b->agent->gtid_executed) == GTID_SUPERSET;
}

static void take_answer(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct answers *answers)
{
    answers->acknowledgers += !is_from(snapshot, member) && is_proof(snapshot, member);
    if (is_from(snapshot, member))
        answers->witness = member;
    if (!str_empty(why_ineligible(snapshot, member)))
        answers->unfit = member;
    else if (is_from(snapshot, member))
        answers->from = member;
    else if (!answers->best)
        answers->best = member;
    else {
        enum gtid_relation relation = compare(member, position_of(member), position_of(answers->best));
        if (relation == GTID_SUPERSET || (relation == GTID_EQUAL && is_better_equal(snapshot, member, answers->best)))
            answers->best = member;
    }
}

/* What of it the lost primary may have written. MySQL follows on with transactions of its own. */
static struct gtid_set *without_errant(const struct cluster_member *member)
{
    struct gtid_set *all = parse(member, position_of(member));
    if (!all || str_empty(member->agent->errant) || member->agent->flavour == AGENT_FLAVOUR_MARIADB)
        return all;
    _cleanup_(gtid_set_freep) struct gtid_set *errant = parse(member, member->agent->errant);
    struct gtid_set *rest = errant ? gtid_set_subtract(all, errant) : NULL;
    gtid_set_free(all);
    return rest;
}

static void compare_with_best(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct answers *answers)
{
    _cleanup_(gtid_set_freep) struct gtid_set *its = without_errant(member);
    _cleanup_(gtid_set_freep) struct gtid_set *best = without_errant(answers->best);
    enum gtid_relation relation = its && best ? gtid_set_compare(its, best) : GTID_SUPERSET; /* for all that is known */
    if (has_strange_tail(snapshot, member))
        return;
    if (relation == GTID_DIVERGED)
        answers->diverged = member;
    else if (relation == GTID_SUPERSET)
        answers->ahead = member;
}

static struct answers collect(const struct cluster_snapshot *snapshot)
{
    struct answers answers = {.needed = failover_answers_needed(snapshot, snapshot->last.transition.from)};
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (may_answer_soon(snapshot, member))
            answers.awaited = member;
        if (has_answered(snapshot, member))
            take_answer(snapshot, member, &answers);
    }
    for (int i = 0; i < snapshot->member_count && answers.best; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != answers.best && has_answered(snapshot, member) && !is_from(snapshot, member))
            compare_with_best(snapshot, member, &answers);
    }
    return answers;
}

static void KM_PRINTF(2, 3) wait_for(struct failover_choice *ret, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ret->waits, sizeof(ret->waits), fmt, ap);
    va_end(ap);
    if (ret->again_ms == 0)
        ret->again_ms = 1000;
}

/* "db-mysql-1 (its agent does not answer), db-mysql-2 (its server does not run)" */
static void name_missing(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    size_t len = 0;
    *out = '\0';
    for (int i = 0; i < snapshot->member_count && len < size; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool counts = str_eq(member->name, snapshot->last.transition.from) || member_acknowledges(snapshot, member);
        if (!counts || (has_answered(snapshot, member) && (is_from(snapshot, member) || is_proof(snapshot, member))))
            continue;
        const char *why = !member->pod ? "there is no pod"
            : !member_speaks(member)   ? "its agent does not answer"
            : !member_runs(member)     ? "its server does not run"
            : !has_answered(snapshot, member)
            ? (str_empty(member->order_error) ? "it has not stopped receiving yet" : member->order_error)
            : "it was started anew and may have dropped what it had acknowledged";
        len += (size_t)snprintf(out + len, size - len, "%s%s (%s)", len ? ", " : "", member->name, why);
    }
}

/* The floor: what an earlier, unfinished failover knew to be received. */
static bool reaches_floor(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const char *floor = snapshot->last.transition.position;
    if (is_cut(position_of(member)) && is_from(snapshot, member) && str_empty(snapshot->last.transition.before))
        return true; /* the one that took writes last */
    return str_empty(floor) || holds(member, position_of(member), floor);
}

/* The best of the others is known, and nothing speaks against it but what it may not have received. */
static bool has_best(const struct cluster_snapshot *snapshot, const struct answers *answers)
{
    return answers->best && !answers->ahead && reaches_floor(snapshot, answers->best);
}

static bool has_all_of_from(const struct answers *answers)
{
    return answers->witness && holds(answers->best, position_of(answers->best), position_of(answers->witness));
}

/* A server that was only started anew goes on where it was, as does one that nothing ails; one that hung, or was cut off from its replicas, may do so
 * again. */
static bool may_go_on(const struct cluster_snapshot *snapshot)
{
    const char *reason = snapshot->last.transition.reason;
    return str_eq(reason, "ServerDown") || str_eq(reason, "MemberLost") || str_eq(reason, "StatusOutdated");
}

/* Which of the two was open last is not known, but both have answered. */
static bool has_all_of_both(const struct cluster_snapshot *snapshot, const struct answers *answers)
{
    char name[DERIVED_NAME_SIZE];
    name_before(snapshot, 0, name);
    const struct cluster_member *before = cluster_member_named(snapshot, name);
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.transition.from);
    if (!snapshot->last.transition.doubtful || !before || !from || !has_answered(snapshot, before) ||
        !has_answered(snapshot, from))
        return false;
    return failover_has_received(answers->best, position_of(before)) &&
        failover_has_received(answers->best, position_of(from));
}

/* Nothing that was acknowledged is lost with it; NULL: that cannot be said of anybody. */
static const struct cluster_member *find_safe(const struct cluster_snapshot *snapshot, const struct answers *answers)
{
    bool proven = has_best(snapshot, answers) &&
        (answers->acknowledgers >= answers->needed || has_all_of_from(answers) || has_all_of_both(snapshot, answers));
    bool from = answers->from && reaches_floor(snapshot, answers->from);
    if (proven && from && may_go_on(snapshot) && !has_all_of_from(answers))
        return answers->from;
    if (proven)
        return answers->best;
    return from ? answers->from : NULL;
}

/* Its server is dead, its agent reads its binary logs: they hold everything that was ever acknowledged. */
static bool can_salvage(const struct cluster_snapshot *snapshot, const struct answers *answers)
{
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.transition.from);
    return has_best(snapshot, answers) && from && is_from(snapshot, from) && member_speaks(from) &&
        from->agent->phase == AGENT_PHASE_DOWN;
}

/* The old primary closes itself when it is cut off: as it was told while it was heard, or a person says that it is gone. */
static bool may_lose(const struct cluster_snapshot *snapshot)
{
    return cluster_confirmed_lease(snapshot) || str_eq(snapshot->confirmed_lost, snapshot->last.transition.from);
}

static bool fence_time_is_over(const struct cluster_snapshot *snapshot, struct failover_choice *ret)
{
    int64_t rest_ms = cluster_confirmed_fence_ms(snapshot) + FAILOVER_FENCE_MARGIN_MS - snapshot->held_ms;
    if (str_eq(snapshot->confirmed_lost, snapshot->last.transition.from) || (snapshot->held_ms > 0 && rest_ms <= 0))
        return true;
    ret->again_ms = snapshot->held_ms > 0 ? rest_ms : 100;
    return false;
}

static void choose(const struct cluster_snapshot *snapshot, const struct cluster_member *member, const char *why,
    struct failover_choice *ret)
{
    ret->candidate = member;
    /* The old one goes on with what it has. Should it be lost once more, what it alone has need not be reached. */
    snprintf(ret->position, sizeof(ret->position), "%s",
        is_from(snapshot, member) ? snapshot->last.transition.position : position_of(member));
    snprintf(ret->why, sizeof(ret->why), "%s %s: received up to %.80s, executed up to %.80s", member->name, why,
        position_of(member), member->agent->gtid_executed);
}

static void choose_despite_loss(
    const struct cluster_snapshot *snapshot, const struct answers *answers, struct failover_choice *ret)
{
    char missing[256];
    name_missing(snapshot, missing, sizeof(missing));
    if (!fence_time_is_over(snapshot, ret)) {
        wait_for(ret, "waits until %s must have closed itself (selfFenceMilliseconds), as not enough members answer: %s",
            snapshot->last.transition.from, missing);
        return;
    }
    choose(snapshot, answers->best, "has received most of those that answer", ret);
    snprintf(ret->may_be_lost, sizeof(ret->may_be_lost), "what only these had beyond %.100s: %.120s%s%s", ret->position,
        missing, answers->ahead ? " and " : "", answers->ahead ? answers->ahead->name : "");
}

static void say_what_is_missing(
    const struct cluster_snapshot *snapshot, const struct answers *answers, struct failover_choice *ret)
{
    char missing[256];
    name_missing(snapshot, missing, sizeof(missing));
    if (!answers->best && answers->unfit)
        wait_for(ret, "%s has answered, but %s; waits for %s", answers->unfit->name,
            why_ineligible(snapshot, answers->unfit), missing);
    else if (answers->best && !reaches_floor(snapshot, answers->best))
        wait_for(ret, "%s lacks what another one had received; waits for %s", answers->best->name, missing);
    else if (answers->ahead)
        wait_for(ret, "%s has received more than %s, but %s", answers->ahead->name, answers->best->name,
            why_ineligible(snapshot, answers->ahead));
    else if (snapshot->cluster.failover.allow_data_loss && !may_lose(snapshot))
        wait_for(ret,
            "dataLoss: allow was set when %s was already lost, which may still serve clients elsewhere; waits for %s, or for the "
            "annotation " ANNOTATION_CONFIRMED_LOST "=%s of somebody who made sure that it is gone",
            snapshot->last.transition.from, missing, snapshot->last.transition.from);
    else if (answers->needed == INT_MAX)
        wait_for(ret,
            "only %s can tell what it acknowledged (commits did not wait for replicas); waits for it: %s. "
            "spec.failover.dataLoss: allow would go on without it",
            snapshot->last.transition.from, missing);
    else
        wait_for(ret,
            "%d of the %d answers that prove that nothing acknowledged is lost; waits for %s. "
            "spec.failover.dataLoss: allow would go on without them",
            answers->acknowledgers, answers->needed, missing);
}

/* For how long yet somebody who may answer soon is waited for. */
static int64_t patience_ms(
    const struct cluster_snapshot *snapshot, const struct answers *answers, const struct cluster_member *safe)
{
    bool would_be_lost_again = safe && safe == answers->from && !may_go_on(snapshot);
    int64_t limit_ms = would_be_lost_again ? FAILOVER_HOLD_OTHERS_MS : FAILOVER_HOLD_MS;
    int64_t rest_ms = snapshot->last.transition.started_ms + limit_ms - snapshot->now_ms;
    return answers->awaited && rest_ms <= limit_ms ? rest_ms : 0;
}

void failover_choose(const struct cluster_snapshot *snapshot, struct failover_choice *ret)
{
    const struct answers answers = collect(snapshot);
    const struct cluster_member *safe = find_safe(snapshot, &answers);
    int64_t hold_ms = patience_ms(snapshot, &answers, safe);
    *ret = (struct failover_choice){.candidate = NULL};
    if (hold_ms > 0) {
        ret->again_ms = hold_ms;
        wait_for(ret, "waits until %s has stopped receiving", answers.awaited->name);
    } else if (answers.diverged && answers.from && reaches_floor(snapshot, answers.from))
        choose(snapshot, answers.from, "is back and has everything, and the others differ", ret);
    else if (answers.diverged)
        wait_for(ret, "%s and %s hold different transactions; a person must decide: remove one of them, or its data",
            answers.best->name, answers.diverged->name);
    else if (safe)
        choose(snapshot, safe, safe == answers.from ? "is back and has everything" : "has received most", ret);
    else if (can_salvage(snapshot, &answers)) {
        choose(
            snapshot, answers.best, "has received most, and takes over the rest from the lost one's binary logs", ret);
        ret->salvage = true;
    } else if (answers.best && snapshot->cluster.failover.allow_data_loss && may_lose(snapshot))
        choose_despite_loss(snapshot, &answers, ret);
    else
        say_what_is_missing(snapshot, &answers, ret);
}

const struct cluster_member *failover_substitute(
    const struct cluster_snapshot *snapshot, const struct cluster_member *chosen)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == chosen || !member_runs(member) || member->agent->writable ||
            member->agent->epoch != (uint64_t)snapshot->last.epoch || was_tried(snapshot, member) ||
            !str_empty(why_ineligible(snapshot, member)))
            continue;
        if (failover_has_received(member, snapshot->last.transition.position) &&
            holds(member, member->agent->gtid_executed, chosen->agent->gtid_executed))
            return member;
    }
    return NULL;
}

/* ---- before it begins ---- */

static bool could_be_held(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && failover_asks(snapshot, member) && member->pod && !member->pod->object.deleting &&
        member->agent->data == AGENT_DATA_DATABASE;
}

bool failover_can_succeed(
    const struct cluster_snapshot *snapshot, const char *lost, bool doubtful, char *why, size_t size)
{
    int acknowledgers = 0, others = 0, too_long = 0, needed = answers_needed(snapshot, lost, doubtful);
    const struct cluster_member *from = doubtful ? NULL : cluster_member_named(snapshot, lost);
    bool has_logs = from && member_speaks(from) && from->agent->phase == AGENT_PHASE_DOWN;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == from || !could_be_held(snapshot, member))
            continue;
        if (is_cut(position_of(member))) {
            too_long++;
            continue;
        }
        others++;
        acknowledgers += is_proof(snapshot, member);
    }
    *why = '\0';
    if (others == 0)
        snprintf(why, size,
            too_long ? "the GTID sets of the other members are too long to be compared" : "no other member runs");
    else if (acknowledgers < needed && !has_logs && !snapshot->cluster.failover.allow_data_loss) {
        if (needed == INT_MAX)
            snprintf(why, size, "only %s can tell what it acknowledged; spec.failover.dataLoss is never", lost);
        else
            snprintf(
                why, size, "%d of %d members that may hold the only copy of a commit answer", acknowledgers, needed);
    }
    return str_empty(why);
}
