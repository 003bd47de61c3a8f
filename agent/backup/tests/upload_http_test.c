/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upload over HTTP to a bucket that fails: each request in turn, in every way, before and after its effect, once and
 * as often as it is tried; and a connection that breaks anywhere. Afterwards the backup is there and can be read, or
 * nothing of it, nor of an upload, is left. transfer_test.c does the same with operations.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/download.h"
#include "agent/backup/upload.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/tests/clock_util.h"
#include "common/tests/cut_proxy_double.h"
#include "common/tests/object_util.h"
#include "common/tests/s3_double.h"

#define FOLDER "shop/db/backups/x-1"
#define PART 6000
#define PIECE 15000
#define RAW_BYTES 40000
#define CUTS 60

struct world {
    struct loop *loop;
    struct s3_double *s3;
    struct cut_proxy *proxy;
    struct object_store *store;
    struct backup_task task;
    struct upload *upload;
    char *data;
    size_t at;
    bool ended;
    struct error error;
    struct strbuf out;
};

/* proxied: through the proxy. */
static void open_store(struct world *world, bool proxied)
{
    struct object_target target = s3_double_target(world->s3);
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *dial = xasprintf("127.0.0.1:%u", cut_proxy_port(world->proxy));

    object_store_free(world->store);
    target.connect_to = proxied ? dial : NULL;
    target.idle_timeout_ms = 200;
    world->store = object_store_new(world->loop, &target, &err);
    if (!world->store)
        fail_msg("%s", err.message);
}

static int setup(void **state)
{
    struct world *world = xnew(struct world);

    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    clock_stand_still();
    world->loop = loop_new();
    world->s3 = s3_double_new(world->loop, "bucket");
    const struct object_target target = s3_double_target(world->s3);
    world->proxy = cut_proxy_new(world->loop, (uint16_t)strtoul(strrchr(target.endpoint, ':') + 1, NULL, 10));
    world->task = (struct backup_task){.id = "x-1",
        .ns = "shop",
        .cluster = "db",
        .folder = xstrdup(FOLDER),
        .compression = BACKUP_COMPRESSION_NONE,
        .sealed = true,
        .key = {1, 2, 3}};
    world->data = object_noise(RAW_BYTES, 5);
    strbuf_init(&world->out, 64 * KM_MIB);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    upload_free(world->upload);
    object_store_free(world->store);
    cut_proxy_free(world->proxy);
    s3_double_free(world->s3);
    loop_free(world->loop);
    backup_task_release(&world->task);
    strbuf_release(&world->out);
    free(world->data);
    free(world);
    return 0;
}

static void on_changed(void *arg)
{
    struct world *world = arg;
    size_t room;

    while (world->at < RAW_BYTES && (room = upload_room(world->upload)) > 0) {
        size_t len = MIN_OF(MIN_OF(room, (size_t)7777), RAW_BYTES - world->at);
        upload_feed(world->upload, world->data + world->at, len);
        world->at += len;
    }
    if (world->at == RAW_BYTES)
        upload_end_data(world->upload);
}

static void on_ended(void *arg, const struct error *err)
{
    struct world *world = arg;

    world->ended = true;
    if (err)
        world->error = *err;
}

static void turn_until_end(struct world *world)
{
    for (int i = 0; i < 6000 && !world->ended; i++)
        loop_run_once(world->loop, 10);
    assert_true(world->ended);
}

static bool upload_all(struct world *world)
{
    const struct upload_options options = {.loop = world->loop,
        .store = world->store,
        .task = &world->task,
        .part_bytes = PART,
        .piece_bytes = PIECE,
        .changed = on_changed,
        .ended = on_ended,
        .arg = world};
    const struct backup_commit commit = {
        .gtid = "0-1-7", .flavour = "mariadb", .donor = "db-1", .stream = STREAM_METHOD_XBSTREAM};

    world->ended = false;
    world->at = 0;
    error_clear(&world->error);
    world->upload = upload_new(&options);
    on_changed(world);
    upload_commit(world->upload, &commit);
    turn_until_end(world);
    upload_free(steal_ptr(world->upload));
    return world->error.kind == ERROR_NONE;
}

static ssize_t on_write(void *arg, const char *data, size_t len)
{
    struct world *world = arg;

    strbuf_add(&world->out, data, len);
    return (ssize_t)len;
}

static void assert_readable(struct world *world, const char *label)
{
    const struct download_options options = {.loop = world->loop,
        .store = world->store,
        .task = &world->task,
        .write = on_write,
        .ended = on_ended,
        .arg = world};

    s3_double_fail(world->s3, S3_FAULT_NONE, 0, 0, false);
    cut_proxy_cut(world->proxy, UINT64_MAX, UINT64_MAX);
    world->ended = false;
    error_clear(&world->error);
    strbuf_reset(&world->out);
    struct download *download = download_new(&options);
    turn_until_end(world);
    download_free(download);
    if (world->error.kind != ERROR_NONE)
        fail_msg("%s: %s", label, world->error.message);
    if (world->out.len != RAW_BYTES || memcmp(world->out.buf, world->data, RAW_BYTES) != 0)
        fail_msg("%s: what comes back is not what was sent", label);
}

static void empty(struct world *world)
{
    struct object_result result;

    s3_double_fail(world->s3, S3_FAULT_NONE, 0, 0, false);
    object_result_init(&result, world->loop);
    object_delete_tree(world->store, FOLDER, FOLDER "/manifest.json", object_result_done, &result);
    object_result_expect(&result, ERROR_NONE);
    object_result_release(&result);
    s3_double_drop_uploads(world->s3);
}

/* All or nothing. */
static bool judge(struct world *world, const char *label)
{
    bool complete = upload_all(world);

    if (s3_double_uploads(world->s3) > 0)
        fail_msg("%s: %zu uploads are left", label, s3_double_uploads(world->s3));
    if (complete)
        assert_readable(world, label);
    else if (s3_double_objects(world->s3) > 0)
        fail_msg("%s: it has failed (%s), and %zu objects are left", label, world->error.message,
            s3_double_objects(world->s3));
    empty(world);
    return complete;
}

static unsigned count_requests(struct world *world)
{
    open_store(world, false);
    s3_double_fail(world->s3, S3_FAULT_NONE, 0, 0, false);
    assert_true(upload_all(world));
    unsigned requests = s3_double_requests(world->s3);
    assert_true(requests > 12); /* three pieces with begin, parts and end, and the manifest */
    assert_readable(world, "no fault");
    empty(world);
    return requests;
}

/* One answer is spoiled: what another try can heal is complete in the end, what cannot leaves nothing. */
static void test_one_answer(void **state)
{
    struct world *world = *state;
    const unsigned requests = count_requests(world);
    char label[120];

    for (enum s3_fault fault = S3_FAULT_NONE + 1; fault <= S3_FAULT_SLOW; fault++)
        for (unsigned i = 0; i < 2 * requests; i++) {
            snprintf(label, sizeof(label), "%s %s request %u", s3_fault_names[fault], i % 2 ? "after" : "at", i / 2);
            s3_double_fail(world->s3, fault, i / 2, 1, i % 2);
            const bool complete = judge(world, label);
            if (complete != (fault != S3_FAULT_403))
                fail_msg("%s: %s", label, complete ? "complete" : world->error.message);
        }
}

/* As many as it is tried: then it has failed, and the cleaning that follows reaches a store that answers again. */
static void test_all_tries(void **state)
{
    static const enum s3_fault faults[] = {S3_FAULT_500, S3_FAULT_503, S3_FAULT_CUT, S3_FAULT_ERROR_200};
    struct world *world = *state;
    const unsigned requests = count_requests(world);
    unsigned failed = 0;
    char label[120];

    for (size_t f = 0; f < ARRAY_LEN(faults); f++)
        for (unsigned i = 0; i < 2 * requests; i++) {
            snprintf(label, sizeof(label), "%s for long %s request %u", s3_fault_names[faults[f]],
                i % 2 ? "after" : "at", i / 2);
            s3_double_fail(world->s3, faults[f], i / 2, OBJECT_TRIES_MAX, i % 2);
            failed += !judge(world, label);
        }
    assert_true(failed > requests);
}

/* A store that is gone for good: what is left there cannot look complete. */
static void test_gone_for_good(void **state)
{
    struct world *world = *state;
    const unsigned requests = count_requests(world);

    for (unsigned at = 0; at < requests; at++) {
        s3_double_fail(world->s3, S3_FAULT_403, at, 100000, false);
        assert_false(upload_all(world));
        assert_null(s3_double_get(world->s3, FOLDER "/manifest.json", NULL));
        empty(world);
        assert_int_equal(s3_double_objects(world->s3), 0);
    }
}

/* The connection breaks somewhere in what is sent (bodies of parts, mostly), or somewhere in the answers. */
static void test_cut_anywhere(void **state)
{
    struct world *world = *state;
    char label[120];

    open_store(world, true);
    cut_proxy_cut(world->proxy, UINT64_MAX, UINT64_MAX);
    assert_true(upload_all(world));
    const uint64_t up = cut_proxy_up(world->proxy);
    const uint64_t down = cut_proxy_down(world->proxy);
    assert_true(up > RAW_BYTES && down > 1000);
    assert_readable(world, "no cut");
    empty(world);
    for (unsigned i = 0; i < CUTS; i++) {
        const uint64_t at = (i % 2 ? up : down) * (i / 2) / (CUTS / 2) + 1;
        snprintf(label, sizeof(label), "cut %s at byte %llu", i % 2 ? "up" : "down", (unsigned long long)at);
        open_store(world, true);
        cut_proxy_cut(world->proxy, i % 2 ? at : UINT64_MAX, i % 2 ? UINT64_MAX : at);
        if (!judge(world, label))
            fail_msg("%s: %s", label, world->error.message);
    }
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(test_one_answer),
        STORY(test_all_tries),
        STORY(test_gone_for_good),
        STORY(test_cut_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
