/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/start_mode.h"

#include <setjmp.h>
#include <cmocka.h>

/* Who said it, of which epoch, about a server that ended as semi-sync primary of epoch 5. */
static void test_only_a_newer_primary_lets_a_tail_be_cut_off(void **state)
{
    static const struct {
        enum agent_role role;
        uint64_t epoch;
        const char *source;
        bool truncate;
        bool decided, cut;
    } rows[] = {
        {AGENT_ROLE_REPLICA, 6, "c1-0", true, true, true},
        {AGENT_ROLE_REPLICA, 6, "c1-0", false, true, false},
        {AGENT_ROLE_REPLICA, 5, "c1-0", true, true, false}, /* the epoch it was primary of */
        {AGENT_ROLE_REPLICA, 4, "c1-0", true, false, false},
        {AGENT_ROLE_REPLICA, 6, "", true, false, false}, /* hold: the word is still to come */
        {AGENT_ROLE_NONE, 6, "", true, false, false},    /* fenced: likewise */
        {AGENT_ROLE_PRIMARY, 5, "", true, true, false},  /* the same again */
        {AGENT_ROLE_PRIMARY, 6, "", true, true, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct agent_order order = {.role = rows[i].role, .epoch = rows[i].epoch, .truncate = rows[i].truncate};
        struct start_mode mode = {0};
        snprintf(order.source_host, sizeof(order.source_host), "%s", rows[i].source);
        assert_int_equal(start_mode_decide(&order, 5, &mode), rows[i].decided);
        assert_int_equal(mode.truncate, rows[i].cut);
        /* It was none: asynchronous, closed before it ended, or a replica. */
        assert_false(start_mode_decide(&order, 0, &mode));
    }
}

static void test_what_the_primary_has(void **state)
{
    char long_text[START_MODE_BEYOND_SIZE + 8];
    struct agent_order order = {
        .role = AGENT_ROLE_REPLICA, .epoch = 6, .truncate = true, .source_host = "c1-0", .beyond = "0-1-7"};
    struct start_mode mode;

    (void)state;
    assert_true(start_mode_decide(&order, 5, &mode));
    assert_string_equal(mode.beyond, "0-1-7");
    order.truncate = false; /* then it has another meaning */
    assert_true(start_mode_decide(&order, 5, &mode));
    assert_string_equal(mode.beyond, "");
    memset(long_text, '1', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    order.truncate = true;
    order.beyond = long_text;
    assert_true(start_mode_decide(&order, 5, &mode));
    assert_string_equal(mode.beyond, "");
}

static void test_a_newer_fence_withdraws_the_word(void **state)
{
    static const struct {
        enum agent_role role;
        uint64_t epoch;
        const char *source;
        bool withdrawn;
    } rows[] = {
        {AGENT_ROLE_REPLICA, 7, "", true},
        {AGENT_ROLE_NONE, 7, "", true},
        {AGENT_ROLE_REPLICA, 6, "", false}, /* older than what was decided, or the same */
        {AGENT_ROLE_NONE, 6, "", false},
        {AGENT_ROLE_REPLICA, 7, "c1-0", false}, /* decides itself */
        {AGENT_ROLE_PRIMARY, 7, "", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct agent_order order = {.role = rows[i].role, .epoch = rows[i].epoch};
        struct start_mode mode = {.epoch = 6, .truncate = true};
        snprintf(order.source_host, sizeof(order.source_host), "%s", rows[i].source);
        assert_int_equal(start_mode_is_withdrawn(&order, &mode), rows[i].withdrawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_newer_primary_lets_a_tail_be_cut_off),
        cmocka_unit_test(test_what_the_primary_has),
        cmocka_unit_test(test_a_newer_fence_withdraws_the_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
