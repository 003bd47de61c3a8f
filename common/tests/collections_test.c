/* SPDX-License-Identifier: Apache-2.0 */
/* hashmap, heap, strvec, list, alloc, backoff. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/hashmap.h"
#include "common/heap.h"
#include "common/list.h"
#include "common/strvec.h"

struct item {
    char key[16];
    int rank;
    size_t index;
    struct list_node node;
};

static const char *item_key(const void *entry)
{
    return ((const struct item *)entry)->key;
}

static struct item *new_item(int number)
{
    struct item *item = xnew(struct item);
    snprintf(item->key, sizeof(item->key), "item-%d", number);
    item->rank = number;
    item->index = HEAP_NOT_IN;
    return item;
}

static void test_hashmap_basics(void **state)
{
    UNUSED(state);
    struct hashmap map;
    hashmap_init(&map, item_key);
    size_t iterator = 0;
    assert_null(hashmap_get(&map, "x"));
    assert_null(hashmap_remove(&map, "x"));
    assert_null(hashmap_next(&map, &iterator));
    struct item *first = new_item(1), *second = new_item(1);
    assert_null(hashmap_put(&map, first));
    assert_ptr_equal(hashmap_put(&map, second), first);
    assert_int_equal(map.count, 1);
    assert_ptr_equal(hashmap_get(&map, "item-1"), second);
    assert_null(hashmap_get(&map, "item-"));
    free(first);
    hashmap_release(&map, free);
    assert_int_equal(map.count, 0);
    hashmap_release(&map, NULL);
    hashmap_release(NULL, NULL);
}

/* Random puts and removes against a plain array; in the end every member is found, iterated once, and gone after
 * removal. */
static void test_hashmap_against_a_model(void **state)
{
    UNUSED(state);
    enum { KEYS = 3000, STEPS = 60000 };
    struct item **model = xnew_array(struct item *, KEYS);
    struct hashmap map;
    hashmap_init(&map, item_key);
    uint64_t random_state = 7;
    size_t count = 0;
    for (int step = 0; step < STEPS; step++) {
        int k = (int)(random_next(&random_state) % KEYS);
        char key[16];
        snprintf(key, sizeof(key), "item-%d", k);
        assert_ptr_equal(hashmap_get(&map, key), model[k]);
        if (model[k]) {
            assert_ptr_equal(hashmap_remove(&map, key), model[k]);
            free(model[k]);
            model[k] = NULL;
            count--;
        } else {
            model[k] = new_item(k);
            assert_null(hashmap_put(&map, model[k]));
            count++;
        }
        assert_int_equal(map.count, count);
    }
    assert_true(map.slot_count * 3 >= map.count * 4);
    size_t iterator = 0, seen = 0;
    for (struct item *item; (item = hashmap_next(&map, &iterator)); seen++) {
        assert_ptr_equal(model[item->rank], item);
        item->index = item->index == HEAP_NOT_IN ? 0 : 99; /* each only once */
        assert_int_equal(item->index, 0);
    }
    assert_int_equal(seen, count);
    hashmap_release(&map, free);
    free(model);
}

static void test_hash64(void **state)
{
    UNUSED(state);
    /* Published FNV-1a vectors. */
    assert_true(hash64(HASH64_INIT, "", 0) == 0xcbf29ce484222325ULL);
    assert_true(hash64(HASH64_INIT, "a", 1) == 0xaf63dc4c8601ec8cULL);
    assert_true(hash64(HASH64_INIT, "foobar", 6) == 0x85944171f73967e8ULL);
    assert_true(hash64(hash64(HASH64_INIT, "foo", 3), "bar", 3) == 0x85944171f73967e8ULL);
}

static bool rank_less(const void *a, const void *b)
{
    return ((const struct item *)a)->rank < ((const struct item *)b)->rank;
}

static size_t *item_index(void *element)
{
    return &((struct item *)element)->index;
}

static void test_heap(void **state)
{
    UNUSED(state);
    enum { ITEMS = 500 };
    struct item *items[ITEMS];
    struct heap heap;
    heap_init(&heap, rank_less, item_index);
    assert_null(heap_peek(&heap));
    assert_null(heap_pop(&heap));
    uint64_t random_state = 3;
    for (int i = 0; i < ITEMS; i++) {
        items[i] = new_item(i);
        items[i]->rank = (int)(random_next(&random_state) % 1000);
        heap_push(&heap, items[i]);
    }
    for (int i = 0; i < ITEMS; i += 3) {
        items[i]->rank = (int)(random_next(&random_state) % 1000);
        heap_update(&heap, items[i]);
    }
    size_t left = ITEMS;
    for (int i = 1; i < ITEMS; i += 3, left--) {
        heap_remove(&heap, items[i]);
        heap_remove(&heap, items[i]);
        assert_true(items[i]->index == HEAP_NOT_IN);
    }
    int before = -1;
    for (struct item *item; left > 10 && (item = heap_pop(&heap)); left--) {
        assert_true(item->rank >= before);
        assert_true(item->index == HEAP_NOT_IN);
        before = item->rank;
    }
    assert_int_equal(heap.count, 10);
    assert_true(((struct item *)heap_peek(&heap))->rank >= before);
    heap_release(&heap);
    for (int i = 0; i < ITEMS; i++) {
        assert_true(items[i]->index == HEAP_NOT_IN);
        free(items[i]);
    }
}

static void test_strvec(void **state)
{
    UNUSED(state);
    struct strvec sv;
    strvec_init(&sv);
    assert_null(sv.v[0]);
    strvec_sort(&sv);
    assert_false(strvec_contains(&sv, "a"));
    strvec_split(&sv, ",,b, a;c;", ",; ");
    assert_int_equal(sv.n, 3);
    strvec_pushf(&sv, "%s-%d", "x", 1);
    strvec_push_all(&sv, (const char *const[]){"p", "q", NULL});
    strvec_push_all(&sv, NULL);
    for (int i = 0; i < 20; i++)
        strvec_push(&sv, "z");
    strvec_sort(&sv);
    assert_int_equal(sv.n, 26);
    assert_string_equal(sv.v[0], "a");
    assert_string_equal(sv.v[5], "x-1");
    assert_null(sv.v[26]);
    assert_true(strvec_contains(&sv, "q"));
    assert_false(strvec_contains(&sv, "b,"));
    strvec_release(&sv);
    assert_int_equal(sv.n, 0);
    assert_null(sv.v[0]);
    strvec_release(NULL);
}

static void test_list(void **state)
{
    UNUSED(state);
    struct list_node head;
    list_init(&head);
    struct item a = {.rank = 1}, b = {.rank = 2}, c = {.rank = 3};
    assert_null(list_pop_front(&head));
    list_push_back(&head, &b.node);
    list_push_back(&head, &c.node);
    list_push_front(&head, &a.node);
    int expected = 1;
    struct list_node *node, *scratch;
    list_for_each_safe(node, scratch, &head) {
        assert_int_equal(container_of(node, struct item, node)->rank, expected++);
        if (node == &b.node)
            list_remove(node);
    }
    assert_int_equal(expected, 4);
    list_remove(&b.node);
    assert_ptr_equal(list_pop_front(&head), &a.node);
    assert_ptr_equal(list_pop_front(&head), &c.node);
    assert_true(list_empty(&head));
}

static void test_alloc(void **state)
{
    UNUSED(state);
    assert_null(xstrdup(NULL));
    assert_null(xstrndup(NULL, 3));
    secret_free(NULL);
    char *s = xstrndup("abcdef", 3);
    assert_string_equal(s, "abc");
    str_replace(&s, s + 1);
    assert_string_equal(s, "bc");
    str_replace(&s, NULL);
    assert_null(s);
    s = xasprintf("%d-%s", 5, "x");
    assert_string_equal(s, "5-x");
    secret_free(s);
    void *nothing = xmalloc(0);
    assert_non_null(nothing);
    free(nothing);
}

static void test_backoff(void **state)
{
    UNUSED(state);
    struct backoff_policy policy = {.base_ms = 100, .max_ms = 1500};
    struct backoff backoff = {.random_state = 1};
    static const uint32_t expected[] = {100, 200, 400, 800, 1500, 1500};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_int_equal(backoff_next_ms(&backoff, &policy), expected[i]);
    backoff.attempts = UINT32_MAX;
    assert_int_equal(backoff_next_ms(&backoff, &policy), 1500);
    assert_true(backoff.attempts == UINT32_MAX);
    backoff_reset(&backoff);
    policy.jitter_percent = 50;
    bool differs = false;
    struct backoff twin = backoff;
    for (int i = 0; i < 1000; i++) {
        backoff_reset(&backoff);
        backoff_reset(&twin);
        uint32_t delay = backoff_next_ms(&backoff, &policy);
        assert_in_range(delay, 50, 100);
        assert_int_equal(delay, backoff_next_ms(&twin, &policy));
        differs = differs || delay < 70;
    }
    assert_true(differs);
    uint64_t zero = 0;
    assert_true(random_next(&zero) != 0 && zero != 0);
    assert_true(random_seed() != random_seed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashmap_basics),
        cmocka_unit_test(test_hashmap_against_a_model),
        cmocka_unit_test(test_hash64),
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_strvec),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_backoff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
