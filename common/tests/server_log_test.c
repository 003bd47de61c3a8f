/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/server_log.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/fs.h"
#include "common/strbuf.h"

static void errors_are_picked(void **state)
{
    UNUSED(state);
    static const struct {
        const char *log, *said;
    } rows[] = {
        {"", ""},
        {"cannot open the tablespace", "cannot open the tablespace"},
        {"two\nlines\n", "two\nlines\n"},
        /* MariaDB */
        {"2026-11-21 17:00:01 0 [Note] Starting MariaDB 10.11.6-MariaDB\n"
         "2026-11-21 17:00:01 0 [ERROR] InnoDB: Header page consists of zero bytes in datafile: ./ibdata1\n"
         "2026-11-21 17:00:01 0 [Note] InnoDB: Starting shutdown...\n"
         "2026-11-21 17:00:01 0 [ERROR] Plugin 'InnoDB' registration as a STORAGE ENGINE failed.\n"
         "2026-11-21 17:00:01 0 [ERROR] Aborting\n",
            "InnoDB: Header page consists of zero bytes in datafile: ./ibdata1"},
        /* MySQL */
        {"2026-11-21T17:00:01.1Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.0) starting as process 1\n"
         "2026-11-21T17:00:02.2Z 1 [ERROR] [MY-012263] [InnoDB] The Auto-extending data file './ibdata1' is of a different size\n"
         "2026-11-21T17:00:02.2Z 0 [ERROR] [MY-010119] [Server] Aborting",
            "[MY-012263] [InnoDB] The Auto-extending data file './ibdata1' is of a different size"},
        /* Killed in mid-life: there is nothing to say. */
        {"2026-11-21 17:00:01 0 [Note] mariadbd: ready for connections.\n", ""},
        {"2026-11-21 17:00:01 0 [Warning] slow\nmysqld got signal 11 ;\nThread pointer: 0x0\n",
            "mysqld got signal 11 ;"},
        {"[ERROR] a\n[ERROR] b\n[ERROR] \n", "a; b"},
        /* a crash of which the beginning is cut off */
        {"stack_bottom = 0x0 thread_stack 0x49000\n/lib/x(+0x1)[0x2]\n", "the server crashed"},
        /* what stood before it began anew, or served, is not why it ended */
        {"1 0 [Note] Starting MariaDB 10.11 as process 1\n2 [ERROR] old\n3 0 [Note] Starting MariaDB 10.11 as process 1\n"
         "4 [ERROR] new\n5 [ERROR] Aborting\n",
            "new"},
        {"1 0 [Note] Starting MariaDB 10.11 as process 1\n2 [ERROR] old\n3 0 [Note] mariadbd: ready for connections.\n"
         "Version: '10.11.6-MariaDB'  socket: '/s'  port: 0\n",
            ""},
        {"1 [ERROR] read before it starts\n2 0 [Note] Starting MariaDB 10.11 as process 1\n", "read before it starts"},
        /* the agent before it made way, and when it could not */
        {"{\"time\":\"t\",\"level\":\"info\",\"msg\":\"m\"}\n1 0 [Note] a\n", ""},
        {"{\"time\":\"t\",\"level\":\"error\",\"msg\":\"no server\"}\n",
            "{\"time\":\"t\",\"level\":\"error\",\"msg\":\"no server\"}\n"},
        /* "Aborting" as a part of a reason is none of giving up */
        {"1 [ERROR] the data folder has files in it. Aborting.\n2 [ERROR] Aborting\n",
            "the data folder has files in it. Aborting."},
        {"a got signal 1\nb got signal 2\n", "a got signal 1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s", rows[i].log);
        server_log_errors(text);
        assert_string_equal(text, rows[i].said);
    }
}

/* Real ones: the last 2048 bytes of MariaDB 10.11.19 and MySQL 9.7.4, as a kubelet keeps them. */
static void real_logs_tell_the_cause(void **state)
{
    static const struct {
        const char *log, *said;
    } rows[] = {
        {"mariadb-zero-ibdata",
            "InnoDB: The data file './ibdata1' has the wrong space ID. It should be 0, but 0 was found"},
        {"mariadb-engine", "Unknown/unsupported storage engine: ARCHIVE2"},
        {"mariadb-aria",
            "mariadbd: Got error 'Size of control file is smaller than expected' when trying to use aria control file "
            "'/var/lib/mysql/aria_log_control'"},
        {"mariadb-nolog", "InnoDB: File ./ib_logfile0 was not found"},
        {"mariadb-segv", "the server crashed"},
        {"mariadb-killed", ""},
        {"mysql-zero",
            "[MY-012224] [InnoDB] Header page consists of zero bytes in datafile: ./ibdata1, Space ID:0, Flags: 0. Please "
            "refer to http://dev.mysql.com/doc/refman/9.7/en/innodb-troubleshooting-datadict.html for how to resolve the "
            "issue.; [MY-012237] [InnoDB] Corrupted page [page id: space=0, page number=0] of datafile './ibdata1' could "
            "not be found in the doublewrite buffer."},
        {"mysql-zero-cut",
            "[MY-012930] [InnoDB] Plugin initialization aborted with error Data structure corruption.; [MY-010334] [Server] "
            "Failed to initialize DD Storage Engine; [MY-010020] [Server] Data Dictionary initialization failed."},
        {"mysql-unknown", "[MY-000067] [Server] unknown variable 'wrong-option=1'."},
        {"mysql-tz", "[MY-010361] [Server] Fatal error: Illegal or unknown default time zone 'Nowhere/Land'"},
        {"mysql-noredo", "[MY-013862] [InnoDB] Neither found #innodb_redo subdirectory, nor ib_logfile* files in ./"},
        {"mysql-segv", "mysqld got signal 11 ;"},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char path[128];
        _cleanup_(strbuf_release) struct strbuf text;
        snprintf(path, sizeof(path), "common/tests/data/server-log/%s.log", rows[i].log);
        strbuf_init(&text, 4096);
        assert_int_equal(fs_read_file(path, &text, NULL), 0);
        server_log_errors(text.buf);
        assert_string_equal(text.buf, rows[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_picked),
        cmocka_unit_test(real_logs_tell_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
