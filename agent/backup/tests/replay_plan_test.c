/* SPDX-License-Identifier: Apache-2.0 */
/* Which segments are replayed, and where each is cut: by tables for every refusal, and by random histories with
 * failovers, lost tails and two writers at once. */
#include "common/base.h"

#include "agent/backup/replay_plan.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/replay_cut.h"
#include "common/alloc.h"
#include "common/backoff.h"
#include "common/tls.h"

#define FOLDER "shop/db/binlogs/0f2c"
#define ZERO_MS 1790000000000LL /* a whole second */
#define SECOND_MS 1000LL
#define MINUTE_MS (60 * SECOND_MS)
#define SEGMENTS_MAX 400
#define EPOCHS_MAX 8
#define HISTORY_MAX 2000

/* ---- an archive in memory ---- */

struct stored {
    struct binlog_segment segment;
    char *text; /* NULL: its .json is not there */
    bool no_log;
    size_t *transactions; /* the world's */
    size_t count;
};

struct archive {
    struct position_pool *positions;
    struct stored segments[SEGMENTS_MAX];
    size_t count;
    unsigned reads;
};

static void release(struct archive *archive)
{
    for (size_t i = 0; i < archive->count; i++) {
        free(archive->segments[i].text);
        free(archive->segments[i].transactions);
    }
    position_pool_unref(archive->positions);
    free(archive);
}

static char *text_of(const struct binlog_segment *segment)
{
    struct strbuf text;

    strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
    binlog_segment_encode(segment, NULL, &text);
    return strbuf_detach(&text, NULL);
}

/* previous: its number in the archive; -1: an epoch's first. */
static struct stored *put(struct archive *archive, const struct binlog_segment *like, int previous)
{
    struct stored *it = &archive->segments[archive->count++];

    assert_true(archive->count < SEGMENTS_MAX);
    it->segment = *like;
    struct binlog_segment *segment = &it->segment;
    if (!archive->positions)
        archive->positions = position_pool_new((size_t)(16 * KM_MIB));
    segment->after = position_take(archive->positions, like->after);
    segment->until = position_take(archive->positions, like->until);
    snprintf(segment->ns, sizeof(segment->ns), "shop");
    snprintf(segment->cluster, sizeof(segment->cluster), "db");
    snprintf(segment->cluster_uid, sizeof(segment->cluster_uid), "0f2c");
    snprintf(segment->writer, sizeof(segment->writer), "db-mysql-0");
    snprintf(segment->server_version, sizeof(segment->server_version), "10.11.19-MariaDB");
    memset(segment->sha256, 'a', 64);
    segment->raw_bytes = segment->stored_bytes = 1000;
    segment->compression = BACKUP_COMPRESSION_ZSTD;
    if (previous >= 0)
        tls_sha256_hex(archive->segments[previous].text, strlen(archive->segments[previous].text), segment->previous);
    it->text = text_of(segment);
    return it;
}

static int read_stored(void *arg, const struct binlog_segment_name *name, struct strbuf *out, struct error *err)
{
    struct archive *archive = arg;

    archive->reads++;
    for (size_t i = 0; i < archive->count; i++) {
        const struct binlog_segment_name *own = &archive->segments[i].segment.name;
        if (own->epoch != name->epoch || own->sequence != name->sequence || own->archived_ms != name->archived_ms)
            continue;
        strbuf_adds(out, archive->segments[i].text);
        return 0;
    }
    return error_set(err, ERROR_NOT_FOUND, "no such object");
}

static struct replay_plan *listed(const struct archive *archive, const struct replay_wish *wish)
{
    struct error err = ERROR_INIT;
    struct replay_plan *plan = replay_plan_new(wish, &err);

    if (!plan)
        fail_msg("%s", err.message);
    for (size_t i = archive->count; i-- > 0;) { /* in no good order */
        char name[BINLOG_SEGMENT_NAME_SIZE];
        binlog_segment_name_print(&archive->segments[i].segment.name, name);
        _cleanup_(freep) char *meta = xasprintf(FOLDER "/%s.json", name);
        _cleanup_(freep) char *log = xasprintf(FOLDER "/%s.log", name);
        if (archive->segments[i].text)
            assert_int_equal(replay_plan_add(plan, meta, NULL), 0);
        if (!archive->segments[i].no_log)
            assert_int_equal(replay_plan_add(plan, log, NULL), 0);
    }
    assert_int_equal(replay_plan_add(plan, FOLDER "/rubbish", NULL), 0);
    return plan;
}

/* ---- tables ---- */

/* Times in minutes; archived a minute after `last`. previous: -2: the one before. */
struct row {
    uint64_t epoch, sequence;
    const char *after, *until;
    int first, last;
    enum { PLAIN, GAP, NO_META, NO_LOG, ALTERED } how;
};

#define U1 "11111111-1111-1111-1111-111111111111"
#define U2 "22222222-2222-2222-2222-222222222222"

/* A failover after 0-1-40 with a lost tail up to 45; then 0-2-41 and so on. */
#define MARIADB_ROWS                                                                              \
    {1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {1, 2, "0-1-20", "0-1-30", 110, 119, PLAIN},     \
        {1, 3, "0-1-30", "0-1-45", 120, 129, PLAIN}, {2, 1, "0-1-40", "0-2-50", 130, 139, PLAIN}, \
    {                                                                                             \
        2, 2, "0-2-50", "0-2-60", 140, 149, PLAIN                                                 \
    }
#define MYSQL_ROWS                                                                                                    \
    {1, 1, U1 ":1-10", U1 ":1-20", 100, 109, PLAIN}, {1, 2, U1 ":1-20", U1 ":1-30", 110, 119, PLAIN},                 \
        {1, 3, U1 ":1-30", U1 ":1-45", 120, 129, PLAIN}, {2, 1, U1 ":1-40", U1 ":1-40," U2 ":1-10", 130, 139, PLAIN}, \
    {                                                                                                                 \
        2, 2, U1 ":1-40," U2 ":1-10", U1 ":1-40," U2 ":1-20", 140, 149, PLAIN                                         \
    }

struct table_case {
    const char *name;
    enum gtid_flavour flavour;
    struct row rows[6];
    const char *have;
    int backup;        /* minute */
    const char *until; /* GTID, or "" */
    int until_minute;  /* 0: none */
    const char *steps; /* "1-2 2-1", or NULL: refused */
    enum replay_reason reason;
    const char *says[3]; /* of a refusal */
};

static const struct table_case cases[] = {
    {"all", GTID_MARIADB, {MARIADB_ROWS}, "0-1-15", 105, "", 0, "1-1 1-2 1-3 2-1 2-2", 0, {0}},
    {"from the middle", GTID_MARIADB, {MARIADB_ROWS}, "0-1-35", 126, "", 0, "1-3 2-1 2-2", 0, {0}},
    {"from a segment's end", GTID_MARIADB, {MARIADB_ROWS}, "0-1-30", 119, "", 0, "1-3 2-1 2-2", 0, {0}},
    {"beyond the lost tail", GTID_MARIADB, {MARIADB_ROWS}, "0-1-40", 129, "", 0, "2-1 2-2", 0, {0}},
    {"a replica that lagged for hours", GTID_MARIADB, {MARIADB_ROWS}, "0-1-12", 500, "", 0, "1-1 1-2 1-3 2-1 2-2", 0,
        {0}},
    {"to a time", GTID_MARIADB, {MARIADB_ROWS}, "0-1-15", 105, "", 115, "1-1 1-2", 0, {0}},
    {"to a time between two", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 105, PLAIN}, {1, 2, "0-1-20", "0-1-30", 110, 119, PLAIN}}, "0-1-15", 105, "",
        107, "1-1", 0, {0}},
    {"to a time in the lost tail", GTID_MARIADB, {MARIADB_ROWS}, "0-1-15", 105, "", 128, "1-1 1-2 1-3", 0, {0}},
    {"to a GTID", GTID_MARIADB, {MARIADB_ROWS}, "0-1-15", 105, "0-1-25", 0, "1-1 1-2", 0, {0}},
    {"to a GTID behind the failover", GTID_MARIADB, {MARIADB_ROWS}, "0-1-35", 126, "0-2-41", 0, "1-3 2-1", 0, {0}},
    {"to the backup's own", GTID_MARIADB, {MARIADB_ROWS}, "0-1-35", 126, "0-1-35", 0, "", 0, {0}},
    {"nothing since", GTID_MARIADB, {MARIADB_ROWS}, "0-2-60", 151, "", 0, "", 0, {0}},
    {"beyond a gap that does not matter", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {2, 1, "0-1-30", "0-2-40", 120, 129, GAP}}, "0-2-35", 125, "", 0,
        "2-1", 0, {0}},
    {"before a gap", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {2, 1, "0-1-30", "0-2-40", 120, 129, GAP}}, "0-1-15", 101, "",
        105, "1-1", 0, {0}},
    {"over a gap", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {2, 1, "0-1-30", "0-2-40", 120, 129, GAP}}, "0-1-15", 101, "",
        125, NULL, REPLAY_GAP, {"0000000002-0000000001", "0-1-30", "0-1-20"}},
    {"into a gap", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {2, 1, "0-1-30", "0-2-40", 120, 129, GAP}}, "0-1-15", 101, "",
        115, NULL, REPLAY_GAP, {"gap", "2026-", "0-1-20"}},
    {"a gap within an epoch", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {1, 2, "0-1-30", "0-1-40", 120, 129, GAP}}, "0-1-15", 101, "", 0,
        NULL, REPLAY_GAP, {"0000000001-0000000002", "0-1-30"}},
    {"a sequence is missing", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {1, 2, "0-1-20", "0-1-30", 110, 119, NO_META},
            {1, 3, "0-1-30", "0-1-45", 120, 129, PLAIN}},
        "0-1-15", 101, "", 0, NULL, REPLAY_GAP, {"0000000001-0000000002 is missing"}},
    {"an epoch's first is missing", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {2, 1, "0-1-15", "0-2-18", 110, 119, NO_META},
            {2, 2, "0-2-18", "0-2-45", 120, 129, PLAIN}},
        "0-1-12", 101, "", 0, NULL, REPLAY_GAP, {"0000000002-0000000001 is missing"}},
    {"an epoch's end is missing", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {1, 2, "0-1-20", "0-1-30", 110, 119, NO_META},
            {2, 1, "0-1-30", "0-2-45", 120, 129, PLAIN}},
        "0-1-15", 101, "", 0, NULL, REPLAY_GAP, {"0000000002-0000000001", "0-1-30", "0-1-20"}},
    {"a log is missing", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, PLAIN}, {1, 2, "0-1-20", "0-1-30", 110, 119, NO_LOG}}, "0-1-15", 101, "",
        0, NULL, REPLAY_GAP, {"0000000001-0000000002", ".log is missing"}},
    {"a log that is not needed is missing", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, NO_LOG}, {1, 2, "0-1-20", "0-1-30", 110, 119, PLAIN}}, "0-1-25", 112, "",
        0, "1-2", 0, {0}},
    {"a description was altered", GTID_MARIADB,
        {{1, 1, "0-1-10", "0-1-20", 100, 109, ALTERED}, {1, 2, "0-1-20", "0-1-30", 110, 119, PLAIN}}, "0-1-15", 101, "",
        0, NULL, REPLAY_DAMAGED, {"0000000001-0000000002", "altered"}},
    {"it does not reach back", GTID_MARIADB, {MARIADB_ROWS}, "0-1-9", 90, "", 0, NULL, REPLAY_GAP,
        {"reach back", "0-1-9", "0000000001-0000000001"}},
    {"nothing is archived", GTID_MARIADB, {{0}}, "0-1-9", 90, "", 0, NULL, REPLAY_NOT_COVERED, {FOLDER}},
    {"the time is not covered", GTID_MARIADB, {MARIADB_ROWS}, "0-1-15", 105, "", 150, NULL, REPLAY_NOT_COVERED,
        {"0000000002-0000000002", "does not reach"}},
    {"the GTID is not covered", GTID_MARIADB, {MARIADB_ROWS}, "0-1-15", 105, "0-2-61", 0, NULL, REPLAY_NOT_COVERED,
        {"0-2-61", "0-2-60"}},
    {"the backup is later than the time", GTID_MARIADB, {MARIADB_ROWS}, "0-2-55", 145, "", 135, NULL, REPLAY_TOO_NEW,
        {"0-2-55", "older backup"}},
    {"much later", GTID_MARIADB, {MARIADB_ROWS}, "0-2-55", 500, "", 104, NULL, REPLAY_TOO_NEW, {"older backup"}},
    {"later, and nothing since", GTID_MARIADB, {MARIADB_ROWS}, "0-1-20", 109, "", 105, NULL, REPLAY_TOO_NEW,
        {"older backup"}},
    {"later than an archive that begins with it", GTID_MARIADB, {MARIADB_ROWS}, "0-1-10", 99, "", 98, NULL,
        REPLAY_TOO_NEW, {"older backup"}},
    {"later than an archive that begins with a lost tail", GTID_MARIADB,
        {{1, 3, "0-1-30", "0-1-40", 110, 119, NO_META}, {1, 4, "0-1-40", "0-1-45", 120, 129, PLAIN},
            {2, 1, "0-1-40", "0-2-50", 130, 139, PLAIN}},
        "0-1-40", 125, "", 115, NULL, REPLAY_TOO_NEW, {"0-1-40", "older backup"}},
    {"not later than that", GTID_MARIADB,
        {{1, 3, "0-1-30", "0-1-40", 110, 119, NO_META}, {1, 4, "0-1-40", "0-1-45", 120, 129, PLAIN},
            {2, 1, "0-1-40", "0-2-50", 130, 139, PLAIN}},
        "0-1-40", 125, "", 127, "", 0, {0}},
    {"the backup is later than the GTID", GTID_MARIADB, {MARIADB_ROWS}, "0-1-35", 126, "0-1-34", 0, NULL,
        REPLAY_TOO_NEW, {"0-1-34", "0-1-35"}},
    {"of another flavour", GTID_MYSQL, {MARIADB_ROWS}, U1 ":1-15", 105, "", 0, NULL, REPLAY_DAMAGED, {"mariadb"}},
    {"another history", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-43", 128, "", 0, NULL, REPLAY_GAP, {"history", ":1-43"}},
    {"all", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-15", 105, "", 0, "1-1 1-2 1-3 2-1 2-2", 0, {0}},
    {"to a time", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-35", 126, "", 135, "1-3 2-1", 0, {0}},
    {"to a GTID", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-35", 126, U2 ":5", 0, "1-3 2-1", 0, {0}},
    {"to a set", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-35", 126, U1 ":1-40," U2 ":1-5", 0, "1-3 2-1", 0, {0}},
    {"to the backup's own", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-35", 126, U1 ":1-35", 0, "", 0, {0}},
    {"to the backup's last: the cut tells", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-35", 126, U1 ":35", 0, "1-3", 0, {0}},
    {"a lost GTID", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-35", 126, U1 ":44", 0, NULL, REPLAY_NOT_COVERED, {":44"}},
    {"the backup is later than the GTID", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-35", 126, U1 ":15", 0, NULL, REPLAY_TOO_NEW,
        {"older backup"}},
    {"the backup is later than the time", GTID_MYSQL, {MYSQL_ROWS}, U1 ":1-40," U2 ":1-3", 133, "", 104, NULL,
        REPLAY_TOO_NEW, {"older backup"}},
    {"over a gap", GTID_MYSQL,
        {{1, 1, U1 ":1-10", U1 ":1-20", 100, 109, PLAIN}, {2, 1, U1 ":1-30", U1 ":1-30," U2 ":1", 120, 129, GAP}},
        U1 ":1-15", 101, "", 125, NULL, REPLAY_GAP, {"0000000002-0000000001", ":1-30", ":1-20"}},
};

static void fill(struct archive *archive, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count && rows[i].epoch; i++) {
        const struct row *row = &rows[i];
        struct binlog_segment segment = {
            .name = {row->epoch, row->sequence, ZERO_MS + (row->last + 1) * MINUTE_MS},
            .first_ms = ZERO_MS + row->first * MINUTE_MS,
            .last_ms = ZERO_MS + row->last * MINUTE_MS,
            .count = 10,
            .gap = row->how == GAP,
        };
        segment.after = row->after;
        segment.until = row->until;
        snprintf(segment.flavour, sizeof(segment.flavour), strchr(row->after, ':') ? "mysql" : "mariadb");
        struct stored *it = put(archive, &segment, row->sequence > 1 ? (int)i - 1 : -1);
        it->no_log = row->how == NO_LOG;
    }
    for (size_t i = 0; i < archive->count; i++) { /* successors have been told of them by now */
        if (rows[i].how == NO_META || rows[i].how == ALTERED)
            free(steal_ptr(archive->segments[i].text));
        if (rows[i].how == ALTERED) {
            archive->segments[i].segment.count++;
            archive->segments[i].text = text_of(&archive->segments[i].segment);
        }
    }
}

static char *steps_text(const struct replay_plan *plan)
{
    struct strbuf text;

    strbuf_init(&text, KM_KIB);
    strbuf_adds(&text, "");
    for (size_t i = 0; i < replay_plan_count(plan); i++) {
        const struct replay_step *step = replay_plan_step(plan, i);
        strbuf_addf(&text, "%s%llu-%llu", i ? " " : "", (unsigned long long)step->name.epoch,
            (unsigned long long)step->name.sequence);
    }
    return strbuf_detach(&text, NULL);
}

static void check_case(const struct table_case *it)
{
    struct archive *archive = xnew(struct archive);
    struct error err = ERROR_INIT;
    const struct replay_wish wish = {
        .flavour = it->flavour,
        .folder = FOLDER,
        .gtid = it->have,
        .backup_ms = ZERO_MS + it->backup * MINUTE_MS,
        .until_gtid = it->until,
        .until_ms = it->until_minute ? ZERO_MS + it->until_minute * MINUTE_MS : 0,
    };

    fill(archive, it->rows, ARRAY_LEN(it->rows));
    _cleanup_(replay_plan_freep) struct replay_plan *plan = listed(archive, &wish);
    int rc = replay_plan_make(plan, read_stored, archive, &err);
    if ((rc == 0) != (it->steps != NULL))
        fail_msg("%s: %d %s", it->name, rc, err.message);
    if (rc < 0 && replay_plan_reason(plan) != it->reason)
        fail_msg("%s: %s: %s", it->name, replay_reason_names[replay_plan_reason(plan)], err.message);
    for (size_t i = 0; rc < 0 && i < ARRAY_LEN(it->says); i++) {
        if (it->says[i] && !strstr(err.message, it->says[i]))
            fail_msg("%s: it does not say %s: %s", it->name, it->says[i], err.message);
    }
    _cleanup_(freep) char *steps = steps_text(plan);
    if (rc == 0 && !str_eq(str_or_empty(steps), it->steps))
        fail_msg("%s: %s, not %s", it->name, str_or_empty(steps), it->steps);
    release(archive);
}

static void test_table(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_case(&cases[i]);
}

/* A month of segments, of which a restore to a moment needs a few. */
static void test_reads_what_it_needs(void **state)
{
    struct archive *archive = xnew(struct archive);
    struct error err = ERROR_INIT;

    UNUSED(state);
    for (int i = 0; i < SEGMENTS_MAX - 1; i++) {
        struct binlog_segment segment = {.name = {1, (uint64_t)i + 1, ZERO_MS + (i + 1) * MINUTE_MS},
            .first_ms = ZERO_MS + i * MINUTE_MS,
            .last_ms = ZERO_MS + i * MINUTE_MS + 59 * SECOND_MS,
            .count = 1,
            .flavour = "mariadb"};
        char after[32], until[32];
        snprintf(after, sizeof(after), "0-1-%d", i + 1);
        snprintf(until, sizeof(until), "0-1-%d", i + 2);
        segment.after = after;
        segment.until = until;
        put(archive, &segment, i - 1);
    }
    const struct replay_wish wish = {.flavour = GTID_MARIADB,
        .folder = FOLDER,
        .gtid = "0-1-200",
        .backup_ms = ZERO_MS + 199 * MINUTE_MS,
        .until_ms = ZERO_MS + 205 * MINUTE_MS};
    _cleanup_(replay_plan_freep) struct replay_plan *plan = listed(archive, &wish);
    if (replay_plan_make(plan, read_stored, archive, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(replay_plan_count(plan), 7); /* 199 to 205 */
    assert_in_range(archive->reads, 7, 25);
    release(archive);
}

/* ---- random histories ---- */

struct transaction {
    struct gtid_one gtid;
    int64_t at_ms;
};

struct world {
    enum gtid_flavour flavour;
    uint64_t random;
    struct transaction all[HISTORY_MAX]; /* also those that were lost */
    size_t count;
    size_t history[HISTORY_MAX]; /* of `all`: what the present primary has */
    size_t length;
    size_t archived; /* of the history */
    size_t first;    /* of the history: where the archive begins */
    int64_t now_ms;
    uint64_t epoch, own; /* own: transactions of this primary */
    struct archive *archive;
    bool lost_some, doubled;
};

static size_t below(struct world *world, size_t n)
{
    return n ? (size_t)(random_next(&world->random) % n) : 0;
}

static struct gtid_set *set_of_first(const struct world *world, const size_t *history, size_t length)
{
    struct gtid_set *set = gtid_set_new(world->flavour);

    for (size_t i = 0; i < length; i++)
        gtid_set_add(set, &world->all[history[i]].gtid);
    return set;
}

static void print_first(
    const struct world *world, const size_t *history, size_t length, char out[static POSITION_TOLD_SIZE])
{
    struct gtid_set *set = set_of_first(world, history, length);
    struct strbuf text;

    strbuf_init(&text, POSITION_TOLD_SIZE);
    gtid_set_print(set, &text);
    snprintf(out, POSITION_TOLD_SIZE, "%s", str_or_empty(text.buf));
    strbuf_release(&text);
    gtid_set_free(set);
}

static void commit(struct world *world)
{
    struct transaction *one = &world->all[world->count];

    assert_true(world->count < HISTORY_MAX);
    world->now_ms += (int64_t)below(world, 4) * (below(world, 6) == 0 ? 100 : 1) * SECOND_MS;
    one->at_ms = world->now_ms;
    one->gtid.number = world->flavour == GTID_MARIADB ? world->length + 1 : ++world->own;
    if (world->flavour == GTID_MARIADB)
        one->gtid.server = (uint32_t)world->epoch;
    else
        snprintf(one->gtid.source, sizeof(one->gtid.source), "%08u-1111-1111-1111-111111111111", (unsigned)world->epoch);
    world->history[world->length++] = world->count++;
}

/* [from, to) of the history. Returns its place in the archive. */
static int write_segment(struct world *world, uint64_t sequence, size_t from, size_t to, int previous)
{
    static unsigned serial; /* no two have the same name */
    struct binlog_segment segment = {
        .name = {world->epoch, sequence, world->now_ms + (int64_t)(++serial % 50) * SECOND_MS},
        .first_ms = world->all[world->history[from]].at_ms,
        .last_ms = world->all[world->history[to - 1]].at_ms,
        .count = to - from,
    };

    snprintf(segment.flavour, sizeof(segment.flavour), world->flavour == GTID_MARIADB ? "mariadb" : "percona");
    char after[POSITION_TOLD_SIZE], until[POSITION_TOLD_SIZE];
    print_first(world, world->history, from, after);
    print_first(world, world->history, to, until);
    segment.after = after;
    segment.until = until;
    struct stored *it = put(world->archive, &segment, previous);
    it->count = to - from;
    it->transactions = xreallocarray(NULL, it->count, sizeof(*it->transactions));
    memcpy(it->transactions, world->history + from, it->count * sizeof(*it->transactions));
    return (int)world->archive->count - 1;
}

/* A primary commits and archives; sometimes two of its children write at once. */
static void live(struct world *world)
{
    int previous = -1;

    for (uint64_t sequence = 1; sequence <= 1 + below(world, 8); sequence++) {
        for (size_t n = 1 + below(world, 6); n > 0; n--)
            commit(world);
        size_t from = world->archived;
        size_t to = from + 1 + below(world, world->length - from);
        if (below(world, 4) == 0) {
            size_t other = from + 1 + below(world, world->length - from);
            int one = write_segment(world, sequence, from, to, previous);
            int two = write_segment(world, sequence, from, other, previous);
            bool first = other == to ? below(world, 2) : to > other;
            previous = first ? one : two;
            to = first ? to : other;
            world->doubled = true;
        } else {
            previous = write_segment(world, sequence, from, to, previous);
        }
        world->archived = to;
    }
}

static void fail_over(struct world *world)
{
    size_t lost = below(world, 3) ? below(world, MIN_OF(world->length - world->first, (size_t)5)) : 0;

    world->length -= lost;
    world->lost_some |= world->archived > world->length;
    world->archived = MIN_OF(world->archived, world->length);
    world->epoch += 1 + below(world, 2);
    world->own = 0;
}

static struct world *random_world(uint64_t seed, enum gtid_flavour flavour)
{
    struct world *world = xnew(struct world);

    world->flavour = flavour;
    world->random = seed;
    world->now_ms = ZERO_MS;
    world->epoch = 1;
    world->archive = xnew(struct archive);
    for (size_t n = 1 + below(world, 5); n > 0; n--)
        commit(world);
    world->first = world->archived = world->length - 1;
    for (size_t epochs = 1 + below(world, EPOCHS_MAX - 1); epochs > 0; epochs--) {
        live(world);
        if (epochs > 1)
            fail_over(world);
    }
    return world;
}

static void free_world(struct world *world)
{
    release(world->archive);
    free(world);
}

static const struct stored *stored_of(const struct archive *archive, const struct binlog_segment_name *name)
{
    for (size_t i = 0; i < archive->count; i++) {
        if (memcmp(&archive->segments[i].segment.name, name, sizeof(*name)) == 0)
            return &archive->segments[i];
    }
    fail_msg("the plan names what is not there");
    return NULL;
}

struct outcome {
    int rc;
    enum replay_reason reason;
    struct error err;
    size_t taken[HISTORY_MAX];
    size_t count;
    struct gtid_set *reached;
};

static int cut_step(
    struct replay_cut *cut, const struct world *world, const struct replay_step *step, struct outcome *out)
{
    const struct stored *it = stored_of(world->archive, &step->name);
    enum replay_verdict verdict = REPLAY_TAKE;

    if (replay_cut_begin(cut, it->segment.after, step->limit, &out->err) < 0)
        return -1;
    for (size_t i = 0; i < it->count && verdict != REPLAY_STOP; i++) {
        const struct transaction *one = &world->all[it->transactions[i]];
        if (replay_cut_judge(cut, &one->gtid, one->at_ms, &verdict, &out->reason, &out->err) < 0)
            return -1;
        if (verdict == REPLAY_TAKE)
            out->taken[out->count++] = it->transactions[i];
    }
    return replay_cut_end(cut, it->segment.until, it->segment.count, &out->err);
}

static void replay(const struct world *world, const struct replay_wish *wish, struct outcome *out)
{
    _cleanup_(replay_plan_freep) struct replay_plan *plan = listed(world->archive, wish);
    struct replay_cut *cut = replay_cut_new(wish, &out->err);

    assert_non_null(cut);
    out->rc = replay_plan_make(plan, read_stored, world->archive, &out->err);
    out->reason = replay_plan_reason(plan);
    for (size_t i = 0; out->rc == 0 && i < replay_plan_count(plan) && !replay_cut_stopped(cut); i++)
        out->rc = cut_step(cut, world, replay_plan_step(plan, i), out);
    if (out->rc == 0)
        out->rc = replay_cut_check(cut, &out->reason, &out->err);
    replay_cut_free(cut);
}

struct question {
    size_t have;   /* of the history */
    size_t wanted; /* likewise: all up to there */
    enum replay_reason refusal;
    bool either; /* refused, or as wanted */
};

static void check_answer(
    const struct world *world, const struct replay_wish *wish, const struct question *question, uint64_t seed)
{
    struct outcome *out = xnew(struct outcome);

    replay(world, wish, out);
    bool refused = out->rc < 0;
    if (question->refusal ? !refused || out->reason != question->refusal : refused && !question->either)
        fail_msg("seed %llu: have %s, until %s %lld: %s (%s)", (unsigned long long)seed, wish->gtid, wish->until_gtid,
            (long long)wish->until_ms, refused ? out->err.message : "not refused", replay_reason_names[out->reason]);
    size_t expected = question->wanted > question->have ? question->wanted - question->have : 0;
    bool same = out->count == expected;
    for (size_t i = 0; same && i < expected; i++)
        same = out->taken[i] == world->history[question->have + i];
    if (!refused && !same)
        fail_msg("seed %llu: have %s, until %s %lld: %zu transactions, not %zu", (unsigned long long)seed, wish->gtid,
            wish->until_gtid, (long long)wish->until_ms, out->count, expected);
    free(out);
}

static void ask(struct world *world, uint64_t seed)
{
    char have[POSITION_TOLD_SIZE], until[POSITION_TOLD_SIZE] = "";
    struct question question = {.have = world->first + below(world, world->archived + 1 - world->first)};
    struct replay_wish wish = {.flavour = world->flavour, .folder = FOLDER, .gtid = have, .until_gtid = until};
    size_t last = world->archived - 1;

    print_first(world, world->history, question.have, have);
    int64_t have_ms = question.have ? world->all[world->history[question.have - 1]].at_ms : 0;
    wish.backup_ms = MAX_OF(have_ms, ZERO_MS) + (int64_t)below(world, 120) * MINUTE_MS;
    question.wanted = world->archived;
    switch (below(world, 3)) {
    case 0:
        break;
    case 1: {
        size_t target = below(world, world->archived);
        const struct transaction *one = &world->all[world->history[target]];
        struct strbuf text;
        strbuf_init(&text, sizeof(until));
        gtid_one_print(world->flavour, &one->gtid, &text);
        snprintf(until, sizeof(until), "%s", text.buf);
        strbuf_release(&text);
        question.wanted = target + 1;
        question.refusal = target + 1 < question.have ? REPLAY_TOO_NEW : REPLAY_STORE_FAILED;
        question.either = target + 1 == question.have && question.have == world->first;
        break;
    }
    default:
        wish.until_ms = world->all[world->history[below(world, world->archived)]].at_ms + (int64_t)below(world, 3) * 600;
        for (question.wanted = 0; question.wanted <= last; question.wanted++) {
            if (world->all[world->history[question.wanted]].at_ms > wish.until_ms)
                break;
        }
        if (have_ms > wish.until_ms)
            question.refusal = REPLAY_TOO_NEW;
        else if (world->all[world->history[last]].at_ms < wish.until_ms)
            question.refusal = REPLAY_NOT_COVERED;
        /* Where the archive begins with the backup, nothing tells when that one's last transaction was. */
        question.either = question.have == world->first && wish.until_ms < wish.backup_ms;
        break;
    }
    if (question.either)
        question.refusal = REPLAY_STORE_FAILED;
    check_answer(world, &wish, &question, seed);
}

static void test_random_histories(void **state)
{
    unsigned lost = 0, doubled = 0;

    UNUSED(state);
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct world *world = random_world(seed, seed % 2 ? GTID_MYSQL : GTID_MARIADB);
        for (int i = 0; i < 6; i++)
            ask(world, seed);
        lost += world->lost_some;
        doubled += world->doubled;
        free_world(world);
    }
    assert_in_range(lost, 100, 1500); /* otherwise nothing was proven */
    assert_in_range(doubled, 100, 1500);
}

/* One segment of a random archive that is needed goes: refused, or what is replayed is right nevertheless. */
static void test_random_losses(void **state)
{
    unsigned refused = 0;

    UNUSED(state);
    for (uint64_t seed = 1; seed <= 800; seed++) {
        struct world *world = random_world(seed, seed % 2 ? GTID_MYSQL : GTID_MARIADB);
        struct outcome *out = xnew(struct outcome);
        char have[POSITION_TOLD_SIZE];
        size_t gone = below(world, world->archive->count - 1); /* of the last one nothing else tells */
        bool settled = true; /* which of two was meant is not known any more when the one behind them has gone */
        for (size_t i = 0; i < world->archive->count; i++)
            settled = settled && !world->doubled;
        const struct replay_wish wish = {.flavour = world->flavour,
            .folder = FOLDER,
            .gtid = have,
            .until_gtid = "",
            .until_ms = world->all[world->history[world->archived - 1]].at_ms,
            .backup_ms = ZERO_MS};
        print_first(world, world->history, world->first, have);
        free(steal_ptr(world->archive->segments[gone].text));
        if (settled) {
            replay(world, &wish, out);
            refused += out->rc < 0;
            bool same = out->count == world->archived - world->first;
            for (size_t i = 0; same && i < out->count; i++)
                same = out->taken[i] == world->history[world->first + i];
            if (out->rc == 0 && !same)
                fail_msg("seed %llu: %zu transactions of %zu without a word", (unsigned long long)seed, out->count,
                    world->archived - world->first);
        }
        free(out);
        free_world(world);
    }
    assert_in_range(refused, 50, 800); /* otherwise nothing was proven */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_reads_what_it_needs),
        cmocka_unit_test(test_random_histories),
        cmocka_unit_test(test_random_losses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
