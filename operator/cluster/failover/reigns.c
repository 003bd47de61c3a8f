/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/reigns.h"

#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/member_history.h"
#include "operator/cluster/state/member_view.h"

/* ---- whose transactions ---- */

static void set_origin_id(uint32_t server_id, struct cluster_reign *ret)
{
    if (server_id != 0)
        snprintf(ret->origin, sizeof(ret->origin), "%u", server_id);
}

/* agent: NULL unknown */
static void set_origin(const struct agent_status *agent, struct cluster_reign *ret)
{
    if (agent && agent->flavour == AGENT_FLAVOUR_MARIADB)
        set_origin_id(agent->server_id, ret);
    else if (agent)
        snprintf(ret->origin, sizeof(ret->origin), "%s", agent->server_uuid);
}

/* ---- a status without reigns ---- */

/* One of the same primary as the one after it is the same. If there is no room it stands for all before as well, of
 * nobody known. epoch: that it began with; 0: not known. */
static void add_unlisted(const char *name, int64_t epoch, const char *floor, struct cluster_reigns *ret)
{
    if (ret->count > 0 && str_eq(ret->list[ret->count - 1].primary, name))
        return;
    if (ret->count == CLUSTER_REIGNS_MAX) {
        ret->list[CLUSTER_REIGNS_MAX - 1].primary[0] = '\0';
        return;
    }
    struct cluster_reign *reign = &ret->list[ret->count++];
    *reign = (struct cluster_reign){.epoch = epoch, .floor_is_partial = true};
    snprintf(reign->primary, sizeof(reign->primary), "%s", name);
    reign->floor = position_is_whole(floor) ? floor : "";
}

/* Those of a failover out of another change. Each may have been open, or not. */
static void add_before(const struct cluster_transition *transition, const char *floor, struct cluster_reigns *ret)
{
    char name[DERIVED_NAME_SIZE];
    cluster_transition_before(transition, 0, name);
    for (int n = 1; !str_empty(name); n++) {
        add_unlisted(name, 0, floor, ret);
        cluster_transition_before(transition, n, name);
    }
}

/* While it was not chosen yet who leads, the position of a failover was its floor. Whose binary logs the chosen one
 * takes over is not told: those of the one that was lost, or of one before it. */
static void read_unlisted(const struct cluster_snapshot *snapshot, struct cluster_reigns *ret)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const char *settled = snapshot->last.roles.last_failover.position;
    *ret = (struct cluster_reigns){.count = 0};
    if (!cluster_transition_is_set(transition))
        add_unlisted(snapshot->last.roles.current_primary, snapshot->last.roles.epoch, settled, ret);
    else if (!transition->failover) {
        add_unlisted(transition->to, transition->epoch, settled, ret);
        add_unlisted(transition->from, 0, settled, ret);
    } else if (str_empty(transition->to)) {
        /* Anybody may have been primary last where the status was of the past (failover_from_later). */
        bool is_known = transition->reason != TRANSITION_STATUS_OUTDATED;
        add_unlisted(is_known ? transition->from : "", 0, transition->position, ret);
        add_before(transition, transition->position, ret); /* the one that is lost may never have been open */
    } else {
        const char *floor = transition->salvage ? settled : transition->position;
        add_unlisted(transition->to, transition->epoch, floor, ret);
        if (transition->salvage) {
            add_unlisted(transition->from, 0, floor, ret);
            add_before(transition, floor, ret);
        }
    }
    /* The position of a failover that has chosen holds all that was acknowledged. */
    ret->list[0].floor_is_partial =
        !transition->failover || str_empty(transition->to) || transition->salvage || str_empty(ret->list[0].floor);
    ret->list[ret->count - 1].opened = snapshot->last.roles.initialized && str_empty(transition->before);
}

static bool are_without_epochs(const struct cluster_reigns *reigns)
{
    bool any = false;
    for (int i = 0; i < reigns->count; i++)
        any |= reigns->list[i].epoch > 0;
    return !any;
}

/* Nobody is opened under the epoch of a failover before somebody is chosen, and under each epoch one member at most. So
 * one that was opened under the epoch just before was open last: it had all that was acknowledged until then, and
 * whatever was since it has acknowledged itself. NULL also if two were: an epoch that a status of the past made be
 * given twice. */
static const struct cluster_member *find_open_last(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    bool is_failover = cluster_transition_is_set(transition) && transition->failover && str_empty(transition->to);
    const struct cluster_member *last = NULL;
    for (int i = 0; i < snapshot->member_count && is_failover && transition->epoch > 1; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member_is_held(snapshot, member) || member->agent->opened_epoch != (uint64_t)transition->epoch - 1)
            continue;
        if (last)
            return NULL;
        last = member;
    }
    return last;
}

/* Of a status of the past nothing is listed but a reign of which it is not known whose it was. */
static bool are_unknown(const struct cluster_reigns *reigns)
{
    return are_without_epochs(reigns) || (reigns->count == 1 && str_empty(reigns->list[0].primary));
}

/* What it holds and did not write itself it had when it was opened, and all that was acknowledged is in that: also what
 * primaries wrote whose reigns are not listed any more. MariaDB: unless it wrote, which hides what came before. */
static void take_floor_of(
    const struct cluster_snapshot *snapshot, const struct cluster_member *last, struct cluster_reign *reign)
{
    enum gtid_flavour flavour = member_gtid_flavour(last);
    _cleanup_(gtid_set_freep) struct gtid_set *all = position_parse(flavour, last->agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *floor = position_parse(flavour, reign->floor);
    set_origin(last->agent, reign);
    if (!all || !floor || str_empty(reign->origin))
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *own =
        flavour == GTID_MARIADB ? gtid_set_new(flavour) : gtid_set_of_source(all, reign->origin);
    struct gtid_one one;
    for (size_t i = 0; flavour == GTID_MARIADB && gtid_set_position(all, i, &one); i++) {
        if (one.server == last->agent->server_id)
            return;
    }
    _cleanup_(gtid_set_freep) struct gtid_set *before = gtid_set_subtract(all, own);
    gtid_set_unite(before, floor);
    reign->floor_is_partial = !reigns_set_floor(snapshot, before, reign);
}

/* -1: that cannot be told. */
static int reign_of(const struct cluster_reigns *reigns, enum gtid_flavour flavour, const char *position)
{
    struct member_history history;
    member_history_read(reigns, flavour, position, &history);
    int reign = history.readable && !history.hides ? history.reign : -1;
    member_history_release(&history);
    return reign;
}

/* ---- a chosen one that lost what it had received ---- */

static bool contains(const struct gtid_set *a, const struct gtid_set *b)
{
    enum gtid_relation relation = a && b ? gtid_set_compare(a, b) : GTID_DIVERGED;
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

static bool everybody_is_held(const struct cluster_snapshot *snapshot)
{
    uint64_t known = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member_is_held(snapshot, member) || member->ordinal >= CLUSTER_ACKNOWLEDGERS_MAX)
            return false;
        known |= UINT64_C(1) << (unsigned)member->ordinal;
    }
    return snapshot->member_count >= snapshot->scale.effective && (snapshot->last.roles.acknowledgers & ~known) == 0;
}

/* MySQL. It was never opened in this reign: it lacks some of the floor, and nobody else holds anything of the reign. */
static bool was_only_chosen(
    const struct cluster_snapshot *snapshot, const struct cluster_reigns *reigns, const struct cluster_member *chosen)
{
    const struct cluster_reign *reign = &reigns->list[0];
    const struct agent_status *agent = chosen->agent;
    if (member_gtid_flavour(chosen) != GTID_MYSQL || reign->opened || reign->floor_is_partial || reign->epoch < 1 ||
        str_empty(reign->origin) || !reigns_is_primary(reign, chosen) ||
        agent->opened_epoch >= (uint64_t)reign->epoch || agent->replication.applied_epoch >= (uint64_t)reign->epoch)
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != chosen && reign_of(reigns, GTID_MYSQL, failover_position_of(member)) != reigns->count)
            return false;
    }
    _cleanup_(gtid_set_freep) struct gtid_set *floor = position_parse(GTID_MYSQL, reign->floor);
    _cleanup_(gtid_set_freep) struct gtid_set *has = position_parse(GTID_MYSQL, failover_position_of(chosen));
    return floor && has && !contains(has, floor);
}

/* Of the change that goes on, and of those in the place of which it is: it was primary before `chosen` was, and that one
 * was chosen once since. */
static bool was_primary_before(const struct cluster_snapshot *snapshot, const char *name, const char *chosen)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    char before[DERIVED_NAME_SIZE];
    cluster_transition_before(transition, 0, before);
    for (int n = 1; !str_empty(before) && str_eq(transition->from, chosen) && !str_eq(before, chosen); n++) {
        if (str_eq(before, name))
            return true;
        cluster_transition_before(transition, n, before);
    }
    return false;
}

/* By the notes on all volumes: nobody was certainly opened since. NULL: they do not tell. */
static const struct cluster_member *find_noted_last(
    const struct cluster_snapshot *snapshot, const struct cluster_member *chosen)
{
    const struct cluster_member *last = NULL;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != chosen && (!last || member->agent->opened_epoch > last->agent->opened_epoch))
            last = member;
    }
    if (!last || last->agent->opened_epoch <= chosen->agent->opened_epoch)
        return NULL;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        bool is_other = &snapshot->members[i] != chosen && &snapshot->members[i] != last;
        bool is_certain = agent->noted_since > 0 && agent->noted_since <= last->agent->opened_epoch + 1;
        if (is_other && (!is_certain || agent->opened_epoch >= last->agent->opened_epoch))
            return NULL;
    }
    return last;
}

/* All that the chosen one had but what that wrote itself, and all that anybody holds of its own. */
static bool holds_rest(const struct cluster_snapshot *snapshot, const struct cluster_member *last,
    const struct cluster_member *chosen, const char *floor)
{
    _cleanup_(gtid_set_freep) struct gtid_set *has = position_parse(GTID_MYSQL, last->agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *all = position_parse(GTID_MYSQL, floor);
    if (!has || !all)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *own = gtid_set_of_source(all, chosen->agent->server_uuid);
    _cleanup_(gtid_set_freep) struct gtid_set *rest = gtid_set_subtract(all, own);
    bool holds = contains(has, rest);
    for (int i = 0; i < snapshot->member_count && holds; i++) {
        _cleanup_(gtid_set_freep) struct gtid_set *theirs =
            position_parse(GTID_MYSQL, failover_position_of(&snapshot->members[i]));
        _cleanup_(gtid_set_freep) struct gtid_set *written =
            theirs ? gtid_set_of_source(theirs, last->agent->server_uuid) : NULL;
        holds = contains(has, written);
    }
    return holds;
}

/* A chosen one may hold a tail that nobody acknowledged, which becomes part of its floor. If it never opens, and loses
 * what it had received, nobody holds that floor, and nobody has to: once every member has answered, the one that was
 * opened last had all that was acknowledged until then, and has acknowledged the rest itself. NULL: that is not shown. */
static const struct cluster_member *find_open_before(
    const struct cluster_snapshot *snapshot, const struct cluster_reigns *reigns)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    bool is_failover = cluster_transition_is_set(transition) && transition->failover && str_empty(transition->to);
    const struct cluster_member *chosen = cluster_member_named(snapshot, reigns->list[0].primary);
    if (!is_failover || transition->reason == TRANSITION_STATUS_OUTDATED || reigns->count != 1 || !chosen ||
        !everybody_is_held(snapshot) || !was_only_chosen(snapshot, reigns, chosen))
        return NULL;
    const struct cluster_member *last = find_noted_last(snapshot, chosen);
    bool is_it = last && was_primary_before(snapshot, last->name, chosen->name) &&
        holds_rest(snapshot, last, chosen, reigns->list[0].floor);
    return is_it ? last : NULL;
}

/* Its floor is what it had of others, which need not be all of the floor that is listed. */
static void name_open_before(const struct cluster_snapshot *snapshot, struct cluster_reigns *reigns)
{
    const struct cluster_member *last = find_open_before(snapshot, reigns);
    if (!last)
        return;
    reigns->count = 0;
    add_unlisted(last->name, (int64_t)last->agent->opened_epoch, "", reigns);
    reigns->list[0].opened = true;
    take_floor_of(snapshot, last, &reigns->list[0]);
}

static void name_open_last(const struct cluster_snapshot *snapshot, struct cluster_reigns *reigns)
{
    const struct cluster_member *last = are_unknown(reigns) ? find_open_last(snapshot) : NULL;
    const char *floor = reigns_floor(reigns);
    if (!last)
        return;
    reigns->count = 0;
    add_unlisted(last->name, snapshot->last.roles.transition.epoch - 1, floor, reigns);
    reigns->list[0].opened = true;
    take_floor_of(snapshot, last, &reigns->list[0]);
}

/* Each copy of data has a server id of its own (agent/bootstrap/server_id.h): what bears that of another member is not
 * of this reign, whatever its primary's is. */
static void find_others(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_reign *reign)
{
    reign->other_count = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != primary && member->agent && member->agent->server_id != 0)
            reign->others[reign->other_count++] = member->agent->server_id;
    }
}

/* A member whose data was replaced is not the primary of a listed reign any more, so one that runs tells. */
static void find_origin(const struct cluster_snapshot *snapshot, struct cluster_reign *reign)
{
    const struct cluster_member *member = cluster_member_named(snapshot, reign->primary);
    if (!str_empty(reign->origin) || str_empty(reign->primary))
        return;
    if (member && member_runs(member))
        set_origin(member->agent, reign);
    else if (cluster_flavour(snapshot) == AGENT_FLAVOUR_MARIADB)
        find_others(snapshot, member, reign);
}

void reigns_in_force(const struct cluster_snapshot *snapshot, struct cluster_reigns *ret)
{
    if (snapshot->last.roles.reigns.count > 0)
        *ret = snapshot->last.roles.reigns;
    else
        read_unlisted(snapshot, ret);
    name_open_last(snapshot, ret);
    name_open_before(snapshot, ret);
    for (int i = 0; i < ret->count; i++)
        find_origin(snapshot, &ret->list[i]);
}

/* By its own report it has never seen the switchover's epoch. A volume that was lost does not tell. */
static bool has_not_heard(const struct cluster_transition *transition, const struct cluster_member *from)
{
    return from && member_speaks(from) && from->agent->data != AGENT_DATA_EMPTY &&
        from->agent->epoch < (uint64_t)transition->epoch;
}

void reigns_to_judge(const struct cluster_snapshot *snapshot, struct cluster_reigns *ret)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    bool is_switchover = cluster_transition_is_set(transition) && !transition->failover;
    reigns_in_force(snapshot, ret);
    if (is_switchover && has_not_heard(transition, cluster_member_named(snapshot, transition->from)))
        reigns_drop_latest(ret);
}

/* ---- reading ---- */

const char *reigns_floor(const struct cluster_reigns *reigns)
{
    return reigns->count > 0 ? str_or_empty(reigns->list[reigns->count - 1].floor) : "";
}

int reigns_index(const struct cluster_reigns *reigns, const char *name)
{
    for (int i = 0; i < reigns->count; i++) {
        if (str_eq(reigns->list[i].primary, name))
            return i;
    }
    return -1;
}

bool reigns_is_primary(const struct cluster_reign *reign, const struct cluster_member *member)
{
    return str_eq(reign->primary, member->name) &&
        member_history_is_origin(reign->origin, member->agent->server_uuid, member->agent->server_id);
}

/* ---- changes ---- */

void reigns_begin(
    const struct cluster_member *member, int64_t epoch, const char *floor, int first, struct cluster_reigns *reigns)
{
    int kept = MIN_OF(MAX_OF(reigns->count - first, 0), CLUSTER_REIGNS_MAX - 1);
    memmove(&reigns->list[1], &reigns->list[first], (size_t)kept * sizeof(reigns->list[0]));
    struct cluster_reign *reign = &reigns->list[0];
    *reign = (struct cluster_reign){.epoch = epoch};
    snprintf(reign->primary, sizeof(reign->primary), "%s", member->name);
    reign->floor = floor;
    set_origin(member->agent, reign);
    reigns->count = kept + 1;
}

void reigns_continue(int64_t epoch, int index, struct cluster_reigns *reigns)
{
    reigns->count -= index;
    memmove(&reigns->list[0], &reigns->list[index], (size_t)reigns->count * sizeof(reigns->list[0]));
    if (reigns->list[0].epoch == 0)
        reigns->list[0].epoch = epoch;
}

const struct cluster_member *reigns_salvaged(const struct cluster_snapshot *snapshot)
{
    struct cluster_reigns reigns;
    reigns_in_force(snapshot, &reigns);
    bool is_one_of_several = snapshot->last.roles.reigns.count == 0 && reigns.count > 2;
    return reigns.count > 1 && !is_one_of_several ? cluster_member_named(snapshot, reigns.list[1].primary) : NULL;
}

void reigns_drop_latest(struct cluster_reigns *reigns)
{
    if (reigns->count < 2)
        return;
    reigns->count--;
    memmove(&reigns->list[0], &reigns->list[1], (size_t)reigns->count * sizeof(reigns->list[0]));
}

/* Of a member, against the only reign that is listed. False: not known. Release ret on true. */
static bool read_against_the_only_one(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct member_history *ret)
{
    struct cluster_reigns reigns;
    reigns_in_force(snapshot, &reigns);
    if (reigns.count != 1 || reigns.list[0].floor_is_partial || str_empty(reigns.list[0].origin))
        return false;
    enum gtid_flavour flavour = member_gtid_flavour(member);
    member_history_read(&reigns, flavour, failover_position_of(member), ret);
    if (ret->readable)
        return true;
    member_history_release(ret);
    return false;
}

bool reigns_has_extra(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    struct member_history history;
    if (!read_against_the_only_one(snapshot, member, &history))
        return false;
    bool has_extra = history.has_extra;
    member_history_release(&history);
    return has_extra;
}

bool reigns_is_beside(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    struct member_history history;
    if (!read_against_the_only_one(snapshot, member, &history))
        return false;
    bool is_below = member->agent->flavour == AGENT_FLAVOUR_MARIADB && history.reign > 0 && !history.reaches_floor;
    bool is_beside = history.has_extra || is_below;
    member_history_release(&history);
    return is_beside;
}

static bool holds_latest(const struct cluster_member *member, const struct cluster_reigns *reigns)
{
    struct member_history history;
    enum gtid_flavour flavour = member_gtid_flavour(member);
    member_history_read(reigns, flavour, failover_position_of(member), &history);
    bool holds = history.readable && history.reign == 0;
    member_history_release(&history);
    return holds;
}

bool reigns_holds_latest(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    struct cluster_reigns reigns;
    reigns_in_force(snapshot, &reigns);
    return reigns.count > 0 && holds_latest(member, &reigns);
}

/* MariaDB: the member ends with it. MySQL: some of it is in the set. What cannot be read may be. */
static bool is_of_floor(enum gtid_flavour flavour, const char *floor, const char *lacking)
{
    if (flavour == GTID_MARIADB)
        return position_same(floor, lacking);
    _cleanup_(gtid_set_freep) struct gtid_set *before = position_parse(flavour, floor);
    _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(flavour, lacking);
    _cleanup_(gtid_set_freep) struct gtid_set *both = before && set ? gtid_set_intersect(before, set) : NULL;
    return !both || !gtid_set_is_empty(both);
}

static bool is_of_a_floor(const struct cluster_reigns *reigns, enum gtid_flavour flavour, const char *lacking)
{
    for (int i = 0; i < reigns->count; i++) {
        if (is_of_floor(flavour, reigns->list[i].floor, lacking))
            return true;
    }
    return false;
}

/* The latest reign of which a member holds a transaction is an earlier one than that in force. MariaDB's last one may
 * hide others; then the member's log says whether one of the reign in force is among them. */
static bool is_of_earlier(const struct cluster_reigns *reigns, const struct cluster_member *member)
{
    int reign = reign_of(reigns, member_gtid_flavour(member), failover_position_of(member));
    struct cluster_reigns in_force = {.count = 1, .list = {reigns->list[0]}};
    if (reign >= 0 || member_gtid_flavour(member) != GTID_MARIADB)
        return reign > 0;
    return member_history_shows_none(&in_force, member->agent->gtid_state);
}

/* The reigns in force, if the latest is that of `primary`, which was seen open in it and whose server is known. */
static bool read_of_open_primary(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_reigns *ret)
{
    reigns_in_force(snapshot, ret);
    const struct cluster_reign *latest = &ret->list[0];
    return ret->count > 0 && latest->opened && !str_empty(latest->origin) && str_eq(latest->primary, primary->name);
}

bool reigns_is_left_behind(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    enum gtid_flavour flavour = member_gtid_flavour(member);
    struct cluster_reigns reigns;
    if (!read_of_open_primary(snapshot, primary, &reigns))
        return false;
    bool has_written = reign_of(&reigns, flavour, primary->agent->gtid_executed) == 0;
    return has_written && is_of_earlier(&reigns, member) && !is_of_a_floor(&reigns, flavour, member->agent->errant);
}

static bool is_written_by(enum gtid_flavour flavour, const struct gtid_set *set, const char *origin)
{
    struct gtid_one one;
    if (flavour == GTID_MYSQL) {
        _cleanup_(gtid_set_freep) struct gtid_set *written = gtid_set_of_source(set, origin);
        return !gtid_set_is_empty(written);
    }
    for (size_t i = 0; gtid_set_position(set, i, &one); i++) {
        if (one.server == strtoul(origin, NULL, 10))
            return true;
    }
    return false;
}

bool reigns_is_written_by_others(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    enum gtid_flavour flavour = member_gtid_flavour(member);
    struct cluster_reigns reigns;
    if (!read_of_open_primary(snapshot, primary, &reigns))
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *lacking = position_parse(flavour, member->agent->errant);
    return lacking && !is_written_by(flavour, lacking, reigns.list[0].origin);
}

/* What the primary wrote itself in an earlier reign is in the floor of this one. */
bool reigns_holds_all_before(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    struct cluster_reigns reigns;
    reigns_in_force(snapshot, &reigns);
    const char *state = member->agent->gtid_state, *floor = reigns.list[0].floor;
    return member_gtid_flavour(primary) == GTID_MARIADB && str_eq(reigns.list[0].primary, primary->name) &&
        (str_empty(floor) || member_history_state_holds(state, floor)) &&
        member_history_state_holds_others(state, primary->agent->gtid_state, primary->agent->server_id);
}

bool reigns_set_floor(const struct cluster_snapshot *snapshot, const struct gtid_set *floor, struct cluster_reign *reign)
{
    const char *position = position_print(snapshot->last.positions, floor);
    bool fits = position_is_whole(position);
    if (fits)
        reign->floor = position;
    return fits;
}

/* MySQL: what the open primary holds and did not write itself was written before its reign. */
static void complete_floor(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_reign *reign)
{
    if (!reign->floor_is_partial || primary->agent->flavour == AGENT_FLAVOUR_MARIADB || str_empty(reign->origin))
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *all = position_parse(GTID_MYSQL, primary->agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *floor = position_parse(GTID_MYSQL, reign->floor);
    if (!all || !floor)
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *own = gtid_set_of_source(all, reign->origin);
    _cleanup_(gtid_set_freep) struct gtid_set *before = gtid_set_subtract(all, own);
    gtid_set_unite(before, floor);
    reign->floor_is_partial = !reigns_set_floor(snapshot, before, reign);
}

/* As many acknowledgers as a commit waits for hold something of the latest reign. Where commits do not wait, what its
 * primary has is all that counts. */
static bool is_acknowledged(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_reigns *reigns)
{
    int needed = primary->agent->flavour == AGENT_FLAVOUR_MARIADB ? 1 : MAX_OF(1, snapshot->last.roles.acks);
    for (int i = 0; i < snapshot->member_count && snapshot->last.roles.semi_sync; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        needed -= member != primary && member_runs(member) && member_acknowledges(snapshot, member) &&
            holds_latest(member, reigns);
    }
    return !snapshot->last.roles.semi_sync || needed <= 0;
}

void reigns_settle(const struct cluster_snapshot *snapshot, struct cluster_reigns *ret)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (cluster_transition_is_set(&snapshot->last.roles.transition) || !primary || !member_is_open(snapshot, primary))
        return;
    reigns_in_force(snapshot, ret);
    struct cluster_reign *latest = &ret->list[0];
    if (!str_eq(latest->primary, primary->name))
        return;
    latest->opened = true;
    if (str_empty(latest->origin))
        set_origin(primary->agent, latest);
    if (ret->count > 1 && is_acknowledged(snapshot, primary, ret))
        ret->count = 1;
    if (ret->count == 1)
        complete_floor(snapshot, primary, latest);
}
