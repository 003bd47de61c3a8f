/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CRDs and the tables of api_fields.h say the same: every field of a CRD has a row and every row a field, of the
 * same type, bounds and allowed values; a pattern accepts what the row's check accepts. So no field is silently
 * ignored.
 */
#include "common/base.h"

#include <regex.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/fs.h"
#include "common/json.h"
#include "operator/api/api_fields.h"
#include "operator/kube/yaml_json.h"

#define ROWS_MAX 256

static json_t *read_crd(const char *path)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    strbuf_init(&text, KM_MIB);
    if (fs_read_file(path, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *crd = yaml_to_json(text.buf, text.len, &err);
    if (!crd)
        fail_msg("%s: %s", path, err.message);
    return crd;
}

static const json_t *spec_of(const json_t *crd)
{
    return json_path(crd, "spec.versions[0].schema.openAPIV3Schema.properties.spec");
}

struct walk {
    const struct api_field *fields;
    bool seen[ROWS_MAX];
};

static const struct api_field *find_row(struct walk *walk, const char *path)
{
    for (size_t i = 0; walk->fields[i].path; i++) {
        assert_true(i < ROWS_MAX);
        if (strcmp(walk->fields[i].path, path) == 0) {
            walk->seen[i] = true;
            return &walk->fields[i];
        }
    }
    fail_msg("the CRD has %s, the table has not", path);
    return NULL;
}

static bool is_on(const json_t *schema, const char *key)
{
    return json_is_true(json_object_get(schema, key));
}

static int64_t number(const json_t *schema, const char *key)
{
    const char *text = json_string_value(json_object_get(schema, key));
    return text ? strtoll(text, NULL, 10) : 0;
}

static enum api_type type_of(const json_t *schema, enum api_type wanted)
{
    const char *type = json_path_str(schema, "type", "");
    if (is_on(schema, "x-kubernetes-int-or-string"))
        return API_QUANTITY;
    if (strcmp(type, "string") == 0)
        return API_STRING;
    if (strcmp(type, "integer") == 0)
        return API_INTEGER;
    if (strcmp(type, "boolean") == 0)
        return API_BOOLEAN;
    if (strcmp(type, "array") == 0)
        return API_ARRAY;
    assert_string_equal(type, "object");
    /* With properties of its own: what else it holds is kept to be refused. */
    bool kept = is_on(schema, "x-kubernetes-preserve-unknown-fields");
    if (kept && !(wanted == API_OBJECT && json_object_size(json_object_get(schema, "properties")) > 0))
        return wanted == API_MAP ? API_MAP : API_OPAQUE;
    return json_object_get(schema, "additionalProperties") ? API_MAP : API_OBJECT;
}

static void check_enum(const json_t *schema, const struct api_field *row)
{
    _cleanup_(strbuf_release) struct strbuf text;
    const json_t *values = json_object_get(schema, "enum");
    strbuf_init(&text, 1024);
    for (size_t i = 0; i < json_array_size(values); i++)
        strbuf_addf(&text, "%s%s", i ? "|" : "", json_string_value(json_array_get(values, i)));
    if (strcmp(text.buf, str_or_empty(row->values)) != 0)
        fail_msg("%s: enum %s in the CRD, %s in the table", row->path, text.buf, str_or_empty(row->values));
}

static void check_pattern(const json_t *schema, const struct api_field *row)
{
    static const char *const samples[] = {"a", "A", "a.b", "a..b", "a-", "-a", "a-.b", "a.-b", "1a", "a_b", "a b",
        "a/b:c", "\xc3\xa4", ".", "a1-b", "*", "**"};
    const char *pattern = json_path_str(schema, "pattern", NULL);
    regex_t regex;
    if (!pattern != !row->check)
        fail_msg("%s: only one of CRD and table restricts the characters", row->path);
    if (!pattern || !row->check)
        return;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        bool by_crd = regexec(&regex, samples[i], 0, NULL, 0) == 0, by_table = !row->check(samples[i]);
        if (by_crd != by_table)
            fail_msg("%s: \"%s\" is %s by the CRD only", row->path, samples[i], by_crd ? "accepted" : "refused");
    }
    regfree(&regex);
}

static void check_bounds(const json_t *schema, const struct api_field *row)
{
    bool is_text = row->type == API_STRING;
    const char *most = row->type == API_ARRAY ? "maxItems" : row->type == API_MAP ? "maxProperties" : NULL;
    if (most && number(schema, most) != row->max)
        fail_msg("%s: %s %lld in the CRD, %lld in the table", row->path, most, (long long)number(schema, most),
            (long long)row->max);
    if (row->type != API_INTEGER && !is_text)
        return;
    int64_t min = number(schema, is_text ? "minLength" : "minimum"),
            max = number(schema, is_text ? "maxLength" : "maximum");
    if (min != row->min || max != row->max)
        fail_msg("%s: bounds %lld..%lld in the CRD, %lld..%lld in the table", row->path, (long long)min, (long long)max,
            (long long)row->min, (long long)row->max);
    if (is_text) {
        check_enum(schema, row);
        check_pattern(schema, row);
    }
}

static bool is_required(const json_t *parent, const char *name)
{
    const json_t *required = json_object_get(parent, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        if (str_eq(json_string_value(json_array_get(required, i)), name))
            return true;
    }
    return false;
}

static void walk_object(struct walk *walk, const json_t *schema, const char *path);

static void walk_schema(struct walk *walk, const json_t *schema, const char *path)
{
    char child[API_PATH_MAX];
    const struct api_field *row = find_row(walk, path);
    enum api_type type = type_of(schema, row->type);
    if (type == API_OBJECT && row->type == API_OPAQUE)
        return; /* config.spec, compared as a whole */
    if (type != row->type)
        fail_msg("%s: type %d in the CRD, %d in the table", path, type, row->type);
    check_bounds(schema, row);
    snprintf(child, sizeof(child), "%s%s", path, type == API_ARRAY ? "[]" : "{}");
    if (type == API_ARRAY)
        walk_schema(walk, json_object_get(schema, "items"), child);
    else if (type == API_MAP && json_object_get(schema, "additionalProperties"))
        walk_schema(walk, json_object_get(schema, "additionalProperties"), child);
    else if (type == API_OBJECT)
        walk_object(walk, schema, path);
}

static void walk_object(struct walk *walk, const json_t *schema, const char *path)
{
    const char *name;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), name, property) {
        char child[API_PATH_MAX];
        snprintf(child, sizeof(child), "%s%s%s", path, *path ? "." : "", name);
        if (strlen(json_path_str(property, "description", "")) < 8)
            fail_msg("%s has no description", child);
        if (find_row(walk, child)->required != is_required(schema, name))
            fail_msg("%s: required in only one of CRD and table", child);
        walk_schema(walk, property, child);
    }
}

static void compare(const char *crd_path, const struct api_field *fields)
{
    struct walk walk = {.fields = fields};
    json_t *crd = read_crd(crd_path);
    walk_object(&walk, spec_of(crd), "");
    for (size_t i = 0; fields[i].path; i++) {
        if (!walk.seen[i])
            fail_msg("the table has %s, %s has not", fields[i].path, crd_path);
    }
    json_decref(crd);
}

static void tables_are_the_crds(void **state)
{
    UNUSED(state);
    compare("crds/mysqlconfigs.yaml", mysql_config_fields);
    compare("crds/mysqlclusters.yaml", mysql_cluster_fields);
    compare("crds/mysqlterminals.yaml", mysql_terminal_fields);
    compare("crds/mysqlbackups.yaml", mysql_backup_fields);
    compare("deploy/components/configmapsync/crd.yaml", config_map_sync_fields);
    compare("deploy/components/app/crd.yaml", app_fields);
}

static void inline_spec_is_the_config(void **state)
{
    UNUSED(state);
    json_t *clusters = read_crd("crds/mysqlclusters.yaml"), *configs = read_crd("crds/mysqlconfigs.yaml");
    const json_t *own = json_path(spec_of(clusters), "properties.config.properties.spec.properties");
    const json_t *named = json_path(spec_of(configs), "properties");
    assert_non_null(own);
    assert_true(json_equal(own, named));
    json_decref(clusters);
    json_decref(configs);
}

/* A default in an inline spec would win over what the named MysqlConfig says. */
static void assert_no_default(const json_t *schema)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)schema, key, member) {
        assert_string_not_equal(key, "default");
        assert_no_default(member);
    }
}

static void config_has_no_defaults(void **state)
{
    UNUSED(state);
    json_t *configs = read_crd("crds/mysqlconfigs.yaml");
    assert_no_default(spec_of(configs));
    json_decref(configs);
}

/* kstatus takes an object without observedGeneration for done (pkg/kstatus/status/generic.go, checkGeneration): a
 * cluster that no operator has seen yet. */
static void an_unseen_object_is_not_done(void **state)
{
    UNUSED(state);
    static const char *const files[] = {"crds/mysqlclusters.yaml", "crds/mysqlterminals.yaml", "crds/mysqlbackups.yaml",
        "deploy/components/configmapsync/crd.yaml", "deploy/components/app/crd.yaml"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        json_t *crd = read_crd(files[i]);
        const char *path = "spec.versions[0].schema.openAPIV3Schema.properties.status.default.observedGeneration";
        if (!str_eq(json_path_str(crd, path, ""), "0")) /* YAML's scalars are read as text */
            fail_msg("%s: status has no default observedGeneration 0", files[i]);
        json_decref(crd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_the_crds),
        cmocka_unit_test(an_unseen_object_is_not_done),
        cmocka_unit_test(inline_spec_is_the_config),
        cmocka_unit_test(config_has_no_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
