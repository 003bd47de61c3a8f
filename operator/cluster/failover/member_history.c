/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/member_history.h"

static bool contains(const struct gtid_set *a, const struct gtid_set *b)
{
    enum gtid_relation relation = gtid_set_compare(a, b);
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

/* One reign, ready to be compared with. */
struct span {
    const char *origin; /* "" any, but for those of other members */
    const struct cluster_reign *reign;
    struct gtid_set *floor; /* NULL: it cannot be read */
    bool is_partial;
};

static struct span read_span(enum gtid_flavour flavour, const struct cluster_reign *reign)
{
    return (struct span){.origin = reign->origin,
        .reign = reign,
        .floor = position_parse(flavour, reign->floor),
        .is_partial = reign->floor_is_partial};
}

/* ---- MySQL: sets ---- */

static void read_sets(struct gtid_set *all, const struct span *spans, int count, struct member_history *ret)
{
    const struct span *oldest = &spans[count - 1];
    bool knows_all = oldest->is_partial && gtid_set_is_empty(oldest->floor);
    struct gtid_set *known = gtid_set_intersect(all, oldest->floor);
    for (int i = count - 1; i >= 0; i--) {
        bool any = str_empty(spans[i].origin);
        knows_all |= any;
        _cleanup_(gtid_set_freep) struct gtid_set *written = any ? NULL : gtid_set_of_source(all, spans[i].origin);
        _cleanup_(gtid_set_freep) struct gtid_set *beyond = gtid_set_subtract(any ? all : written, spans[i].floor);
        if (!gtid_set_is_empty(beyond))
            ret->reign = i;
        gtid_set_unite(known, any ? all : written);
    }
    if (knows_all)
        gtid_set_unite(known, all);
    ret->has_extra = gtid_set_compare(all, known) != GTID_EQUAL;
    ret->reaches_floor = contains(all, spans[MIN_OF(ret->reign, count - 1)].floor);
    ret->known = known;
}

/* ---- MariaDB: the last transaction of each domain ---- */

static struct gtid_one find_domain(const struct gtid_set *set, uint32_t domain)
{
    struct gtid_one one;
    for (size_t i = 0; gtid_set_position(set, i, &one); i++) {
        if (one.domain == domain)
            return one;
    }
    return (struct gtid_one){.domain = domain};
}

static bool is_written_by(const struct span *span, uint32_t server)
{
    bool is_other = false; /* nobody is another one where it is not known who the primary was */
    for (int i = 0; i < span->reign->other_count && !str_empty(span->reign->primary); i++)
        is_other |= span->reign->others[i] == server;
    return str_empty(span->origin) ? !is_other : strtoul(span->origin, NULL, 10) == server;
}

/* The latest reign that it is of; count: of none. */
static int reign_of(const struct gtid_one *last, const struct span *spans, int count)
{
    for (int i = 0; i < count; i++) {
        if (is_written_by(&spans[i], last->server) && last->number > find_domain(spans[i].floor, last->domain).number)
            return i;
    }
    return count;
}

/* A tail of the server that wrote the floor's last transaction begins behind that; any other tail may have left the
 * history before. Where no floor is known (a status of a version without reigns) anything that is of no reign may be a
 * tail, and hide what was received of the reign before it. */
static void read_last(const struct gtid_one *last, const struct span *spans, int count, struct gtid_set *known,
    struct member_history *ret)
{
    const struct gtid_one floor = find_domain(spans[count - 1].floor, last->domain);
    int reign = reign_of(last, spans, count);
    ret->reign = MIN_OF(ret->reign, reign);
    bool is_unknown = floor.number == 0 && spans[count - 1].is_partial;
    ret->hides |= reign == count && is_unknown;
    if (reign < count || is_unknown || last->number < floor.number ||
        (last->number == floor.number && last->server == floor.server)) {
        gtid_set_add(known, last);
        return;
    }
    ret->has_extra = ret->hides = true;
    if (last->server == floor.server)
        gtid_set_add(known, &floor);
}

static bool reaches(
    const struct gtid_set *all, const struct member_history *history, const struct span *spans, int count)
{
    struct gtid_one wanted;
    const struct gtid_set *floor = spans[MIN_OF(history->reign, count - 1)].floor;
    for (size_t i = 0; gtid_set_position(floor, i, &wanted); i++) {
        struct gtid_one last = find_domain(all, wanted.domain);
        bool of_its_reigns = reign_of(&last, spans, count) < count;
        if (last.number < wanted.number || (!of_its_reigns && last.server != wanted.server))
            return false;
    }
    return true;
}

static void read_positions(const struct gtid_set *all, const struct span *spans, int count, struct member_history *ret)
{
    struct gtid_one last;
    ret->known = gtid_set_new(GTID_MARIADB);
    for (size_t i = 0; gtid_set_position(all, i, &last); i++)
        read_last(&last, spans, count, ret->known, ret);
    ret->reaches_floor = reaches(all, ret, spans, count);
}

/* ---- both ---- */

void member_history_read(
    const struct cluster_reigns *reigns, enum gtid_flavour flavour, const char *position, struct member_history *ret)
{
    static const struct cluster_reign nothing_known = {.floor_is_partial = true};
    struct span spans[CLUSTER_REIGNS_MAX];
    int count = MAX_OF(reigns->count, 1);
    _cleanup_(gtid_set_freep) struct gtid_set *all = position_parse(flavour, position);
    *ret = (struct member_history){.readable = all != NULL, .reign = count};
    for (int i = 0; i < count; i++) {
        spans[i] = read_span(flavour, reigns->count > 0 ? &reigns->list[i] : &nothing_known);
        ret->readable &= spans[i].floor != NULL;
    }
    if (ret->readable && flavour == GTID_MYSQL)
        read_sets(all, spans, count, ret);
    else if (ret->readable)
        read_positions(all, spans, count, ret);
    for (int i = 0; i < count; i++)
        gtid_set_free(spans[i].floor);
}

void member_history_release(struct member_history *history)
{
    gtid_set_free(history->known);
    history->known = NULL;
}

enum gtid_relation member_history_compare(const struct member_history *a, const struct member_history *b)
{
    if (a->reign != b->reign)
        return a->reign < b->reign ? GTID_SUPERSET : GTID_SUBSET;
    return gtid_set_compare(a->known, b->known);
}

static bool is_of_a_reign(const struct cluster_reigns *reigns, uint32_t domain, uint32_t server, uint64_t number)
{
    for (int i = 0; i < reigns->count; i++) {
        _cleanup_(gtid_set_freep) struct gtid_set *floor = position_parse(GTID_MARIADB, reigns->list[i].floor);
        const struct span span = {.origin = reigns->list[i].origin, .reign = &reigns->list[i]};
        if (is_written_by(&span, server) && (!floor || number > find_domain(floor, domain).number))
            return true;
    }
    return false;
}

/* The entry of gtid_binlog_state at *at, which is moved behind it. False: it cannot be read. */
static bool read_entry(const char **at, struct gtid_one *ret)
{
    char *end = NULL;
    *ret = (struct gtid_one){.domain = (uint32_t)strtoul(*at, &end, 10)};
    ret->server = *end == '-' ? (uint32_t)strtoul(end + 1, &end, 10) : 0;
    ret->number = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
    if (ret->number == 0 || (*end != ',' && *end != '\0'))
        return false;
    *at = end + (*end == ',');
    return true;
}

bool member_history_shows_none(const struct cluster_reigns *reigns, const char *state)
{
    struct gtid_one one;
    if (str_empty(state) || !position_is_whole(state))
        return false;
    for (const char *at = state; *at;) {
        if (!read_entry(&at, &one) || is_of_a_reign(reigns, one.domain, one.server, one.number))
            return false;
    }
    return true;
}

uint64_t member_history_state_number(const char *state, const struct gtid_one *one)
{
    struct gtid_one named;
    for (const char *at = state; *at;) {
        if (!read_entry(&at, &named))
            return 0;
        if (named.domain == one->domain && named.server == one->server)
            return named.number;
    }
    return 0;
}

bool member_history_state_lacks(const char *state, const char *position)
{
    struct gtid_one one;
    bool lacks = false;
    _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(GTID_MARIADB, position);
    if (str_empty(state) || !position_is_whole(state))
        return false;
    for (size_t i = 0; set && gtid_set_position(set, i, &one); i++) {
        uint64_t number = member_history_state_number(state, &one);
        lacks |= number > 0 && number < one.number;
    }
    return lacks;
}

bool member_history_state_holds(const char *state, const char *position)
{
    struct gtid_one one;
    _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(GTID_MARIADB, position);
    bool holds = set && !str_empty(state) && position_is_whole(state);
    for (size_t i = 0; holds && gtid_set_position(set, i, &one); i++)
        holds = member_history_state_number(state, &one) >= one.number;
    return holds;
}

bool member_history_state_holds_state(const char *state, const char *theirs, uint32_t but_server)
{
    struct gtid_one one;
    if (str_empty(state) || !position_is_whole(state) || str_empty(theirs) || !position_is_whole(theirs))
        return false;
    for (const char *at = theirs; *at;) {
        if (!read_entry(&at, &one) ||
            (one.server != but_server && member_history_state_number(state, &one) < one.number))
            return false;
    }
    return true;
}

/* 0: another server wrote nothing there, or the text cannot be read. */
static struct gtid_one last_of_others(const char *state, uint32_t domain, uint32_t server_id)
{
    struct gtid_one one, last = {.domain = domain};
    for (const char *at = state; *at;) {
        if (!read_entry(&at, &one))
            return (struct gtid_one){.domain = domain};
        if (one.domain == domain && one.server != server_id && one.number > last.number)
            last = one;
    }
    return last;
}

bool member_history_state_holds_others(const char *state, const char *own, uint32_t server_id)
{
    struct gtid_one one;
    if (str_empty(state) || !position_is_whole(state) || str_empty(own) || !position_is_whole(own))
        return false;
    for (const char *at = own; *at;) {
        if (!read_entry(&at, &one))
            return false;
        const struct gtid_one last = last_of_others(own, one.domain, server_id);
        if (last.number == 0 || member_history_state_number(state, &last) < last.number)
            return false;
    }
    return true;
}

bool member_history_is_behind(const char *a, const char *b)
{
    struct gtid_one theirs;
    bool behind = false;
    _cleanup_(gtid_set_freep) struct gtid_set *of_a = position_parse(GTID_MARIADB, a);
    _cleanup_(gtid_set_freep) struct gtid_set *of_b = position_parse(GTID_MARIADB, b);
    for (size_t i = 0; of_a && of_b && gtid_set_position(of_b, i, &theirs); i++) {
        const struct gtid_one ours = find_domain(of_a, theirs.domain);
        behind |= ours.number < theirs.number || (ours.number == theirs.number && ours.server != theirs.server);
    }
    return behind;
}

bool member_history_is_origin(const char *origin, const char *uuid, uint32_t server_id)
{
    char number[16];
    snprintf(number, sizeof(number), "%u", server_id);
    return str_empty(origin) || str_eq(origin, uuid) || (server_id != 0 && str_eq(origin, number));
}
