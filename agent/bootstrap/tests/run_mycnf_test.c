/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/run_mycnf.h"

#include <setjmp.h>
#include <cmocka.h>

static void compose_within(uint64_t memory_mib, const char *version, const char *help, const char *mycnf,
    const char *pod_name, struct strbuf *out)
{
    struct agent_instance_config instance = {
        .service_domain = (char *)(uintptr_t) "demo-mysql.ns.svc", .server_id_base = 100};
    struct server_version server;
    struct agent_paths paths;

    assert_int_equal(server_version_parse(version, NULL, &server, NULL), 0);
    agent_paths_init(&paths, NULL, NULL, NULL, NULL, NULL, NULL);
    struct run_mycnf_input input = {
        .mycnf = mycnf,
        .instance = &instance,
        .paths = &paths,
        .dialect = dialect_for(&server),
        .features = {.log_first = server.number >= VERSION_NUMBER(10, 6, 0)},
        .help = help,
        .pod_name = pod_name,
        .memory_max_bytes = memory_mib * KM_MIB,
    };
    strbuf_init(out, MYCNF_MAX);
    run_mycnf_compose(&input, out);
    agent_paths_release(&paths);
}

static void compose_for(
    const char *version, const char *help, const char *mycnf, const char *pod_name, struct strbuf *out)
{
    compose_within(0, version, help, mycnf, pod_name, out);
}

static void compose(const char *version, const char *mycnf, const char *pod_name, struct strbuf *out)
{
    compose_for(version, NULL, mycnf, pod_name, out);
}

static void test_whole_text(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf out;
    char hash[65];

    UNUSED(unused);
    compose("9.7.4", "[mysqld]\nmax_connections = 5", "demo-mysql-2", &out);
    assert_true(run_mycnf_hash(out.buf, hash));
    assert_int_equal(strlen(hash), 64);
    assert_string_equal(strchr(out.buf, '\n') + 1,
        "[mysqld]\n"
        "tmpdir = /tmp\n"
        "secure_file_priv = /tmp\n"
        "sync_binlog = 1\n"
        "innodb_flush_log_at_trx_commit = 1\n"
        "binlog_expire_logs_seconds = 259200\n"
        "replica_net_timeout = 4\n"
        "relay_log_recovery = ON\n"
        "\n"
        "[mysqld]\n"
        "max_connections = 5\n"
        "\n"
        "# this instance; the last setting of a key wins\n"
        "[mysqld]\n"
        "datadir = /var/lib/mysql/data\n"
        "socket = /run/mysqld/mysqld.sock\n"
        "pid_file = /run/mysqld/mysqld.pid\n"
        "init_file = /run/mysqld/bootstrap.sql\n"
        "server_id = 102\n"
        "report_host = demo-mysql-2.demo-mysql.ns.svc\n"
        "report_port = 3306\n"
        "port = 3306\n"
        "read_only = ON\n"
        "event_scheduler = OFF\n"
        "skip_replica_start = ON\n"
        "log_bin = binlog\n"
        "log_replica_updates = ON\n"
        "relay_log = relaylog\n"
        "loose_persisted_globals_load = OFF\n"
        "super_read_only = ON\n"
        "gtid_mode = ON\n"
        "enforce_gtid_consistency = ON\n"
        "plugin_load_add = semisync_source.so\n"
        "plugin_load_add = semisync_replica.so\n"
        "ssl_ca = /etc/kube-mysql/tls/ca.crt\n"
        "ssl_cert = /etc/kube-mysql/tls/tls.crt\n"
        "ssl_key = /etc/kube-mysql/tls/tls.key\n"
        "plugin_load_add = auth_socket.so\n"
        "plugin_load_add = mysql_clone.so\n"
        "mysqlx = OFF\n");
}

/* As the operator writes it. */
#define HEADER "# Written by kube-mysql; changes are overwritten. Set spec.mycnf instead.\n"
#define OF_THE_OPERATOR                                                                                             \
    HEADER "[mysqld]\nbinlog_format = ROW\nloose_gtid_mode = ON\nloose_gtid_strict_mode = ON\nloose_mysqlx = OFF\n" \
           "# spec.mycnf\nloose_audit_log_policy = ALL\nmax_connections = 5\nplugin_load_add = audit_log\n"         \
           "# spec.tls.mode\nloose_require_secure_transport = ON\n"

static void expect_kept_of(const char *mycnf, const char *help, const char *expected)
{
    _cleanup_(strbuf_release) struct strbuf out;

    compose_for("10.11.19-MariaDB", help, mycnf, "demo-mysql-0", &out);
    assert_non_null(strstr(out.buf, expected));
}

static void expect_kept(const char *help, const char *expected)
{
    expect_kept_of(OF_THE_OPERATOR, help, expected);
}

/* Each would be a line in the server's log at every start. What people set may be of a plugin, which no list names. */
static void test_a_server_gets_only_what_it_knows(void **unused)
{
    UNUSED(unused);
    expect_kept("datadir        /var/lib/mysql/\ngtid-strict-mode      FALSE\nrequire-secure-transport   FALSE\n",
        "\n" HEADER
        "[mysqld]\nbinlog_format = ROW\nloose_gtid_strict_mode = ON\n# spec.mycnf\nloose_audit_log_policy = ALL\n"
        "max_connections = 5\nplugin_load_add = audit_log\n# spec.tls.mode\nloose_require_secure_transport = ON\n");
    expect_kept("datadir        /var/lib/mysql/\ngtid-mode    OFF\nmysqlx      ON\n",
        "\n" HEADER "[mysqld]\nbinlog_format = ROW\nloose_gtid_mode = ON\nloose_mysqlx = OFF\n# spec.mycnf\n"
        "loose_audit_log_policy = ALL\nmax_connections = 5\nplugin_load_add = audit_log\n# spec.tls.mode\n\n");
    expect_kept(NULL, "\n" OF_THE_OPERATOR);
    expect_kept("", "\n" OF_THE_OPERATOR); /* nothing was listed */
    expect_kept_of("[mysqld]\nloose_clone_max_concurrency = 1\n", "datadir        /var/lib/mysql/\n",
        "\n[mysqld]\nloose_clone_max_concurrency = 1\n"); /* not the operator's */
}

/* Beside the buffer pool. People's own come later in the file. */
static void test_caches_follow_the_memory_limit(void **unused)
{
    static const struct {
        const char *version;
        uint64_t mib;
        const char *lines;
    } rows[] = {
        {"10.11.19-MariaDB", 0, NULL},
        {"10.11.19-MariaDB", 128, "key_buffer_size = 8M\naria_pagecache_buffer_size = 8M\n\n[mysqld]\n"},
        {"10.11.19-MariaDB", 1024, "key_buffer_size = 16M\naria_pagecache_buffer_size = 64M\n\n[mysqld]\n"},
        {"10.11.19-MariaDB", 4096, "key_buffer_size = 64M\naria_pagecache_buffer_size = 128M\n\n[mysqld]\n"},
        {"10.11.19-MariaDB", 65536, "key_buffer_size = 128M\naria_pagecache_buffer_size = 128M\n\n[mysqld]\n"},
        {"9.7.4", 1024, "innodb_buffer_pool_size = 536870912\n\n[mysqld]\n"},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf out;
        compose_within(rows[i].mib, rows[i].version, NULL, "[mysqld]\nmax_connections = 5\n", "demo-mysql-0", &out);
        if (rows[i].lines ? !strstr(out.buf, rows[i].lines) : strstr(out.buf, "buffer_") != NULL)
            fail_msg("%s with %llu MiB: %s", rows[i].version, (unsigned long long)rows[i].mib, out.buf);
        assert_int_equal(run_mycnf_memory(out.buf), rows[i].lines ? rows[i].mib * KM_MIB : 0);
    }
}

/* A limit that only a LimitRange sets: the operator has put no pool into the ConfigMap. */
static void test_the_pool_follows_the_memory_limit(void **unused)
{
    static const struct {
        const char *mycnf;
        bool has;
    } rows[] = {
        {"[mysqld]\nmax_connections = 5\n", true},
        {"[mysqld]\ninnodb_buffer_pool_size = 5M\n", false},
        {"[mysqld]\nloose-innodb-buffer-pool-size=5M\n", false},
        {"[mysqld]\nloose_innodb_dedicated_server = ON\n", false},
        {"[mysqld]\ninnodb_buffer_pool_size_max = 5G\n", true},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf out;
        compose_within(256, i % 2 ? "8.4.3" : "11.4.5-MariaDB", NULL, rows[i].mycnf, "demo-mysql-0", &out);
        if (rows[i].has != (strstr(out.buf, "\ninnodb_buffer_pool_size = 67108864\n") != NULL))
            fail_msg("%s: %s", rows[i].mycnf, out.buf);
    }
}

static void test_the_persisted_variables_of_mysql(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf old;
    _cleanup_(strbuf_release) struct strbuf new;

    UNUSED(unused);
    compose_for("5.7.44", "datadir   /var/lib/mysql/\n", "", "demo-mysql-0", &old);
    assert_null(strstr(old.buf, "persisted_globals_load"));
    compose_for("9.7.4", "datadir   /var/lib/mysql/\npersisted-globals-load   TRUE\n", "", "demo-mysql-0", &new);
    assert_non_null(strstr(new.buf, "\nloose_persisted_globals_load = OFF\n"));
}

static void test_mariadb_needs_no_plugin(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf out;

    UNUSED(unused);
    compose("10.11.19-MariaDB", "", "demo-mysql-0", &out);
    assert_null(strstr(out.buf, "plugin_load_add"));
    assert_null(strstr(out.buf, "relay_log_recovery"));
    assert_null(strstr(out.buf, "mysqlx"));
    assert_non_null(strstr(out.buf, "\nserver_id = 100\n"));
}

static void test_parallel_threads_only_where_they_keep_the_order(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf old;
    _cleanup_(strbuf_release) struct strbuf new;

    UNUSED(unused);
    compose("10.5.23-MariaDB", "[mysqld]\nmax_connections = 5", "demo-mysql-0", &old);
    compose("10.11.19-MariaDB", "", "demo-mysql-0", &new);
    const char *one_by_one = strstr(old.buf, "\nslave_parallel_threads = 0\n");
    assert_non_null(one_by_one);
    assert_true(one_by_one < strstr(old.buf, "max_connections")); /* whoever has no Aria tables may have more */
    assert_non_null(strstr(new.buf, "\nslave_parallel_threads = 4\n"));
}

/* I1 */
static void test_every_version_starts_read_only_and_follows_nobody(void **unused)
{
    static const struct {
        const char *version;
        const char *super, *skip_start, *gtid;
    } rows[] = {
        {"10.5.1-MariaDB", NULL, "skip_slave_start", "gtid_strict_mode"},
        {"11.4.2-MariaDB", NULL, "skip_slave_start", "gtid_strict_mode"},
        {"5.6.21", NULL, "skip_slave_start", "gtid_mode"},
        {"5.7.44", "super_read_only", "skip_slave_start", "gtid_mode"},
        {"8.0.25", "super_read_only", "skip_slave_start", "gtid_mode"},
        {"8.0.26", "super_read_only", "skip_replica_start", "gtid_mode"},
        {"9.7.4", "super_read_only", "skip_replica_start", "gtid_mode"},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf out;
        compose(rows[i].version, "[mysqld]\nread_only = OFF\n", "demo-mysql-0", &out);
        const char *ours = strstr(out.buf, "# this instance");
        assert_non_null(strstr(ours, "\nread_only = ON\n"));
        assert_int_equal(strstr(ours, "super_read_only = ON") != NULL, rows[i].super != NULL);
        assert_non_null(strstr(ours, rows[i].skip_start));
        assert_non_null(strstr(ours, rows[i].gtid));
        assert_non_null(strstr(ours, "\nlog_bin = binlog\n"));
    }
}

static void test_same_config_same_hash(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf a;
    _cleanup_(strbuf_release) struct strbuf b;
    _cleanup_(strbuf_release) struct strbuf c;
    char hash_a[65];
    char hash_b[65];
    char hash_c[65];

    UNUSED(unused);
    compose("9.7.4", "[mysqld]\n", "demo-mysql-0", &a);
    compose("10.5.1-MariaDB", "[mysqld]\n", "demo-mysql-1", &b);
    compose("9.7.4", "[mysqld]\n#\n", "demo-mysql-0", &c);
    assert_true(run_mycnf_hash(a.buf, hash_a) && run_mycnf_hash(b.buf, hash_b) && run_mycnf_hash(c.buf, hash_c));
    assert_string_equal(hash_a, hash_b);
    assert_string_not_equal(hash_a, hash_c);
    assert_false(run_mycnf_hash("[mysqld]\n", hash_a));
    assert_false(run_mycnf_hash("# kube-mysql config 12ab\n", hash_a));
    assert_string_equal(hash_a, "");
}

static void test_ordinals(void **unused)
{
    UNUSED(unused);
    assert_int_equal(run_mycnf_ordinal("demo-mysql-0"), 0);
    assert_int_equal(run_mycnf_ordinal("demo-mysql-17"), 17);
    assert_int_equal(run_mycnf_ordinal("a-b-3-c"), 0);
    assert_int_equal(run_mycnf_ordinal("plain"), 0);
    assert_int_equal(run_mycnf_ordinal(""), 0);
    assert_int_equal(run_mycnf_ordinal(NULL), 0);
    assert_int_equal(run_mycnf_ordinal("x-99999999999999999999"), 0);
}

static void test_init_sql_has_one_statement_a_line_and_no_password(void **unused)
{
    struct server_version mariadb = {.flavour = AGENT_FLAVOUR_MARIADB, .number = 101119};
    struct server_version mysql = {.flavour = AGENT_FLAVOUR_PERCONA, .number = 80036};
    struct server_version old = {.flavour = AGENT_FLAVOUR_MYSQL, .number = 50621};
    _cleanup_(strbuf_release) struct strbuf out;

    UNUSED(unused);
    strbuf_init(&out, 4096);
    run_mycnf_init_sql(dialect_for(&mariadb), "mysql", &out);
    assert_string_equal(out.buf,
        "SET sql_log_bin = 0;\n"
        "CREATE USER IF NOT EXISTS 'mysql'@'localhost' IDENTIFIED VIA unix_socket;\n"
        "ALTER USER 'mysql'@'localhost' IDENTIFIED VIA unix_socket ACCOUNT UNLOCK;\n"
        "GRANT ALL PRIVILEGES ON *.* TO 'mysql'@'localhost' WITH GRANT OPTION;\n");
    strbuf_reset(&out);
    run_mycnf_init_sql(dialect_for(&mysql), "o'db", &out);
    assert_non_null(strstr(out.buf, "ALTER USER 'o\\'db'@'localhost' IDENTIFIED WITH auth_socket ACCOUNT UNLOCK;\n"));
    strbuf_reset(&out);
    run_mycnf_init_sql(dialect_for(&old), "o'db", &out);
    assert_string_equal(out.buf,
        "SET sql_log_bin = 0;\n"
        "SET sql_mode = '';\n"
        "GRANT ALL PRIVILEGES ON *.* TO 'o\\'db'@'localhost' WITH GRANT OPTION;\n"
        "UPDATE mysql.user SET plugin = 'auth_socket', authentication_string = '', Password = '', "
        "password_expired = 'N' WHERE Host = 'localhost' AND User = 'o\\'db';\n"
        "FLUSH PRIVILEGES;\n");
}

static void test_numbers_of_options(void **unused)
{
    static const struct {
        const char *text;
        bool found;
        uint64_t number;
    } rows[] = {
        {"", false, 0},
        {"[mysqld]\nsync_relay_log = 1\n", true, 1},
        {"[mysqld]\n  loose-sync-relay-log=10", true, 10},
        {"sync_relay_log = 1\nsync_relay_log = 100\n", true, 100},
        {"sync_relay_log = 100\nsync-relay-log = \"1\"\n", true, 1},
        {"# sync_relay_log = 1\nsync_relay_log_info = 1\n", false, 0},
        {"sync_relay_log = x\n", false, 0},
        {"sync_relay_log\nsync_relay_log", false, 0},
    };
    uint64_t number = 0;

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(run_mycnf_number(rows[i].text, "sync_relay_log", &number), rows[i].found);
        assert_int_equal(number, rows[i].number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_of_options),
        cmocka_unit_test(test_whole_text),
        cmocka_unit_test(test_a_server_gets_only_what_it_knows),
        cmocka_unit_test(test_caches_follow_the_memory_limit),
        cmocka_unit_test(test_the_pool_follows_the_memory_limit),
        cmocka_unit_test(test_the_persisted_variables_of_mysql),
        cmocka_unit_test(test_mariadb_needs_no_plugin),
        cmocka_unit_test(test_parallel_threads_only_where_they_keep_the_order),
        cmocka_unit_test(test_every_version_starts_read_only_and_follows_nobody),
        cmocka_unit_test(test_same_config_same_hash),
        cmocka_unit_test(test_ordinals),
        cmocka_unit_test(test_init_sql_has_one_statement_a_line_and_no_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
