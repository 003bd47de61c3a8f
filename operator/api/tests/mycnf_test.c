/* SPDX-License-Identifier: Apache-2.0 */
/* my.cnf: merging, refusing, quoting; the whole text as a golden. That servers read it: mycnf_itest.c. */
#include "common/base.h"

#include "operator/api/mycnf.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = json_parse(text, strlen(text), &err);
    if (!json)
        fail_msg("%s: %s", err.message, text);
    return json;
}

static void keys_of_the_operator(void **state)
{
    UNUSED(state);
    static const char *const owned[] = {"datadir", "server_id", "loose_server_id", "read_only", "super_read_only",
        "skip_log_bin", "disable_log_bin", "loose_skip_grant_tables", "skip_networking", "log_bin", "gtid_mode",
        "plugin_load", "socket", "port", "rpl_semi_sync_master_enabled", "loose_rpl_semi_sync_source_timeout",
        "wsrep_on", "skip_slave_start", "ssl_ca", "skip_ssl", "user", "init_file", "tmpdir", "enable_named_pipe",
        "maximum_server_id", "datadi", "skip_grant", "loose_skip_netw", "wsrep", "plugin_loa", "replicate_do_db",
        "replicate_ignore_db", "replicate_do_table", "replicate_ignore_table", "replicate_wild_do_table",
        "replicate_wild_ignore_table", "replicate_rewrite_db", "loose_replicate_do_db", "replicate_wild_ig",
        "replicate_same_server_id", "replicate_events_marked_for_skip", "one.replicate_do_db",
        "loose_a.b.replicate_ignore_table", "one.loose_replicate_rewrite_db", "binlog_do_db", "binlog_ignore_db",
        "loose_binlog_ignore", "slave_skip_errors", "replica_skip_errors", "loose_slave_skip_errors", "slave_exec_mode",
        "replica_exec_mode", "loose_slave_exec_mode", "binlog_error_action", "init_slave", "init_replica",
        "persisted_globals_load"};
    static const char *const free_keys[] = {"max_connections", "plugin_load_add", "skip_name_resolve", "sync_binlog",
        "binlog_format", "log_bin_trust_function_creators", "read_only_compressed", "port_open_timeout", "sql_mode",
        "ssl_cipher", "tmp_table_size", "validate_password.policy", "innodb_buffer_pool_size", "user_statistics",
        "loose_foo", "replicate_annotate_row_events", "one.replicate_annotate_row_events", "binlog_row_image",
        "slave_parallel_threads", "validate_password.replicate", "component.user"};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
        if (!mycnf_owned_reason(owned[i]))
            fail_msg("%s must be owned", owned[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(free_keys); i++) {
        if (mycnf_owned_reason(free_keys[i]))
            fail_msg("%s must be free", free_keys[i]);
    }
}

#define NO_NAME " is no option name: lower case letters, digits, '_', '-' and '.', a letter first"
#define TEN "xxxxxxxxxx"

static void refusals(void **state)
{
    UNUSED(state);
    static const struct {
        const char *mycnf, *problems;
    } rows[] = {
        {"{\"max-connections\": 5, \"sql_mode\": \"\", \"x\": null, \"y\": [1, \"x\"], \"z\": true, \"v.w\": 1.5}", ""},
        {"{\"data-dir\": 1}", ""},
        {"{\"server-id\": 1}",
            "spec.mycnf.server-id: is managed by kube-mysql: it differs between members and the operator keeps it unique"},
        {"{\"loose-replicate-do-db\": \"shop\"}",
            "spec.mycnf.loose-replicate-do-db: is managed by kube-mysql: replicas must hold everything that was "
            "acknowledged, and positions would not tell what they lack"},
        {"{\"datadi\": \"/x\"}",
            "spec.mycnf.datadi: is taken by servers for datadir, which is managed by kube-mysql: the operator decides "
            "where things lie in the pod"},
        {"{\"a\": {\"b\": 1}}", "spec.mycnf.a: must be a string, number or boolean, or an array of those"},
        {"{\"y-z\": 1, \"y_z\": 2}", "spec.mycnf.y_z: is given twice ('-' and '_' are the same)"},
        {"{\"x\": \"x\\ny\"}", "spec.mycnf.x: must not hold line breaks or control characters"},
        {"{\"x\": [\"x\", \"\\u0007\"]}", "spec.mycnf.x: must not hold line breaks or control characters"},
        {"{\"x\": {\"b\": 1}}", "spec.mycnf.x: must be a string, number or boolean, or an array of those"},
        {"{\"x\": [[1]]}", "spec.mycnf.x: must be a string, number or boolean, or an array of those"},
        {"{\"a=1\\n[mysqld]\\nb\": 1}", "spec.mycnf: \"a=1\\x0a[mysqld]\\x0ab\"" NO_NAME},
        {"{\"!include /x\": 1}", "spec.mycnf: \"!include /x\"" NO_NAME},
        {"{\"\": 1}", "spec.mycnf: \"\"" NO_NAME},
        {"{\"Max-Allowed-Packet\": 1, \"x\": 1, \"Sql_Mode\": \"\"}",
            "spec.mycnf: \"Max-Allowed-Packet\"" NO_NAME "; spec.mycnf: \"Sql_Mode\"" NO_NAME},
        {"{\"a\\\"\\\\\\u00e4\": 1}", "spec.mycnf: \"a\\\"\\\\\\xc3\\xa4\"" NO_NAME},
        {"{\"X" TEN TEN TEN TEN TEN TEN TEN "\": 1}", "spec.mycnf: \"X" TEN TEN TEN TEN TEN TEN "xx...\"" NO_NAME},
        {"{\"" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "\": 1}",
            "spec.mycnf: \"" TEN TEN TEN TEN TEN TEN "xxx...\" is no option name: it has more than 128 bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, 4096);
        json_t *mycnf = parse(rows[i].mycnf);
        mycnf_validate(mycnf, "spec.mycnf", &problems);
        api_problems_text(&problems, &text);
        assert_string_equal(text.buf, rows[i].problems);
        json_decref(mycnf);
    }
}

static void merge(void **state)
{
    UNUSED(state);
    json_t *base = parse("{\"a-b\": 1, \"c\": 2, \"d\": [1]}"),
           *over = parse("{\"a_b\": 3, \"c\": null, \"d\": [2, 3]}");
    json_t *wanted = parse("{\"a_b\": 3, \"d\": [2, 3]}"), *merged = mycnf_merge(base, over),
           *none = mycnf_merge(NULL, NULL);
    assert_true(json_equal(merged, wanted));
    assert_int_equal(json_object_size(none), 0);
    assert_int_equal(json_object_size(base), 3);
    json_decref(base);
    json_decref(over);
    json_decref(wanted);
    json_decref(merged);
    json_decref(none);
}

#define OWNED                                                                                                              \
    "# Written by kube-mysql; changes are overwritten. Set spec.mycnf instead.\n[mysqld]\nbind_address = *\nport = 3306\n" \
    "log_bin = binlog\nrelay_log = relay-bin\nloose_log_slave_updates = ON\nloose_log_replica_updates = ON\n"              \
    "loose_gtid_mode = ON\nloose_enforce_gtid_consistency = ON\nloose_gtid_strict_mode = ON\n# defaults of kube-mysql\n"

static void golden(void **state)
{
    UNUSED(state);
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, MYCNF_TEXT_MAX);
    mycnf_render(NULL, &(struct mycnf_terms){0, false, 0}, &text);
    assert_string_equal(text.buf,
        OWNED
        "loose_binlog_format = ROW\nsync_binlog = 1\ninnodb_flush_log_at_trx_commit = 1\nrelay_log_recovery = ON\n"
        "character_set_server = utf8mb4\nskip_name_resolve\nloose_mysqlx = OFF\nlocal_infile = OFF\nloose_expire_logs_days = 7\n"
        "loose_binlog_expire_logs_seconds = 604800\n");

    strbuf_reset(&text);
    json_t *mycnf = parse(
        "{\"sync_binlog\": 0, \"skip_name_resolve\": false, \"binlog_expire_logs_seconds\": 3600, \"loose_mysqlx\": \"ON\","
        " \"skip_external_locking\": true, \"a_text\": \" x # \\\"y\\\" \\\\z\", \"an_int\": 12345678901, \"a_real\": 0.5,"
        " \"an_empty\": \"\", \"plugin_load_add\": [\"a\", \"b=b.so\"], \"yes\": true}");
    mycnf_render(mycnf, &(struct mycnf_terms){1024 * KM_MIB, false, 0}, &text);
    json_decref(mycnf);
    assert_string_equal(text.buf,
        OWNED "loose_binlog_format = ROW\ninnodb_flush_log_at_trx_commit = 1\nrelay_log_recovery = ON\n"
              "character_set_server = utf8mb4\nlocal_infile = OFF\ninnodb_buffer_pool_size = 536870912\n# spec.mycnf\n"
              "a_real = 0.5\na_text = \" x # \\\"y\\\" \\\\z\"\nan_empty = \nan_int = 12345678901\n"
              "binlog_expire_logs_seconds = 3600\nloose_mysqlx = ON\nplugin_load_add = a\nplugin_load_add = b=b.so\n"
              "skip_external_locking\nskip_name_resolve = OFF\nsync_binlog = 0\nyes = ON\n");
}

/* Whatever else is said: the last line counts. And LOAD DATA LOCAL is for those who ask for it. */
static void tls_is_required(void **state)
{
    UNUSED(state);
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, MYCNF_TEXT_MAX);
    json_t *mycnf = parse("{\"require_secure_transport\": \"OFF\", \"local_infile\": true}");
    mycnf_render(mycnf, &(struct mycnf_terms){0, true, 0}, &text);
    const char *last = strstr(text.buf, "\nrequire_secure_transport = OFF\n# spec.tls.mode\n");
    assert_non_null(last);
    assert_non_null(strstr(last, "\nloose_require_secure_transport = ON\n"));
    assert_null(strstr(text.buf, "local_infile = OFF"));
    assert_non_null(strstr(text.buf, "local_infile = ON"));
    strbuf_reset(&text);
    mycnf_render(mycnf, &(struct mycnf_terms){0, false, 0}, &text);
    assert_null(strstr(text.buf, "loose_require_secure_transport"));
    json_decref(mycnf);
}

/* Whoever wants smaller ones than a quarter has them. */
static void one_binary_log_is_a_quarter_of_all(void **state)
{
    static const struct {
        const char *mycnf;
        int64_t max_mib;
        const char *line; /* NULL: none of ours */
    } rows[] = {
        {"{}", 0, NULL},
        {"{\"max_binlog_size\": \"1G\"}", 0, NULL},
        {"{}", 100, "max_binlog_size = 26214400\n"},
        {"{}", 16, "max_binlog_size = 4194304\n"},
        {"{}", 100000, "max_binlog_size = 1073741824\n"},
        {"{\"max_binlog_size\": \"24m\"}", 100, NULL},
        {"{\"max_binlog_size\": 26214400}", 100, NULL},
        {"{\"max_binlog_size\": \"26M\"}", 100, "max_binlog_size = 26214400\n"},
        {"{\"loose_max_binlog_size\": \"1G\"}", 100, "max_binlog_size = 26214400\n"},
        {"{\"max_binlog_size\": \"much\"}", 100, "max_binlog_size = 26214400\n"},
        {"{\"max_binlog_size\": [\"1G\", \"8M\"]}", 100, NULL},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, MYCNF_TEXT_MAX);
        json_t *mycnf = parse(rows[i].mycnf);
        mycnf_render(mycnf, &(struct mycnf_terms){0, false, rows[i].max_mib * KM_MIB}, &text);
        json_decref(mycnf);
        const char *ours = strstr(text.buf, "# spec.binlogs.maxSize\n");
        if (!ours != !rows[i].line || (ours && !str_eq(strchr(ours, '\n') + 1, rows[i].line)))
            fail_msg("%s with %lld MiB: %s", rows[i].mycnf, (long long)rows[i].max_mib, text.buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_the_operator),
        cmocka_unit_test(refusals),
        cmocka_unit_test(merge),
        cmocka_unit_test(golden),
        cmocka_unit_test(tls_is_required),
        cmocka_unit_test(one_binary_log_is_a_quarter_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
