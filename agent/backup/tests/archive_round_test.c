/* SPDX-License-Identifier: Apache-2.0 */
/* Whole rounds: logs written by the test, a bucket in memory. What the store says is all that must be known, whatever
 * failed before. */
#include "common/base.h"

#include "agent/backup/archive_round.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/archive_segment.h"
#include "agent/backup/segment_list.h"
#include "agent/backup/tests/binlog_double.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/strvec.h"
#include "common/tests/document_util.h"
#include "common/tests/object_world.h"
#include "common/tls.h"

#define FOLDER "shop/db/binlogs/u-1"
#define KEY(name) "pre/fix/" FOLDER "/" name

struct world {
    struct object_world *objects;
    struct archive_store store;
    struct binlog_double logs;
    struct archive_task task;
    struct archive_order order;
    struct archive_word word;
    struct position_pool *positions; /* of segments that were looked at */
};

static void tell(void *arg, const struct archive_word *word)
{
    UNUSED(arg);
    UNUSED(word);
}

static int run(struct world *w)
{
    struct archive_round round = {
        .store = &w->store, .task = &w->task, .order = &w->order, .data_dir = w->logs.dir, .tell = tell};
    struct error err = ERROR_INIT;

    archive_memory_release(&w->word.memory);
    int rc = archive_round_run(&round, &w->word, &err);
    archive_memory_release(&w->order.memory);
    if (rc == 0)
        archive_memory_keep(&w->order.memory, &w->word.memory);
    w->order.named_after_ms = clock_realtime_ms();
    return rc;
}

static void run_well(struct world *w)
{
    if (run(w) < 0)
        fail_msg("%s: %s", w->word.error_reason, w->word.message);
}

static void assert_fails(struct world *w, const char *reason, const char *says)
{
    assert_int_equal(run(w), -1);
    assert_string_equal(w->word.error_reason, reason);
    if (!strstr(w->word.message, says))
        fail_msg("%s", w->word.message);
}

static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    void *objects = NULL;

    assert_int_equal(object_world_set_up(&objects), 0);
    w->objects = objects;
    w->store = (struct archive_store){.loop = w->objects->loop, .store = w->objects->store};
    binlog_double_init(&w->logs, GTID_MARIADB);
    binlog_double_rotate(&w->logs, "");
    w->task = (struct archive_task){.ns = "shop", .cluster = "db", .cluster_uid = "u-1", .interval_s = 60};
    w->task.folder = xstrdup(FOLDER);
    w->order = (struct archive_order){.epoch = 3, .writer = "db-mysql-0", .flavour = "mariadb"};
    w->positions = position_pool_new((size_t)(16 * KM_MIB));
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    void *objects = w->objects;

    assert_int_equal(s3_double_uploads(w->objects->s3), 0);
    binlog_double_release(&w->logs);
    archive_task_release(&w->task);
    archive_memory_release(&w->order.memory);
    archive_memory_release(&w->word.memory);
    position_pool_unref(w->positions);
    assert_int_equal(object_world_tear_down(&objects), 0);
    free(w);
    return 0;
}

static char *key_of(const struct binlog_segment_name *name, const char *ending)
{
    char printed[BINLOG_SEGMENT_NAME_SIZE];

    binlog_segment_name_print(name, printed);
    return xasprintf(KEY("%s%s"), printed, ending);
}

static struct binlog_segment segment_of(struct world *w, const struct binlog_segment_name *name)
{
    _cleanup_(freep) char *key = key_of(name, ".json");
    struct binlog_segment segment;
    size_t len = 0;
    const char *text = s3_double_get(w->objects->s3, key, &len);

    assert_non_null(text);
    assert_int_equal(
        binlog_segment_decode(text, len, w->task.sealed ? w->task.key : NULL, w->positions, &segment, NULL), 0);
    return segment;
}

static int add_name(void *arg, const struct object_entry *entry)
{
    return segment_list_add(arg, entry->name, NULL);
}

/* One segment for each place, each beginning where the one before it ends, together 0-1-1 to 0-1-LAST. */
static void assert_whole(struct world *w, unsigned last)
{
    _cleanup_(segment_list_release) struct segment_list chain = {0};
    const char *until = "";
    char expected[64];
    uint64_t count = 0;

    assert_int_equal(archive_store_list(&w->store, FOLDER "/", add_name, &chain, NULL), 0);
    segment_list_sort(&chain);
    for (size_t i = 0; i < chain.count; i++) {
        if (!chain.entries[i].has_meta)
            continue;
        struct binlog_segment segment = segment_of(w, &chain.entries[i].name);
        assert_true(chain.entries[i].has_log);
        assert_string_equal(segment.after, until);
        assert_false(segment.gap);
        until = segment.until;
        count += segment.count;
    }
    snprintf(expected, sizeof(expected), "0-1-%u", last);
    assert_string_equal(until, expected);
    assert_int_equal(count, last);
}

static void test_rounds(void **state)
{
    struct world *w = *state;

    run_well(w); /* nothing is there yet */
    assert_true(w->word.memory.known && w->word.memory.newest.sequence == 0);
    assert_true(w->word.ended && !w->word.full && w->word.began_ms > 0);
    binlog_double_add_range(&w->logs, 1, 1, 5);
    run_well(w);
    struct binlog_segment first = segment_of(w, &w->word.memory.newest);
    assert_true(first.name.epoch == 3 && first.name.sequence == 1 && first.count == 5 && !first.gap);
    assert_true(first.first_ms == 1000001000 && first.last_ms == 1000005000);
    assert_true(w->word.memory.newest_ms == first.last_ms);
    assert_true(binlog_segment_name_compare(&first.chain, &first.name) == 0);
    assert_string_equal(first.writer, "db-mysql-0");
    run_well(w); /* nothing new */
    assert_int_equal(w->word.segments, 0);
    assert_true(w->word.memory.newest_ms == first.last_ms);
    archive_memory_release(&w->order.memory); /* nothing new to one that knows nothing, either */
    run_well(w);
    assert_true(w->word.segments == 0 && w->word.memory.newest_ms == first.last_ms);
    binlog_double_add_range(&w->logs, 1, 6, 7);
    binlog_double_add_part(&w->logs, "0-1-8", 60);
    run_well(w);
    struct binlog_segment second = segment_of(w, &w->word.memory.newest);
    assert_string_equal(second.after, "0-1-5");
    assert_string_equal(second.until, "0-1-7");
    assert_int_equal(strlen(second.previous), 64);
    assert_true(binlog_segment_name_compare(&second.chain, &first.name) == 0);
    assert_true(w->word.memory.from_ms == first.name.archived_ms);
    assert_string_equal(w->word.memory.from_gtid, "");
    assert_whole(w, 7);
}

/* With what is remembered a round lists a few names and reads no description. */
static void test_what_is_remembered(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 5);
    run_well(w);
    struct archive_memory memory = {0};
    archive_memory_keep(&memory, &w->word.memory);
    binlog_double_add_range(&w->logs, 1, 6, 6);
    s3_double_fail(w->objects->s3, S3_FAULT_NONE, 0, 0, false);
    run_well(w);
    assert_int_equal(s3_double_requests(w->objects->s3), 3);
    /* Somebody else has written meanwhile: what is remembered counts no more. */
    archive_memory_keep(&w->order.memory, &memory);
    archive_memory_release(&memory);
    binlog_double_add_range(&w->logs, 1, 7, 7);
    run_well(w);
    assert_int_equal(w->word.memory.newest.sequence, 3);
    /* The server began its logs anew under the same names. */
    binlog_double_reset(&w->logs);
    binlog_double_rotate(&w->logs, "0-1-7");
    binlog_double_add_range(&w->logs, 1, 8, 12);
    run_well(w);
    assert_whole(w, 12);
}

/* Each request fails in each way, before or after it had its effect. */
static void test_faults(void **state)
{
    static const enum s3_fault faults[] = {S3_FAULT_500, S3_FAULT_CUT, S3_FAULT_403, S3_FAULT_TRUNCATED};
    struct world *w = *state;
    unsigned last = 0;
    unsigned failed = 0;

    for (size_t f = 0; f < ARRAY_LEN(faults); f++) {
        for (unsigned at = 0; at < 12; at++) {
            binlog_double_add_range(&w->logs, 1, last + 1, last + 3);
            last += 3;
            if (at % 3)
                archive_memory_release(&w->order.memory);
            s3_double_fail(w->objects->s3, faults[f], at / 2, OBJECT_TRIES_MAX * 3, at % 2);
            failed += run(w) < 0;
            s3_double_fail(w->objects->s3, S3_FAULT_NONE, 0, 0, false);
            run_well(w);
            assert_whole(w, last);
        }
    }
    assert_true(failed > ARRAY_LEN(faults) * 6);
}

static void test_reasons(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 3);
    s3_double_fail(w->objects->s3, S3_FAULT_403, 0, 1000, false);
    assert_fails(w, "StoreRefused", "AccessDenied");
    s3_double_fail(w->objects->s3, S3_FAULT_503, 0, 1000, false);
    assert_fails(w, "StoreUnavailable", "");
    s3_double_fail(w->objects->s3, S3_FAULT_NONE, 0, 0, false);
    binlog_double_purge(&w->logs);
    assert_fails(w, "BinlogsUnreadable", "names no binary log");
    binlog_double_rotate(&w->logs, "");
    w->store.cancelled = true;
    assert_fails(w, "Cancelled", "");
    w->store.cancelled = false;
}

static void put(struct world *w, const struct binlog_segment *segment, bool with_log)
{
    _cleanup_(freep) char *json = key_of(&segment->name, ".json");
    _cleanup_(freep) char *log = key_of(&segment->name, ".log");
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
    binlog_segment_encode(segment, w->task.sealed ? w->task.key : NULL, &text);
    s3_double_put(w->objects->s3, json, text.buf, text.len);
    if (with_log)
        s3_double_put(w->objects->s3, log, "x", 1);
}

/* Two writers of one place: the one that goes further counts, and its successor names it. */
static void test_two_writers(void **state)
{
    struct world *w = *state;
    char digest[65];
    size_t len = 0;

    binlog_double_add_range(&w->logs, 1, 1, 9);
    run_well(w);
    struct binlog_segment other = segment_of(w, &w->word.memory.newest);
    other.name.archived_ms -= 5000;
    other.until = "0-1-4";
    put(w, &other, true);
    archive_memory_release(&w->order.memory);
    run_well(w);
    assert_string_equal(w->word.memory.until, "0-1-9");
    other.name.archived_ms -= 5000;
    other.until = "0-1-12";
    other.last_ms = 1000012000;
    put(w, &other, true);
    binlog_double_add_range(&w->logs, 1, 10, 15);
    archive_memory_release(&w->order.memory);
    run_well(w);
    struct binlog_segment next = segment_of(w, &w->word.memory.newest);
    assert_string_equal(next.after, "0-1-12");
    _cleanup_(freep) char *key = key_of(&other.name, ".json");
    const char *text = s3_double_get(w->objects->s3, key, &len);
    tls_sha256_hex(text, len, digest);
    assert_string_equal(next.previous, digest);
}

static void test_what_is_not_believed(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 3);
    run_well(w);
    struct binlog_segment good = segment_of(w, &w->word.memory.newest);
    _cleanup_(freep) char *json = key_of(&good.name, ".json");
    struct binlog_segment bad = good;
    archive_memory_release(&w->order.memory);
    s3_double_put(w->objects->s3, json, "{}", 2);
    assert_fails(w, "ArchiveDamaged", "format");
    bad.name.sequence = 2;
    memcpy(bad.previous, bad.sha256, sizeof(bad.previous));
    put(w, &good, false);
    put(w, &bad, false);
    assert_fails(w, "ArchiveDamaged", ".log is missing");
    snprintf(bad.cluster_uid, sizeof(bad.cluster_uid), "other");
    put(w, &bad, true);
    assert_fails(w, "ArchiveDamaged", "another cluster");
    bad = good;
    bad.name.epoch = bad.chain.epoch = 4;
    put(w, &bad, true);
    assert_fails(w, "ArchiveDamaged", "epoch 4");
}

/* With another key a chain begins, and nothing is missing. */
static void test_another_key(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 3);
    run_well(w);
    struct binlog_segment_name plain = w->word.memory.chain;
    w->task.sealed = true;
    w->task.key[0] = 5;
    archive_memory_release(&w->order.memory);
    run_well(w); /* nothing to write: where the next begins */
    assert_string_equal(w->word.memory.from_gtid, "0-1-3");
    binlog_double_add_range(&w->logs, 1, 4, 6);
    run_well(w);
    struct binlog_segment sealed = segment_of(w, &w->word.memory.newest);
    assert_true(sealed.sealed && !sealed.gap && sealed.name.sequence == 2);
    assert_true(binlog_segment_name_compare(&sealed.chain, &plain) > 0);
    assert_string_equal(w->word.memory.from_gtid, "0-1-3");
    assert_int_equal(w->word.memory.gap_ms, 0);
    /* The store says it likewise. */
    archive_memory_release(&w->order.memory);
    run_well(w);
    assert_string_equal(w->word.memory.from_gtid, "0-1-3");
    assert_true(w->word.memory.from_ms == sealed.name.archived_ms);
}

static void test_failover(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 5);
    run_well(w);
    struct binlog_segment_name chain = w->word.memory.chain;
    binlog_double_add_range(&w->logs, 1, 6, 8); /* 7 and 8 nobody else ever gets */
    run_well(w);
    binlog_double_reset(&w->logs);
    binlog_double_rotate(&w->logs, "");
    binlog_double_add_range(&w->logs, 1, 1, 6);
    w->order.epoch = 4;
    archive_memory_release(&w->order.memory);
    binlog_double_add_range(&w->logs, 2, 7, 7);
    run_well(w);
    struct binlog_segment segment = segment_of(w, &w->word.memory.newest);
    assert_true(segment.name.epoch == 4 && segment.name.sequence == 1 && !segment.gap);
    assert_string_equal(segment.previous, "");
    assert_string_equal(segment.after, "0-1-5");
    assert_string_equal(segment.until, "0-2-7");
    assert_int_equal(segment.count, 2);
    assert_true(binlog_segment_name_compare(&segment.chain, &chain) == 0);
}

/* A primary that lost its own tail with its node goes on in the same epoch. */
static void test_lost_within_an_epoch(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 5);
    run_well(w);
    binlog_double_add_range(&w->logs, 1, 6, 8);
    run_well(w);
    binlog_double_reset(&w->logs);
    binlog_double_rotate(&w->logs, "");
    binlog_double_add_range(&w->logs, 1, 1, 5);
    run_well(w);
    /* What is remembered is not where these logs were read to. */
    assert_string_equal(w->word.memory.file, "");
    binlog_double_add(&w->logs, "0-1-6", 7000000, 40);
    binlog_double_add(&w->logs, "0-1-7", 7000000, 40);
    run_well(w);
    struct binlog_segment segment = segment_of(w, &w->word.memory.newest);
    assert_true(segment.gap && segment.name.sequence == 3 && segment.count == 2);
    assert_string_equal(segment.after, "0-1-5");
    assert_true(w->word.memory.gap_ms == segment.name.archived_ms);
}

/* The same, but by the time somebody looks it has given all the lost numbers to others. */
static void test_numbers_given_anew(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 5);
    run_well(w);
    binlog_double_add_range(&w->logs, 1, 6, 8);
    run_well(w);
    binlog_double_reset(&w->logs);
    binlog_double_rotate(&w->logs, "");
    binlog_double_add_range(&w->logs, 1, 1, 5);
    for (unsigned i = 6; i <= 10; i++) {
        char gtid[32];
        snprintf(gtid, sizeof(gtid), "0-1-%u", i);
        binlog_double_add(&w->logs, gtid, 7000000 + i, 40);
    }
    run_well(w);
    struct binlog_segment segment = segment_of(w, &w->word.memory.newest);
    assert_string_equal(segment.after, "0-1-5");
    assert_string_equal(segment.until, "0-1-10");
    assert_true(segment.gap && segment.name.sequence == 3 && segment.count == 5);
    /* What is archived now is what the server has. */
    archive_memory_release(&w->order.memory);
    run_well(w);
    assert_int_equal(w->word.segments, 0);
    assert_true(w->word.memory.gap_ms == segment.name.archived_ms);
}

/* MySQL's sets cannot tell it either. */
static void test_numbers_given_anew_mysql(void **state)
{
    static const char uuid[] = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    struct world *w = *state;
    char gtid[64];

    w->logs.flavour = GTID_MYSQL;
    snprintf(w->order.flavour, sizeof(w->order.flavour), "mysql");
    for (unsigned lost = 0; lost < 2; lost++) {
        binlog_double_reset(&w->logs);
        binlog_double_rotate(&w->logs, "");
        for (unsigned i = 1; i <= (lost ? 10 : 8); i++) {
            if (i == 6 && !lost)
                run_well(w);
            snprintf(gtid, sizeof(gtid), "%s:%u", uuid, i);
            binlog_double_add(&w->logs, gtid, (lost && i > 5 ? 7000000 : 1000000) + i, 40);
        }
        run_well(w);
    }
    struct binlog_segment segment = segment_of(w, &w->word.memory.newest);
    snprintf(gtid, sizeof(gtid), "%s:1-5", uuid);
    assert_string_equal(segment.after, gtid);
    assert_true(segment.gap && segment.name.sequence == 3 && segment.count == 5);
}

/* The primary has had `count` predecessors, whose transactions came to it by a copy. */
static void begin_as_successor(struct world *w, int count, struct strbuf *executed)
{
    w->logs.flavour = GTID_MYSQL;
    snprintf(w->order.flavour, sizeof(w->order.flavour), "mysql");
    strbuf_init(executed, 2 * POSITION_TEXT_MAX);
    document_servers(count, 9, executed);
    binlog_double_reset(&w->logs);
    binlog_double_rotate(&w->logs, executed->buf);
    w->order.executed = executed->buf;
    binlog_double_add(&w->logs, "ffffffff-0000-0000-0000-000000000000:1", 1000001, 40);
}

static void test_many_servers(void **state)
{
    struct world *w = *state;
    _cleanup_(strbuf_release) struct strbuf executed;

    begin_as_successor(w, 400, &executed);
    run_well(w);
    struct binlog_segment first = segment_of(w, &w->word.memory.newest);
    assert_string_equal(first.after, executed.buf);
    binlog_double_add(&w->logs, "ffffffff-0000-0000-0000-000000000000:2", 1000002, 40);
    run_well(w); /* with what is remembered */
    struct binlog_segment second = segment_of(w, &w->word.memory.newest);
    assert_int_equal(second.name.sequence, 2);
    assert_string_equal(second.after, first.until);
    strbuf_adds(&executed, ",ffffffff-0000-0000-0000-000000000000:1-2");
    assert_string_equal(second.until, executed.buf);
    assert_string_equal(w->word.memory.until, executed.buf);
    assert_string_equal(w->word.memory.from_gtid, POSITION_TOO_LONG);
    assert_true(binlog_segment_name_compare(&w->word.memory.chain, &first.name) == 0);
    archive_memory_release(&w->order.memory); /* by what is stored */
    run_well(w);
    assert_int_equal(w->word.segments, 0);
    assert_string_equal(w->word.memory.until, executed.buf);
}

/* An error that says what is too long; nothing is written that says less than there is. */
static void test_too_many_servers(void **state)
{
    struct world *w = *state;
    _cleanup_(strbuf_release) struct strbuf executed;

    begin_as_successor(w, 1700, &executed);
    assert_true(executed.len > 65 * KM_KIB);
    assert_fails(w, "BinlogsUnreadable", "after: the GTID set has more than 65536 bytes");
    w->order.executed = POSITION_TOO_LONG;
    assert_fails(w, "BinlogsUnreadable", "executed: the GTID set has more than 65536 bytes");
    assert_int_equal(w->word.memory.newest.sequence, 0);
    w->order.executed = NULL;
}

static void test_what_was_left(void **state)
{
    struct world *w = *state;
    struct binlog_segment_name recent = {.epoch = 3, .sequence = 7, .archived_ms = clock_realtime_ms() / 1000 * 1000};
    _cleanup_(freep) char *kept = key_of(&recent, ".log");

    s3_double_put(w->objects->s3, KEY("0000000001-0000000001-20200101T000000Z.log"), "x", 1);
    s3_double_put(w->objects->s3, kept, "x", 1);
    binlog_double_add_range(&w->logs, 1, 1, 2);
    run_well(w);
    assert_null(s3_double_get(w->objects->s3, KEY("0000000001-0000000001-20200101T000000Z.log"), NULL));
    assert_non_null(s3_double_get(w->objects->s3, kept, NULL)); /* perhaps it is being written */
    assert_whole(w, 2);
}

/* One transaction that is larger than a segment goes whole and alone. */
static void test_larger_than_a_segment(void **state)
{
    struct world *w = *state;

    binlog_double_add_range(&w->logs, 1, 1, 2);
    binlog_double_add(&w->logs, "0-1-3", 3, (size_t)BINLOG_SEGMENT_BYTES + 1000);
    binlog_double_add_range(&w->logs, 1, 4, 5);
    run_well(w);
    assert_int_equal(w->word.segments, 3);
    assert_whole(w, 5);
}

static void test_room(void **state)
{
    struct archive_segment segment = {0};
    struct binlog_transaction large = {.from = 4, .to = 4 + 2 * BINLOG_SEGMENT_BYTES};
    struct binlog_transaction small = {.from = 4, .to = 104};

    UNUSED(state);
    assert_true(archive_segment_has_room(&segment, &large));
    segment.count = 1;
    segment.bytes = BINLOG_SEGMENT_BYTES - 100;
    assert_true(archive_segment_has_room(&segment, &small));
    segment.bytes++;
    assert_false(archive_segment_has_room(&segment, &small));
    segment.bytes = 0;
    segment.piece_count = ARCHIVE_SEGMENT_PIECES_MAX;
    assert_false(archive_segment_has_room(&segment, &small));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rounds),
        TEST(test_what_is_remembered),
        TEST(test_faults),
        TEST(test_reasons),
        TEST(test_two_writers),
        TEST(test_what_is_not_believed),
        TEST(test_another_key),
        TEST(test_failover),
        TEST(test_lost_within_an_epoch),
        TEST(test_numbers_given_anew),
        TEST(test_numbers_given_anew_mysql),
        TEST(test_many_servers),
        TEST(test_too_many_servers),
        TEST(test_what_was_left),
        TEST(test_larger_than_a_segment),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
