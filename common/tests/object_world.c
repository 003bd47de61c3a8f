/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/object_world.h"

#include <openssl/sha.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/tests/clock_util.h"
#include "common/tests/http_util.h"

struct object_store *object_world_store(struct object_world *w, const struct object_target *target)
{
    struct error err = ERROR_INIT;
    struct object_store *store = object_store_new(w->loop, target, &err);
    if (!store)
        fail_msg("%s", err.message);
    return store;
}

int object_world_set_up(void **state)
{
    struct object_world *w = xnew(struct object_world);
    clock_stand_still();
    w->fds_before = count_open_fds();
    w->loop = loop_new();
    w->s3 = s3_double_new(w->loop, "bucket");
    struct object_target target = s3_double_target(w->s3);
    target.prefix = "pre/fix";
    w->store = object_world_store(w, &target);
    w->data = object_noise(WORLD_BYTES, 1);
    object_result_init(&w->out, w->loop);
    object_result_clear(&w->out);
    *state = w;
    return 0;
}

int object_world_tear_down(void **state)
{
    struct object_world *w = *state;
    object_store_free(w->store);
    s3_double_free(w->s3);
    object_result_release(&w->out);
    loop_free(w->loop);
    assert_int_equal(count_open_fds(), w->fds_before);
    free(w->data);
    free(w);
    return 0;
}

int object_world_wait(struct object_result *out)
{
    assert_true(loop_until(out->loop, &out->done, 1));
    assert_int_equal(out->done, 1);
    out->done = 0;
    return out->err.kind == ERROR_NONE ? 0 : -1;
}

int object_world_part(struct object_world *w, struct object_upload *upload, int number)
{
    unsigned char sha256[32];
    const char *data = w->data + (size_t)(number - 1) * WORLD_PART;
    const size_t len = number < 3 ? WORLD_PART : WORLD_LAST;
    SHA256((const unsigned char *)data, len, sha256);
    object_upload_part(upload, number, data, len, sha256, object_result_done, &w->out);
    return object_world_wait(&w->out);
}

void object_world_empty(struct object_world *w)
{
    object_delete_tree(w->store, "b", "b/manifest.json", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_int_equal(s3_double_objects(w->s3), 0);
    assert_int_equal(s3_double_uploads(w->s3), 0);
}

bool s3_fault_heals(enum s3_fault fault)
{
    return fault != S3_FAULT_NONE && fault != S3_FAULT_403;
}
