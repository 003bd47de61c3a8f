/* SPDX-License-Identifier: Apache-2.0 */
/* What a member holds, seen against the reigns of the status. */
#include "common/base.h"

#include "operator/cluster/failover/member_history.h"

#include <setjmp.h>
#include <cmocka.h>

#define A "aaaaaaaa-71ca-11e1-9e33-c80aa9429562"
#define B "bbbbbbbb-71ca-11e1-9e33-c80aa9429562"
#define C "cccccccc-71ca-11e1-9e33-c80aa9429562"

#define REIGN(at, name, by, from)                                   \
    {                                                               \
        .epoch = (at), .primary = name, .origin = by, .floor = from \
    }
static const struct cluster_reigns mysql_one = {1, {REIGN(4, "db-1", B, A ":1-100")}};
static const struct cluster_reigns mysql_two = {
    2, {REIGN(5, "db-2", C, A ":1-100," B ":1-10"), REIGN(4, "db-1", B, A ":1-100")}};
static const struct cluster_reigns mysql_again = {1, {REIGN(6, "db-0", A, A ":1-100")}};
static const struct cluster_reigns mysql_unknown = {1, {REIGN(4, "db-1", "", A ":1-100")}};
static const struct cluster_reigns mysql_first = {1, {REIGN(1, "db-0", A, "")}};
static const struct cluster_reigns mysql_no_floor = {
    1, {{.epoch = 1, .primary = "db-0", .origin = A, .floor = "", .floor_is_partial = true}}};
static const struct cluster_reigns maria_first = {1, {REIGN(1, "db-0", "1000", "")}};
static const struct cluster_reigns maria_one = {1, {REIGN(4, "db-1", "1001", "0-1000-100")}};
static const struct cluster_reigns maria_two = {
    2, {REIGN(5, "db-2", "1002", "0-1001-110"), REIGN(4, "db-1", "1001", "0-1000-100")}};
static const struct cluster_reigns maria_domains = {1, {REIGN(4, "db-1", "1001", "0-1000-100,7-1000-5")}};
static const struct cluster_reigns maria_unknown = {1, {REIGN(4, "db-1", "", "0-1000-100")}};
static const struct cluster_reigns none = {.count = 0};

static const struct {
    const char *why;
    const struct cluster_reigns *reigns;
    enum gtid_flavour flavour;
    const char *position;
    int reign;
    bool reaches_floor, has_extra;
    const char *known;
} read_rows[] = {
    {"the floor alone", &mysql_one, GTID_MYSQL, A ":1-100", 1, true, false, A ":1-100"},
    {"less than the floor", &mysql_one, GTID_MYSQL, A ":1-99", 1, false, false, A ":1-99"},
    {"one transaction of the reign", &mysql_one, GTID_MYSQL, A ":1-100," B ":1", 0, true, false, A ":1-100," B ":1"},
    {"of the reign, and yet not the floor", &mysql_one, GTID_MYSQL, A ":1-90," B ":1", 0, false, false,
        A ":1-90," B ":1"},
    {"a tail of the primary before", &mysql_one, GTID_MYSQL, A ":1-105", 1, true, true, A ":1-100"},
    {"that tail, and the reign", &mysql_one, GTID_MYSQL, A ":1-105," B ":1-3", 0, true, true, A ":1-100," B ":1-3"},
    {"written on a replica", &mysql_one, GTID_MYSQL, A ":1-100," C ":1", 1, true, true, A ":1-100"},
    {"the later of two", &mysql_two, GTID_MYSQL, A ":1-100," B ":1-12," C ":1", 0, true, false,
        A ":1-100," B ":1-12," C ":1"},
    {"the earlier of two", &mysql_two, GTID_MYSQL, A ":1-100," B ":1-12", 1, true, false, A ":1-100," B ":1-12"},
    {"of two, none", &mysql_two, GTID_MYSQL, A ":1-100", 2, true, false, A ":1-100"},
    {"the same primary again, its own tail", &mysql_again, GTID_MYSQL, A ":1-105", 0, true, false, A ":1-105"},
    {"an origin that is not known", &mysql_unknown, GTID_MYSQL, A ":1-100," C ":1", 0, true, false, A ":1-100," C ":1"},
    {"no floor: nothing is strange", &mysql_no_floor, GTID_MYSQL, A ":1-9," C ":1-50", 0, true, false,
        A ":1-9," C ":1-50"},
    {"no floor, nothing of its own", &mysql_no_floor, GTID_MYSQL, C ":1-50", 1, true, false, C ":1-50"},
    {"a new database: nobody else has written", &mysql_first, GTID_MYSQL, A ":1-9," C ":1-4", 0, true, true, A ":1-9"},
    {"a new MariaDB: nobody else has written", &maria_first, GTID_MARIADB, "0-1003-4", 1, true, true, ""},
    {"no reign at all", &none, GTID_MYSQL, A ":1-9", 0, true, false, A ":1-9"},
    {"MariaDB: the floor alone", &maria_one, GTID_MARIADB, "0-1000-100", 1, true, false, "0-1000-100"},
    {"MariaDB: less", &maria_one, GTID_MARIADB, "0-1000-99", 1, false, false, "0-1000-99"},
    {"MariaDB: the reign", &maria_one, GTID_MARIADB, "0-1001-101", 0, true, false, "0-1001-101"},
    {"MariaDB: a longer tail of the primary before", &maria_one, GTID_MARIADB, "0-1000-140", 1, true, true,
        "0-1000-100"},
    {"MariaDB: a tail of which nobody knows where it begins", &maria_one, GTID_MARIADB, "0-1003-140", 1, false, true,
        ""},
    {"MariaDB: another one's under the floor's number", &maria_one, GTID_MARIADB, "0-1003-100", 1, false, true, ""},
    {"MariaDB: of two, the later", &maria_two, GTID_MARIADB, "0-1002-111", 0, true, false, "0-1002-111"},
    {"MariaDB: of two, the earlier with its tail", &maria_two, GTID_MARIADB, "0-1001-120", 1, true, false, "0-1001-120"},
    {"MariaDB: one domain goes on", &maria_domains, GTID_MARIADB, "0-1001-101,7-1000-5", 0, true, false,
        "0-1001-101,7-1000-5"},
    {"MariaDB: one domain is behind", &maria_domains, GTID_MARIADB, "0-1001-101,7-1000-4", 0, false, false,
        "0-1001-101,7-1000-4"},
    {"MariaDB: one domain is missing", &maria_domains, GTID_MARIADB, "0-1001-101", 0, false, false, "0-1001-101"},
    {"MariaDB: an origin that is not known", &maria_unknown, GTID_MARIADB, "0-1003-140", 0, true, false, "0-1003-140"},
};

static void test_read(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(read_rows); i++) {
        struct member_history history;
        struct gtid_set *known = gtid_set_parse(read_rows[i].flavour, read_rows[i].known, NULL);
        member_history_read(read_rows[i].reigns, read_rows[i].flavour, read_rows[i].position, &history);
        if (!history.readable || history.reign != read_rows[i].reign ||
            history.reaches_floor != read_rows[i].reaches_floor || history.has_extra != read_rows[i].has_extra ||
            gtid_set_compare(history.known, known) != GTID_EQUAL)
            fail_msg("%s: reign %d, floor %d, extra %d", read_rows[i].why, history.reign, history.reaches_floor,
                history.has_extra);
        gtid_set_free(known);
        member_history_release(&history);
    }
}

static void test_unreadable(void **state)
{
    UNUSED(state);
    static const char *const positions[] = {A ":1-100...", "not a GTID", A};
    for (size_t i = 0; i < ARRAY_LEN(positions); i++) {
        struct member_history history;
        member_history_read(&mysql_one, GTID_MYSQL, positions[i], &history);
        assert_false(history.readable);
        member_history_release(&history);
    }
}

/* Taken for none, everybody would reach it. */
static void test_unreadable_floor(void **state)
{
    UNUSED(state);
    static const struct cluster_reigns too_long = {
        2, {REIGN(5, "db-2", C, A ":1-100"), REIGN(4, "db-1", B, POSITION_TOO_LONG)}};
    struct member_history history;
    member_history_read(&too_long, GTID_MYSQL, A ":1-100," B ":1-10", &history);
    assert_false(history.readable);
    member_history_release(&history);
}

static void test_compare(void **state)
{
    UNUSED(state);
    static const struct {
        const char *why;
        const struct cluster_reigns *reigns;
        enum gtid_flavour flavour;
        const char *a, *b;
        enum gtid_relation expected;
    } rows[] = {
        {"more of one reign", &mysql_one, GTID_MYSQL, A ":1-100," B ":1-5", A ":1-100," B ":1-3", GTID_SUPERSET},
        {"a tail does not count", &mysql_one, GTID_MYSQL, A ":1-105," B ":1-3", A ":1-100," B ":1-5", GTID_SUBSET},
        {"a later reign wins over more of an earlier one", &mysql_two, GTID_MYSQL, A ":1-100," B ":1-10," C ":1",
            A ":1-100," B ":1-50", GTID_SUPERSET},
        {"MariaDB: a later reign wins over a larger number", &maria_one, GTID_MARIADB, "0-1001-101", "0-1000-540",
            GTID_SUPERSET},
        {"MariaDB: two tails of one primary are the same", &maria_one, GTID_MARIADB, "0-1000-540", "0-1000-100",
            GTID_EQUAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct member_history a, b;
        member_history_read(rows[i].reigns, rows[i].flavour, rows[i].a, &a);
        member_history_read(rows[i].reigns, rows[i].flavour, rows[i].b, &b);
        if (member_history_compare(&a, &b) != rows[i].expected)
            fail_msg("%s", rows[i].why);
        member_history_release(&a);
        member_history_release(&b);
    }
}

static void test_behind(void **state)
{
    static const struct {
        const char *a, *b;
        bool behind;
    } rows[] = {
        {"0-1-9", "0-2-10", true},
        {"0-1-10", "0-2-10", true}, /* the number is another one's */
        {"0-2-10", "0-2-10", false},
        {"0-1-11", "0-2-10", false},
        {"0-2-10,1-1-3", "0-2-10,1-2-3", true},
        {"", "0-2-10", true},
        {"0-2-10", "", false},
        {"0-2-10", "0-2-1...", false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(member_history_is_behind(rows[i].a, rows[i].b), rows[i].behind);
}

static void test_a_state_tells_what_numbers_hide(void **state)
{
    static const struct {
        const char *state, *position;
        bool lacks;
    } rows[] = {
        {"0-1-467,0-2-469", "0-1-468", true}, /* written by hand while 468 was received and not applied */
        {"0-1-468,0-2-469", "0-1-468", false},
        {"0-2-469", "0-1-468", false}, /* a copy that began behind it */
        {"", "0-1-468", false},
        {"0-1-467,0-2-4...", "0-1-468", false},
        {"1-1-5,0-1-468", "0-1-468,1-1-6", true},
        {"0-1-467", "", false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(member_history_state_lacks(rows[i].state, rows[i].position), rows[i].lacks);
}

static void test_a_state_holds_what_another_had_of_others(void **state)
{
    static const struct {
        const char *state, *own;
        bool holds;
    } rows[] = {
        {"0-1-265,0-6-266", "0-1-265,0-7-275", true}, /* and what somebody wrote on it */
        {"0-1-266", "0-1-265,0-7-275", true},
        {"0-1-264,0-6-266", "0-1-265,0-7-275", false}, /* it has that number, of its own */
        {"0-6-266", "0-1-265,0-7-275", false},         /* a copy that began behind it */
        {"0-2-300", "0-1-200,0-2-300,0-7-305", true},  /* the one before need not be named */
        {"0-1-200", "0-1-200,0-2-300,0-7-305", false},
        {"0-1-265", "0-7-275", false}, /* a copy that began behind all of others */
        {"0-1-265,1-1-4", "0-1-265,0-7-275,1-1-5,1-7-6", false},
        {"0-1-265,1-1-5", "0-1-265,0-7-275,1-1-5,1-7-6", true},
        {"0-1-265", "0-1-265,0-7-275,1-7-6", false},
        {"", "0-1-265,0-7-275", false},
        {"0-1-265", "", false},
        {"0-1-2...", "0-1-265,0-7-275", false},
        {"0-1-265", "0-1-265,0-7", false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (member_history_state_holds_others(rows[i].state, rows[i].own, 7) != rows[i].holds)
            fail_msg("%s against %s", rows[i].state, rows[i].own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_unreadable_floor),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_behind),
        cmocka_unit_test(test_a_state_tells_what_numbers_hide),
        cmocka_unit_test(test_a_state_holds_what_another_had_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
