/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/accounts_left.h"

#include <setjmp.h>
#include <cmocka.h>

static struct accounts_left sample(void)
{
    return (struct accounts_left){
        .is_known = true,
        .can_lock = true,
        .account_count = 3,
        .accounts = {{"app", false}, {"old", true}, {"older", false}},
        .database_count = 3,
        .databases = {"Shop", "shop_1", "web"},
    };
}

static void test_what_is_named_is_not_left(void **unused)
{
    struct accounts_left left = sample();
    struct agent_status status = {.left_accounts = "before"};

    UNUSED(unused);
    accounts_left_without(&left, "app", "shop");
    accounts_left_fill_status(&left, &status);
    assert_string_equal(status.left_accounts, "older");
    assert_string_equal(status.locked_accounts, "old");
    assert_string_equal(status.left_databases, "shop_1,web");
    left = sample();
    accounts_left_without(&left, NULL, NULL);
    accounts_left_fill_status(&left, &status);
    assert_string_equal(status.left_accounts, "app,older");
    assert_string_equal(status.left_databases, "Shop,shop_1,web");
}

static void test_what_can_be_locked(void **unused)
{
    struct accounts_left left = sample();

    UNUSED(unused);
    assert_true(accounts_left_are_open(&left));
    left.can_lock = false;
    assert_false(accounts_left_are_open(&left));
    left.can_lock = left.accounts[0].is_locked = left.accounts[2].is_locked = true;
    assert_false(accounts_left_are_open(&left));
}

static void test_what_is_there(void **unused)
{
    struct accounts_left left = sample();

    UNUSED(unused);
    assert_true(accounts_left_name(&left, "app"));
    assert_false(accounts_left_name(&left, "App"));
    assert_false(accounts_left_name(&left, "ap"));
    assert_false(accounts_left_are_cut(&left));
    left.account_count = ACCOUNTS_LEFT_MAX + 1;
    assert_true(accounts_left_are_cut(&left));
}

/* The longest names there can be, and one more of each than is told. */
static void test_all_that_is_told_fits(void **unused)
{
    struct accounts_left left = {.account_count = ACCOUNTS_LEFT_MAX + 1, .database_count = ACCOUNTS_LEFT_MAX + 1};
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};

    UNUSED(unused);
    for (int i = 0; i <= ACCOUNTS_LEFT_MAX; i++) {
        memset(left.accounts[i].name, 'a' + i, sizeof(left.accounts[i].name) - 1);
        memset(left.databases[i], 'a' + i, sizeof(left.databases[i]) - 1);
    }
    accounts_left_without(&left, NULL, NULL);
    accounts_left_fill_status(&left, &status);
    assert_int_equal(strlen(status.left_accounts), ACCOUNTS_LEFT_MAX * 33 - 1);
    assert_int_equal(strlen(status.left_databases), ACCOUNTS_LEFT_MAX * 65 - 1);
    assert_string_equal(status.locked_accounts, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_named_is_not_left),
        cmocka_unit_test(test_what_can_be_locked),
        cmocka_unit_test(test_what_is_there),
        cmocka_unit_test(test_all_that_is_told_fits),
    };

    return cmocka_run_group_tests_name("accounts_left", tests, NULL, NULL);
}
