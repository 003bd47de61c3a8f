/* SPDX-License-Identifier: Apache-2.0 */
/* Multipart uploads against a bucket that fails at every request in every way. What counts is what is in the bucket
 * afterwards. */
#include "common/base.h"

#include <openssl/sha.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/object_store.h"
#include "common/tests/http_util.h"
#include "common/tests/object_world.h"

/* As the uploader will do it: what fails is aborted. */
static int upload_all(struct object_world *w, struct object_upload **ret)
{
    *ret = object_upload_begin(w->store, "b/data", object_result_done, &w->out);
    if (object_world_wait(&w->out) < 0)
        return -1;
    for (int number = 1; number <= 3; number++)
        if (object_world_part(w, *ret, number) < 0)
            return -1;
    object_upload_complete(*ret, object_result_done, &w->out);
    return object_world_wait(&w->out);
}

static void assert_stored(struct object_world *w, const char *label)
{
    size_t len = 0;
    const char *stored = s3_double_get(w->s3, "pre/fix/b/data", &len);
    if (!stored || len != WORLD_BYTES || memcmp(stored, w->data, WORLD_BYTES) != 0)
        fail_msg("%s: what is stored is not what was sent", label);
    if (s3_double_uploads(w->s3) != 0)
        fail_msg("%s: %zu uploads are left", label, s3_double_uploads(w->s3));
}

/* begin, three parts, complete */
#define UPLOAD_REQUESTS 5

static void test_upload(void **state)
{
    struct object_world *w = *state;
    struct object_upload *upload;
    s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
    assert_int_equal(upload_all(w, &upload), 0);
    assert_int_equal(s3_double_requests(w->s3), UPLOAD_REQUESTS);
    assert_stored(w, "no fault");
    object_upload_free(upload);
    object_world_empty(w);
}

/* One or five answers in a row are spoiled, before or after their effect: the upload succeeds, once and whole, and
 * leaves nothing behind. */
static void test_upload_heals(void **state)
{
    struct object_world *w = *state;
    static const unsigned times[] = {1, OBJECT_TRIES_MAX - 1};
    for (enum s3_fault fault = 0; fault < S3_FAULT_COUNT; fault++)
        for (unsigned i = 0; s3_fault_heals(fault) && i < 2 * ARRAY_LEN(times) * UPLOAD_REQUESTS; i++) {
            const unsigned at = i % UPLOAD_REQUESTS;
            const bool after = i / UPLOAD_REQUESTS % 2;
            const unsigned n = times[i / UPLOAD_REQUESTS / 2];
            struct object_upload *upload;
            char label[100];
            snprintf(label, sizeof(label), "%s, %u times from request %u, %s", s3_fault_names[fault], n, at,
                after ? "after" : "before");
            if (fault == S3_FAULT_SILENT && at > 1 && at < 4)
                continue; /* parts are alike, and each silence takes its time */
            s3_double_fail(w->s3, fault, at, n, after);
            if (upload_all(w, &upload) < 0)
                fail_msg("%s: %s", label, w->out.err.message);
            assert_stored(w, label);
            object_upload_free(upload);
            object_world_empty(w);
        }
}

static const enum error_kind lasting_kinds[S3_FAULT_COUNT] = {
    [S3_FAULT_500] = ERROR_UNAVAILABLE,
    [S3_FAULT_503] = ERROR_UNAVAILABLE,
    [S3_FAULT_502] = ERROR_UNAVAILABLE,
    [S3_FAULT_SILENT] = ERROR_TIMEOUT,
    [S3_FAULT_CUT] = ERROR_PROTOCOL,
    [S3_FAULT_TRUNCATED] = ERROR_PROTOCOL,
    [S3_FAULT_ERROR_200] = ERROR_UNAVAILABLE,
    [S3_FAULT_403] = ERROR_FORBIDDEN,
};

/* It lasts: an error of that kind after all tries, and once the server is well again an abort leaves nothing, whatever
 * had happened. */
static void test_upload_fails_cleanly(void **state)
{
    struct object_world *w = *state;
    for (enum s3_fault fault = 1; fault < S3_FAULT_COUNT; fault++)
        for (unsigned i = 0; i < 2 * UPLOAD_REQUESTS; i++) {
            const unsigned at = i % UPLOAD_REQUESTS;
            const bool after = i / UPLOAD_REQUESTS;
            struct object_upload *upload;
            char label[100];
            if (fault == S3_FAULT_SILENT && at > 1 && at < 4)
                continue;
            snprintf(label, sizeof(label), "%s for ever from request %u, %s", s3_fault_names[fault], at,
                after ? "after" : "before");
            s3_double_fail(w->s3, fault, at, 1000000, after);
            assert_int_equal(upload_all(w, &upload), -1);
            const enum error_kind kind = lasting_kinds[fault];
            /* A connection that is cut is one or the other, as the reset comes. */
            const bool cut =
                (fault == S3_FAULT_CUT || fault == S3_FAULT_TRUNCATED) && w->out.err.kind == ERROR_UNAVAILABLE;
            if (w->out.err.kind != kind && !cut && !(fault == S3_FAULT_ERROR_200 && w->out.err.kind == ERROR_PROTOCOL))
                fail_msg("%s: %s", label, w->out.err.message);
            /* A completion that finds no upload any more looks for the object too. */
            if (s3_double_requests(w->s3) - at > (s3_fault_heals(fault) ? (at == 4 ? 3 : 1) * OBJECT_TRIES_MAX : 1))
                fail_msg("%s: %u requests", label, s3_double_requests(w->s3));
            s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
            object_upload_abort(upload, object_result_done, &w->out);
            object_result_expect(&w->out, ERROR_NONE);
            if (s3_double_uploads(w->s3) != 0)
                fail_msg("%s: an upload is left", label);
            /* Only a completion whose answers were all lost leaves something, and that is whole. */
            if (s3_double_objects(w->s3) != 0) {
                assert_true(at == UPLOAD_REQUESTS - 1);
                assert_stored(w, label);
            }
            object_upload_free(upload);
            object_world_empty(w);
        }
}

/* The answer to a completion is lost, then there is no such upload; and what is there under that name is not it. */
static void test_completed_is_looked_at(void **state)
{
    struct object_world *w = *state;
    static const char *const there[] = {"older", NULL};
    for (size_t i = 0; i < ARRAY_LEN(there); i++) {
        struct object_upload *upload = object_upload_begin(w->store, "b/data", object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_NONE);
        assert_int_equal(object_world_part(w, upload, 1), 0);
        if (there[i])
            s3_double_put(w->s3, "pre/fix/b/data", there[i], strlen(there[i]));
        s3_double_fail(w->s3, S3_FAULT_SILENT, 0, 1, false);
        object_upload_complete(upload, object_result_done, &w->out);
        loop_for(w->loop, 20);
        assert_int_equal(s3_double_requests(w->s3), 1);
        s3_double_drop_uploads(w->s3);
        object_result_expect(&w->out, ERROR_NOT_FOUND);
        assert_non_null(strstr(w->out.err.message, "NoSuchUpload"));
        assert_string_equal(s3_double_log(w->s3)->v[s3_double_log(w->s3)->n - 1], "HEAD pre/fix/b/data");
        object_upload_free(upload);
        object_world_empty(w);
    }
    /* Without a lost answer nobody looks. */
    struct object_upload *upload = object_upload_begin(w->store, "b/data", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_int_equal(object_world_part(w, upload, 1), 0);
    s3_double_put(w->s3, "pre/fix/b/data", w->data, WORLD_PART);
    s3_double_drop_uploads(w->s3);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_upload_free(upload);
}

static void test_upload_misuse(void **state)
{
    struct object_world *w = *state;
    unsigned char sha256[32] = {0};
    struct object_upload *upload = object_upload_begin(w->store, "../x", object_result_done, &w->out);
    assert_int_equal(w->out.done, 0);
    object_result_expect(&w->out, ERROR_INVALID);
    object_upload_part(upload, 1, "x", 1, sha256, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    object_upload_free(upload);
    upload = object_upload_begin(w->store, "b/data", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID); /* no parts */
    object_upload_part(upload, 0, "x", 1, sha256, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    object_upload_part(upload, OBJECT_PARTS_MAX + 1, "x", 1, sha256, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    s3_double_fail(w->s3, S3_FAULT_NONE, 0, 0, false);
    object_upload_part(upload, 1, "x", 1, sha256, object_result_done, &w->out); /* not its hash */
    object_result_expect(&w->out, ERROR_PROTOCOL);
    assert_int_equal(s3_double_requests(w->s3), OBJECT_TRIES_MAX);
    object_upload_abort(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_int_equal(s3_double_uploads(w->s3), 0);
    object_upload_free(upload);
}

static void no_done(void *arg, const struct error *err)
{
    UNUSED(arg);
    fail_msg("done after a cancel: %s", err ? err->message : "success");
}

struct freer {
    struct object_upload *upload;
    int done;
};

static void free_in_done(void *arg, const struct error *err)
{
    struct freer *f = arg;
    UNUSED(err);
    f->done++;
    object_upload_free(f->upload);
}

static void test_free_upload_inside(void **state)
{
    struct object_world *w = *state;
    for (unsigned when = 0; when < 4; when++) {
        struct freer f = {.done = 0};
        unsigned char sha256[32];
        SHA256((const unsigned char *)w->data, WORLD_PART, sha256);
        if (when == 0) {
            f.upload = object_upload_begin(w->store, "b/data", free_in_done, &f);
            assert_true(loop_until(w->loop, &f.done, 1));
            continue;
        }
        f.upload = object_upload_begin(w->store, "b/data", object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_NONE);
        if (when > 1)
            assert_int_equal(object_world_part(w, f.upload, 1), 0);
        if (when == 1) {
            object_upload_part(f.upload, 1, w->data, WORLD_PART, sha256, free_in_done, &f);
            object_upload_part(f.upload, 2, w->data, WORLD_PART, sha256, no_done, &f); /* is cancelled by it */
        } else if (when == 2) {
            object_upload_complete(f.upload, free_in_done, &f);
        } else {
            object_upload_abort(f.upload, free_in_done, &f);
        }
        assert_true(loop_until(w->loop, &f.done, 1));
        loop_for(w->loop, 10);
        assert_int_equal(f.done, 1);
    }
    object_world_empty(w);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, object_world_set_up, object_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_upload),
        WORLD(test_upload_heals),
        WORLD(test_upload_fails_cleanly),
        WORLD(test_completed_is_looked_at),
        WORLD(test_upload_misuse),
        WORLD(test_free_upload_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
