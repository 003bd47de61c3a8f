/* SPDX-License-Identifier: Apache-2.0 */
/* A claim that waits for a StorageClass which does not exist: whose class is read, when, and what the answer says. */
#include "common/base.h"

#include "operator/cluster/state/storage_class.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/cluster/reconcile/storage_class_question.h"

static void one_question_at_a_time_and_a_grace_before_it(void **state)
{
    UNUSED(state);
    const struct pvc_object fast = {.storage_class = "fast"}, slow = {.storage_class = "slow"};
    const struct cluster_member first = {.claim = &fast}, second = {.claim = &slow};
    struct storage_class_memory known = {0};
    assert_int_equal(storage_class_due_ms(&known, NULL, 1000), -1);
    assert_int_equal(storage_class_due_ms(&known, &first, 1000), STORAGE_CLASS_ASK_AFTER_MS);
    assert_int_equal(storage_class_due_ms(&known, &first, 1000 + STORAGE_CLASS_ASK_AFTER_MS), 0);
    known.asked_ms = 1000 + STORAGE_CLASS_ASK_AFTER_MS;
    assert_int_equal(storage_class_due_ms(&known, &first, known.asked_ms + 1000), STORAGE_CLASS_ASK_AGAIN_MS - 1000);
    known.is_missing = true;
    assert_int_equal(storage_class_due_ms(&known, &second, 9000), STORAGE_CLASS_ASK_AFTER_MS);
    assert_false(known.is_missing);
    assert_string_equal(known.name, "slow");
    const struct pvc_object none = {.storage_class = ""};
    const struct cluster_member third = {.claim = &none};
    assert_int_equal(storage_class_due_ms(&known, &third, 9500), STORAGE_CLASS_ASK_AFTER_MS);
    assert_int_equal(storage_class_due_ms(&known, &third, 9500 + STORAGE_CLASS_ASK_AFTER_MS), 0);
    known.is_missing = true;
    assert_int_equal(storage_class_due_ms(&known, &third, 99000), -1);
    assert_int_equal(storage_class_due_ms(&known, NULL, 99500), -1);
    assert_null(known.name);
}

static void only_not_found_says_that_it_is_missing(void **state)
{
    UNUSED(state);
    struct error missing = ERROR_INIT, forbidden = ERROR_INIT;
    error_set(&missing, ERROR_NOT_FOUND, "storageclasses.storage.k8s.io \"fast\" not found");
    error_set(&forbidden, ERROR_FORBIDDEN, "storageclasses.storage.k8s.io \"fast\" is forbidden");
    struct storage_class_memory known = {.name = (char[]){"fast"}, .is_asked = true};
    assert_false(storage_class_take_answer(&known, "slow", &missing));
    assert_true(known.is_asked);
    assert_false(storage_class_take_answer(&known, "fast", &forbidden));
    assert_false(known.is_asked || known.is_missing);
    assert_true(storage_class_take_answer(&known, "fast", &missing));
    assert_true(known.is_missing);
    assert_false(storage_class_take_answer(&known, "fast", &missing));
    assert_false(storage_class_take_answer(&known, "fast", &forbidden));
    assert_true(known.is_missing);
    assert_true(storage_class_take_answer(&known, "fast", NULL));
    assert_false(known.is_missing);
    error_clear(&missing);
    error_clear(&forbidden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_question_at_a_time_and_a_grace_before_it),
        cmocka_unit_test(only_not_found_says_that_it_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
