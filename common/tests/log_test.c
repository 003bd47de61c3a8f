/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/log.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"

static int pipe_fds[2];

static int open_pipe(void **state)
{
    UNUSED(state);
    return pipe(pipe_fds);
}

static int close_pipe(void **state)
{
    UNUSED(state);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    log_setup(LOG_INFO, LOG_FORMAT_JSON, STDERR_FILENO);
    return 0;
}

/* One record as one read: it was written in one piece. */
static const char *read_record(void)
{
    static char record[LOG_RECORD_MAX * 2];
    ssize_t n = read(pipe_fds[0], record, sizeof(record) - 1);
    assert_true(n > 0);
    record[n] = '\0';
    assert_int_equal(record[n - 1], '\n');
    return record;
}

static void test_json(void **state)
{
    UNUSED(state);
    log_setup(LOG_DEBUG, LOG_FORMAT_JSON, pipe_fds[1]);
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_NOT_FOUND, "no \"pod\"\n");
    log_warn("hello \"x\"\n", LOG_STR("s", "a\\b\xff"), LOG_STR("none", NULL), LOG_INT("i", INT64_MIN),
        LOG_BOOL("b", true), LOG_ERR(&err));
    const char *record = read_record();
    assert_ptr_equal(strchr(record, '\n'), record + strlen(record) - 1);
    json_t *doc = json_parse(record, strlen(record), NULL);
    assert_non_null(doc);
    assert_string_equal(json_path_str(doc, "level", NULL), "warn");
    assert_string_equal(json_path_str(doc, "msg", NULL), "hello \"x\"\n");
    assert_string_equal(json_path_str(doc, "s", NULL), "a\\b\xef\xbf\xbd");
    assert_string_equal(json_path_str(doc, "none", NULL), "");
    assert_true(json_path_int(doc, "i", 0) == INT64_MIN);
    assert_true(json_path_bool(doc, "b", false));
    assert_string_equal(json_path_str(doc, "error", NULL), "no \"pod\"\n");
    assert_string_equal(json_path_str(doc, "errorKind", NULL), "NotFound");
    assert_int_equal(strlen(json_path_str(doc, "time", "")), strlen("2026-01-02T03:04:05.000006Z"));
    json_decref(doc);
}

static void test_text(void **state)
{
    UNUSED(state);
    log_setup(LOG_INFO, LOG_FORMAT_TEXT, pipe_fds[1]);
    log_info("cluster accepted", LOG_STR("cluster", "a/b"), LOG_INT("generation", 3), LOG_STR("odd", "x y"),
        LOG_STR("none", ""));
    const char *record = read_record();
    assert_string_equal(
        record + strlen("12:34:56.789 "), "INFO  cluster accepted cluster=a/b generation=3 odd=\"x y\" none=\"\"\n");
    log_error("forged\nline", LOG_BOOL("b", false));
    record = read_record();
    assert_string_equal(record + strlen("12:34:56.789 "), "ERROR \"forged\\nline\" b=false\n");
}

static void test_long_records_are_cut_and_stay_valid(void **state)
{
    UNUSED(state);
    for (int size = LOG_RECORD_MAX - 200; size < LOG_RECORD_MAX + 200; size += 3) {
        char *text = xmalloc((size_t)size + 1);
        memset(text, size % 2 ? 'x' : '\n', (size_t)size);
        text[size] = '\0';
        log_setup(LOG_INFO, LOG_FORMAT_JSON, pipe_fds[1]);
        log_info("long", LOG_STR("text", text), LOG_STR("after", "a"), LOG_INT("number", 1234567));
        const char *record = read_record();
        assert_true(strlen(record) <= LOG_RECORD_MAX);
        json_t *doc = json_parse(record, strlen(record), NULL);
        assert_non_null(doc);
        const char *got = json_path_str(doc, "text", "");
        assert_true(strlen(got) > 0 && got[0] == text[0]);
        bool whole = strlen(got) == (size_t)size && json_path_int(doc, "number", 0) == 1234567;
        assert_true(whole != json_path_bool(doc, "truncated", false));
        json_decref(doc);
        log_info(text);
        record = read_record();
        assert_true(strlen(record) <= LOG_RECORD_MAX);
        doc = json_parse(record, strlen(record), NULL);
        assert_non_null(doc);
        json_decref(doc);
        log_setup(LOG_INFO, LOG_FORMAT_TEXT, pipe_fds[1]);
        log_info(text, LOG_STR("text", text));
        assert_true(strlen(read_record()) <= LOG_RECORD_MAX);
        free(text);
    }
}

static void test_levels(void **state)
{
    UNUSED(state);
    log_setup(LOG_WARN, LOG_FORMAT_JSON, pipe_fds[1]);
    assert_false(log_enabled(LOG_INFO));
    assert_true(log_enabled(LOG_WARN));
    log_info("not written");
    log_error("written");
    assert_non_null(strstr(read_record(), "\"written\""));
    enum log_level level = LOG_DEBUG;
    enum log_format format = LOG_FORMAT_JSON;
    assert_int_equal(log_level_parse("error", &level), 0);
    assert_int_equal(level, LOG_ERROR);
    assert_int_equal(log_level_parse("loud", &level), -1);
    assert_int_equal(log_level_parse(NULL, &level), -1);
    assert_int_equal(level, LOG_ERROR);
    assert_int_equal(log_format_parse("text", &format), 0);
    assert_int_equal(format, LOG_FORMAT_TEXT);
    assert_int_equal(log_format_parse("", &format), -1);
}

#define with_pipe(test) cmocka_unit_test_setup_teardown(test, open_pipe, close_pipe)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_pipe(test_json),
        with_pipe(test_text),
        with_pipe(test_long_records_are_cut_and_stay_valid),
        with_pipe(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
