/* SPDX-License-Identifier: Apache-2.0 */
/* Which transactions of a log are whole. */
#include "common/base.h"

#include "agent/backup/binlog_file.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"
#include "common/alloc.h"
#include "common/strbuf.h"

#define UUID "3e11fa47-71ca-11e1-9e33-c80aa9429562"

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    unsigned *count = arg;

    UNUSED(transaction);
    UNUSED(err);
    (*count)++;
    return 0;
}

static unsigned count_whole(const struct binlog_double *logs)
{
    _cleanup_(freep) char *path = xasprintf("%s/binlog.%06u", logs->dir, logs->newest);
    struct binlog_head head;
    struct error err = ERROR_INIT;
    unsigned count = 0;

    if (binlog_file_scan(path, logs->flavour, &head, on_transaction, &count, &err) < 0)
        fail_msg("%s", err.message);
    binlog_head_release(&head);
    return count;
}

/* What a server writes between two events of one transaction is not there yet, or never comes: the file ends exactly
 * behind one. */
static void test_ends_between_events(void **state)
{
    static const struct {
        const char *statements[3];
        unsigned whole;
    } rows[] = {
        {{"CREATE TABLE t (a int)"}, 1},
        {{"BEGIN"}, 0},
        {{"BEGIN", "COMMIT"}, 1},
        {{"BEGIN", "ROLLBACK"}, 1},
        /* CREATE TABLE ... SELECT of MySQL 8.0.21 and later */
        {{"BEGIN", "CREATE TABLE `t` (\n  `a` int DEFAULT NULL\n) START TRANSACTION"}, 0},
        /* What was written to tables without transactions stays behind a savepoint. */
        {{"BEGIN", "SAVEPOINT `a`", "ROLLBACK TO `a`"}, 0},
        {{"BEGIN", "ROLLBACK TO `a`", "COMMIT"}, 1},
        {{"XA START X'61',X'',1"}, 0},
        {{"XA COMMIT X'61',X'',1"}, 1},
        {{"XA ROLLBACK X'61',X'',1"}, 1},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct binlog_double logs;
        binlog_double_init(&logs, GTID_MYSQL);
        binlog_double_rotate(&logs, "");
        binlog_double_add_statements(&logs, UUID ":1", rows[i].statements, ARRAY_LEN(rows[i].statements));
        if (count_whole(&logs) != rows[i].whole)
            fail_msg("row %zu: %s", i, rows[i].statements[0]);
        binlog_double_release(&logs);
    }
}

struct relayed {
    struct strbuf text; /* INDEX:GTID of each whole transaction */
};

static int on_relayed(void *arg, size_t index, const struct binlog_transaction *transaction, struct error *err)
{
    struct relayed *relayed = arg;

    UNUSED(err);
    strbuf_addf(&relayed->text, "%s%zu:", relayed->text.len ? " " : "", index);
    gtid_one_print(GTID_MARIADB, &transaction->gtid, &relayed->text);
    return 0;
}

static int scan_relay_logs(const struct binlog_double *logs, struct relayed *relayed, struct error *err)
{
    char paths[8][64];
    const char *list[8];

    strbuf_init(&relayed->text, KM_KIB);
    assert_true(logs->newest <= ARRAY_LEN(paths));
    for (unsigned i = 0; i < logs->newest; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/binlog.%06u", logs->dir, i + 1);
        list[i] = paths[i];
    }
    return binlog_relay_scan(list, logs->newest, GTID_MARIADB, on_relayed, relayed, err);
}

/* Steps: a number is a transaction, '|' another file, '(' the beginning of transaction 9, '<' that within an event. */
static void test_relay_logs(void **state)
{
    static const struct {
        const char *steps, *whole;
        bool damaged;
    } rows[] = {
        {"", "", false}, {"|", "", false}, {"|12", "0:0-1-1 0:0-1-2", false},
        {"|1|2||3", "0:0-1-1 1:0-1-2 3:0-1-3", false}, {"|1(|", "0:0-1-1", false},
        {"|1(9", "0:0-1-1 0:0-1-9", false}, /* the source sends it again */
        {"|1<", "0:0-1-1", false}, {"|1<||", "0:0-1-1", false}, {"|1<|2", "0:0-1-1", true}, /* nothing can follow */
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct binlog_double logs;
        struct relayed relayed;
        struct error err = ERROR_INIT;
        binlog_double_init(&logs, GTID_MARIADB);
        for (const char *at = rows[i].steps; *at; at++) {
            char gtid[16];
            snprintf(gtid, sizeof(gtid), "0-1-%c", *at);
            if (*at == '|')
                binlog_double_rotate(&logs, "");
            else if (*at == '(')
                binlog_double_add_statements(&logs, "0-1-9", (const char *const[]){NULL}, 0);
            else if (*at == '<')
                binlog_double_add_part(&logs, "0-1-9", 70);
            else
                binlog_double_add(&logs, gtid, 1, 40);
        }
        bool damaged = scan_relay_logs(&logs, &relayed, &err) < 0;
        if (damaged != rows[i].damaged || strcmp(relayed.text.buf, rows[i].whole) != 0)
            fail_msg("row %zu: %s %s", i, relayed.text.buf, err.message);
        strbuf_release(&relayed.text);
        binlog_double_release(&logs);
    }
}

static void test_when_a_file_was_begun(void **state)
{
    struct binlog_double logs;

    UNUSED(state);
    binlog_double_init(&logs, GTID_MARIADB);
    logs.created = 1770000000;
    binlog_double_rotate(&logs, "");
    _cleanup_(freep) char *path = xasprintf("%s/binlog.%06u", logs.dir, logs.newest);
    _cleanup_(freep) char *none = xasprintf("%s/binlog.000099", logs.dir);
    assert_int_equal(binlog_file_begun_ms(path), 1770000001000);
    assert_int_equal(binlog_file_begun_ms(none), -1);
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    assert_int_equal(fputc(0xfd, file), 0xfd); /* encrypted, by MySQL */
    assert_int_equal(fclose(file), 0);
    assert_int_equal(binlog_file_begun_ms(path), 0);
    assert_int_equal(truncate(path, 20), 0);
    assert_int_equal(binlog_file_begun_ms(path), -1);
    binlog_double_release(&logs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_between_events),
        cmocka_unit_test(test_relay_logs),
        cmocka_unit_test(test_when_a_file_was_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
