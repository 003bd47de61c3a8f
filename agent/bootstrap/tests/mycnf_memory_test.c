/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/mycnf_memory.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/bootstrap/memory_limit.h"

#define MI ((uint64_t)KM_MIB)

static void test_what_fits(void **unused)
{
    static const struct {
        const char *mycnf;
        uint64_t limit_mi, machine_mi;
        const char *says; /* "": it fits */
    } cases[] = {
        {"[mysqld]\ninnodb_buffer_pool_size = 1T\n", 0, 8192,
            "innodb_buffer_pool_size = 1T is more than the memory of its node (8192Mi)"},
        {"[mysqld]\ninnodb_buffer_pool_size = 1T\n", 1024, 8192,
            "innodb_buffer_pool_size = 1T is more than the memory limit of its container (1024Mi)"},
        {"[mysqld]\ninnodb-buffer-pool-size = 2G\n", 1024, 8192,
            "innodb_buffer_pool_size = 2G is more than the memory limit of its container (1024Mi)"},
        {"[mysqld]\ninnodb_buffer_pool_size = 2G\n", 2048, 8192,
            "innodb_buffer_pool_size = 2G is all of the memory limit of its container (2048Mi)"},
        {"[mysqld]\ninnodb_buffer_pool_size = 2047M\n", 2048, 8192, ""},
        /* A limit beyond the node. */
        {"[mysqld]\nkey_buffer_size = 9G\n", 65536, 8192,
            "key_buffer_size = 9G is more than the memory of its node (8192Mi)"},
        {"[mysqld]\nloose_rocksdb_block_cache_size = 8589934592\n", 0, 8192,
            "rocksdb_block_cache_size = 8589934592 is all of the memory of its node (8192Mi)"},
        {"[mysqld]\ninnodb_buffer_pool_size = 99999999999E\n", 0, 8192,
            "innodb_buffer_pool_size = 99999999999E is more than the memory of its node (8192Mi)"},
        /* All together: of a limit the operator says it, which knows the defaults. */
        {"[mysqld]\nkey_buffer_size = 3G\ninnodb_buffer_pool_size = 6G\n", 0, 8192,
            "innodb_buffer_pool_size = 6G with the other caches of my.cnf is more than the memory of its node (8192Mi)"},
        {"[mysqld]\nkey_buffer_size = 3G\ninnodb_buffer_pool_size = 6G\n", 8000, 65536, ""},
        {"[mysqld]\nkey_buffer_size = 18E\ninnodb_buffer_pool_size = 6G\nquery_cache_size = 16E\n", 0, 0, ""},
        /* The last setting counts, of the server's section. */
        {"[mysqld]\ninnodb_buffer_pool_size = 1T\n[mysqld]\ninnodb_buffer_pool_size = 1G\n", 0, 8192, ""},
        {"[client]\ninnodb_buffer_pool_size = 1T\n", 0, 8192, ""},
        /* What sessions may take, and files, are no caches. */
        {"[mysqld]\nsort_buffer_size = 1T\ninnodb_redo_log_capacity = 1T\nmax_connections = 99999\n", 512, 8192, ""},
        {"[mysqld]\ninnodb_buffer_pool_size = plenty\nkey_buffer_size\n", 512, 8192, ""},
        {"[mysqld]\n", 512, 8192, ""},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mycnf_memory memory = {cases[i].limit_mi * MI, cases[i].machine_mi * MI};
        struct error err = ERROR_INIT;
        int rc = mycnf_memory_check(cases[i].mycnf, &memory, &err);
        assert_string_equal(err.message, cases[i].says);
        assert_int_equal(rc, *cases[i].says ? -1 : 0);
        assert_int_equal(err.kind, *cases[i].says ? ERROR_INVALID : ERROR_NONE);
    }
}

static void test_who_was_ended(void **unused)
{
    UNUSED(unused);
    assert_int_equal(memory_kills_in("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
    assert_int_equal(memory_kills_in("low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 7\n"), 0);
    assert_int_equal(memory_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 41\n"), 41); /* version 1 */
    assert_int_equal(memory_kills_in("oom_kill_disable 1\nunder_oom 0\n"), 0);               /* before Linux 4.13 */
    assert_int_equal(memory_kills_in(""), 0);
    assert_true(memory_machine_bytes() > MI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fits),
        cmocka_unit_test(test_who_was_ended),
    };

    return cmocka_run_group_tests_name("caches and memory", tests, NULL, NULL);
}
