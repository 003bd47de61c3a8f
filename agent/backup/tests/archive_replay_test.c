/* SPDX-License-Identifier: Apache-2.0 */
/* What the archive's own writer makes of random histories (failovers, lost tails, copied members, forgetful agents) the
 * restore's own reader turns back into what the last primary has. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/archive_round.h"
#include "agent/backup/binlog_file.h"
#include "agent/backup/replay_fetch.h"
#include "agent/backup/replay_word.h"
#include "agent/backup/tests/binlog_double.h"
#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/tests/object_world.h"

#define FOLDER "shop/db/binlogs/u-1"
#define SERVERS 3
#define HISTORY_MAX 1000
#define BACKUPS_MAX 24
#define FIRST_S 1700000000U
#define SEEDS 20
#define DOMAINS 2 /* MariaDB */

struct one {
    unsigned writer, number, domain; /* writer: server_uuid, or server_id */
};

struct member {
    struct binlog_double logs;
    unsigned writer;          /* another one with each copy: so no GTID names two transactions */
    size_t list[HISTORY_MAX]; /* of the world's */
    size_t count;
    size_t copied; /* of them came with a copy */
};

struct backup {
    size_t list[HISTORY_MAX];
    size_t count;
    int64_t at_ms;
};

struct world {
    enum gtid_flavour flavour;
    struct object_world *objects;
    struct archive_task task;
    struct archive_order order;
    struct member members[SERVERS];
    unsigned primary, writers;
    struct one all[HISTORY_MAX];
    size_t count;
    struct backup backups[BACKUPS_MAX];
    size_t backup_count;
    uint64_t random;
    uint64_t seed;
    char dir[64];
    bool purged;
    int64_t newest_ms; /* as the last round told it */
};

static unsigned pick(struct world *w, unsigned below)
{
    return (unsigned)(random_next(&w->random) % below);
}

static void print_one(const struct world *w, size_t index, char *ret, size_t size)
{
    const struct one *one = &w->all[index];

    if (w->flavour == GTID_MARIADB)
        snprintf(ret, size, "%u-%u-%u", one->domain, one->writer + 1, one->number);
    else
        snprintf(ret, size, "%08x-0000-0000-0000-000000000000:%u", one->writer + 1, one->number);
}

/* What has been executed, as the server says it. */
static void print_set(const struct world *w, const size_t *list, size_t count, struct strbuf *out)
{
    struct gtid_set *set = gtid_set_new(w->flavour);

    for (size_t i = 0; i < count; i++) {
        char text[64];
        print_one(w, list[i], text, sizeof(text));
        struct gtid_set *one = gtid_set_parse(w->flavour, text, NULL);
        gtid_set_unite(set, one);
        gtid_set_free(one);
    }
    gtid_set_print(set, out);
    gtid_set_free(set);
}

/* MariaDB: of what was copied only the last one of its domain is known. MySQL: nothing of it stands in the logs. */
static bool is_listed(const struct world *w, const struct member *member, size_t i)
{
    for (size_t k = i + 1; k < member->copied; k++) {
        if (w->all[member->list[k]].domain == w->all[member->list[i]].domain)
            return false;
    }
    return w->flavour == GTID_MARIADB || i >= member->copied;
}

/* What stands at a log's beginning of one writer, in one domain. */
static void list_writer(
    const struct world *w, const struct member *member, unsigned domain, unsigned writer, struct strbuf *out)
{
    unsigned first = 0;
    unsigned last = 0;

    for (size_t i = 0; i < member->count; i++) {
        const struct one *one = &w->all[member->list[i]];
        if (one->domain != domain || one->writer != writer || !is_listed(w, member, i))
            continue;
        first = first ? first : one->number;
        last = one->number;
    }
    if (!last)
        return;
    strbuf_adds(out, out->len ? "," : "");
    if (w->flavour == GTID_MARIADB)
        strbuf_addf(out, "%u-%u-%u", domain, writer + 1, last);
    else
        strbuf_addf(out, "%08x-0000-0000-0000-000000000000:%u-%u", writer + 1, first, last);
}

static void rotate(struct world *w, struct member *member)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    for (unsigned domain = 0; domain < DOMAINS; domain++) {
        for (unsigned writer = 0; writer < w->writers; writer++)
            list_writer(w, member, domain, writer, &text);
    }
    binlog_double_rotate(&member->logs, str_or_empty(text.buf));
}

static void append(struct world *w, struct member *member, size_t index)
{
    char text[64];

    print_one(w, index, text, sizeof(text));
    member->list[member->count++] = index;
    binlog_double_add(&member->logs, text, FIRST_S + (uint32_t)index, 30);
}

static void write_some(struct world *w)
{
    struct member *primary = &w->members[w->primary];

    for (unsigned n = 1 + pick(w, 4); n > 0 && w->count < HISTORY_MAX; n--) {
        unsigned number = 1;
        unsigned domain = w->flavour == GTID_MARIADB ? pick(w, DOMAINS) : 0;
        for (size_t i = 0; i < primary->count; i++) {
            const struct one *one = &w->all[primary->list[i]];
            if (w->flavour == GTID_MARIADB ? one->domain == domain : one->writer == primary->writer)
                number = MAX_OF(number, one->number + 1);
        }
        w->all[w->count] = (struct one){.writer = primary->writer, .domain = domain, .number = number};
        append(w, primary, w->count++);
    }
}

static void replicate(struct world *w, unsigned to)
{
    const struct member *primary = &w->members[w->primary];
    struct member *member = &w->members[to];

    if (to == w->primary || member->count >= primary->count)
        return;
    for (unsigned n = 1 + pick(w, (unsigned)(primary->count - member->count)); n > 0; n--)
        append(w, member, primary->list[member->count]);
}

static void clone(struct world *w, unsigned to)
{
    const struct member *primary = &w->members[w->primary];
    struct member *member = &w->members[to];

    binlog_double_reset(&member->logs);
    memcpy(member->list, primary->list, sizeof(member->list));
    member->count = member->copied = primary->count;
    member->writer = w->writers++;
    rotate(w, member);
}

static bool is_prefix(const struct member *of, const size_t *list, size_t count)
{
    return count <= of->count && memcmp(of->list, list, count * sizeof(*list)) == 0;
}

static void fail_over(struct world *w)
{
    unsigned next = (w->primary + 1) % SERVERS;
    unsigned other = (w->primary + 2) % SERVERS;

    if (w->members[other].count > w->members[next].count || pick(w, 4) == 0)
        next = w->members[other].count >= w->members[next].count ? other : next;
    w->primary = next;
    w->order.epoch++;
    archive_memory_release(&w->order.memory);
    for (unsigned i = 0; i < SERVERS; i++) {
        if (i != next && !is_prefix(&w->members[next], w->members[i].list, w->members[i].count))
            clone(w, i);
    }
}

static void on_told(void *arg, const struct archive_word *word)
{
    UNUSED(arg);
    UNUSED(word);
}

/* Whether there is more. */
static bool archive(struct world *w)
{
    struct member *primary = &w->members[w->primary];
    struct archive_store store = {.loop = w->objects->loop, .store = w->objects->store};
    struct archive_word word;
    struct strbuf executed;
    struct error err = ERROR_INIT;

    strbuf_init(&executed, POSITION_TEXT_MAX);
    print_set(w, primary->list, pick(w, 3) ? primary->count : primary->copied, &executed);
    w->order.executed = str_or_empty(executed.buf);
    const struct archive_round round = {
        .store = &store, .task = &w->task, .order = &w->order, .data_dir = primary->logs.dir, .tell = on_told};
    int rc = archive_round_run(&round, &word, &err);
    if (rc < 0)
        fail_msg("seed %llu: %s: %s", (unsigned long long)w->seed, word.error_reason, word.message);
    w->newest_ms = word.memory.newest_ms;
    archive_memory_release(&w->order.memory);
    if (pick(w, 3))
        archive_memory_keep(&w->order.memory, &word.memory);
    archive_memory_release(&word.memory);
    w->order.executed = NULL;
    strbuf_release(&executed);
    w->order.named_after_ms = clock_realtime_ms();
    return word.full;
}

static void back_up(struct world *w)
{
    const struct member *member = &w->members[pick(w, SERVERS)];

    if (w->backup_count == BACKUPS_MAX || member->count == 0)
        return;
    struct backup *backup = &w->backups[w->backup_count++];
    memcpy(backup->list, member->list, sizeof(backup->list));
    backup->count = member->count;
    backup->at_ms = (FIRST_S + (int64_t)w->count) * 1000;
}

/* ---- back ---- */

struct target {
    char gtid[64];
    int64_t ms;
    size_t end; /* of the primary's list */
};

struct reading {
    struct world *w;
    struct replay_store store;
    struct replay_plan *plan;
    struct replay_wish wish;
    size_t *list; /* the backup's, and what was taken */
    size_t count;
};

static int on_name(void *arg, const char *name, struct error *err)
{
    return replay_plan_add(((struct reading *)arg)->plan, name, err);
}

static int read_meta(void *arg, const struct binlog_segment_name *name, struct strbuf *out, struct error *err)
{
    struct reading *r = arg;
    char printed[BINLOG_SEGMENT_NAME_SIZE];

    binlog_segment_name_print(name, printed);
    _cleanup_(freep) char *object = xasprintf(FOLDER "/%s.json", printed);
    return replay_store_get(&r->store, object, BINLOG_SEGMENT_META_MAX, out, err);
}

static int on_taken(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct reading *r = arg;

    UNUSED(err);
    r->list[r->count++] = (size_t)(transaction->at_s - FIRST_S); /* who it is */
    return 0;
}

static int fetch(struct reading *r, enum replay_reason *reason, struct error *err)
{
    const struct replay_fetch_options options = {.store = &r->store, .wish = &r->wish, .dir = r->w->dir};
    struct replay_fetch *fetch = replay_fetch_new(&options, err);
    struct binlog_head head;
    uint64_t number = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < replay_plan_count(r->plan) && !replay_cut_stopped(replay_fetch_cut(fetch)); i++)
        rc = replay_fetch_step(fetch, replay_plan_step(r->plan, i), reason, err);
    if (rc == 0 && replay_plan_count(r->plan) > 0)
        rc = replay_cut_check(replay_fetch_cut(fetch), reason, err);
    if (rc == 0)
        rc = replay_fetch_end_batch(fetch, &number, err);
    if (rc == 0 && number > 0) {
        _cleanup_(freep) char *path = replay_batch_path(r->w->dir, number);
        rc = binlog_file_scan(path, r->wish.flavour, &head, on_taken, r, err);
        binlog_head_release(&head);
    }
    replay_fetch_free(fetch);
    return rc;
}

/* *ret_list: HISTORY_MAX. */
static int restore(struct world *w, const struct backup *backup, const struct target *target, size_t *ret_list,
    size_t *ret_count, enum replay_reason *reason, struct error *err)
{
    struct reading r = {.w = w, .store = {.loop = w->objects->loop, .store = w->objects->store}, .list = ret_list};
    struct strbuf gtid;

    memcpy(ret_list, backup->list, sizeof(backup->list));
    r.count = backup->count;
    strbuf_init(&gtid, 65536);
    print_set(w, backup->list, backup->count, &gtid);
    r.wish = (struct replay_wish){.flavour = w->flavour,
        .folder = FOLDER,
        .gtid = gtid.buf,
        .backup_ms = pick(w, 2) ? backup->at_ms : clock_realtime_ms() + 24LL * 3600 * 1000,
        .until_gtid = target->gtid,
        .until_ms = target->ms};
    *reason = REPLAY_STORE_FAILED;
    r.plan = replay_plan_new(&r.wish, err);
    assert_non_null(r.plan);
    int rc = replay_store_list(&r.store, FOLDER "/", on_name, &r, err);
    if (rc == 0 && (rc = replay_plan_make(r.plan, read_meta, &r, err)) < 0)
        *reason = replay_plan_reason(r.plan);
    if (rc == 0)
        rc = fetch(&r, reason, err);
    replay_plan_free(r.plan);
    strbuf_release(&gtid);
    *ret_count = r.count;
    return rc;
}

static void complain(const struct world *w, const struct backup *backup, const struct target *target, const char *what,
    const struct error *err)
{
    const struct member *primary = &w->members[w->primary];
    struct strbuf have;
    struct strbuf all;

    strbuf_init(&have, GTID_TEXT_MAX);
    strbuf_init(&all, GTID_TEXT_MAX);
    print_set(w, backup->list, backup->count, &have);
    print_set(w, primary->list, primary->count, &all);
    fail_msg("flavour %d, seed %llu: a backup of %s, up to %s %lld (%zu of %zu) of %s: %s: %s", w->flavour,
        (unsigned long long)w->seed, have.buf, target->gtid, (long long)target->ms, target->end, primary->count,
        all.buf, what, err->message);
}

static struct target choose_target(struct world *w)
{
    const struct member *primary = &w->members[w->primary];
    size_t last = pick(w, (unsigned)primary->count);
    struct target target = {.end = primary->count};

    switch (pick(w, 4)) {
    case 0:
        break;
    case 3: /* the latest moment that is told to be in reach */
        target.ms = w->newest_ms;
        break;
    case 1:
        print_one(w, primary->list[last], target.gtid, sizeof(target.gtid));
        target.end = last + 1;
        break;
    default:
        target.ms = (FIRST_S + (int64_t)primary->list[last]) * 1000;
        target.end = last + 1;
        break;
    }
    return target;
}

/* A backup that holds what was lost may be restored as it is, or be refused. */
static void check(struct world *w, const struct backup *backup)
{
    const struct member *primary = &w->members[w->primary];
    const struct target target = choose_target(w);
    const bool whole = is_prefix(primary, backup->list, backup->count);
    enum replay_reason reason;
    struct error err = ERROR_INIT;
    size_t list[HISTORY_MAX];
    size_t count = 0;
    int rc = restore(w, backup, &target, list, &count, &reason, &err);
    const bool exact = is_prefix(primary, list, count) && count == target.end;
    const bool may_lack = w->purged && reason == REPLAY_GAP;

    if (rc == 0 && !exact && (whole || count > backup->count))
        complain(w, backup, &target, "something else was restored", &err);
    if (rc < 0 && whole && target.end >= backup->count && !may_lack)
        complain(w, backup, &target, "refused", &err);
    if (rc < 0 && whole && target.end < backup->count && reason != REPLAY_TOO_NEW && !may_lack)
        complain(w, backup, &target, "refused for another reason", &err);
}

/* Only the newest log of a server is written to. */
static void purge(struct world *w)
{
    struct binlog_double *logs = &w->members[w->primary].logs;

    if (logs->newest == logs->oldest)
        return;
    binlog_double_purge(logs);
    w->purged = true;
}

static void step(struct world *w, bool purges)
{
    static const char acts[] = "wwwwrraaolbp"; /* by their frequency */

    switch (acts[pick(w, sizeof(acts) - 1)]) {
    case 'w':
        write_some(w);
        break;
    case 'r':
        replicate(w, pick(w, SERVERS));
        break;
    case 'a':
        archive(w);
        break;
    case 'l':
        rotate(w, &w->members[pick(w, SERVERS)]);
        break;
    case 'o': /* the heartbeat writes at once, and rounds begin with the role */
        if (pick(w, 2))
            break;
        fail_over(w);
        write_some(w);
        archive(w);
        break;
    case 'b':
        back_up(w);
        break;
    default:
        if (purges && pick(w, 2))
            purge(w);
    }
}

static void live(struct world *w, bool purges)
{
    for (int i = 0; i < 60; i++)
        step(w, purges);
    write_some(w);
    while (archive(w))
        ;
    const struct member *primary = &w->members[w->primary];
    assert_true(w->newest_ms == (FIRST_S + (int64_t)primary->list[primary->count - 1]) * 1000);
    for (size_t i = 0; i < 2 * w->backup_count; i++)
        check(w, &w->backups[i / 2]);
}

static void run(enum gtid_flavour flavour, uint64_t seed, bool purges)
{
    struct world *w = xnew(struct world);
    void *objects = NULL;

    assert_int_equal(object_world_set_up(&objects), 0);
    w->objects = objects;
    w->flavour = flavour;
    w->random = w->seed = seed;
    random_next(&w->random);
    w->writers = SERVERS;
    snprintf(w->dir, sizeof(w->dir), "/tmp/km-replayed-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    w->task = (struct archive_task){.ns = "shop", .cluster = "db", .cluster_uid = "u-1", .interval_s = 60};
    w->task.compression = BACKUP_COMPRESSION_NONE;
    w->task.folder = xstrdup(FOLDER);
    w->order = (struct archive_order){.epoch = 1, .writer = "db-mysql-0"};
    snprintf(w->order.flavour, sizeof(w->order.flavour), "%s", flavour == GTID_MARIADB ? "mariadb" : "mysql");
    for (unsigned i = 0; i < SERVERS; i++) {
        binlog_double_init(&w->members[i].logs, flavour);
        w->members[i].writer = i;
        rotate(w, &w->members[i]);
    }
    live(w, purges);
    for (unsigned i = 0; i < SERVERS; i++)
        binlog_double_release(&w->members[i].logs);
    assert_int_equal(fs_remove_all(w->dir, NULL), 0);
    archive_task_release(&w->task);
    archive_memory_release(&w->order.memory);
    assert_int_equal(object_world_tear_down(&objects), 0);
    free(w);
}

/* SEED: one of them, by hand. */
static void run_all(enum gtid_flavour flavour)
{
    const char *seed = getenv("SEED");

    for (uint64_t i = 1; !seed && i <= SEEDS; i++)
        run(flavour, i, i % 3 == 0);
    if (seed)
        run(flavour, strtoull(seed, NULL, 10), strtoull(seed, NULL, 10) % 3 == 0);
}

static void test_mariadb(void **state)
{
    UNUSED(state);
    run_all(GTID_MARIADB);
}

static void test_mysql(void **state)
{
    UNUSED(state);
    run_all(GTID_MYSQL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mariadb),
        cmocka_unit_test(test_mysql),
    };

    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
