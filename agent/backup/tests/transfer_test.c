/* SPDX-License-Identifier: Apache-2.0 */
/* Upload and download against a store in memory: every operation failing in turn, every byte that came back wrong,
 * memory, pauses. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/download.h"
#include "agent/backup/tests/object_store_fake.h"
#include "agent/backup/upload.h"
#include "common/backoff.h"
#include "common/log.h"
#include "common/tests/document_util.h"

#define FOLDER "shop/db/backups/x-1"
#define PART 1000
#define PIECE 3500
#define RAW_BYTES 20000

struct world {
    struct loop *loop;
    struct object_store *store;
    struct backup_task task;
    struct upload *upload;
    char *data;
    size_t len, at;
    size_t step;
    bool ended;
    struct error error;
    struct backup_report report;
    struct strbuf out; /* of a download */
    size_t takes;      /* at once; 0: all */
    bool full;
    bool deaf;
    const char *gtid; /* of the commit; NULL: a short one */
};

static int setup(void **state)
{
    struct world *world = xnew(struct world);
    uint64_t random = 11;

    fake = (struct fake_store){.read_chunk = 777};
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    world->loop = loop_new();
    world->store = object_store_new(world->loop, NULL, NULL);
    world->task = (struct backup_task){
        .id = "x-1", .ns = "shop", .cluster = "db", .folder = xstrdup(FOLDER), .sealed = true, .key = {1, 2, 3}};
    world->len = RAW_BYTES;
    world->step = 4099;
    world->data = xmalloc(world->len);
    for (size_t i = 0; i < world->len; i++)
        world->data[i] = (char)random_next(&random);
    strbuf_init(&world->out, 64 * KM_MIB);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    upload_free(world->upload);
    object_store_free(world->store);
    loop_free(world->loop);
    backup_task_release(&world->task);
    strbuf_release(&world->out);
    free(world->data);
    free(world);
    fake_remove_under("", true);
    return 0;
}

/* ---- up ---- */

static void feed(struct world *world)
{
    size_t room;

    while (world->at < world->len && (room = upload_room(world->upload)) > 0) {
        size_t len = MIN_OF(MIN_OF(room, world->step), world->len - world->at);
        upload_feed(world->upload, world->data + world->at, len);
        world->at += len;
    }
    if (world->at == world->len)
        upload_end_data(world->upload);
}

static void on_changed(void *arg)
{
    feed(arg);
}

static void on_ended(void *arg, const struct error *err)
{
    struct world *world = arg;

    assert_false(world->ended);
    world->ended = true;
    if (err)
        world->error = *err;
}

static void start(struct world *world)
{
    struct upload_options options = {.loop = world->loop,
        .store = world->store,
        .task = &world->task,
        .part_bytes = PART,
        .piece_bytes = PIECE,
        .changed = on_changed,
        .ended = on_ended,
        .arg = world};

    upload_free(world->upload);
    world->ended = false;
    world->at = 0;
    error_clear(&world->error);
    world->upload = upload_new(&options);
}

static void turn_until_end(struct world *world)
{
    for (int i = 0; i < 20000 && !world->ended; i++)
        loop_run_once(world->loop, 10);
    assert_true(world->ended);
    for (int i = 0; i < 5; i++) /* and nothing comes afterwards */
        loop_run_once(world->loop, 1);
}

static void commit(struct world *world)
{
    struct backup_commit words = {.gtid = world->gtid ? world->gtid : "0-1-7",
        .flavour = "mariadb",
        .donor = "db-1",
        .stream = STREAM_METHOD_XBSTREAM,
        .data_bytes = 5};

    upload_commit(world->upload, &words);
}

static void upload_all(struct world *world)
{
    start(world);
    feed(world);
    commit(world);
    turn_until_end(world);
    if (world->upload)
        world->report = *upload_report(world->upload);
}

/* ---- down ---- */

static ssize_t on_write(void *arg, const char *data, size_t len)
{
    struct world *world = arg;
    size_t takes = world->takes ? MIN_OF(len, world->takes) : len;

    if (world->deaf)
        return -1;
    strbuf_add(&world->out, data, takes);
    world->full = takes < len;
    return (ssize_t)takes;
}

static int download_all(struct world *world)
{
    struct download_options options = {.loop = world->loop,
        .store = world->store,
        .task = &world->task,
        .write = on_write,
        .ended = on_ended,
        .arg = world};
    struct download *download;

    world->ended = false;
    error_clear(&world->error);
    strbuf_reset(&world->out);
    download = download_new(&options);
    for (int i = 0; i < 100000 && !world->ended; i++) {
        loop_run_once(world->loop, 10);
        if (world->full) {
            world->full = false;
            download_writable(download);
        }
    }
    assert_true(world->ended);
    world->report = *download_report(download);
    download_free(download);
    return world->error.kind == ERROR_NONE ? 0 : -1;
}

static void assert_came_back(struct world *world)
{
    if (download_all(world) != 0)
        fail_msg("%s", world->error.message);
    assert_int_equal(world->out.len, world->len);
    assert_memory_equal(world->out.buf, world->data, world->len);
    assert_int_equal(world->report.state, BACKUP_STATE_COMPLETED);
}

static void assert_nothing_left(struct world *world)
{
    assert_int_equal(fake_count(), 0);
    assert_int_equal(world->report.state, BACKUP_STATE_FAILED);
    assert_true(*world->report.error_reason && *world->report.message);
    assert_null(strstr(world->report.message, "secret"));
}

/* ---- stories ---- */

static void test_there_and_back(void **state)
{
    struct world *world = *state;
    char digest[65];

    for (int kind = 0; kind < 4; kind++) {
        world->task.compression = kind & 1 ? BACKUP_COMPRESSION_NONE : BACKUP_COMPRESSION_ZSTD;
        world->task.sealed = kind & 2;
        upload_all(world);
        assert_int_equal(world->error.kind, ERROR_NONE);
        assert_int_equal(world->report.state, BACKUP_STATE_COMPLETED);
        assert_string_equal(world->report.gtid, "0-1-7");
        assert_int_equal(world->report.raw_bytes, RAW_BYTES);
        struct fake_object *manifest = fake_find(FOLDER "/manifest.json");
        assert_non_null(manifest);
        tls_sha256_hex(manifest->data.buf, manifest->data.len, digest);
        assert_string_equal(digest, world->report.digest);
        assert_int_equal(fake_count(), 1 + (world->report.stored_bytes + PIECE - 1) / PIECE);
        world->takes = kind ? 0 : 313;
        assert_came_back(world);
        fake_remove_under("", true);
    }
}

/* At and around the borders of parts and pieces. */
static void test_sizes(void **state)
{
    static const size_t sizes[] = {1, PART - 1, PART, PART + 1, 2 * PART, PIECE - 1, PIECE, PIECE + 1, PIECE + PART,
        2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1, 4 * PIECE};
    struct world *world = *state;

    world->task.compression = BACKUP_COMPRESSION_NONE;
    world->task.sealed = false;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        world->len = sizes[i];
        world->step = 1 + i * 501;
        upload_all(world);
        assert_int_equal(world->error.kind, ERROR_NONE);
        assert_int_equal(fake_count(), 1 + (sizes[i] + PIECE - 1) / PIECE);
        assert_came_back(world);
        fake_remove_under("", true);
    }
    world->len = 0; /* no tool says nothing */
    upload_all(world);
    world->report = *upload_report(world->upload);
    assert_nothing_left(world);
}

static void test_two_parts_at_most(void **state)
{
    struct world *world = *state;

    fake.slow_parts = true;
    world->task.compression = BACKUP_COMPRESSION_NONE;
    world->task.sealed = false;
    world->step = 900;
    start(world);
    feed(world);
    for (int i = 0; i < 50; i++)
        loop_run_once(world->loop, 5);
    assert_int_equal(upload_room(world->upload), 0);
    assert_true(world->at < world->len);
    fake.slow_parts = false;
    commit(world);
    turn_until_end(world);
    assert_int_equal(world->error.kind, ERROR_NONE);
    assert_true(fake.sending_max <= 2 * PART);
    assert_came_back(world);
}

/* Each call in turn, before and after it took effect; also when nothing works any more from then on. */
static void test_every_operation_fails(void **state)
{
    static const enum error_kind kinds[] = {ERROR_UNAVAILABLE, ERROR_FORBIDDEN, ERROR_TIMEOUT};
    struct world *world = *state;

    upload_all(world);
    unsigned operations = fake.operations;
    assert_true(operations > 20);
    for (unsigned at = 1; at <= operations; at++) {
        fake_remove_under("", true);
        fake.operations = 0;
        fake.fail_at = at;
        fake.fail_kind = kinds[at % 3];
        fake.fail_late = at / 3 % 2;
        upload_all(world);
        assert_nothing_left(world);
        assert_string_equal(world->report.error_reason, at % 3 == 1 ? "StoreRefused" : "StoreUnavailable");
        assert_non_null(strstr(world->report.message, "the store says no"));
    }
}

static void test_store_that_goes_for_good(void **state)
{
    struct world *world = *state;

    for (unsigned at = 1; at < 40; at++) {
        fake_remove_under("", true);
        fake.operations = 0;
        fake.fail_at = at;
        fake.fail_kind = ERROR_UNAVAILABLE;
        fake.down = true;
        upload_all(world);
        if (world->report.state == BACKUP_STATE_COMPLETED)
            break; /* there were not so many */
        assert_int_equal(world->report.state, BACKUP_STATE_FAILED);
        assert_null(fake_find(FOLDER "/manifest.json"));
    }
}

static void test_abort_at_every_turn(void **state)
{
    struct world *world = *state;
    struct error why = ERROR_INIT;
    bool completed = false;

    error_set(&why, ERROR_CANCELLED, "enough");
    for (int turns = 0; !completed; turns++) {
        assert_true(turns < 1000);
        fake_remove_under("", true);
        start(world);
        feed(world);
        commit(world);
        for (int i = 0; i < turns && !world->ended; i++)
            loop_run_once(world->loop, 1);
        upload_abort(world->upload, &why);
        turn_until_end(world);
        world->report = *upload_report(world->upload);
        completed = world->report.state == BACKUP_STATE_COMPLETED;
        if (completed)
            break;
        assert_nothing_left(world);
        assert_string_equal(world->report.error_reason, "Cancelled");
    }
    assert_came_back(world); /* an abort that comes too late changes nothing */
}

static void test_no_commit_no_backup(void **state)
{
    struct world *world = *state;
    struct error why = ERROR_INIT;

    start(world);
    feed(world);
    for (int i = 0; i < 500; i++)
        loop_run_once(world->loop, 1);
    assert_false(world->ended);
    assert_null(fake_find(FOLDER "/manifest.json"));
    assert_true(fake_count() > 1);
    error_set(&why, ERROR_CANCELLED, "the tool was killed");
    upload_abort(world->upload, &why);
    turn_until_end(world);
    world->report = *upload_report(world->upload);
    assert_nothing_left(world);
}

static void test_rate_limit(void **state)
{
    struct world *world = *state;

    world->task.rate_limit = 100000; /* 20 parts of 1000 bytes: at least 190 ms */
    int64_t began_ms = loop_now_ms(world->loop);
    upload_all(world);
    assert_int_equal(world->error.kind, ERROR_NONE);
    assert_true(loop_now_ms(world->loop) - began_ms >= 180);
    assert_came_back(world);
}

/* ---- what is stored is damaged ---- */

static void assert_refused(struct world *world, const char *reason, const char *says)
{
    assert_int_equal(download_all(world), -1);
    assert_int_equal(world->report.state, BACKUP_STATE_FAILED);
    assert_string_equal(world->report.error_reason, reason);
    assert_non_null(strstr(world->report.message, says));
}

static void test_flipped_bytes(void **state)
{
    struct world *world = *state;

    for (int kind = 0; kind < 4; kind++) {
        world->task.compression = kind & 1 ? BACKUP_COMPRESSION_NONE : BACKUP_COMPRESSION_ZSTD;
        world->task.sealed = kind & 2;
        upload_all(world);
        for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++) {
            struct fake_object *object = &fake.objects[i];
            for (size_t at = 0; object->name && at < object->data.len; at += 97) {
                object->data.buf[at] ^= 0x20;
                assert_int_equal(download_all(world), -1);
                assert_true(*world->report.message);
                object->data.buf[at] ^= 0x20;
            }
        }
        assert_came_back(world);
        fake_remove_under("", true);
    }
}

static void test_pieces(void **state)
{
    struct world *world = *state;

    upload_all(world);
    struct fake_object *first = fake_find(FOLDER "/data-000001");
    struct fake_object *second = fake_find(FOLDER "/data-000002");
    struct fake_object swap = *first;
    first->data = second->data;
    second->data = swap.data;
    assert_refused(world, "Damaged", "");
    second->data = first->data;
    first->data = swap.data;
    second->data.len -= 10;
    assert_refused(world, "Damaged", "data-000002 is damaged: it has 3490 bytes, the manifest says 3500");
    second->data.len += 10;
    strbuf_addc(&first->data, 'x');
    assert_refused(world, "Damaged", "data-000001 is damaged: it is longer");
    strbuf_truncate(&first->data, first->data.len - 1);
    assert_came_back(world);
    fake.operations = 0;
    fake.fail_at = 2; /* the manifest, the first piece */
    fake.fail_kind = ERROR_CONFLICT;
    assert_refused(world, "Damaged", "data-000001 is damaged: it was replaced while it was read: ");
    fake.operations = 0;
    fake.fail_kind = ERROR_FORBIDDEN;
    assert_refused(world, "StoreRefused", "data-000001: the store says no");
    free(steal_ptr(second->name));
    assert_refused(world, "Damaged", "data-000002 is missing: ");
    strbuf_release(&second->data);
}

/* Whole in the manifest; reports say where it is to be read. */
static void test_long_positions(void **state)
{
    struct world *world = *state;
    _cleanup_(strbuf_release) struct strbuf gtids;

    strbuf_init(&gtids, (size_t)(128 * KM_KIB));
    document_servers(400, 7, &gtids);
    world->gtid = gtids.buf;
    upload_all(world);
    assert_int_equal(world->report.state, BACKUP_STATE_COMPLETED);
    assert_string_equal(world->report.gtid, POSITION_TOO_LONG);
    assert_non_null(strstr(fake_find(FOLDER "/manifest.json")->data.buf, gtids.buf));
    assert_int_equal(download_all(world), 0);
    assert_string_equal(world->report.gtid, POSITION_TOO_LONG);
    fake_remove_under("", true);
    strbuf_reset(&gtids);
    document_servers(1700, 7, &gtids);
    world->gtid = gtids.buf;
    upload_all(world);
    assert_int_equal(world->report.state, BACKUP_STATE_FAILED);
    assert_non_null(strstr(world->report.message, "gtid: too long"));
    assert_null(fake_find(FOLDER "/manifest.json"));
}

static void test_identity(void **state)
{
    struct world *world = *state;

    upload_all(world);
    memcpy(world->task.digest, world->report.digest, sizeof(world->task.digest));
    assert_came_back(world);
    world->task.digest[3] ^= 1;
    assert_refused(world, "Damaged", "digest");
    world->task.digest[0] = '\0';
    world->task.key[4] ^= 1;
    assert_refused(world, "KeyInvalid", "another key");
    world->task.sealed = false;
    assert_refused(world, "KeyInvalid", "no key was given");
    world->task.sealed = true;
    world->task.key[4] ^= 1;
    world->task.id[0] = 'y';
    assert_refused(world, "Damaged", "of backup x-1, not of y-1");
    world->task.id[0] = 'x';
    world->deaf = true;
    assert_refused(world, "Cancelled", "nobody takes");
    world->deaf = false;
    fake_remove_under(FOLDER "/manifest.json", false);
    assert_refused(world, "StoreRefused", "manifest.json: ");
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(test_there_and_back),
        STORY(test_sizes),
        STORY(test_two_parts_at_most),
        STORY(test_every_operation_fails),
        STORY(test_store_that_goes_for_good),
        STORY(test_abort_at_every_turn),
        STORY(test_no_commit_no_backup),
        STORY(test_rate_limit),
        STORY(test_flipped_bytes),
        STORY(test_pieces),
        STORY(test_long_positions),
        STORY(test_identity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
