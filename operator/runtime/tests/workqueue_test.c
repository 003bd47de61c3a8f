/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/workqueue.h"

#include <setjmp.h>
#include <cmocka.h>

static const struct backoff_policy exact = {.base_ms = 100, .max_ms = 1000, .jitter_percent = 0};

static struct workqueue *queue_new(void)
{
    return workqueue_new(&exact, 1);
}

static void assert_get(struct workqueue *queue, int64_t now_ms, const char *want)
{
    const char *key = workqueue_get(queue, now_ms);
    if (want)
        assert_non_null(key);
    else
        assert_null(key);
    if (want)
        assert_string_equal(key, want);
}

static void done(struct workqueue *queue, const char *key, int64_t now_ms)
{
    workqueue_done(queue, key, now_ms);
}

static void test_keys_leave_once_and_in_order(void **state)
{
    UNUSED(state);
    struct workqueue *queue = queue_new();
    workqueue_add(queue, "b", 10);
    workqueue_add(queue, "a", 10);
    workqueue_add(queue, "b", 11);
    workqueue_add(queue, "c", 11);
    assert_int_equal(workqueue_depth(queue), 3);
    assert_get(queue, 9, NULL);
    assert_get(queue, 11, "b");
    assert_get(queue, 11, "a");
    assert_get(queue, 11, "c");
    assert_get(queue, 11, NULL);
    assert_int_equal(workqueue_processing(queue), 3);
    done(queue, "a", 12);
    done(queue, "b", 12);
    done(queue, "c", 12);
    assert_int_equal(workqueue_processing(queue), 0);
    assert_int_equal(workqueue_remembered(queue), 0);
    workqueue_free(queue);
}

static void test_added_in_work_comes_after_done(void **state)
{
    UNUSED(state);
    struct workqueue *queue = queue_new();
    workqueue_add(queue, "a", 0);
    assert_get(queue, 0, "a");
    workqueue_add(queue, "a", 1);
    workqueue_add(queue, "a", 2);
    assert_get(queue, 5, NULL);
    workqueue_add(queue, "waited", 3);
    done(queue, "a", 5);
    assert_get(queue, 5, "waited");
    assert_get(queue, 5, "a");
    done(queue, "a", 6);
    assert_get(queue, 100, NULL);
    workqueue_free(queue);
}

static void test_earlier_time_wins(void **state)
{
    UNUSED(state);
    static const struct {
        int64_t first_delay_ms, second_delay_ms, want_ms;
    } table[] = {{100, 50, 50}, {50, 100, 50}, {100, 0, 0}, {0, 100, 0}, {-5, 3, 0}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (int in_work = 0; in_work < 2; in_work++) {
            struct workqueue *queue = queue_new();
            if (in_work) {
                workqueue_add(queue, "k", 0);
                assert_get(queue, 0, "k");
            }
            workqueue_add_after(queue, "k", 1000, table[i].first_delay_ms);
            workqueue_add_after(queue, "k", 1000, table[i].second_delay_ms);
            if (in_work)
                done(queue, "k", 1000);
            assert_int_equal(workqueue_next_due_ms(queue), 1000 + table[i].want_ms);
            assert_get(queue, 1000 + table[i].want_ms - 1, NULL);
            assert_get(queue, 1000 + table[i].want_ms, "k");
            assert_int_equal(workqueue_next_due_ms(queue), INT64_MAX);
            workqueue_free(queue);
        }
    }
}

static void test_backoff_grows_and_is_forgotten(void **state)
{
    UNUSED(state);
    struct workqueue *queue = queue_new();
    static const int64_t want_ms[] = {100, 200, 400, 800, 1000, 1000};
    int64_t now_ms = 0;
    workqueue_add(queue, "k", 0);
    for (size_t i = 0; i < ARRAY_LEN(want_ms); i++) {
        assert_get(queue, now_ms, "k");
        assert_int_equal(workqueue_add_rate_limited(queue, "k", now_ms, 0), want_ms[i]);
        done(queue, "k", now_ms);
        assert_int_equal(workqueue_failures(queue, "k"), i + 1);
        assert_get(queue, now_ms + want_ms[i] - 1, NULL);
        now_ms += want_ms[i];
    }
    assert_get(queue, now_ms, "k");
    done(queue, "k", now_ms);
    assert_int_equal(workqueue_remembered(queue), 1); /* only for its failures */
    workqueue_forget(queue, "k");
    assert_int_equal(workqueue_remembered(queue), 0);
    assert_int_equal(workqueue_add_rate_limited(queue, "k", now_ms, 0), 100);
    workqueue_forget(queue, "k");
    assert_int_equal(workqueue_depth(queue), 1); /* forgetting takes the back-off away, not the key */
    workqueue_forget(queue, "unknown");
    workqueue_free(queue);
}

static void test_backoff_has_a_floor(void **state)
{
    UNUSED(state);
    struct workqueue *queue = queue_new();
    assert_int_equal(workqueue_add_rate_limited(queue, "a", 0, 5000), 5000);
    assert_int_equal(workqueue_add_rate_limited(queue, "b", 0, 7), 100);
    assert_get(queue, 4999, "b");
    assert_get(queue, 4999, NULL);
    assert_get(queue, 5000, "a");
    workqueue_free(queue);
}

static void test_misuse_is_harmless(void **state)
{
    UNUSED(state);
    struct workqueue *queue = queue_new();
    done(queue, "never", 0);
    workqueue_add(queue, "k", 0);
    done(queue, "k", 0); /* waiting, not in work */
    assert_get(queue, 0, "k");
    done(queue, "k", 0);
    done(queue, "k", 0);
    assert_int_equal(workqueue_processing(queue), 0);
    assert_int_equal(workqueue_remembered(queue), 0);
    workqueue_free(queue);
    workqueue_free(NULL);
}

/* ---- against a model: the same operations on plain arrays, searched linearly ---- */

#define MODEL_KEYS 12

struct model_key {
    int64_t due_ms; /* INT64_MAX: not wanted */
    bool processing;
    uint32_t failures;
};

static const char *model_name(size_t i)
{
    static const char *const names[MODEL_KEYS] = {"a", "b", "c", "d", "e", "f", "ns/g", "ns/h", "i", "j", "k", "l"};
    return names[i];
}

static void model_add(struct model_key *key, int64_t due_ms)
{
    key->due_ms = MIN_OF(key->due_ms, due_ms);
}

static void model_check_get(struct workqueue *queue, struct model_key *model, int64_t now_ms)
{
    int64_t earliest_ms = INT64_MAX;
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        if (!model[i].processing)
            earliest_ms = MIN_OF(earliest_ms, model[i].due_ms);
    }
    assert_int_equal(workqueue_next_due_ms(queue), earliest_ms);
    const char *key = workqueue_get(queue, now_ms);
    if (earliest_ms > now_ms) {
        assert_null(key);
        return;
    }
    assert_non_null(key);
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        if (!str_eq(key, model_name(i)))
            continue;
        assert_false(model[i].processing); /* never the same key twice at once */
        assert_int_equal(model[i].due_ms, earliest_ms);
        model[i].processing = true;
        model[i].due_ms = INT64_MAX;
    }
}

static void model_done(struct workqueue *queue, struct model_key *key, size_t i, int64_t now_ms)
{
    workqueue_done(queue, model_name(i), now_ms);
    if (key->processing && key->due_ms != INT64_MAX)
        key->due_ms = MAX_OF(key->due_ms, now_ms);
    key->processing = false;
}

static void model_step(struct workqueue *queue, struct model_key *model, uint64_t *random, int64_t now_ms)
{
    size_t i = random_next(random) % MODEL_KEYS;
    int64_t delay_ms = (int64_t)(random_next(random) % 300);
    struct model_key *key = &model[i];
    switch (random_next(random) % 8) {
    case 0:
        workqueue_add(queue, model_name(i), now_ms);
        model_add(key, now_ms);
        break;
    case 1:
        workqueue_add_after(queue, model_name(i), now_ms, delay_ms);
        model_add(key, now_ms + delay_ms);
        break;
    case 2: {
        int64_t want_ms = MAX_OF(MIN_OF(100 * (1LL << MIN_OF(key->failures, 10)), 1000), delay_ms);
        assert_int_equal(workqueue_add_rate_limited(queue, model_name(i), now_ms, delay_ms), want_ms);
        model_add(key, now_ms + want_ms);
        key->failures++;
        break;
    }
    case 3:
        workqueue_forget(queue, model_name(i));
        key->failures = 0;
        break;
    case 4:
    case 5:
        model_check_get(queue, model, now_ms);
        break;
    default:
        model_done(queue, key, i, now_ms);
    }
}

static void model_check_totals(const struct workqueue *queue, const struct model_key *model)
{
    size_t waiting = 0, processing = 0, remembered = 0;
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        waiting += !model[i].processing && model[i].due_ms != INT64_MAX;
        processing += model[i].processing;
        remembered += model[i].processing || model[i].due_ms != INT64_MAX || model[i].failures;
        assert_int_equal(workqueue_failures(queue, model_name(i)), model[i].failures);
    }
    assert_int_equal(workqueue_depth(queue), waiting);
    assert_int_equal(workqueue_processing(queue), processing);
    assert_int_equal(workqueue_remembered(queue), remembered);
}

static void test_behaves_like_the_model(void **state)
{
    UNUSED(state);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct workqueue *queue = queue_new();
        struct model_key model[MODEL_KEYS];
        for (size_t i = 0; i < MODEL_KEYS; i++)
            model[i] = (struct model_key){.due_ms = INT64_MAX};
        uint64_t random = seed;
        int64_t now_ms = 1000;
        for (int step = 0; step < 1500; step++) {
            model_step(queue, model, &random, now_ms);
            model_check_totals(queue, model);
            now_ms += (int64_t)(random_next(&random) % 20);
        }
        workqueue_free(queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_leave_once_and_in_order),
        cmocka_unit_test(test_added_in_work_comes_after_done),
        cmocka_unit_test(test_earlier_time_wins),
        cmocka_unit_test(test_backoff_grows_and_is_forgotten),
        cmocka_unit_test(test_backoff_has_a_floor),
        cmocka_unit_test(test_misuse_is_harmless),
        cmocka_unit_test(test_behaves_like_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
