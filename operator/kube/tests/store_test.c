/* SPDX-License-Identifier: Apache-2.0 */
/* store_test.c: the store against a simple model, through thousands of random changes. */
#include "common/base.h"

#include "operator/kube/store.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"

#define NAMES 300
#define STEPS 20000

static struct kube_object *make(unsigned name, unsigned version)
{
    char text[256];
    int len = snprintf(text, sizeof(text),
        "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"uid-%u-%u\",\"resourceVersion\":\"%u\"}}", name, name, version,
        version);
    return kube_projection_child.project((struct json_slice){.data = text, .len = (size_t)len}, NULL);
}

/* objects: NULL where there is none */
static void check(const struct store *store, struct kube_object *const objects[NAMES])
{
    size_t total = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        char key[16];
        snprintf(key, sizeof(key), "n%u", i);
        assert_ptr_equal(store_get(store, key), objects[i]);
        total += objects[i] != NULL;
        if (objects[i])
            assert_ptr_equal(store_get_by_uid(store, objects[i]->uid), objects[i]);
    }
    assert_int_equal(store_count(store), total);
}

static void random_changes(bool index_first)
{
    struct store *store = store_new(&kube_projection_child);
    struct kube_object *objects[NAMES] = {NULL};
    uint64_t random = 42;
    if (index_first)
        assert_null(store_get_by_uid(store, kube_uid_parse("somebody", strlen("somebody"))));
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned name = (unsigned)(random_next(&random) % NAMES);
        bool remove = random_next(&random) % 3 == 0;
        char key[16];
        snprintf(key, sizeof(key), "n%u", name);
        struct kube_object *object = remove ? NULL : make(name, step);
        struct kube_object *old = remove ? store_remove(store, key) : store_put(store, object);
        assert_ptr_equal(old, objects[name]);
        struct kube_uid gone = old ? old->uid : (struct kube_uid){{0}};
        store_free_object(store, old);
        objects[name] = object;
        if (index_first || step > STEPS / 2)
            assert_null(store_get_by_uid(store, gone));
        if (step % 500 == 499 && (index_first || step > STEPS / 2))
            check(store, objects);
    }
    store_free(store);
}

static void test_random_changes(void **state)
{
    UNUSED(state);
    random_changes(true);
}

static void test_late_uid_index(void **state)
{
    UNUSED(state);
    random_changes(false);
}

static void test_nobody(void **state)
{
    UNUSED(state);
    struct store *store = store_new(&kube_projection_child);
    const struct kube_uid none = {{0}};
    store_put(store, make(1, 1));
    assert_null(store_get_by_uid(store, none));
    assert_null(store_remove(store, "nobody"));
    store_free(store);
    store_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_changes),
        cmocka_unit_test(test_late_uid_index),
        cmocka_unit_test(test_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
