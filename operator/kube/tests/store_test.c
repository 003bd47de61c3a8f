/* store_test.c: the store against a simple model, through thousands of random changes. */
#include "common/base.h"

#include "operator/kube/store.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"

#define NAMES 300
#define OWNERS 12
#define STEPS 20000

static struct kube_object *make(unsigned name, unsigned owner, unsigned version)
{
    char text[256];
    char owners[128] = "[]";
    if (owner > 0)
        snprintf(owners, sizeof(owners), "[{\"controller\":true,\"uid\":\"owner-%u\"}]", owner);
    int len = snprintf(text, sizeof(text),
        "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"uid-%u-%u\",\"resourceVersion\":\"%u\",\"ownerReferences\":%s}}",
        name, name, version, version, owners);
    return kube_projection_child.project((struct json_slice){.data = text, .len = (size_t)len}, NULL);
}

static struct kube_uid owner_uid(unsigned owner)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "owner-%u", owner);
    return kube_uid_parse(text, (size_t)len);
}

/* owner of each name; 0: none, -1: not in the store */
static void check(const struct store *store, const int owners[NAMES], struct kube_object *const objects[NAMES])
{
    size_t expected[OWNERS] = {0};
    size_t total = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        total += owners[i] >= 0;
        if (owners[i] > 0)
            expected[owners[i]]++;
        if (owners[i] >= 0)
            assert_ptr_equal(store_get_by_uid(store, objects[i]->uid), objects[i]);
    }
    assert_int_equal(store_count(store), total);
    for (unsigned owner = 1; owner < OWNERS; owner++) {
        size_t found = 0;
        for (struct kube_object *o = store_first_owned(store, owner_uid(owner)); o; o = store_next_owned(store, o)) {
            assert_true(kube_uid_eq(o->owner, owner_uid(owner)));
            assert_ptr_equal(store_get(store, o->key), o);
            assert_true(++found <= expected[owner]);
        }
        assert_int_equal(found, expected[owner]);
    }
}

static void random_changes(bool index_first)
{
    struct store *store = store_new(&kube_projection_child);
    int owners[NAMES];
    struct kube_object *objects[NAMES];
    uint64_t random = 42;
    if (index_first)
        assert_null(store_get_by_uid(store, owner_uid(1)));
    for (unsigned i = 0; i < NAMES; i++)
        owners[i] = -1;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned name = (unsigned)(random_next(&random) % NAMES);
        if (random_next(&random) % 3 == 0) {
            char key[16];
            snprintf(key, sizeof(key), "n%u", name);
            struct kube_object *old = store_remove(store, key);
            assert_int_equal(old != NULL, owners[name] >= 0);
            store_free_object(store, old);
            owners[name] = -1;
        } else {
            unsigned owner = (unsigned)(random_next(&random) % OWNERS);
            objects[name] = make(name, owner, step);
            struct kube_object *old = store_put(store, objects[name]);
            assert_int_equal(old != NULL, owners[name] >= 0);
            store_free_object(store, old);
            owners[name] = (int)owner;
        }
        if (step % 500 == 499 && (index_first || step > STEPS / 2))
            check(store, owners, objects);
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

static void test_no_owner(void **state)
{
    UNUSED(state);
    struct store *store = store_new(&kube_projection_child);
    const struct kube_uid none = {{0}};
    store_put(store, make(1, 0, 1));
    assert_null(store_first_owned(store, none));
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
        cmocka_unit_test(test_no_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
