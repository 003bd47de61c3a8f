/* SPDX-License-Identifier: Apache-2.0 */
/* kube_condition_test.c */
#include "common/base.h"

#include "operator/kube/kube_condition.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

#define T0 1767323045000 /* 2026-01-02T03:04:05Z */

static void test_transition_time_moves_with_the_status_only(void **state)
{
    UNUSED(state);
    struct kube_conditions conditions = {.count = 0};
    kube_conditions_set(&conditions, "Ready", KUBE_CONDITION_FALSE, "Waiting", 1, T0, "for %d", 3);
    kube_conditions_set(&conditions, "Ready", KUBE_CONDITION_FALSE, "Still", 2, T0 + 60000, "more");
    const struct kube_condition *ready = kube_conditions_find(&conditions, "Ready");
    assert_string_equal(ready->last_transition_time, "2026-01-02T03:04:05Z");
    assert_string_equal(ready->reason, "Still");
    assert_string_equal(ready->message, "more");
    assert_int_equal(ready->observed_generation, 2);
    kube_conditions_set(&conditions, "Ready", KUBE_CONDITION_TRUE, "Done", 2, T0 + 60000, "%s", "");
    assert_string_equal(ready->last_transition_time, "2026-01-02T03:05:05Z");
    assert_true(kube_conditions_is_true(&conditions, "Ready"));
    assert_false(kube_conditions_is_true(&conditions, "Other"));
    assert_int_equal(conditions.count, 1);
    kube_conditions_remove(&conditions, "Ready");
    kube_conditions_remove(&conditions, "Ready");
    assert_int_equal(conditions.count, 0);
}

static void test_what_is_no_news(void **state)
{
    const struct kube_condition bad = {.status = KUBE_CONDITION_FALSE, .reason = "Refused", .message = "no room"};
    struct kube_condition now = bad;

    UNUSED(state);
    assert_true(kube_condition_stays(&bad, &now));
    assert_false(kube_condition_stays(NULL, &now));
    assert_false(kube_condition_stays(&bad, NULL));
    snprintf(now.message, sizeof(now.message), "less room");
    assert_true(kube_condition_stays(&bad, &now));
    assert_false(kube_condition_says(&now, "Refused", "no room"));
    snprintf(now.reason, sizeof(now.reason), "Forbidden");
    assert_false(kube_condition_stays(&bad, &now));
    now = bad;
    now.status = KUBE_CONDITION_TRUE;
    assert_false(kube_condition_stays(&bad, &now));
    assert_true(kube_condition_says(&bad, "Refused", "no room"));
    assert_false(kube_condition_says(&bad, "Forbidden", "no room"));
    assert_false(kube_condition_says(NULL, "Refused", "no room"));
}

static void test_round_trip(void **state)
{
    UNUSED(state);
    static const char *const known[] = {"A", "B", NULL};
    struct kube_conditions conditions = {.count = 0};
    kube_conditions_set(&conditions, "A", KUBE_CONDITION_TRUE, "Ra", 3, T0, "a");
    kube_conditions_set(&conditions, "B", KUBE_CONDITION_UNKNOWN, "Rb", 3, T0, "b");
    kube_conditions_set(&conditions, "C", KUBE_CONDITION_FALSE, "Rc", 3, T0, "c");
    _cleanup_(json_decrefp) json_t *array = kube_conditions_encode(&conditions);
    struct kube_conditions back;
    kube_conditions_decode(array, known, &back);
    assert_int_equal(back.count, 2);
    assert_ptr_equal(back.items[0].type, known[0]);
    conditions.count = 2;
    _cleanup_(json_decrefp) json_t *first = kube_conditions_encode(&conditions);
    _cleanup_(json_decrefp) json_t *second = kube_conditions_encode(&back);
    assert_true(json_equal(first, second));
    kube_conditions_decode(NULL, known, &back);
    assert_int_equal(back.count, 0);
}

/* Cut with dots, never inside a character. */
static void test_long_message(void **state)
{
    UNUSED(state);
    char text[3 * KUBE_CONDITION_MESSAGE_MAX] = "";
    for (size_t i = 0; i + 3 < sizeof(text); i += 3)
        memcpy(text + i, "\xe2\x82\xac", 4);
    struct kube_conditions conditions = {.count = 0};
    kube_conditions_set(&conditions, "A", KUBE_CONDITION_TRUE, "R", 0, T0, "%s", text);
    _cleanup_(json_decrefp) json_t *array = kube_conditions_encode(&conditions);
    const char *message = json_path_str(json_array_get(array, 0), "message", ""); /* jansson refuses broken UTF-8 */
    assert_true(strlen(message) > KUBE_CONDITION_MESSAGE_MAX - 8);
    assert_string_equal(message + strlen(message) - 3, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transition_time_moves_with_the_status_only),
        cmocka_unit_test(test_what_is_no_news),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_long_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
