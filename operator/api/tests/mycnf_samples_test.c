/* SPDX-License-Identifier: Apache-2.0 */
/*
 * my.cnf files that people bring along, collected from public documentation: data/mycnf/NAME.cnf, with a comment that
 * names the software. Taken over into spec.mycnf, each key is accepted or refused with its path; data/mycnf/NAME.mysqld
 * (written with UPDATE_GOLDENS=1) has the refusals as comments, then the my.cnf that is made of the rest. Real servers
 * judge and start that in agent/tests/mycnf_stories.c.
 */
#include "common/base.h"

#include <ctype.h>
#include <glob.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "operator/api/mycnf.h"

#define DATA "operator/api/tests/data/mycnf/"
#define FILE_MAX (64 * KM_KIB)

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    return text;
}

/* The text of an option as people would write it in YAML. */
static json_t *value_of(char *text)
{
    text = trim(text);
    if (*text == '"' || *text == '\'') {
        char *end = strchr(text + 1, *text);
        assert_non_null(end);
        *end = '\0';
        return json_string(text + 1);
    }
    char *comment = strstr(text, " #");
    if (comment)
        *comment = '\0';
    return json_string(trim(text));
}

static void put_option(json_t *mycnf, char *line)
{
    char *equals = strchr(line, '=');
    if (equals)
        *equals = '\0';
    const char *key = trim(line);
    json_t *value = equals ? value_of(equals + 1) : json_true();
    json_t *before = json_object_get(mycnf, key);
    if (before)
        value = json_build("[o, o]", json_incref(before), value);
    json_object_set_new(mycnf, key, value);
}

/* What a server reads: [mysqld] and [server]. */
static json_t *read_sample(const char *path)
{
    bool is_ours = false;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, FILE_MAX);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    json_t *mycnf = json_object();
    char *rest = text.buf;
    for (char *line; (line = strsep(&rest, "\n"));) {
        line = trim(line);
        if (*line == '[')
            is_ours = strcmp(line, "[mysqld]") == 0 || strcmp(line, "[server]") == 0;
        else if (*line && !strchr("#!", *line) && is_ours)
            put_option(mycnf, line);
    }
    return mycnf;
}

static json_t *without_refused(json_t *mycnf, struct strbuf *out)
{
    const char *key;
    json_t *value;
    json_t *rest = json_object();
    json_object_foreach(mycnf, key, value) {
        struct api_problems problems = {0};
        _cleanup_(json_decrefp) json_t *alone = json_object();
        json_object_set(alone, key, value);
        mycnf_validate(alone, "spec.mycnf", &problems);
        if (problems.count == 0)
            json_object_set(rest, key, value);
        for (int i = 0; i < problems.count; i++) {
            assert_non_null(strstr(problems.items[i].path, key));
            strbuf_addf(out, "# refused: %s: %s\n", problems.items[i].path, problems.items[i].message);
        }
    }
    return rest;
}

static void check_sample(const char *path)
{
    _cleanup_(strbuf_release) struct strbuf out, golden;
    struct api_problems problems = {0};
    strbuf_init(&out, FILE_MAX);
    strbuf_init(&golden, FILE_MAX);
    _cleanup_(json_decrefp) json_t *mycnf = read_sample(path);
    assert_true(json_object_size(mycnf) > 3);
    _cleanup_(json_decrefp) json_t *rest = without_refused(mycnf, &out);
    mycnf_validate(rest, "spec.mycnf", &problems);
    assert_int_equal(problems.count, 0);
    _cleanup_(json_decrefp) json_t *merged = mycnf_merge(NULL, rest);
    mycnf_render(merged, &(struct mycnf_terms){1024 * KM_MIB, false, 0}, &out);
    _cleanup_(freep) char *wanted = xasprintf("%.*s.mysqld", (int)(strlen(path) - strlen(".cnf")), path);
    if (getenv("UPDATE_GOLDENS")) {
        assert_int_equal(fs_write_file_atomic(wanted, out.buf, out.len, 0644, NULL), 0);
        return;
    }
    assert_int_equal(fs_read_file(wanted, &golden, NULL), 0);
    if (strcmp(golden.buf, out.buf) != 0)
        fail_msg("%s differs (UPDATE_GOLDENS=1 writes it anew):\n%s", wanted, out.buf);
}

static void samples(void **state)
{
    UNUSED(state);
    glob_t found;
    assert_int_equal(glob(DATA "*.cnf", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 10);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_sample(found.gl_pathv[i]);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
