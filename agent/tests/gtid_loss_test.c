/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/gtid_loss.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/position.h"

#define A "aaaaaaaa-0000-0000-0000-000000000000"
#define B "bbbbbbbb-0000-0000-0000-000000000000"
#define MYSQL AGENT_FLAVOUR_MYSQL
#define MARIADB AGENT_FLAVOUR_MARIADB

enum state { REPLICA, PRIMARY, NEITHER }; /* NEITHER: closed, and it follows nobody */

struct look {
    enum state state;
    uint64_t connection; /* 0: the look tells none */
    const char *executed;
};

/* What is lacking after all of these looks; NULL: nothing is lost. */
struct row {
    const char *name;
    enum agent_flavour flavour;
    struct look looks[5];
    const char *lacking;
    bool was_open;
};

static const struct row rows[] = {
    {"a replica lags and catches up", MYSQL, {{REPLICA, 7, A ":1-50:60"}, {REPLICA, 7, A ":1-60"}}, NULL, false},
    {"nothing happens", MYSQL, {{REPLICA, 7, A ":1-50"}, {REPLICA, 7, A ":1-50"}}, NULL, false},
    {"a replica is emptied", MYSQL, {{REPLICA, 7, A ":1-50," B ":1-3"}, {REPLICA, 7, ""}}, A ":1-50," B ":1-3", false},
    {"and goes on applying", MYSQL, {{REPLICA, 7, A ":1-50," B ":1-3"}, {REPLICA, 7, A ":51-60"}}, A ":1-50," B ":1-3",
        false},
    {"and has the same numbers again", MYSQL,
        {{REPLICA, 7, A ":1-50"}, {REPLICA, 7, A ":1-2"}, {REPLICA, 7, A ":1-60"}}, A ":3-50", false},
    {"what was lost first is named", MYSQL, {{REPLICA, 7, A ":1-50"}, {REPLICA, 7, A ":1-20"}, {REPLICA, 7, ""}},
        A ":21-50", false},
    {"a primary is emptied and writes on", MYSQL, {{PRIMARY, 7, A ":1-249"}, {PRIMARY, 7, A ":1-23"}}, A ":24-249",
        true},
    {"a replica is emptied and opened", MYSQL, {{REPLICA, 7, A ":1-9"}, {REPLICA, 7, ""}, {PRIMARY, 7, B ":1"}},
        A ":1-9", true},
    {"a closed server is emptied", MYSQL, {{PRIMARY, 7, A ":1-9"}, {NEITHER, 7, A ":1-9"}, {NEITHER, 7, ""}}, A ":1-9",
        false},
    /* It may be another server, or an older state of it, that another connection leads to. */
    {"another connection", MYSQL, {{REPLICA, 7, A ":1-50"}, {REPLICA, 8, A ":1-40"}, {REPLICA, 8, A ":1-41"}}, NULL,
        false},
    {"no connection is told", MYSQL, {{REPLICA, 0, A ":1-50"}, {REPLICA, 0, ""}}, NULL, false},
    /* Copied data has the positions of its donor before it is told its own. */
    {"copied data is told its position", MARIADB, {{NEITHER, 7, "0-1-100"}, {NEITHER, 7, "0-1-90"}}, NULL, false},
    {"and then it follows", MARIADB, {{NEITHER, 7, "0-1-100"}, {REPLICA, 7, "0-1-90"}}, NULL, false},
    {"a look that tells nothing", MYSQL, {{REPLICA, 7, A ":1-50"}, {REPLICA, 7, NULL}, {REPLICA, 7, A ":1-50"}}, NULL,
        false},
    {"a set that is too long", MYSQL, {{REPLICA, 7, A ":1-50"}, {REPLICA, 7, POSITION_TOO_LONG}}, NULL, false},
    {"and is emptied then", MYSQL, {{REPLICA, 7, A ":1-50"}, {REPLICA, 7, POSITION_TOO_LONG}, {REPLICA, 7, ""}},
        A ":1-50", false},
    {"other servers write", MARIADB, {{REPLICA, 7, "0-1-100,2-1-7"}, {PRIMARY, 7, "0-2-101,2-1-7"}}, NULL, false},
    {"a domain is deleted", MARIADB, {{REPLICA, 7, "0-2-101,2-1-7"}, {REPLICA, 7, "0-2-102"}}, NULL, false},
    {"the position is emptied", MARIADB, {{REPLICA, 7, "0-2-102"}, {REPLICA, 7, ""}}, "0-2-102", false},
    {"it is set to an older one", MARIADB, {{REPLICA, 7, "0-2-7001"}, {REPLICA, 7, "0-2-6933"}}, "0-2-7001", false},
    {"of one domain of two", MARIADB, {{REPLICA, 7, "0-2-70,2-1-7"}, {REPLICA, 7, "0-2-71,2-1-6"}}, "2-1-7", false},
    {"and is at its end again", MARIADB, {{REPLICA, 7, "0-2-7001"}, {REPLICA, 7, "0-2-6950"}, {REPLICA, 7, "0-2-7002"}},
        "0-2-7001", false},
    /* gtid_slave_pos is left, which is from before it was primary. */
    {"RESET MASTER on a primary", MARIADB, {{PRIMARY, 7, "0-2-6776"}, {PRIMARY, 7, "0-1-6716"}}, "0-2-6776", true},
    {"on the first primary, which writes on", MARIADB, {{PRIMARY, 7, "0-1-300"}, {PRIMARY, 7, "0-1-1"}}, "0-1-300",
        true},
    {"just after it was opened", MARIADB, {{REPLICA, 7, "0-1-100"}, {PRIMARY, 7, "0-1-100"}}, NULL, false},
};

/* Likewise, with what the binary logs begin with. */
struct log_row {
    const char *name;
    enum agent_flavour flavour;
    struct {
        struct look look;
        uint32_t oldest;
        const char *first;
    } looks[4];
    const char *lacking;
    bool was_open;
};

static const struct log_row log_rows[] = {
    {"set back and applied between two looks", MARIADB,
        {{{REPLICA, 7, "0-2-7001"}, 3, "0-1-40"}, {{REPLICA, 7, "0-2-7002"}, 1, "0-2-6934"}},
        "0-2-6934 and what follows it", false},
    {"where no log was purged", MARIADB,
        {{{REPLICA, 7, "0-2-7001"}, 1, "0-1-1"}, {{REPLICA, 7, "0-2-7002"}, 1, "0-2-6934"}},
        "0-2-6934 and what follows it", false},
    {"RESET MASTER, and later set back", MARIADB,
        {{{REPLICA, 7, "0-2-7001"}, 1, "0-1-1"}, {{REPLICA, 7, "0-2-7001"}, 1, ""},
            {{REPLICA, 7, "0-2-7002"}, 1, "0-2-6999"}},
        "0-2-6999 and what follows it", false},
    {"RESET MASTER on a replica", MARIADB,
        {{{REPLICA, 7, "0-2-7001"}, 3, "0-1-40"}, {{REPLICA, 7, "0-2-7003"}, 1, "0-2-7002"}}, NULL, false},
    {"which applies nothing at once", MARIADB,
        {{{REPLICA, 7, "0-2-7001"}, 3, "0-1-40"}, {{REPLICA, 7, "0-2-7001"}, 1, ""},
            {{REPLICA, 7, "0-2-7002"}, 1, "0-2-7002"}, {{REPLICA, 7, "0-2-7003"}, 1, "0-2-7002"}},
        NULL, false},
    {"logs are purged", MARIADB, {{{REPLICA, 7, "0-2-7001"}, 3, "0-1-40"}, {{REPLICA, 7, "0-2-7003"}, 4, "0-2-6000"}},
        NULL, false},
    {"logs that cannot be read", MARIADB, {{{REPLICA, 7, "0-2-7001"}, 3, ""}, {{REPLICA, 7, "0-2-7003"}, 1, ""}}, NULL,
        false},
    {"RESET MASTER just after an opening", MARIADB,
        {{{PRIMARY, 7, "0-1-7001"}, 3, "0-1-40"}, {{PRIMARY, 7, "0-1-7001"}, 1, "0-2-1"}}, "0-2-1 and what follows it",
        true},
    {"all is sent again between two looks", MYSQL,
        {{{REPLICA, 7, A ":1-9"}, 2, A ":1"}, {{REPLICA, 7, A ":1-10"}, 1, A ":1"}}, A ":1 and what follows it", false},
    {"a set that is given back at once", MYSQL,
        {{{REPLICA, 7, A ":1-9"}, 2, A ":1"}, {{REPLICA, 7, A ":1-10"}, 1, A ":10"}}, NULL, false},
};

static bool look_at_logs(
    struct gtid_loss *loss, enum agent_flavour flavour, const struct look *look, uint32_t oldest, const char *first)
{
    struct replication_facts facts = {.seen = true,
        .connection = look->connection,
        .read_only = look->state != PRIMARY,
        .configured = look->state == REPLICA,
        .oldest_log = oldest};

    facts.positions = position_pool_new(KM_KIB);
    snprintf(facts.first_logged, sizeof(facts.first_logged), "%s", first);
    if (look->executed)
        facts.gtid_executed = position_take(facts.positions, look->executed);
    bool changed = gtid_loss_look(loss, flavour, &facts);
    replication_facts_release(&facts);
    return changed;
}

static bool look_at(struct gtid_loss *loss, enum agent_flavour flavour, const struct look *look)
{
    return look_at_logs(loss, flavour, look, 0, "");
}

static void check(const char *name, struct gtid_loss *loss, unsigned changes, const char *lacking, bool was_open)
{
    if (loss->lost.is_lost != (lacking != NULL) || loss->lost.was_open != was_open ||
        !str_eq(loss->lost.lacking, str_or_empty(lacking)) || (changes > 0) != loss->lost.is_lost)
        fail_msg("%s: \"%s\", open %d, %u changes", name, loss->lost.lacking, loss->lost.was_open, changes);
    gtid_loss_server_gone(loss);
}

static void test_looks(void **unused)
{
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct gtid_loss loss = {0};
        unsigned changes = 0;

        for (size_t k = 0; k < ARRAY_LEN(row->looks) && (row->looks[k].executed || row->looks[k].connection); k++)
            changes += look_at(&loss, row->flavour, &row->looks[k]);
        check(row->name, &loss, changes, row->lacking, row->was_open);
    }
}

static void test_looks_at_logs(void **unused)
{
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(log_rows); i++) {
        const struct log_row *row = &log_rows[i];
        struct gtid_loss loss = {0};
        unsigned changes = 0;

        for (size_t k = 0; k < ARRAY_LEN(row->looks) && row->looks[k].first; k++)
            changes += look_at_logs(&loss, row->flavour, &row->looks[k].look, row->looks[k].oldest, row->looks[k].first);
        check(row->name, &loss, changes, row->lacking, row->was_open);
    }
}

/* The next server may have lost its tail, or one was cut off. What was found stays, as the data does. */
static void test_the_end_of_a_server(void **unused)
{
    const struct look full = {REPLICA, 7, A ":1-50"}, less = {REPLICA, 7, A ":1-40"};
    struct gtid_loss loss = {0};

    UNUSED(unused);
    (void)look_at(&loss, MYSQL, &full);
    gtid_loss_server_gone(&loss);
    assert_false(look_at(&loss, MYSQL, &less));
    (void)look_at(&loss, MYSQL, &full);
    assert_true(look_at(&loss, MYSQL, &less));
    assert_false(look_at(&loss, MYSQL, &less)); /* it is said once */
    gtid_loss_server_gone(&loss);
    assert_false(look_at(&loss, MYSQL, &full));
    assert_true(loss.lost.is_lost);
    assert_string_equal(loss.lost.lacking, A ":41-50");
    gtid_loss_server_gone(&loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_looks_at_logs),
        cmocka_unit_test(test_the_end_of_a_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
