/* SPDX-License-Identifier: Apache-2.0 */
/* What the start has cut off comes back as a whole, or it is told that it cannot. */
#include "common/base.h"

#include "agent/put_back_part.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/tests/binlog_double.h"
#include "common/alloc.h"
#include "common/strbuf.h"

static int add_one(void *arg, size_t index, const struct binlog_transaction *transaction, struct error *err)
{
    struct strbuf *text = arg;

    UNUSED(index);
    UNUSED(err);
    strbuf_adds(text, text->len ? " " : "");
    gtid_one_print(GTID_MARIADB, &transaction->gtid, text);
    return 0;
}

/* As the applier reads it. */
static void read_spool(const char *spool, struct strbuf *ret)
{
    struct error err = ERROR_INIT;

    if (binlog_relay_scan(&spool, 1, GTID_MARIADB, add_one, ret, &err) < 0)
        fail_msg("%s", err.message);
}

/* The transactions that are taken back; "-": nothing is lacking; NULL: it fails. */
static void expect(const struct binlog_double *set, const char *executed_text, const char *up_to_text, const char *what)
{
    _cleanup_(freep) char *log = xasprintf("%s/binlog.%06u", set->dir, set->newest);
    _cleanup_(freep) char *spool = xasprintf("%s/spool", set->dir);
    _cleanup_(gtid_set_freep) struct gtid_set *executed = gtid_set_parse(GTID_MARIADB, executed_text, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *up_to = gtid_set_parse(GTID_MARIADB, up_to_text, NULL);
    _cleanup_(strbuf_release) struct strbuf got;
    struct error err = ERROR_INIT;
    bool any = false;

    strbuf_init(&got, KM_KIB);
    int rc = put_back_part_write(log, executed, up_to, spool, &any, &err);
    if (rc == 0 && any)
        read_spool(spool, &got);
    else if (rc == 0)
        strbuf_adds(&got, "-");
    if (what && rc < 0)
        fail_msg("executed %s: %s", executed_text, err.message);
    if (!what && rc == 0)
        fail_msg("executed %s: %s", executed_text, got.buf);
    assert_string_equal(got.buf, str_or_empty(what));
}

static void test_what_is_lacking(void **state)
{
    struct binlog_double set;

    UNUSED(state);
    binlog_double_init(&set, GTID_MARIADB);
    binlog_double_rotate(&set, "0-1-100");
    binlog_double_add_range(&set, 1, 105, 110);
    expect(&set, "0-1-106", "0-1-108", "0-1-107 0-1-108");
    expect(&set, "0-1-109", "0-1-110", "0-1-110");
    expect(&set, "0-1-104", "0-1-106", "0-1-105 0-1-106"); /* the set begins with what was cut off */
    expect(&set, "0-1-108", "0-1-108", "-");
    expect(&set, "0-1-110", "0-1-108", "-"); /* nothing was cut off */
    binlog_double_release(&set);
}

/* For want of room, or as it was made of other logs: "nothing is lacking" would be wrong. */
static void test_what_the_set_does_not_hold(void **state)
{
    struct binlog_double set;

    UNUSED(state);
    binlog_double_init(&set, GTID_MARIADB);
    binlog_double_rotate(&set, "");
    expect(&set, "0-1-106", "0-1-107", NULL); /* it is empty */
    binlog_double_add(&set, "0-1-108", 1000000, 40);
    expect(&set, "0-1-106", "0-1-107", NULL); /* only what the next primary had not */
    expect(&set, "0-1-106", "0-1-108", NULL); /* 107 is lacking before it */
    expect(&set, "0-1-107", "0-1-109", NULL); /* and 109 behind it */
    expect(&set, "0-1-107", "0-1-108", "0-1-108");
    binlog_double_release(&set);
}

static void test_gaps(void **state)
{
    struct binlog_double set;

    UNUSED(state);
    binlog_double_init(&set, GTID_MARIADB);
    binlog_double_rotate(&set, "");
    binlog_double_add(&set, "0-1-107", 1000000, 40);
    binlog_double_add(&set, "7-1-1", 1000000, 40); /* nobody had that */
    expect(&set, "0-1-106", "0-1-107", "0-1-107");
    binlog_double_add(&set, "0-1-108", 1000000, 40);
    expect(&set, "0-1-106", "0-1-108", NULL);
    binlog_double_release(&set);
}

/* binlog_tail.h joins the logs; each begins with a description of its own. */
static void test_of_two_logs(void **state)
{
    struct binlog_double set;

    UNUSED(state);
    binlog_double_init(&set, GTID_MARIADB);
    binlog_double_rotate(&set, "");
    binlog_double_add_range(&set, 1, 106, 107);
    binlog_double_describe(&set);
    binlog_double_add_range(&set, 1, 108, 109);
    expect(&set, "0-1-106", "0-1-108", "0-1-107 0-1-108");
    binlog_double_release(&set);
}

static void test_no_set(void **state)
{
    struct binlog_double set;

    UNUSED(state);
    binlog_double_init(&set, GTID_MARIADB);
    expect(&set, "0-1-106", "0-1-107", NULL);
    expect(&set, "0-1-107", "0-1-107", "-"); /* it is not needed */
    binlog_double_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_lacking),
        cmocka_unit_test(test_what_the_set_does_not_hold),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_of_two_logs),
        cmocka_unit_test(test_no_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
