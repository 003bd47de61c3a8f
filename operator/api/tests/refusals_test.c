/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of bad objects (refusals.h), judged by operator/api; and whether it is complete: each enum, bound, pattern,
 * required field and rule of the CRDs has a row that it refuses, and an accepted neighbour. refusals_itest.c asks an
 * API server.
 */
#include "common/base.h"

#include "operator/api/tests/refusals.h"

#include <regex.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "operator/api/app.h"
#include "operator/api/config_map_sync.h"
#include "operator/api/memory_fit.h"
#include "operator/api/mysql_backup.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/mysql_terminal.h"
#include "operator/kube/yaml_json.h"

#define ROWS_MIN 128
#define DISAGREEMENTS_MAX 10

/* ---- what operator/api says ---- */

static void judge_cluster(const struct refusal *refusal, const char *name, json_t *spec, struct api_problems *problems)
{
    struct mysql_cluster cluster;
    struct mysql_config_spec config = {0};
    _cleanup_(json_decrefp) json_t *named = json_build("{s:{s:s}}", "images", "mysql", "x");
    if (mysql_cluster_parse("ns", name, spec, &cluster, problems) == 0 &&
        mysql_cluster_resolve(&cluster, cluster.config_name ? named : NULL, &config, problems) == 0 &&
        memory_fit_check(&cluster, named, &config, NULL, problems) == 0 && refusal->old) {
        const json_t *old = json_object_get(refusal->old, "spec");
        mysql_cluster_check_change(&cluster, json_object_get(old, "storage"), problems);
        restore_spec_check_change(&cluster.restore, json_object_get(old, "restoreFrom"), problems);
    }
    mysql_config_spec_release(&config);
    mysql_cluster_release(&cluster);
}

static void judge_object(const struct refusal *refusal, struct api_problems *problems)
{
    struct mysql_terminal terminal;
    struct mysql_backup backup;
    struct config_map_sync sync;
    struct app app;
    const char *name = json_path_str(refusal->object, "metadata.name", "");
    json_t *spec = json_object_get(refusal->object, "spec");
    if (strcmp(refusal->kind, "MysqlCluster") == 0)
        judge_cluster(refusal, name, spec, problems);
    else if (strcmp(refusal->kind, "MysqlConfig") == 0)
        mysql_config_check(spec, "spec", problems);
    else if (strcmp(refusal->kind, "MysqlTerminal") == 0) {
        mysql_terminal_parse("ns", name, spec, &terminal, problems);
        mysql_terminal_release(&terminal);
    } else if (strcmp(refusal->kind, "ConfigMapSync") == 0) {
        config_map_sync_parse("ns", name, spec, &sync, problems);
        config_map_sync_release(&sync);
    } else if (strcmp(refusal->kind, "App") == 0) {
        app_parse("ns", name, spec, &app, problems);
        app_release(&app);
    } else {
        assert_string_equal(refusal->kind, "MysqlBackup");
        mysql_backup_parse("ns", name, spec, &backup, problems);
        mysql_backup_release(&backup);
    }
}

/* Whether some problem points to the field, or to something in it. */
static bool points_to(const struct api_problems *problems, const char *field)
{
    size_t len = strlen(field);
    for (int i = 0; i < problems->count; i++) {
        const char *path = problems->items[i].path;
        if (strncmp(path, field, len) == 0 && (path[len] == '\0' || strchr(".[", path[len])))
            return true;
    }
    return false;
}

static void judge(void *arg, const struct refusal *refusal)
{
    int *wrong = arg;
    struct api_problems problems = {.count = 0};
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, 64 * KM_KIB);
    judge_object(refusal, &problems);
    api_problems_text(&problems, &text);
    if (refusal->by_operator ? points_to(&problems, refusal->operator_field) : problems.count == 0)
        return;
    char *value = json_dumps(refusal->value, JSON_ENCODE_ANY);
    print_message("%s %s: %s of %.100s: %s\n", refusal->kind, refusal->schema_path,
        refusal->by_operator ? "no refusal" : "refusal", value, text.buf);
    free(value);
    ++*wrong;
}

static void operator_judges_as_the_table_says(void **state)
{
    UNUSED(state);
    int wrong = 0;
    json_t *table = refusals_load();
    assert_non_null(table);
    assert_true(refusals_each(table, judge, &wrong) >= ROWS_MIN);
    assert_int_equal(wrong, 0);
    json_decref(table);
}

static void few_rows_are_judged_differently(void **state)
{
    UNUSED(state);
    size_t i, different = 0;
    const json_t *row;
    json_t *table = refusals_load();
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        assert_true(json_array_size(json_object_get(row, "bad")) > 0);
        assert_true(json_array_size(json_object_get(row, "good")) > 0);
        if (!json_object_get(row, "only"))
            continue;
        different++;
        assert_true(strlen(json_path_str(row, "why", "")) > 20);
    }
    assert_true(i >= ROWS_MIN);
    assert_in_range(different, 0, DISAGREEMENTS_MAX);
    json_decref(table);
}

/* ---- whether each constraint of the CRDs has its row ---- */

struct wanted {
    const char *kind;
    char path[REFUSALS_PATH_MAX];
    const char *keyword, *bound; /* or "rule" and its message */
    const json_t *schema;
    bool refused, accepted;
};

struct coverage {
    struct refusal *refusals; /* without their objects */
    size_t refusal_count;
    int count, missing;
};

static int64_t size_of(const json_t *value)
{
    if (json_is_string(value))
        return (int64_t)json_string_length(value);
    return (int64_t)(json_is_array(value) ? json_array_size(value) : json_object_size(value));
}

static bool is_in(const json_t *list, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(json_string_value(json_array_get(list, i)), json_string_value(value)))
            return true;
    }
    return false;
}

static bool fits(const char *pattern, const json_t *value)
{
    regex_t regex;
    if (!json_is_string(value))
        return true;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool fit = regexec(&regex, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&regex);
    return fit;
}

/* Whether the value breaks this constraint. */
static bool breaks(const struct wanted *wanted, const json_t *value)
{
    int64_t bound = strtoll(wanted->bound, NULL, 10);
    if (strcmp(wanted->keyword, "required") == 0)
        return json_is_null(value);
    if (json_is_null(value))
        return false;
    if (strcmp(wanted->keyword, "enum") == 0)
        return !is_in(json_object_get(wanted->schema, "enum"), value);
    if (strcmp(wanted->keyword, "pattern") == 0)
        return !fits(wanted->bound, value);
    if (strcmp(wanted->keyword, "minimum") == 0)
        return json_integer_value(value) < bound;
    if (strcmp(wanted->keyword, "maximum") == 0)
        return json_integer_value(value) > bound;
    return strncmp(wanted->keyword, "min", 3) == 0 ? size_of(value) < bound : size_of(value) > bound;
}

/* A required field may also be missing in a value of what it is in: {"key": "k"} of keySecret, without its name. */
static bool lacks(const struct wanted *wanted, const struct refusal *refusal)
{
    size_t len = strlen(refusal->schema_path);
    const char *rest = wanted->path + len;
    return strcmp(wanted->keyword, "required") == 0 && strncmp(wanted->path, refusal->schema_path, len) == 0 &&
        *rest == '.' && json_is_object(refusal->value) && !json_path(refusal->value, rest + 1);
}

static void look(struct wanted *wanted, const struct refusal *refusal)
{
    if (strcmp(refusal->kind, wanted->kind) != 0)
        return;
    if (strcmp(wanted->keyword, "rule") == 0) {
        bool named = strcmp(refusal->field, wanted->path) == 0 &&
            str_eq(json_path_str(refusal->row, "rule", NULL), wanted->bound);
        wanted->refused = wanted->refused || (named && refusal->bad);
        wanted->accepted = wanted->accepted || (named && !refusal->bad);
        return;
    }
    bool here = strcmp(refusal->schema_path, wanted->path) == 0;
    if (!here && !lacks(wanted, refusal)) {
        size_t len = strlen(refusal->schema_path);
        bool around = strncmp(wanted->path, refusal->schema_path, len) == 0 && wanted->path[len] == '.';
        wanted->accepted = wanted->accepted || (around && !refusal->bad && json_is_object(refusal->value));
        return;
    }
    json_t *value = refusals_value(refusal->value);
    bool broken = !here || breaks(wanted, value);
    wanted->refused = wanted->refused || (refusal->bad && broken);
    wanted->accepted = wanted->accepted || (!refusal->bad && !broken);
    json_decref(value);
}

static void want(struct coverage *coverage, struct wanted *wanted)
{
    wanted->refused = wanted->accepted = false;
    for (size_t i = 0; i < coverage->refusal_count; i++)
        look(wanted, &coverage->refusals[i]);
    coverage->count++;
    if (wanted->refused && wanted->accepted)
        return;
    coverage->missing++;
    print_message("%s %s: no row is %s by %s %.60s\n", wanted->kind, wanted->path,
        wanted->refused ? "accepted" : "refused", wanted->keyword, wanted->bound);
}

static void want_keywords(struct coverage *coverage, struct wanted *wanted)
{
    static const char *const keywords[] = {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
        "minProperties", "maxProperties", "pattern"};
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        wanted->keyword = keywords[i];
        wanted->bound = json_path_str(wanted->schema, keywords[i], NULL);
        if (wanted->bound)
            want(coverage, wanted);
    }
    wanted->keyword = "enum";
    wanted->bound = "";
    if (json_object_get(wanted->schema, "enum"))
        want(coverage, wanted);
}

static void want_rules(struct coverage *coverage, const struct wanted *at)
{
    size_t i;
    const json_t *rule;
    json_array_foreach(json_object_get(at->schema, "x-kubernetes-validations"), i, rule) {
        struct wanted wanted = {.kind = at->kind, .keyword = "rule", .bound = json_path_str(rule, "message", "")};
        size_t len = 0;
        for (const char *c = at->path; *c; c++)
            len += (size_t)snprintf(wanted.path + len, 4, *c == '[' ? "[0" : "%c", *c);
        snprintf(wanted.path + len, sizeof(wanted.path) - len, "%s", json_path_str(rule, "fieldPath", ""));
        want(coverage, &wanted);
    }
}

static void walk(struct coverage *coverage, const char *kind, const json_t *schema, const char *path)
{
    struct wanted wanted = {.kind = kind, .schema = schema};
    size_t i;
    const char *name;
    json_t *property, *each;
    snprintf(wanted.path, sizeof(wanted.path), "%s", path);
    want_keywords(coverage, &wanted);
    want_rules(coverage, &wanted);
    json_array_foreach(json_object_get(schema, "required"), i, each) {
        wanted.keyword = "required";
        snprintf(wanted.path, sizeof(wanted.path), "%s.%s", path, json_string_value(each));
        want(coverage, &wanted);
    }
    json_object_foreach(json_object_get(schema, "properties"), name, property) {
        snprintf(wanted.path, sizeof(wanted.path), "%s.%s", path, name);
        walk(coverage, kind, property, wanted.path);
    }
    static const char *const inner[][2] = {{"items", "[]"}, {"additionalProperties", "{}"}};
    for (i = 0; i < ARRAY_LEN(inner); i++) {
        snprintf(wanted.path, sizeof(wanted.path), "%s%s", path, inner[i][1]);
        if (json_is_object(json_object_get(schema, inner[i][0])))
            walk(coverage, kind, json_object_get(schema, inner[i][0]), wanted.path);
    }
}

static json_t *read_crd(const char *path)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    strbuf_init(&text, KM_MIB);
    json_t *crd = fs_read_file(path, &text, &err) < 0 ? NULL : yaml_to_json(text.buf, text.len, &err);
    if (!crd)
        fail_msg("%s: %s", path, err.message);
    return crd;
}

static void keep(void *arg, const struct refusal *refusal)
{
    struct coverage *coverage = arg;
    coverage->refusals = xreallocarray(coverage->refusals, coverage->refusal_count + 1, sizeof(*coverage->refusals));
    coverage->refusals[coverage->refusal_count++] = *refusal;
}

static void each_constraint_has_a_row(void **state)
{
    UNUSED(state);
    static const char *const files[] = {"crds/mysqlclusters.yaml", "crds/mysqlconfigs.yaml", "crds/mysqlterminals.yaml",
        "crds/mysqlbackups.yaml", "deploy/components/configmapsync/crd.yaml", "deploy/components/app/crd.yaml"};
    struct coverage coverage = {.count = 0};
    json_t *table = refusals_load();
    refusals_each(table, keep, &coverage);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        json_t *crd = read_crd(files[i]);
        const char *kind = json_path_str(crd, "spec.names.kind", NULL);
        const json_t *schema = json_path(crd, "spec.versions[0].schema.openAPIV3Schema.properties");
        walk(&coverage, kind, json_object_get(schema, "spec"), "spec");
        const json_t *name = json_path(schema, "metadata.properties.name");
        if (name)
            walk(&coverage, kind, name, "metadata.name");
        json_decref(crd);
    }
    print_message("%d constraints of the CRDs\n", coverage.count);
    assert_int_equal(coverage.missing, 0);
    free(coverage.refusals);
    json_decref(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operator_judges_as_the_table_says),
        cmocka_unit_test(few_rows_are_judged_differently),
        cmocka_unit_test(each_constraint_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
