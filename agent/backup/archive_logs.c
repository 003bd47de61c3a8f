/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_logs.h"

#include "agent/backup/binlog_tail.h"
#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/strbuf.h"

/* How many ends of segments are looked for beside the newest one: hours of what a primary wrote alone. */
#define OLDER_MAX 1000

int archive_logs_open(const char *data_dir, enum gtid_flavour flavour, struct archive_logs *ret, struct error *err)
{
    *ret = (struct archive_logs){.flavour = flavour};
    strvec_init(&ret->files);
    if (binlog_tail_files(data_dir, &ret->files, err) == 0)
        return 0;
    archive_logs_release(ret);
    return -1;
}

void archive_logs_release(struct archive_logs *logs)
{
    strvec_release(&logs->files);
}

void archive_start_release(struct archive_start *start)
{
    gtid_set_free(start->after);
    *start = (struct archive_start){0};
}

uint64_t archive_head_hash(const struct binlog_head *head)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    if (head->before)
        gtid_set_print(head->before, &text);
    uint64_t hash = hash64(HASH64_INIT, head->description.buf, head->description.len);
    /* As a number of JSON it is signed. */
    return hash64(hash, text.buf, text.len) >> 1;
}

static bool is_within(const struct gtid_set *a, const struct gtid_set *b)
{
    enum gtid_relation relation = gtid_set_compare(a, b);

    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

static struct gtid_set *copy_of(const struct gtid_set *set)
{
    return gtid_set_intersect(set, set);
}

/* ---- which file ---- */

/* MariaDB: by numbers; that they are the same transactions is seen when they are met. */
static bool begins_within(enum gtid_flavour flavour, const struct binlog_head *head, const struct gtid_set *set)
{
    if (!head->before)
        return false;
    if (flavour == GTID_MYSQL)
        return is_within(head->before, set);
    for (size_t i = 0; i < head->last_count; i++) {
        if (!gtid_set_contains(set, &head->last[i]))
            return false;
    }
    return true;
}

/* The newest file that does not begin behind the position; the oldest one if all do (*ret_reaches false). */
static int choose_file(
    const struct archive_logs *logs, const struct gtid_set *set, size_t *ret, bool *ret_reaches, struct error *err)
{
    *ret = 0;
    *ret_reaches = false;
    for (size_t i = logs->files.n; set && !*ret_reaches && i-- > 0;) {
        struct binlog_head head;
        int rc = binlog_file_scan(logs->files.v[i], logs->flavour, &head, NULL, NULL, err);
        *ret_reaches = rc == 0 && begins_within(logs->flavour, &head, set);
        binlog_head_release(&head);
        *ret = i;
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* ---- what is in the files from one on ---- */

struct candidate {
    struct gtid_set *set;
    size_t positions, met; /* MariaDB */
};

struct history {
    const struct archive_wish *wish;
    bool own_seen; /* of the newest segment, if it is this server's own */
    int64_t own_last_s;
    struct gtid_set *before; /* of the first file */
    struct gtid_set *seen;   /* that, and all transactions */
    struct candidate *candidates;
    size_t candidate_count;
};

static void history_release(struct history *history)
{
    gtid_set_free(history->before);
    gtid_set_free(history->seen);
    history->before = history->seen = NULL;
}

/* Each transaction is met once: in the list before the first file, or in a file. */
static void meet(struct history *history, const struct gtid_one *one)
{
    for (size_t i = 0; i < history->candidate_count; i++) {
        struct candidate *candidate = &history->candidates[i];
        struct gtid_one position;
        for (size_t k = 0; gtid_set_position(candidate->set, k, &position); k++) {
            candidate->met +=
                position.domain == one->domain && position.server == one->server && position.number == one->number;
        }
    }
}

static void meet_own(struct history *history, const struct binlog_transaction *transaction)
{
    const struct archive_wish *wish = history->wish;

    if (!wish || !wish->own_after || !gtid_set_contains(wish->archived, &transaction->gtid) ||
        gtid_set_contains(wish->own_after, &transaction->gtid))
        return;
    history->own_seen = true;
    history->own_last_s = transaction->at_s;
}

/* All that the newest segment names is here, but it is not what was archived: the server has lost that, and given its
 * numbers to others. */
static bool is_given_anew(const struct history *history)
{
    return history->own_seen && history->own_last_s != history->wish->own_last_s;
}

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct history *history = arg;

    UNUSED(err);
    gtid_set_add(history->seen, &transaction->gtid);
    meet_own(history, transaction);
    meet(history, &transaction->gtid);
    return 0;
}

static int read_history(const struct archive_logs *logs, size_t first, struct history *history, struct error *err)
{
    int rc = 0;

    for (size_t i = first; rc == 0 && i < logs->files.n; i++) {
        struct binlog_head head;
        if (i == first) {
            rc = binlog_file_scan(logs->files.v[i], logs->flavour, &head, NULL, NULL, err);
            history->before = rc == 0 && head.before ? copy_of(head.before) : gtid_set_new(logs->flavour);
            history->seen = copy_of(history->before);
            for (size_t k = 0; rc == 0 && k < head.last_count; k++)
                meet(history, &head.last[k]);
            binlog_head_release(&head);
        }
        if (rc < 0)
            break;
        rc = binlog_file_scan(logs->files.v[i], logs->flavour, &head, on_transaction, history, err);
        binlog_head_release(&head);
    }
    return rc;
}

/* ---- MySQL ---- */

/* What had been executed before the logs from `first` on, copied things included. */
static struct gtid_set *before_logs(const struct history *history, const struct gtid_set *executed)
{
    struct gtid_set *before = gtid_set_subtract(executed, history->seen);

    gtid_set_unite(before, history->before);
    return before;
}

static int begin_anew(
    const struct archive_logs *logs, const struct gtid_set *executed, struct archive_start *ret, struct error *err)
{
    _cleanup_(history_release) struct history history = {0};

    if (read_history(logs, 0, &history, err) < 0)
        return -1;
    ret->file = 0;
    gtid_set_free(ret->after);
    ret->after = before_logs(&history, executed);
    return 0;
}

/* archived: what counts of it. *ret_anew: less of it would. */
static int try_mysql(const struct archive_logs *logs, const struct archive_wish *wish, const struct gtid_set *archived,
    struct gtid_set *executed, struct archive_start *ret, bool *ret_anew, struct error *err)
{
    _cleanup_(history_release) struct history history = {.wish = wish};
    bool reaches = false;

    if (choose_file(logs, archived, &ret->file, &reaches, err) < 0 || read_history(logs, ret->file, &history, err) < 0)
        return -1;
    _cleanup_(gtid_set_freep) struct gtid_set *before = before_logs(&history, executed);
    gtid_set_unite(executed, history.seen);
    gtid_set_free(ret->after);
    ret->after = gtid_set_intersect(archived, executed);
    ret->rewound = !is_within(wish->archived, ret->after);
    ret->agrees = reaches && is_within(before, ret->after);
    *ret_anew = is_given_anew(&history);
    return 0;
}

static int find_mysql(
    const struct archive_logs *logs, const struct archive_wish *wish, struct archive_start *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed = gtid_set_parse(GTID_MYSQL, wish->executed, NULL);
    bool anew = false;

    if (!executed)
        executed = gtid_set_new(GTID_MYSQL);
    if (!wish->archived)
        return begin_anew(logs, executed, ret, err);
    if (try_mysql(logs, wish, wish->archived, executed, ret, &anew, err) < 0 ||
        (anew && !ret->rewound && try_mysql(logs, wish, wish->own_after, executed, ret, &anew, err) < 0))
        return -1;
    return ret->agrees ? 0 : begin_anew(logs, executed, ret, err);
}

/* ---- MariaDB ---- */

static void count_positions(struct candidate *candidate)
{
    struct gtid_one position;

    while (gtid_set_position(candidate->set, candidate->positions, &position))
        candidate->positions++;
}

/* How many of them the logs may reach back to, and the file that the oldest of those needs. */
static int reach_back(const struct archive_logs *logs, struct candidate *candidates, size_t count, size_t *ret_count,
    size_t *ret_file, struct error *err)
{
    bool reaches = true;
    size_t file = 0;

    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (choose_file(logs, candidates[i].set, &file, &reaches, err) < 0)
            return -1;
        if (!reaches)
            return 0;
        count_positions(&candidates[i]);
        *ret_file = file;
        *ret_count = i + 1;
    }
    return 0;
}

/* own: of the newest end. The first one that is in this history becomes the start; *ret->agrees tells whether there is
 * one. */
static int try_candidates(const struct archive_logs *logs, const struct archive_wish *own, struct candidate *candidates,
    size_t count, struct archive_start *ret, struct error *err)
{
    _cleanup_(history_release) struct history history = {.wish = own, .candidates = candidates};
    bool reaches = false;
    size_t file = 0;

    if (reach_back(logs, candidates, count, &history.candidate_count, &file, err) < 0)
        return -1;
    if (history.candidate_count > 0 && read_history(logs, file, &history, err) < 0)
        return -1;
    for (size_t i = 0; i < history.candidate_count; i++) {
        if (candidates[i].met < candidates[i].positions || is_given_anew(&history))
            continue;
        ret->agrees = true;
        ret->after = copy_of(candidates[i].set);
        return choose_file(logs, ret->after, &ret->file, &reaches, err);
    }
    return 0;
}

static int take_older(const struct archive_wish *wish, struct candidate *candidates, size_t *count, struct error *err)
{
    struct gtid_set *set = NULL;

    while (*count < OLDER_MAX) {
        if (wish->older(wish->arg, &set, err) < 0)
            return -1;
        if (!set)
            return 0;
        candidates[(*count)++] = (struct candidate){.set = steal_ptr(set)};
    }
    return 0;
}

static int find_older(
    const struct archive_logs *logs, const struct archive_wish *wish, struct archive_start *ret, struct error *err)
{
    struct candidate *candidates = xnew_array(struct candidate, OLDER_MAX);
    size_t count = 0;
    int rc = take_older(wish, candidates, &count, err);

    if (rc == 0 && count > 0)
        rc = try_candidates(logs, NULL, candidates, count, ret, err);
    for (size_t i = 0; i < count; i++)
        gtid_set_free(candidates[i].set);
    free(candidates);
    ret->rewound = true;
    return rc;
}

static int find_mariadb(
    const struct archive_logs *logs, const struct archive_wish *wish, struct archive_start *ret, struct error *err)
{
    struct candidate newest = {.set = (struct gtid_set *)(uintptr_t)wish->archived};

    if (wish->archived && try_candidates(logs, wish, &newest, 1, ret, err) < 0)
        return -1;
    if (wish->archived && !ret->agrees && find_older(logs, wish, ret, err) < 0)
        return -1;
    if (ret->agrees)
        return 0;
    struct binlog_head head;
    int rc = binlog_file_scan(logs->files.v[0], GTID_MARIADB, &head, NULL, NULL, err);
    ret->file = 0;
    if (rc == 0)
        ret->after = head.before ? copy_of(head.before) : gtid_set_new(GTID_MARIADB);
    binlog_head_release(&head);
    return rc;
}

int archive_logs_find(
    const struct archive_logs *logs, const struct archive_wish *wish, struct archive_start *ret, struct error *err)
{
    *ret = (struct archive_start){0};
    if (logs->flavour == GTID_MYSQL)
        return find_mysql(logs, wish, ret, err);
    return find_mariadb(logs, wish, ret, err);
}
