/* SPDX-License-Identifier: Apache-2.0 */
/* A real server reads what mycnf_render writes: values arrive as they were meant, whatever characters they hold. */
#include "common/base.h"

#include "operator/api/mycnf.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fs.h"
#include "common/json.h"
#include "common/subprocess.h"

#define OUTPUT_MAX (1 * KM_MIB)

/* Runs `mariadbd --help --verbose` on the rendered map: 0 if the server accepts it; *out is its table of values. */
static int read_by_server(const char *mycnf_json, struct strbuf *out, struct strbuf *err_tail)
{
    char path[64], argument[96];
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    struct subprocess_result result;
    json_t *mycnf = json_parse(mycnf_json, strlen(mycnf_json), &err);
    if (!mycnf)
        fail_msg("%s", err.message);
    strbuf_init(&text, MYCNF_TEXT_MAX);
    mycnf_render(mycnf, &(struct mycnf_terms){1024 * KM_MIB, false, 0}, &text);
    json_decref(mycnf);
    snprintf(path, sizeof(path), "/tmp/mycnf_itest.%d.cnf", (int)getpid());
    snprintf(argument, sizeof(argument), "--defaults-file=%s", path);
    assert_int_equal(fs_write_file_atomic(path, text.buf, text.len, 0644, &err), 0);
    const char *const argv[] = {"mariadbd", argument, "--help", "--verbose", NULL};
    const struct subprocess_options options = {.argv = argv, .timeout_ms = 30000};
    int rc = subprocess_run(&options, out, err_tail, &result, &err);
    unlink(path);
    return rc;
}

/* The value that the server's table shows, which is "name   value". */
static void assert_value(const struct strbuf *table, const char *name, const char *wanted)
{
    char start[80];
    snprintf(start, sizeof(start), "\n%s ", name);
    const char *line = strstr(table->buf, start);
    if (!line)
        fail_msg("the server does not list %s", name);
    /* The table is 61 columns wide; a value may begin with blanks. */
    const char *value = line + 1 + 61;
    const char *end = strchr(value, '\n');
    if ((size_t)(end - value) != strlen(wanted) || memcmp(value, wanted, strlen(wanted)) != 0)
        fail_msg("%s is \"%.*s\", not \"%s\"", name, (int)(end - value), value, wanted);
}

static void values_arrive(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"init-connect", " x # \"y\" \\z;'q "},
        {"max-connections", "77"},
        {"slow-query-log", "TRUE"},
        {"long-query-time", "0.5"},
        {"sql-mode", ""},
        {"log-bin", "binlog"},
        {"log-slave-updates", "TRUE"},
        {"gtid-strict-mode", "TRUE"},
        {"binlog-format", "ROW"},
        {"skip-name-resolve", "TRUE"},
        {"sync-binlog", "1"},
        {"innodb-buffer-pool-size", "536870912"},
        {"character-set-server", "utf8mb4"},
        {"expire-logs-days", "7"},
        {"external-locking", "FALSE"},
        {"ft-stopword-file", "'a'"},
    };
    _cleanup_(strbuf_release) struct strbuf out, err_tail;
    strbuf_init(&out, OUTPUT_MAX);
    strbuf_init(&err_tail, OUTPUT_MAX);
    int rc = read_by_server(
        "{\"init_connect\": \" x # \\\"y\\\" \\\\z;'q \", \"max_connections\": 77, \"slow_query_log\": true,"
        " \"long_query_time\": 0.5, \"sql_mode\": \"\", \"skip_external_locking\": true, \"ft_stopword_file\": \"'a'\"}",
        &out, &err_tail);
    if (rc < 0)
        fail_msg("%s", err_tail.buf);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_value(&out, rows[i].name, rows[i].value);
}

static void a_typing_error_is_found(void **state)
{
    UNUSED(state);
    _cleanup_(strbuf_release) struct strbuf out, err_tail;
    strbuf_init(&out, OUTPUT_MAX);
    strbuf_init(&err_tail, OUTPUT_MAX);
    assert_int_equal(read_by_server("{\"max_konnections\": 77}", &out, &err_tail), -1);
    assert_non_null(strstr(err_tail.buf, "max_konnections"));
}

int main(void)
{
    if (access("/usr/sbin/mariadbd", X_OK) != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_arrive),
        cmocka_unit_test(a_typing_error_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
