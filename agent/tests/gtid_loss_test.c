/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/gtid_loss.h"

#include <setjmp.h>
#include <cmocka.h>

#define NOW 1000000
#define MYSQL AGENT_FLAVOUR_MYSQL
#define MARIADB AGENT_FLAVOUR_MARIADB
#define A "11111111-1111-1111-1111-111111111111"
#define B "22222222-2222-2222-2222-222222222222"

static struct replication_facts facts(const char *executed)
{
    return (struct replication_facts){.seen = true, .gtid_executed = executed, .gtid_received = executed};
}

static void look(struct gtid_loss *loss, enum agent_flavour flavour, const char *before, const char *now, int64_t at_ms)
{
    struct replication_facts of_before = facts(before), of_now = facts(now);

    gtid_loss_look(loss, flavour, &of_before, &of_now, at_ms);
}

static void hear(struct gtid_loss *loss, const char *received, const char *theirs, int64_t at_ms)
{
    struct replication_facts here = facts(received);

    gtid_loss_heard(loss, MYSQL, &here, true, theirs, NULL, at_ms);
}

static void expect_text(const struct gtid_loss *loss, enum agent_flavour flavour, const char *executed, const char *text)
{
    char told[256];

    gtid_loss_text(loss, flavour, executed, told, sizeof(told));
    assert_string_equal(told, text);
}

static void test_a_set_that_shrinks(void **unused)
{
    static const struct {
        enum agent_flavour flavour;
        const char *before, *now, *lost;
    } rows[] = {
        {MYSQL, A ":1-100", A ":1-101", ""}, {MYSQL, A ":1-100", A ":1-100", ""}, {MYSQL, "", A ":1-100", ""},
        {MYSQL, A ":1-100", "", A ":1-100"}, {MYSQL, A ":1-100", A ":101", A ":1-100"},
        {MYSQL, A ":1-100," B ":1-5", A ":1-103", B ":1-5"}, {MYSQL, A ":1-100", "...", ""}, /* cannot be compared */
        {MYSQL, "...", A ":101", ""}, {MARIADB, "0-1-100", "0-2-101", ""}, {MARIADB, "0-1-100", "0-1-3", "0-1-100"},
        {MARIADB, "0-1-100", "", "0-1-100"}, {MARIADB, "0-1-100", "0-2-100", ""},
        {MARIADB, "0-1-100,1-1-5", "0-1-100", ""}, /* DELETE_DOMAIN_ID */
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gtid_loss loss = {0};
        look(&loss, rows[i].flavour, rows[i].before, rows[i].now, NOW);
        if (loss.since_ms != (*rows[i].lost ? NOW : 0))
            fail_msg("row %zu: since %lld", i, (long long)loss.since_ms);
        expect_text(&loss, rows[i].flavour, rows[i].now, rows[i].lost);
    }
}

static void test_a_server_that_was_not_seen_before_has_lost_nothing(void **unused)
{
    struct gtid_loss loss = {0};
    struct replication_facts before = {.gtid_executed = A ":1-100"}, now = facts(A ":1-3");

    UNUSED(unused);
    gtid_loss_look(&loss, MYSQL, &before, &now, NOW);
    assert_int_equal(loss.since_ms, 0);
}

static void test_it_stays_until_all_is_there_again(void **unused)
{
    struct gtid_loss loss = {0};

    UNUSED(unused);
    look(&loss, MYSQL, A ":1-100", "", NOW);
    look(&loss, MYSQL, "", A ":101-103", NOW + 500);
    assert_int_equal(loss.since_ms, NOW);
    expect_text(&loss, MYSQL, A ":101-103", A ":1-100");
    gtid_loss_other_source(&loss);
    assert_int_equal(loss.since_ms, NOW);
    look(&loss, MYSQL, A ":101-103", A ":1-103", NOW + 1000); /* SET GLOBAL gtid_purged */
    assert_int_equal(loss.since_ms, 0);
    look(&loss, MYSQL, A ":1-103", "", NOW + 1500);
    assert_int_equal(loss.since_ms, NOW + 1500);
    gtid_loss_server_gone(&loss);
    assert_int_equal(loss.since_ms, 0);
}

/* The source sends it anew, or a primary gives its numbers a second time. */
static void test_what_is_executed_again_heals_nothing(void **unused)
{
    struct gtid_loss loss = {0};

    UNUSED(unused);
    look(&loss, MYSQL, A ":1-3", A ":4", NOW);
    look(&loss, MYSQL, A ":4", A ":1:4", NOW + 500);
    expect_text(&loss, MYSQL, A ":1:4", A ":2-3");
    look(&loss, MYSQL, A ":1:4", A ":1-4", NOW + 1000);
    hear(&loss, A ":1-4", A ":1-4", NOW + 1500);
    assert_int_equal(loss.since_ms, NOW);
    expect_text(&loss, MYSQL, A ":1-4", "some were executed again");
    gtid_loss_server_gone(&loss);
    look(&loss, MARIADB, "0-1-3", "0-1-1", NOW);
    look(&loss, MARIADB, "0-1-1", "0-1-4", NOW + 500);
    assert_int_equal(loss.since_ms, NOW);
}

/* RESET, and SET GLOBAL gtid_purged to what the source has: a person has done what is to be done. */
static void test_what_the_source_has_not_need_not_be_there(void **unused)
{
    struct gtid_loss loss = {0};

    UNUSED(unused);
    look(&loss, MYSQL, A ":1-100," B ":1", A ":1-101", NOW);
    assert_int_equal(loss.since_ms, NOW);
    hear(&loss, A ":1-101", A ":1-101", NOW + 500);
    assert_int_equal(loss.since_ms, 0);
    look(&loss, MYSQL, A ":1-101", A ":102", NOW + 1000);
    hear(&loss, A ":102", A ":1-102", NOW + 1500);
    assert_int_equal(loss.since_ms, NOW + 1000);
}

static void test_what_a_source_has_sent_and_is_lacking(void **unused)
{
    struct gtid_loss loss = {0};

    UNUSED(unused);
    hear(&loss, A ":51-60", A ":1-60", NOW);
    hear(&loss, A ":51-70", A ":1-70", NOW + GTID_LOSS_JUDGE_MS - 1);
    assert_int_equal(loss.found, 0);
    hear(&loss, A ":51-70", A ":1-70", NOW + GTID_LOSS_JUDGE_MS);
    assert_int_equal(loss.found, 1);
    assert_int_equal(loss.since_ms, 0);
    hear(&loss, A ":51-70", A ":1-70", NOW + 3 * GTID_LOSS_JUDGE_MS); /* nothing new has come */
    assert_int_equal(loss.since_ms, 0);
    hear(&loss, A ":51-71", A ":1-71", NOW + 3 * GTID_LOSS_JUDGE_MS + 1000);
    assert_int_equal(loss.since_ms, NOW + 3 * GTID_LOSS_JUDGE_MS + 1000);
    expect_text(&loss, MYSQL, A ":51-71", A ":1-50");
    gtid_loss_parted(&loss); /* held: what was found stays */
    assert_true(loss.since_ms > 0);
    hear(&loss, A ":1-71", A ":1-71", NOW + 30000);
    hear(&loss, A ":1-80", A ":1-80", NOW + 40000);
    assert_int_equal(loss.since_ms, 0);
}

/* The relay logs reach back to before the set was emptied. */
static void test_what_was_received_may_be_whole(void **unused)
{
    for (int in_order = 0; in_order < 2; in_order++) {
        struct gtid_loss loss = {0};
        static const char *const executed[] = {A ":51-60", A ":51-70", A ":51-80"};
        static const char *const received[] = {A ":1-60", A ":1-70", A ":1-80"};
        for (int i = 0; i < 3; i++) {
            struct replication_facts here = facts(executed[i]);
            here.gtid_received = received[i];
            here.applies_in_order = in_order;
            gtid_loss_heard(&loss, MYSQL, &here, true, received[i], NULL, NOW + i * GTID_LOSS_JUDGE_MS);
        }
        expect_text(&loss, MYSQL, A ":51-80", in_order ? A ":1-50" : "");
    }
    UNUSED(unused);
}

/* It is far behind, or was cut off meanwhile, or has something of its own. */
static void test_who_lags_lacks_nothing_before(void **unused)
{
    struct gtid_loss loss = {0};

    UNUSED(unused);
    for (int i = 0; i < 4; i++)
        hear(&loss, i % 2 ? A ":1-51" : A ":1-50", A ":1-900", NOW + i * GTID_LOSS_JUDGE_MS);
    assert_int_equal(loss.found, 0);
    loss = (struct gtid_loss){0};
    for (int i = 0; i < 4; i++) {
        hear(&loss, i % 2 ? A ":51-72" : A ":51-70", i % 2 ? A ":1-72" : A ":1-70", NOW + i * GTID_LOSS_JUDGE_MS);
        gtid_loss_parted(&loss);
    }
    assert_int_equal(loss.since_ms, 0);
    loss = (struct gtid_loss){0};
    hear(&loss, A ":1-50", A ":1-60", NOW);
    hear(&loss, A ":1-50," B ":1", A ":1-70", NOW + GTID_LOSS_JUDGE_MS);
    hear(&loss, A ":1-50," B ":1-2", A ":1-80", NOW + 2 * GTID_LOSS_JUDGE_MS);
    assert_int_equal(loss.found, 0);
}

static void test_positions_of_mariadb_have_no_gaps(void **unused)
{
    struct gtid_loss loss = {0};
    struct replication_facts here = facts("0-1-50"), later = facts("0-1-60");

    UNUSED(unused);
    gtid_loss_heard(&loss, MARIADB, &here, true, "0-1-50,1-1-1", NULL, NOW);
    gtid_loss_heard(&loss, MARIADB, &later, true, "0-1-60,1-1-1", NULL, NOW + 10000);
    gtid_loss_heard(&loss, MARIADB, &later, true, "0-1-60,1-1-1", NULL, NOW + 20000);
    assert_int_equal(loss.since_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set_that_shrinks),
        cmocka_unit_test(test_a_server_that_was_not_seen_before_has_lost_nothing),
        cmocka_unit_test(test_it_stays_until_all_is_there_again),
        cmocka_unit_test(test_what_is_executed_again_heals_nothing),
        cmocka_unit_test(test_what_the_source_has_not_need_not_be_there),
        cmocka_unit_test(test_what_a_source_has_sent_and_is_lacking),
        cmocka_unit_test(test_what_was_received_may_be_whole),
        cmocka_unit_test(test_who_lags_lacks_nothing_before),
        cmocka_unit_test(test_positions_of_mariadb_have_no_gaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
