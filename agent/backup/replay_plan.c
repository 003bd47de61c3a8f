/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/replay_plan.h"

#include "agent/backup/replay_chain.h"
#include "common/alloc.h"
#include "common/clock.h"

/* A GTID set in a message. */
#define TEXT_BYTES 160

struct replay_plan {
    struct replay_wish wish;
    struct replay_chain chain;
    struct gtid_set *have;   /* the backup's */
    struct gtid_set *target; /* NULL: none */
    struct gtid_set *there;  /* have, and what the steps add */
    struct gtid_set *last;   /* all that there is with the segment that was visited last */
    struct replay_step *steps;
    size_t count, capacity;
    uint64_t raw_bytes;
    bool replays;      /* a step adds something */
    int64_t newest_ms; /* of the transactions that were visited */
    char newest[BINLOG_SEGMENT_NAME_SIZE];
    /* Of the slot before. */
    bool has_before;
    struct binlog_segment_name before;
    char before_sha256[65];
    struct gtid_set *before_until;
};

/* ---- words ---- */

static int refuse(struct replay_plan *plan, enum replay_reason reason)
{
    plan->chain.reason = reason;
    return -1;
}

static void print_set(const struct gtid_set *set, char ret[static TEXT_BYTES])
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    gtid_set_print(set, &text);
    snprintf(ret, TEXT_BYTES, "%s%s", text.len ? text.buf : "nothing", text.len >= TEXT_BYTES ? "…" : "");
}

static bool is_within(const struct gtid_set *a, const struct gtid_set *b)
{
    enum gtid_relation relation = gtid_set_compare(a, b);

    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

static int too_new(struct replay_plan *plan, const struct replay_meta *meta, struct error *err)
{
    char have[TEXT_BYTES], name[BINLOG_SEGMENT_NAME_SIZE], first[CLOCK_RFC3339_SIZE], until[CLOCK_RFC3339_SIZE];

    print_set(plan->have, have);
    binlog_segment_name_print(&meta->name, name);
    clock_format_rfc3339(meta->first_ms, first);
    clock_format_rfc3339(plan->wish.until_ms, until);
    error_set(err, ERROR_CONFLICT,
        "the backup is later than %.160s: it holds %s, also of segment %s, which begins at %s; an older backup is needed",
        plan->target ? plan->wish.until_gtid : until, have, name, first);
    return refuse(plan, REPLAY_TOO_NEW);
}

/* ---- the target ---- */

static bool has_target(const struct replay_plan *plan)
{
    return plan->target || plan->wish.until_ms;
}

/* Whether replay stops before the segment's first transaction. */
static bool is_beyond(const struct replay_plan *plan, const struct replay_meta *meta)
{
    if (plan->target)
        return is_within(plan->target, meta->after);
    return plan->wish.until_ms && meta->first_ms > plan->wish.until_ms;
}

/* What the backup holds of a domain that the target does not name came before it, or behind it: only the chain
 * tells. */
static bool names_all_domains(const struct gtid_set *target, const struct gtid_set *have)
{
    struct gtid_one own;
    struct gtid_one wanted;

    for (size_t i = 0; gtid_set_position(have, i, &own); i++) {
        bool named = false;
        for (size_t j = 0; !named && gtid_set_position(target, j, &wanted); j++)
            named = wanted.domain == own.domain;
        if (!named)
            return false;
    }
    return true;
}

/* MariaDB's positions say by themselves whether they are behind, reached, or passed. 1: reached, there is nothing to
 * replay. */
static int check_positions(struct replay_plan *plan, struct error *err)
{
    struct gtid_one wanted;
    bool reached = names_all_domains(plan->target, plan->have);

    for (size_t i = 0; gtid_set_position(plan->target, i, &wanted); i++) {
        struct gtid_one own = {0};
        for (size_t j = 0; gtid_set_position(plan->have, j, &own) && own.domain != wanted.domain; j++)
            ;
        bool known = own.domain == wanted.domain;
        if (known && own.number > wanted.number) {
            error_set(err, ERROR_CONFLICT,
                "the backup is later than %.160s: it holds %u-%u-%llu; an older backup is needed",
                plan->wish.until_gtid, own.domain, own.server, (unsigned long long)own.number);
            return refuse(plan, REPLAY_TOO_NEW);
        }
        reached = reached && known && own.number == wanted.number && own.server == wanted.server;
    }
    return reached;
}

/* 1: the backup is exactly what is wanted. */
static int check_backup(struct replay_plan *plan, struct error *err)
{
    if (!plan->target)
        return 0;
    if (gtid_set_compare(plan->target, plan->have) == GTID_EQUAL)
        return 1;
    return plan->wish.flavour == GTID_MARIADB ? check_positions(plan, err) : 0;
}

/* ---- where to begin ---- */

static size_t guess(const struct replay_plan *plan)
{
    int64_t before_ms = plan->wish.backup_ms - REPLAY_CLOCK_MARGIN_MS;
    size_t slot = plan->chain.slot_count - 1;

    while (slot > 0 && !replay_chain_is_before(&plan->chain, slot, before_ms))
        slot--;
    return slot;
}

static int begins_too_late(struct replay_plan *plan, const struct replay_meta *meta, struct error *err)
{
    char have[TEXT_BYTES], after[TEXT_BYTES], name[BINLOG_SEGMENT_NAME_SIZE];

    print_set(plan->have, have);
    print_set(meta->after, after);
    binlog_segment_name_print(&meta->name, name);
    error_set(err, ERROR_GONE,
        "the archive does not reach back to the backup: it begins with %s, after %s; the backup holds %s", name, after,
        have);
    return refuse(plan, REPLAY_GAP);
}

/* All that later epochs had of a segment, and of what was before it. */
static struct gtid_set *what_counts(struct replay_plan *plan, size_t slot, const struct replay_meta *meta,
    const struct gtid_set **ret_limit, struct error *err)
{
    if (replay_chain_limit(&plan->chain, slot, ret_limit, err) < 0)
        return NULL;
    return gtid_set_intersect(meta->until, *ret_limit ? *ret_limit : meta->until);
}

/* 1: the chain is to be looked at from an earlier slot on. */
static int look_at_start(struct replay_plan *plan, size_t slot, struct error *err)
{
    const struct replay_meta *meta = replay_chain_meta(&plan->chain, slot, err);
    const struct gtid_set *limit = NULL;

    if (!meta)
        return -1;
    if (!is_within(meta->after, plan->have))
        return slot > 0 ? 1 : begins_too_late(plan, meta, err);
    if (!has_target(plan))
        return 0;
    _cleanup_(gtid_set_freep) struct gtid_set *counts = what_counts(plan, slot, meta, &limit, err);
    if (!counts)
        return -1;
    if (is_within(counts, meta->after))
        return slot > 0; /* says nothing of when the backup's last transaction was */
    if (!is_beyond(plan, meta))
        return 0;
    if (!is_within(plan->have, meta->after))
        return too_new(plan, meta, err);
    if (slot > 0)
        return 1;
    return plan->target || plan->wish.until_ms < plan->wish.backup_ms ? too_new(plan, meta, err) : 0;
}

static int find_start(struct replay_plan *plan, size_t *ret, struct error *err)
{
    size_t slot = guess(plan);
    int rc;

    while ((rc = look_at_start(plan, slot, err)) > 0)
        replay_chain_drop(&plan->chain, slot--);
    *ret = slot;
    return rc;
}

/* ---- link by link ---- */

static int check_link(struct replay_plan *plan, const struct replay_meta *meta, struct error *err)
{
    const struct binlog_segment_name *before = &plan->before, *name = &meta->name;
    bool same_epoch = before->epoch == name->epoch;
    struct binlog_segment_name missing = {.epoch = name->epoch, .sequence = same_epoch ? before->sequence + 1 : 1};
    char printed[BINLOG_SEGMENT_NAME_SIZE], last[BINLOG_SEGMENT_NAME_SIZE];

    binlog_segment_name_print(name, printed);
    binlog_segment_name_print(before, last);
    if (name->sequence != missing.sequence) {
        error_set(err, ERROR_GONE, "segment %010llu-%010llu is missing, between %s and %s",
            (unsigned long long)missing.epoch, (unsigned long long)missing.sequence, last, printed);
        return refuse(plan, REPLAY_GAP);
    }
    if (!same_epoch)
        return 0;
    if (!str_eq(meta->previous, plan->before_sha256)) {
        error_set(
            err, ERROR_PROTOCOL, "%s.json was altered, or %s.json was: it names another one before it", last, printed);
        return refuse(plan, REPLAY_DAMAGED);
    }
    if (meta->gap || gtid_set_compare(meta->after, plan->before_until) == GTID_EQUAL)
        return 0;
    error_set(err, ERROR_PROTOCOL, "%s does not begin where %s ends", printed, last);
    return refuse(plan, REPLAY_DAMAGED);
}

static void note_link(struct replay_plan *plan, const struct replay_meta *meta)
{
    plan->has_before = true;
    plan->before = meta->name;
    memcpy(plan->before_sha256, meta->sha256, sizeof(plan->before_sha256));
    gtid_set_free(plan->before_until);
    plan->before_until = gtid_set_intersect(meta->until, meta->until);
}

/* ---- segments ---- */

static int gap(struct replay_plan *plan, const struct replay_meta *meta, struct error *err)
{
    char there[TEXT_BYTES], after[TEXT_BYTES], name[BINLOG_SEGMENT_NAME_SIZE], first[CLOCK_RFC3339_SIZE];

    print_set(plan->there, there);
    print_set(meta->after, after);
    binlog_segment_name_print(&meta->name, name);
    clock_format_rfc3339(meta->first_ms, first);
    error_set(err, ERROR_GONE,
        "the archive has a gap: it goes on with %s at %s after %s, but all that there is until then is %s", name, first,
        after, there);
    return refuse(plan, REPLAY_GAP);
}

static int add_step(
    struct replay_plan *plan, const struct replay_meta *meta, const struct gtid_set *limit, struct error *err)
{
    if (!meta->has_log) {
        char name[BINLOG_SEGMENT_NAME_SIZE];
        binlog_segment_name_print(&meta->name, name);
        error_set(err, ERROR_GONE, "%s.log is missing", name);
        return refuse(plan, REPLAY_GAP);
    }
    if (plan->count == plan->capacity) {
        plan->capacity = plan->capacity ? plan->capacity * 2 : 64;
        plan->steps = xreallocarray(plan->steps, plan->capacity, sizeof(*plan->steps));
    }
    struct replay_step *step = &plan->steps[plan->count++];
    *step = (struct replay_step){
        .name = meta->name, .raw_bytes = meta->raw_bytes, .last_ms = meta->last_ms, .limit = limit};
    memcpy(step->sha256, meta->sha256, sizeof(step->sha256));
    plan->raw_bytes += meta->raw_bytes;
    return 0;
}

struct view {
    const struct replay_meta *meta;
    const struct gtid_set *limit;
    const struct gtid_set *counts;
    bool whole; /* all of it counts */
};

/* What of it counts is there, and the target is not before it. 1: it is in it. */
static int take(struct replay_plan *plan, const struct view *view, bool is_new, struct error *err)
{
    const struct replay_meta *meta = view->meta;
    int64_t until_ms = plan->wish.until_ms;
    bool later = until_ms && meta->last_ms > until_ms;
    bool ends = plan->target ? is_within(plan->target, view->counts) : later && view->whole;

    if (later && view->whole && !is_new)
        return too_new(plan, meta, err);
    if (ends && plan->target && gtid_set_compare(plan->have, view->counts) == GTID_SUPERSET)
        return too_new(plan, meta, err);
    if ((is_new || later || ends) && add_step(plan, meta, view->limit, err) < 0)
        return -1;
    plan->replays |= is_new;
    gtid_set_unite(plan->there, view->counts);
    gtid_set_free(plan->last);
    plan->last = gtid_set_intersect(view->counts, view->counts);
    int64_t newest_ms = view->whole ? meta->last_ms : meta->first_ms;
    if (newest_ms >= plan->newest_ms) {
        plan->newest_ms = newest_ms;
        binlog_segment_name_print(&meta->name, plan->newest);
    }
    return ends;
}

/* Whether something before the target tells that the backup's last transaction is not later. Retention may leave an
 * archive that begins with a lost tail, of which nothing counts. */
static bool tells_of_backup(const struct replay_plan *plan)
{
    return plan->last || (!plan->target && plan->wish.until_ms >= plan->wish.backup_ms);
}

/* 1: the target is in it, or before it. */
static int visit(struct replay_plan *plan, size_t slot, struct error *err)
{
    const struct replay_meta *meta = replay_chain_meta(&plan->chain, slot, err);
    struct view view = {.meta = meta};

    if (!meta || (plan->has_before && check_link(plan, meta, err) < 0))
        return -1;
    note_link(plan, meta);
    _cleanup_(gtid_set_freep) struct gtid_set *counts = what_counts(plan, slot, meta, &view.limit, err);
    if (!counts)
        return -1;
    view.counts = counts;
    view.whole = is_within(meta->until, counts);
    if (is_within(counts, meta->after))
        return 0; /* all of it was lost with its primary */
    bool is_new = !is_within(counts, plan->there);
    if (is_new && !is_within(meta->after, plan->there))
        return gap(plan, meta, err);
    if (!is_beyond(plan, meta))
        return take(plan, &view, is_new, err);
    bool is_sure = plan->replays || (is_within(plan->have, meta->after) && tells_of_backup(plan));
    return is_sure ? 1 : too_new(plan, meta, err);
}

static int not_covered(struct replay_plan *plan, struct error *err)
{
    char until[CLOCK_RFC3339_SIZE], newest[CLOCK_RFC3339_SIZE], last[TEXT_BYTES];

    clock_format_rfc3339(plan->newest_ms, newest);
    clock_format_rfc3339(plan->wish.until_ms, until);
    print_set(plan->last ? plan->last : plan->have, last);
    if (plan->target)
        error_set(err, ERROR_NOT_FOUND, "the archive does not hold %.160s: it ends with %s, at %s (%s)",
            plan->wish.until_gtid, plan->newest, last, newest);
    else
        error_set(err, ERROR_NOT_FOUND, "the archive does not reach %s: it ends with %s, at %s (%s)", until,
            plan->newest, newest, last);
    return refuse(plan, REPLAY_NOT_COVERED);
}

/* What the backup has must be part of the history that goes on. */
static int check_history(struct replay_plan *plan, struct error *err)
{
    char have[TEXT_BYTES], last[TEXT_BYTES];

    if (!plan->replays || is_within(plan->have, plan->last))
        return 0;
    print_set(plan->have, have);
    print_set(plan->last, last);
    error_set(err, ERROR_GONE,
        "the backup holds transactions that the archive's history does not have: %s, the archive goes on to %s", have,
        last);
    return refuse(plan, REPLAY_GAP);
}

static int walk(struct replay_plan *plan, struct error *err)
{
    size_t slot = 0;
    int rc = find_start(plan, &slot, err);

    for (size_t first = slot; rc == 0 && slot < plan->chain.slot_count; slot++) {
        rc = visit(plan, slot, err);
        if (slot > first)
            replay_chain_drop(&plan->chain, slot - 1);
    }
    if (rc < 0)
        return -1;
    bool covered = rc > 0 || !has_target(plan) || (plan->wish.until_ms && plan->newest_ms >= plan->wish.until_ms);
    return covered ? check_history(plan, err) : not_covered(plan, err);
}

int replay_plan_make(struct replay_plan *plan, replay_read_fn read, void *arg, struct error *err)
{
    int exact = check_backup(plan, err);

    if (exact != 0)
        return exact < 0 ? -1 : 0;
    plan->chain.read = read;
    plan->chain.arg = arg;
    replay_chain_sort(&plan->chain);
    if (plan->chain.slot_count > 0)
        return walk(plan, err);
    error_set(err, ERROR_NOT_FOUND, "nothing is archived in %.300s", plan->wish.folder);
    return refuse(plan, REPLAY_NOT_COVERED);
}

/* ---- life ---- */

struct replay_plan *replay_plan_new(const struct replay_wish *wish, struct error *err)
{
    struct replay_plan *plan = xnew(struct replay_plan);

    plan->wish = *wish;
    plan->chain.wish = &plan->wish;
    plan->have = gtid_set_parse(wish->flavour, wish->gtid, err);
    plan->there = plan->have ? gtid_set_intersect(plan->have, plan->have) : NULL;
    if (plan->have && !str_empty(wish->until_gtid))
        plan->target = gtid_set_parse(wish->flavour, wish->until_gtid, err);
    if (plan->have && (str_empty(wish->until_gtid) || plan->target))
        return plan;
    replay_plan_free(plan);
    return NULL;
}

void replay_plan_free(struct replay_plan *plan)
{
    if (!plan)
        return;
    replay_chain_release(&plan->chain);
    gtid_set_free(plan->have);
    gtid_set_free(plan->target);
    gtid_set_free(plan->there);
    gtid_set_free(plan->last);
    gtid_set_free(plan->before_until);
    free(plan->steps);
    free(plan);
}

int replay_plan_add(struct replay_plan *plan, const char *object, struct error *err)
{
    return replay_chain_add(&plan->chain, object, err);
}

enum replay_reason replay_plan_reason(const struct replay_plan *plan)
{
    return plan->chain.reason;
}

size_t replay_plan_count(const struct replay_plan *plan)
{
    return plan->count;
}

const struct replay_step *replay_plan_step(const struct replay_plan *plan, size_t index)
{
    return &plan->steps[index];
}

uint64_t replay_plan_raw_bytes(const struct replay_plan *plan)
{
    return plan->raw_bytes;
}
