/* SPDX-License-Identifier: Apache-2.0 */
/* The client of object storage against a bucket in memory that fails at every request in every way (s3_double.h);
 * uploads: object_upload_test.c. */
#include "common/base.h"

#include "common/object_store.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/tests/http_util.h"
#include "common/tests/object_world.h"

/* ---- operations under faults ---- */

static void fill(struct object_world *w)
{
    static const char *const keys[] = {"pre/fix/b/1", "pre/fix/b/2", "pre/fix/b/3/x", "pre/fix/b/3/y", "pre/fix/b/4"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        s3_double_put(w->s3, keys[i], keys[i], strlen(keys[i]));
    s3_double_set_page(w->s3, 2);
}

static void do_put(struct object_world *w)
{
    object_put(w->store, "b/5", "five", 4, object_result_done, &w->out);
}

static void put_done(struct object_world *w)
{
    assert_string_equal(s3_double_get(w->s3, "pre/fix/b/5", NULL), "five");
}

static void do_get(struct object_world *w)
{
    object_get(w->store, "b/4", 100, object_result_got, &w->out);
}

static void got_done(struct object_world *w)
{
    assert_string_equal(w->out.body.buf, "pre/fix/b/4");
}

static void do_read(struct object_world *w)
{
    object_result_clear(&w->out);
    object_read(w->store, "b/4", 3, object_result_data, object_result_done, &w->out);
}

static void read_done(struct object_world *w)
{
    assert_string_equal(w->out.body.buf, "/fix/b/4");
}

static void do_list(struct object_world *w)
{
    object_result_clear(&w->out);
    object_list(w->store, "b/", 0, object_result_each, object_result_done, &w->out);
}

static void list_done(struct object_world *w)
{
    static const char *const names[] = {"b/1", "b/2", "b/3/x", "b/3/y", "b/4"};
    assert_int_equal(w->out.names.n, ARRAY_LEN(names)); /* none twice */
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(w->out.names.v[i], names[i]);
}

static void do_groups(struct object_world *w)
{
    object_result_clear(&w->out);
    object_list(w->store, "b/", '/', object_result_each, object_result_done, &w->out);
}

static void groups_done(struct object_world *w)
{
    /* Pages of two, objects first in each. */
    static const char *const names[] = {"b/1", "b/2", "b/4", "b/3/"};
    assert_int_equal(w->out.names.n, ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(w->out.names.v[i], names[i]);
}

static void do_delete(struct object_world *w)
{
    object_delete(w->store, "b/4", object_result_done, &w->out);
}

static void delete_done(struct object_world *w)
{
    assert_null(s3_double_get(w->s3, "pre/fix/b/4", NULL));
}

static void do_tree(struct object_world *w)
{
    object_delete_tree(w->store, "b/", "b/2", object_result_done, &w->out);
}

static void tree_done(struct object_world *w)
{
    assert_int_equal(s3_double_objects(w->s3), 0);
    assert_int_equal(s3_double_uploads(w->s3), 0);
}

static const struct {
    const char *name;
    void (*start)(struct object_world *w);
    void (*check)(struct object_world *w);
} operations[] = {{"put", do_put, put_done}, {"get", do_get, got_done}, {"read", do_read, read_done},
    {"list", do_list, list_done}, {"groups", do_groups, groups_done}, {"delete", do_delete, delete_done},
    {"tree", do_tree, tree_done}};

static void leave_upload(struct object_world *w)
{
    struct object_upload *upload = object_upload_begin(w->store, "b/3/left", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
}

static unsigned requests_of(struct object_world *w, size_t operation)
{
    fill(w);
    leave_upload(w);
    s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
    operations[operation].start(w);
    object_result_expect(&w->out, ERROR_NONE);
    operations[operation].check(w);
    const unsigned count = s3_double_requests(w->s3);
    object_world_empty(w);
    return count;
}

static void test_operations_heal(void **state)
{
    struct object_world *w = *state;
    for (size_t op = 0; op < ARRAY_LEN(operations); op++) {
        const unsigned requests = requests_of(w, op);
        assert_true(requests > 0 && requests < 40);
        for (unsigned i = 0; i < 2 * requests * S3_FAULT_COUNT; i++) {
            const enum s3_fault fault = i / 2 / requests;
            if (!s3_fault_heals(fault))
                continue;
            fill(w);
            leave_upload(w);
            s3_double_fail(w->s3, fault, i % requests, 1, i / requests % 2);
            operations[op].start(w);
            if (object_world_wait(&w->out) < 0)
                fail_msg("%s, %s at request %u: %s", operations[op].name, s3_fault_names[fault], i % requests,
                    w->out.err.message);
            operations[op].check(w);
            s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
            object_world_empty(w);
        }
    }
}

static void test_operations_give_up(void **state)
{
    struct object_world *w = *state;
    for (size_t op = 0; op < ARRAY_LEN(operations); op++) {
        const unsigned requests = requests_of(w, op);
        for (unsigned i = 0; i < requests * S3_FAULT_COUNT; i++) {
            const enum s3_fault fault = i / requests;
            if (fault == S3_FAULT_NONE || (fault == S3_FAULT_SILENT && i % requests > 1))
                continue;
            fill(w);
            leave_upload(w);
            s3_double_fail(w->s3, fault, i % requests, 1000000, false);
            operations[op].start(w);
            const bool failed = object_world_wait(&w->out) < 0;
            const unsigned made = s3_double_requests(w->s3);
            /* A request may have been made twice while they were counted: then the fault had no request to spoil. */
            if (failed == (made <= i % requests))
                fail_msg("%s, %s from request %u of %u: %s", operations[op].name, s3_fault_names[fault], i % requests,
                    made, failed ? w->out.err.message : "no error");
            /* Deletions of a tree go four at a time; and libcurl repeats a GET by itself when a connection that was
             * used before breaks. */
            if (failed)
                assert_in_range(made - i % requests, 1, s3_fault_heals(fault) ? 2 * 4 * OBJECT_TRIES_MAX : 4);
            if (failed && fault == S3_FAULT_403)
                assert_int_equal(w->out.err.kind, ERROR_FORBIDDEN);
            s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
            object_world_empty(w);
        }
    }
}

/* ---- reading ---- */

static void put_data(struct object_world *w)
{
    s3_double_put(w->s3, "pre/fix/b/data", w->data, WORLD_BYTES);
}

static void read_from(struct object_world *w, uint64_t offset, enum error_kind kind)
{
    object_result_clear(&w->out);
    object_read(w->store, "b/data", offset, object_result_data, object_result_done, &w->out);
    object_result_expect(&w->out, kind);
}

static void test_read_goes_on(void **state)
{
    struct object_world *w = *state;
    static const uint64_t offsets[] = {0, 1, 12345};
    put_data(w);
    for (size_t i = 0; i < ARRAY_LEN(offsets); i++)
        for (uint64_t at = offsets[i]; at <= WORLD_BYTES; at += 4133) {
            s3_double_break_reads(w->s3, at, 3); /* the first with bytes, the next ones without */
            read_from(w, offsets[i], ERROR_NONE);
            assert_int_equal(w->out.body.len, WORLD_BYTES - offsets[i]);
            assert_memory_equal(w->out.body.buf, w->data + offsets[i], WORLD_BYTES - offsets[i]);
        }
    /* All bytes came, and then the connection broke before its end was seen. */
    s3_double_break_reads(w->s3, WORLD_BYTES, 1);
    read_from(w, 0, ERROR_NONE);
    assert_int_equal(w->out.body.len, WORLD_BYTES);
    s3_double_break_reads(w->s3, 5000, 1000000);
    object_result_clear(&w->out);
    object_read(w->store, "b/data", 0, object_result_data, object_result_done, &w->out);
    assert_int_equal(object_world_wait(&w->out), -1);
    assert_true(w->out.err.kind == ERROR_PROTOCOL || w->out.err.kind == ERROR_UNAVAILABLE);
    assert_int_equal(w->out.body.len, 5000);
    s3_double_break_reads(w->s3, 0, 0);
    read_from(w, WORLD_BYTES, ERROR_NONE);
    assert_int_equal(w->out.body.len, 0);
    read_from(w, WORLD_BYTES + 1, ERROR_INVALID);
    s3_double_put(w->s3, "pre/fix/b/data", "", 0);
    read_from(w, 0, ERROR_NONE);
    assert_int_equal(w->out.body.len, 0);
}

static int replace_and_take(void *arg, const char *data, size_t len)
{
    struct object_world *w = arg;
    s3_double_put(w->s3, "pre/fix/b/data", w->data + 1, WORLD_BYTES - 1);
    return object_result_data(&w->out, data, len);
}

static void world_done(void *arg, const struct error *err)
{
    object_result_done(&((struct object_world *)arg)->out, err);
}

static void test_read_of_what_changes(void **state)
{
    struct object_world *w = *state;
    put_data(w);
    object_result_clear(&w->out);
    s3_double_break_reads(w->s3, 5000, 1);
    object_read(w->store, "b/data", 0, replace_and_take, world_done, w);
    object_result_expect(&w->out, ERROR_CONFLICT);
    assert_int_equal(w->out.body.len, 5000);
    object_result_clear(&w->out);
    s3_double_set_ranges(w->s3, false);
    read_from(w, 5, ERROR_PROTOCOL);
    assert_int_equal(w->out.body.len, 0); /* not one byte from the wrong place */
    s3_double_put(w->s3, "pre/fix/b/data", "", 0);
    read_from(w, 5, ERROR_PROTOCOL);
}

static void test_read_pauses_and_ends(void **state)
{
    struct object_world *w = *state;
    put_data(w);
    object_result_clear(&w->out);
    struct object_request *request = object_read(w->store, "b/data", 0, object_result_data, object_result_done, &w->out);
    object_request_pause(request);
    loop_for(w->loop, 150); /* longer than the idle time */
    assert_int_equal(w->out.body.len, 0);
    assert_int_equal(w->out.done, 0);
    object_request_resume(request);
    object_result_expect(&w->out, ERROR_NONE);
    assert_int_equal(w->out.body.len, WORLD_BYTES);
    object_result_clear(&w->out);
    w->out.stop_after = 1;
    object_read(w->store, "b/data", 0, object_result_data, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_CANCELLED);
    assert_true(w->out.body.len < WORLD_BYTES);
}

/* ---- what refusals say ---- */

static const struct {
    int status;
    const char *body;
    enum error_kind kind;
    unsigned requests; /* 1: final */
    const char *words;
} refusals[] = {
    {403, "<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>", ERROR_UNAUTHORIZED, 1,
        "InvalidAccessKeyId: no such key"},
    {403, "<Error><Code>SignatureDoesNotMatch</Code></Error>", ERROR_UNAUTHORIZED, 1, "SignatureDoesNotMatch"},
    {400, "<Error><Code>ExpiredToken</Code></Error>", ERROR_UNAUTHORIZED, 1, "ExpiredToken"},
    {403, "<Error><Code>AccessDenied</Code></Error>", ERROR_FORBIDDEN, 1, "AccessDenied"},
    {404, "<Error><Code>NoSuchBucket</Code></Error>", ERROR_NOT_FOUND, 1, "PUT s3://bucket/pre/fix/b/5: NoSuchBucket"},
    {412, "<Error><Code>PreconditionFailed</Code></Error>", ERROR_CONFLICT, 1, "PreconditionFailed"},
    {413, "", ERROR_TOO_LARGE, 1, "HTTP 413"},
    {507, "<Error><Code>InsufficientStorage</Code><Message>volume full</Message></Error>", ERROR_TOO_LARGE, 1,
        "volume full"},
    {400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-central-1</Region></Error>", ERROR_INVALID, 1,
        "spec.destination.s3.region is us-east-1, but the bucket is in eu-central-1"},
    {301, "<Error><Code>PermanentRedirect</Code><Endpoint>bucket.s3.eu-west-1.amazonaws.com</Endpoint></Error>",
        ERROR_INVALID, 1,
        "spec.destination.s3.region (us-east-1) or endpoint is not the bucket's, which is bucket.s3.eu-west-1"},
    {301, "", ERROR_INVALID, 1, "spec.destination.s3.region"},
    {403, "<Error><Code>RequestTimeTooSkewed</Code><ServerTime>2001-01-01T00:00:00Z</ServerTime></Error>",
        ERROR_UNAUTHORIZED, 1, "s ahead of the server's"},
    {403, "<Error><Code>RequestTimeTooSkewed</Code><ServerTime>2101-01-01T00:00:00Z</ServerTime></Error>",
        ERROR_UNAUTHORIZED, 1, "s behind the server's"},
    {403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", ERROR_UNAUTHORIZED, 1, "differ too much"},
    {400, "<Error><Code>InvalidRequest</Code></Error>", ERROR_INVALID, 1, "InvalidRequest"},
    {400, "", ERROR_INVALID, 1, "HTTP 400"},
    {501, "<Error><Code>NotImplemented</Code></Error>", ERROR_UNAVAILABLE, 1, "NotImplemented"},
    {400, "<Error><Code>RequestTimeout</Code></Error>", ERROR_TIMEOUT, OBJECT_TRIES_MAX, "after 6 tries"},
    {503, "<Error><Code>SlowDown</Code></Error>", ERROR_UNAVAILABLE, OBJECT_TRIES_MAX, "SlowDown"},
    {429, "", ERROR_UNAVAILABLE, OBJECT_TRIES_MAX, "HTTP 429"},
    {504, "<html><br>", ERROR_UNAVAILABLE, OBJECT_TRIES_MAX, "HTTP 504"},
    {409, "<Error><Code>OperationAborted</Code></Error>", ERROR_UNAVAILABLE, OBJECT_TRIES_MAX, "OperationAborted"},
    /* Of a service in front of a volume: bytes are lost, so it does not help to ask again. */
    {500, "<Error><Code>UploadBroken</Code></Error>", ERROR_UNAVAILABLE, 1, "UploadBroken"},
    /* Whatever a server repeats. */
    {403, "<Error><Code>X</Code><Message>the key AKIATEST is bad</Message></Error>", ERROR_FORBIDDEN, 1, "X: (the"},
};

static void test_refusals(void **state)
{
    struct object_world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const size_t before = s3_double_log(w->s3)->n;
        s3_double_say(w->s3, 1000, refusals[i].status, refusals[i].body);
        s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
        do_put(w);
        object_world_wait(&w->out);
        if (w->out.err.kind != refusals[i].kind || !strstr(w->out.err.message, refusals[i].words))
            fail_msg("%s: %s: %s", refusals[i].body, error_kind_name(w->out.err.kind), w->out.err.message);
        assert_int_equal(w->out.err.code, refusals[i].status);
        assert_int_equal(s3_double_log(w->s3)->n - before, refusals[i].requests);
        assert_null(strstr(w->out.err.message, "AKIATEST"));
    }
}

/* A deletion in a bucket that is not there is no success. */
static void test_no_bucket(void **state)
{
    struct object_world *w = *state;
    struct object_target target = s3_double_target(w->s3);
    target.bucket = "bucke";
    object_store_free(w->store);
    w->store = object_world_store(w, &target);
    object_delete(w->store, "x", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_delete_tree(w->store, "x", "x/y", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_delete_tree(w->store, "x", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
}

static void test_keys_are_rotated(void **state)
{
    struct object_world *w = *state;
    s3_double_set_key(w->s3, "AKIANEW");
    do_put(w);
    object_result_expect(&w->out, ERROR_UNAUTHORIZED);
    /* Between two tries of one request. */
    s3_double_fail(w->s3, S3_FAULT_SILENT, 0, 1, false);
    do_put(w);
    loop_for(w->loop, 20);
    object_store_set_keys(w->store, "AKIANEW", "secret2", "token");
    object_store_set_keys(w->store, "AKIABAD\r\nX: y", "secret2", ""); /* not taken */
    object_result_expect(&w->out, ERROR_NONE);
    put_done(w);
}

static void open_with_grace(struct object_world *w, int64_t grace_ms)
{
    struct object_target target = s3_double_target(w->s3);
    target.prefix = "pre/fix";
    target.keys_grace_ms = grace_ms;
    object_store_free(w->store);
    w->store = object_world_store(w, &target);
}

static void refused_now(struct object_world *w)
{
    s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
    do_put(w);
    object_result_expect(&w->out, ERROR_UNAUTHORIZED);
    assert_non_null(strstr(w->out.err.message, "InvalidAccessKeyId"));
}

/* The old keys are revoked before we have the new ones: what is under way waits for them, wrong ones in between
 * included. */
static void test_revoked_keys(void **state)
{
    struct object_world *w = *state;
    open_with_grace(w, 3600000);
    s3_double_set_key(w->s3, "AKIANEW");
    refused_now(w); /* they have never worked: there is nothing to wait for */
    assert_int_equal(s3_double_requests(w->s3), 1);
    s3_double_set_key(w->s3, "AKIATEST");
    do_put(w);
    object_result_expect(&w->out, ERROR_NONE);
    s3_double_set_key(w->s3, "AKIANEW");
    s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
    do_put(w);
    while (s3_double_requests(w->s3) < 1)
        loop_run_once(w->loop, 10);
    object_store_set_keys(w->store, "AKIATEST", "secret", ""); /* the same */
    loop_for(w->loop, 300);
    assert_int_equal(w->out.done, 0);
    assert_int_equal(s3_double_requests(w->s3), 1);
    object_store_set_keys(w->store, "AKIAWRONG", "secret2", "");
    while (s3_double_requests(w->s3) < 2)
        loop_run_once(w->loop, 10);
    loop_for(w->loop, 20);
    assert_int_equal(w->out.done, 0);
    object_store_set_keys(w->store, "AKIANEW", "secret3", "");
    object_result_expect(&w->out, ERROR_NONE);
    put_done(w);
    assert_int_equal(s3_double_requests(w->s3), 3);
}

static void test_revoked_keys_for_good(void **state)
{
    struct object_world *w = *state;
    open_with_grace(w, 300);
    do_put(w);
    object_result_expect(&w->out, ERROR_NONE);
    s3_double_set_key(w->s3, "AKIANEW");
    refused_now(w);
    assert_int_equal(s3_double_requests(w->s3), 2); /* a last one when time was up */
    refused_now(w);
    assert_int_equal(s3_double_requests(w->s3), 1); /* nobody waits a second time */
    object_store_set_keys(w->store, "AKIANEW", "secret3", "");
    do_put(w);
    object_result_expect(&w->out, ERROR_NONE);
    /* A right that is missing is not the keys' fault. */
    s3_double_fail(w->s3, S3_FAULT_403, 0, 1, false);
    do_put(w);
    object_result_expect(&w->out, ERROR_FORBIDDEN);
    assert_int_equal(s3_double_requests(w->s3), 1);
}

/* The server refuses without reading: what it says is read nevertheless. */
static void test_early_refusal(void **state)
{
    struct object_world *w = *state;
    char *big = object_noise(4 * KM_MIB, 1);
    for (int i = 0; i < 5; i++) {
        object_put(w->store, "b/big", big, 4 * KM_MIB, object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_TOO_LARGE);
    }
    free(big);
}

/* ---- deleting trees ---- */

static void test_tree(void **state)
{
    struct object_world *w = *state;
    fill(w);
    s3_double_put(w->s3, "pre/fix/b", "x", 1);
    s3_double_put(w->s3, "pre/fix/bb/1", "x", 1);
    s3_double_put(w->s3, "pre/fix/b/manifest.json", "x", 1);
    s3_double_put(w->s3, "pre/fix/b/not a name of ours/../\xc3\xa4", "x", 1);
    leave_upload(w);
    leave_upload(w);
    leave_upload(w); /* more than a page */
    const size_t before = s3_double_log(w->s3)->n;
    object_delete_tree(w->store, "b", "b/manifest.json", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_string_equal(s3_double_log(w->s3)->v[before], "DELETE pre/fix/b/manifest.json");
    const struct strvec *log = s3_double_log(w->s3);
    assert_string_equal(log->v[log->n - 1], "GET ?list"); /* it has looked again */
    assert_int_equal(s3_double_objects(w->s3), 2);
    assert_non_null(s3_double_get(w->s3, "pre/fix/b", NULL));
    assert_non_null(s3_double_get(w->s3, "pre/fix/bb/1", NULL));
    assert_int_equal(s3_double_uploads(w->s3), 0);
}

static void test_tree_that_does_not_go(void **state)
{
    struct object_world *w = *state;
    fill(w);
    s3_double_set_undead(w->s3, true);
    object_delete_tree(w->store, "b", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    assert_non_null(strstr(w->out.err.message, "b/1 is still there"));
    /* The manifest cannot be deleted: nothing else may go. */
    s3_double_set_undead(w->s3, false);
    s3_double_fail(w->s3, S3_FAULT_403, 0, 1, false);
    object_delete_tree(w->store, "b", "b/1", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_FORBIDDEN);
    assert_int_equal(s3_double_objects(w->s3), 5);
    object_delete_tree(w->store, "b", "c/1", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    object_delete_tree(w->store, "", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    assert_int_equal(s3_double_objects(w->s3), 5);
}

#define ENTRY(key) \
    "<Contents><Key>" key "</Key><Size>1</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>"

/* Deletions are chosen by lists: one that holds what was not asked for is not believed. */
static void test_strange_lists(void **state)
{
    struct object_world *w = *state;
    s3_double_say(w->s3, 1, 200, "<ListBucketResult>" ENTRY("pre/fix/b/1") ENTRY("other/1") "</ListBucketResult>");
    do_list(w);
    object_result_expect(&w->out, ERROR_PROTOCOL);
    assert_int_equal(w->out.names.n, 0);
    s3_double_say(w->s3, 1000, 200,
        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>");
    do_list(w);
    object_result_expect(&w->out, ERROR_PROTOCOL);
    s3_double_say(w->s3, 1000, 200,
        "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>t</NextKeyMarker>"
        "<NextUploadIdMarker>t</NextUploadIdMarker></ListMultipartUploadsResult>");
    object_delete_tree(w->store, "b", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_PROTOCOL);
    s3_double_say(w->s3, 1000, 200, "<html></html>");
    do_list(w);
    object_result_expect(&w->out, ERROR_PROTOCOL);
}

/* ---- cancelling ---- */

/* After any number of turns; the sanitizers see what is left. */
static void test_cancel_at_every_point(void **state)
{
    struct object_world *w = *state;
    for (int turns = 0; turns < 60; turns++) {
        fill(w);
        leave_upload(w);
        struct object_request *requests[] = {
            object_put(w->store, "b/5", "five", 4, object_result_done, &w->out),
            object_get(w->store, "b/4", 100, object_result_got, &w->out),
            object_read(w->store, "b/4", 3, object_result_data, object_result_done, &w->out),
            object_list(w->store, "b/", 0, object_result_each, object_result_done, &w->out),
            object_delete(w->store, "b/4", object_result_done, &w->out),
            object_delete_tree(w->store, "b", "b/2", object_result_done, &w->out),
            object_put(w->store, "../", "x", 1, object_result_done, &w->out),
        };
        /* Those that have ended may not be touched: so only while none has. */
        for (int i = 0; i < turns && w->out.done == 0; i++)
            loop_run_once(w->loop, 0);
        if (w->out.done == 0) {
            for (size_t i = 0; i < ARRAY_LEN(requests); i++)
                object_request_cancel(requests[i]);
            loop_for(w->loop, 2);
            assert_int_equal(w->out.done, 0);
        } else {
            object_store_free(w->store);
            const int done = w->out.done;
            loop_for(w->loop, 2);
            assert_int_equal(w->out.done, done);
            struct object_target target = s3_double_target(w->s3);
            target.prefix = "pre/fix";
            w->store = object_world_store(w, &target);
            w->out.done = 0;
        }
        object_world_empty(w);
    }
}

struct canceller {
    struct object_request *request;
    int calls;
};

static int cancel_in_data(void *arg, const char *data, size_t len)
{
    struct canceller *c = arg;
    UNUSED(data);
    UNUSED(len);
    c->calls++;
    object_request_cancel(c->request);
    return 0;
}

static int cancel_in_each(void *arg, const struct object_entry *entry)
{
    UNUSED(entry);
    return cancel_in_data(arg, NULL, 0);
}

static void no_done(void *arg, const struct error *err)
{
    UNUSED(arg);
    fail_msg("done after a cancel: %s", err ? err->message : "success");
}

static void test_cancel_inside(void **state)
{
    struct object_world *w = *state;
    struct canceller c = {.calls = 0};
    fill(w);
    c.request = object_read(w->store, "b/4", 0, cancel_in_data, no_done, &c);
    assert_true(loop_until(w->loop, &c.calls, 1));
    loop_for(w->loop, 20);
    c.request = object_list(w->store, "b/", 0, cancel_in_each, no_done, &c);
    assert_true(loop_until(w->loop, &c.calls, 2));
    loop_for(w->loop, 20);
    assert_int_equal(c.calls, 2);
    s3_double_set_page(w->s3, 1000);
}

/* ---- names and places ---- */

static const struct {
    struct object_target target;
    const char *wrong; /* NULL: fine */
} targets[] = {
    {{.bucket = "b"}, NULL},
    {{.bucket = "b.c-d_e", .region = "eu-central-1", .prefix = "a b/c=d/\xc3\xa4"}, NULL},
    {{.bucket = "b", .endpoint = "https://s3.example.com:9000/"}, NULL},
    {{.bucket = "b", .endpoint = "http://[::1]:9000"}, NULL},
    {{.bucket = ""}, "bucket"},
    {{.bucket = NULL}, "bucket"},
    {{.bucket = "a/b"}, "bucket"},
    {{.bucket = "a..b"}, "bucket"},
    {{.bucket = "a b"}, "bucket"},
    {{.bucket = "b", .endpoint = "s3.example.com"}, "endpoint"},
    {{.bucket = "b", .endpoint = "ftp://s3.example.com"}, "endpoint"},
    {{.bucket = "b", .endpoint = "https://"}, "endpoint"},
    {{.bucket = "b", .endpoint = "https://s3.example.com/path"}, "endpoint"},
    {{.bucket = "b", .endpoint = "https://user@s3.example.com"}, "endpoint"},
    {{.bucket = "b", .endpoint = "https://s3.example.com?x"}, "endpoint"},
    {{.bucket = "b", .endpoint = "https://s3.example.com\r\nX: y"}, "endpoint"},
    {{.bucket = "b", .region = "a/b"}, "region"},
    {{.bucket = "b", .region = "a b"}, "region"},
    {{.bucket = "b", .prefix = "/a"}, "prefix"},
    {{.bucket = "b", .prefix = "a/"}, "prefix"},
    {{.bucket = "b", .prefix = "a//b"}, "prefix"},
    {{.bucket = "b", .prefix = "a/../b"}, "prefix"},
    {{.bucket = "b", .prefix = "."}, "prefix"},
    {{.bucket = "b", .prefix = "a\nb"}, "prefix"},
    {{.bucket = "b", .access_key = "A", .secret_key = "s\n"}, "secret key"},
    {{.bucket = "b", .access_key = "A\r\nX: y", .secret_key = "s"}, "access key"},
    {{.bucket = "b", .access_key = "A", .secret_key = "s", .session_token = " "}, "session token"},
    {{.bucket = "b", .access_key = "A"}, "secret key"},
};

static void test_targets(void **state)
{
    struct object_world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct error err = ERROR_INIT;
        struct object_store *store = object_store_new(w->loop, &targets[i].target, &err);
        if (!store != !!targets[i].wrong)
            fail_msg("target %zu: %s", i, store ? "taken" : err.message);
        if (!store && (err.kind != ERROR_INVALID || !strstr(err.message, str_or_empty(targets[i].wrong))))
            fail_msg("target %zu: %s", i, err.message);
        object_store_free(store);
    }
}

static void test_names(void **state)
{
    struct object_world *w = *state;
    static const char *const bad[] = {
        "", "/a", "a/", "a//b", "a/./b", "../a", "a/..", "a b", "a%2e", "a?b", "a#b", "\xc3\xa4", "a\nb"};
    char *longest = xmalloc(OBJECT_NAME_SIZE + 1);
    memset(longest, 'x', OBJECT_NAME_SIZE);
    longest[OBJECT_NAME_SIZE] = '\0';
    for (size_t i = 0; i <= ARRAY_LEN(bad); i++) {
        const char *name = i < ARRAY_LEN(bad) ? bad[i] : longest;
        object_put(w->store, name, "x", 1, object_result_done, &w->out);
        assert_int_equal(w->out.done, 0);
        object_result_expect(&w->out, ERROR_INVALID);
        object_get(w->store, name, 1, object_result_got, &w->out);
        object_result_expect(&w->out, ERROR_INVALID);
        object_read(w->store, name, 0, object_result_data, object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_INVALID);
        object_delete(w->store, name, object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_INVALID);
    }
    assert_int_equal(s3_double_log(w->s3)->n, 0);
    longest[OBJECT_NAME_SIZE - 1] = '\0';
    object_put(w->store, longest, "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    s3_double_fail(w->s3, S3_FAULT_403, 0, 1, false);
    object_get(w->store, longest, 1, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_FORBIDDEN);
    assert_non_null(strstr(w->out.err.message, "AccessDenied")); /* behind the name */
    object_put(w->store, "x", "x", OBJECT_PART_MIN + 1, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    free(longest);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, object_world_set_up, object_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_operations_heal),
        WORLD(test_operations_give_up),
        WORLD(test_read_goes_on),
        WORLD(test_read_of_what_changes),
        WORLD(test_read_pauses_and_ends),
        WORLD(test_refusals),
        WORLD(test_no_bucket),
        WORLD(test_keys_are_rotated),
        WORLD(test_revoked_keys),
        WORLD(test_revoked_keys_for_good),
        WORLD(test_early_refusal),
        WORLD(test_tree),
        WORLD(test_tree_that_does_not_go),
        WORLD(test_strange_lists),
        WORLD(test_cancel_at_every_point),
        WORLD(test_cancel_inside),
        WORLD(test_targets),
        WORLD(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
