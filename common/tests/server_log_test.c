/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/server_log.h"

#include <setjmp.h>
#include <cmocka.h>

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
            "InnoDB: Header page consists of zero bytes in datafile: ./ibdata1; "
            "Plugin 'InnoDB' registration as a STORAGE ENGINE failed."},
        /* MySQL */
        {"2026-11-21T17:00:01.1Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.0) starting as process 1\n"
         "2026-11-21T17:00:02.2Z 1 [ERROR] [MY-012263] [InnoDB] The Auto-extending data file './ibdata1' is of a different size\n"
         "2026-11-21T17:00:02.2Z 0 [ERROR] [MY-010119] [Server] Aborting",
            "[MY-012263] [InnoDB] The Auto-extending data file './ibdata1' is of a different size"},
        /* Killed in mid-life: there is nothing to say. */
        {"2026-11-21 17:00:01 0 [Note] mariadbd: ready for connections.\n", ""},
        {"2026-11-21 17:00:01 0 [Warning] slow\nmysqld got signal 11 ;\nThread pointer: 0x0\n",
            "mysqld got signal 11 ;\nThread pointer: 0x0"},
        {"[ERROR] a\n[ERROR] b\n[ERROR] \n", "a; b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s", rows[i].log);
        server_log_errors(text);
        assert_string_equal(text, rows[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_picked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
