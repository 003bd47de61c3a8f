/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/replay_cut.h"

#include "common/alloc.h"
#include "common/clock.h"

#define ONE_BYTES 96

struct replay_cut {
    const struct replay_wish *wish;
    struct gtid_set *have;   /* the backup's */
    struct gtid_set *target; /* NULL: none */
    struct gtid_set *there;  /* have, and what was taken */
    struct gtid_set *passed; /* of what counts of the chain, up to here */
    struct gtid_set *seen;   /* likewise, with what does not count */
    const struct gtid_set *limit;
    uint64_t count; /* of the segment */
    int64_t at_ms;
    bool begun, stopped;
};

static bool is_within(const struct gtid_set *a, const struct gtid_set *b)
{
    enum gtid_relation relation = gtid_set_compare(a, b);

    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

static void print_one(const struct replay_cut *cut, const struct gtid_one *one, char ret[static ONE_BYTES])
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, ONE_BYTES);
    gtid_one_print(cut->wish->flavour, one, &text);
    snprintf(ret, ONE_BYTES, "%s", text.buf);
}

/* MariaDB: the transaction of this number in this domain is another server's. */
static bool is_others(const struct replay_cut *cut, const struct gtid_set *set, const struct gtid_one *one)
{
    struct gtid_one position;

    for (size_t i = 0; cut->wish->flavour == GTID_MARIADB && gtid_set_position(set, i, &position); i++) {
        if (position.domain == one->domain)
            return position.number == one->number && position.server != one->server;
    }
    return false;
}

/* MariaDB: the target names one of this domain that should have been met before this one. */
static bool passes_target(const struct replay_cut *cut, const struct gtid_one *one)
{
    struct gtid_one wanted;

    for (size_t i = 0; cut->target && cut->wish->flavour == GTID_MARIADB && gtid_set_position(cut->target, i, &wanted);
         i++) {
        if (wanted.domain == one->domain)
            return one->number > wanted.number && !gtid_set_contains(cut->passed, &wanted);
    }
    return false;
}

static int fail(enum replay_reason *ret, enum replay_reason reason)
{
    *ret = reason;
    return -1;
}

static int stop(struct replay_cut *cut, const struct gtid_one *one, int64_t at_ms, enum replay_verdict *ret,
    enum replay_reason *ret_reason, struct error *err)
{
    char name[ONE_BYTES], at[CLOCK_RFC3339_SIZE];

    cut->stopped = true;
    *ret = REPLAY_STOP;
    if (!gtid_set_contains(cut->have, one))
        return 0;
    print_one(cut, one, name);
    clock_format_rfc3339(at_ms, at);
    error_set(err, ERROR_CONFLICT, "the backup is later than the target: it holds %s of %s; an older backup is needed",
        name, at);
    return fail(ret_reason, REPLAY_TOO_NEW);
}

static int check_history(
    const struct replay_cut *cut, const struct gtid_one *one, enum replay_reason *ret_reason, struct error *err)
{
    char name[ONE_BYTES];

    print_one(cut, one, name);
    if (is_others(cut, cut->have, one)) {
        error_set(err, ERROR_GONE,
            "the backup holds transactions that the archive's history does not have: there is %s in their place", name);
        return fail(ret_reason, REPLAY_GAP);
    }
    if ((cut->target && is_others(cut, cut->target, one)) || passes_target(cut, one)) {
        error_set(
            err, ERROR_NOT_FOUND, "the archive does not hold %.200s: there is %s instead", cut->wish->until_gtid, name);
        return fail(ret_reason, REPLAY_NOT_COVERED);
    }
    return 0;
}

int replay_cut_judge(struct replay_cut *cut, const struct gtid_one *one, int64_t at_ms, enum replay_verdict *ret,
    enum replay_reason *ret_reason, struct error *err)
{
    cut->count++;
    /* A lost tail behind the target, too: with what is skipped goes what stands before it. */
    *ret = cut->stopped ? REPLAY_STOP : REPLAY_SKIP;
    gtid_set_add(cut->seen, one);
    if (cut->limit && !gtid_set_contains(cut->limit, one))
        return 0;
    bool beyond = cut->target ? is_within(cut->target, cut->passed) : cut->wish->until_ms && at_ms > cut->wish->until_ms;
    if (cut->stopped || beyond)
        return stop(cut, one, at_ms, ret, ret_reason, err);
    if (check_history(cut, one, ret_reason, err) < 0)
        return -1;
    gtid_set_add(cut->passed, one);
    if (gtid_set_contains(cut->there, one))
        return 0;
    gtid_set_add(cut->there, one);
    cut->at_ms = at_ms;
    *ret = REPLAY_TAKE;
    return 0;
}

int replay_cut_begin(struct replay_cut *cut, const char *after, const struct gtid_set *limit, struct error *err)
{
    struct gtid_set *seen = gtid_set_parse(cut->wish->flavour, after, err);

    if (!seen)
        return -1;
    gtid_set_free(cut->seen);
    gtid_set_free(cut->passed);
    cut->seen = seen;
    cut->passed = gtid_set_intersect(seen, limit ? limit : seen);
    cut->limit = limit;
    cut->count = 0;
    return 0;
}

int replay_cut_end(struct replay_cut *cut, const char *until, uint64_t count, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *promised = NULL;

    if (cut->stopped)
        return 0;
    if (cut->count != count)
        return error_set(err, ERROR_PROTOCOL, "it holds %llu transactions, its description says %llu",
            (unsigned long long)cut->count, (unsigned long long)count);
    promised = gtid_set_parse(cut->wish->flavour, until, err);
    if (!promised)
        return -1;
    return gtid_set_compare(promised, cut->seen) == GTID_EQUAL
        ? 0
        : error_set(err, ERROR_PROTOCOL, "its transactions are not those that its description names");
}

bool replay_cut_stopped(const struct replay_cut *cut)
{
    return cut->stopped;
}

/* That a time is covered the plan knows. */
int replay_cut_check(const struct replay_cut *cut, enum replay_reason *ret_reason, struct error *err)
{
    if (!cut->target || is_within(cut->target, cut->passed) || is_within(cut->target, cut->there))
        return 0;
    error_set(err, ERROR_NOT_FOUND, "the archive does not hold %.200s", cut->wish->until_gtid);
    return fail(ret_reason, REPLAY_NOT_COVERED);
}

const struct gtid_set *replay_cut_reached(const struct replay_cut *cut)
{
    return cut->there;
}

int64_t replay_cut_reached_ms(const struct replay_cut *cut)
{
    return cut->at_ms;
}

struct replay_cut *replay_cut_new(const struct replay_wish *wish, struct error *err)
{
    struct replay_cut *cut = xnew(struct replay_cut);

    cut->wish = wish;
    cut->have = gtid_set_parse(wish->flavour, wish->gtid, err);
    cut->there = cut->have ? gtid_set_parse(wish->flavour, wish->gtid, err) : NULL;
    cut->passed = gtid_set_new(wish->flavour);
    cut->seen = gtid_set_new(wish->flavour);
    if (cut->have && !str_empty(wish->until_gtid))
        cut->target = gtid_set_parse(wish->flavour, wish->until_gtid, err);
    if (cut->have && (str_empty(wish->until_gtid) || cut->target))
        return cut;
    replay_cut_free(cut);
    return NULL;
}

void replay_cut_free(struct replay_cut *cut)
{
    if (!cut)
        return;
    gtid_set_free(cut->have);
    gtid_set_free(cut->target);
    gtid_set_free(cut->there);
    gtid_set_free(cut->passed);
    gtid_set_free(cut->seen);
    free(cut);
}
