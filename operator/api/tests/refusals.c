/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/tests/refusals.h"

#include "common/fs.h"
#include "common/json.h"

json_t *refusals_load(void)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    strbuf_init(&text, KM_MIB);
    json_t *table = fs_read_file(REFUSALS_FILE, &text, &err) < 0 ? NULL : json_parse(text.buf, text.len, &err);
    if (!table)
        fprintf(stderr, "%s: %s\n", REFUSALS_FILE, err.message);
    return table;
}

/* ---- values ---- */

static json_t *repeated(const char *text, int count)
{
    _cleanup_(strbuf_release) struct strbuf out;
    strbuf_init(&out, KM_MIB);
    for (int i = 0; i < count; i++)
        strbuf_adds(&out, text);
    return json_string(out.buf);
}

static json_t *numbered(const char *text, int count)
{
    json_t *ret = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(ret, json_sprintf("%s%d", text, i));
    return ret;
}

static json_t *named(const char *text, int count)
{
    json_t *ret = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(ret, json_pack("{s:o}", "name", json_sprintf("%s%d", text, i)));
    return ret;
}

static json_t *keyed(const char *text, int count)
{
    json_t *ret = json_object();
    for (int i = 0; i < count; i++) {
        char key[64];
        snprintf(key, sizeof(key), "%.40s%d", text, i);
        json_object_set_new(ret, key, json_string("v"));
    }
    return ret;
}

static json_t *expressions(const char *text, int count)
{
    json_t *ret = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(ret, json_pack("{s:o, s:s}", "key", json_sprintf("%s%d", text, i), "operator", "Exists"));
    return ret;
}

static json_t *ports(const char *text, int count)
{
    json_t *ret = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(ret, json_pack("{s:o, s:i}", "name", json_sprintf("%s%d", text, i), "port", i + 1));
    return ret;
}

json_t *refusals_value(const json_t *value)
{
    static const struct {
        const char *key;
        json_t *(*make)(const char *text, int count);
    } made[] = {{"$repeat", repeated}, {"$elements", numbered}, {"$named", named}, {"$keys", keyed},
        {"$expressions", expressions}, {"$ports", ports}};
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        const json_t *how = json_object_get(value, made[i].key);
        if (how)
            return made[i].make(
                json_string_value(json_array_get(how, 0)), (int)json_integer_value(json_array_get(how, 1)));
    }
    return json_deep_copy(value);
}

/* ---- paths ---- */

/* "a[].b{}" as the API server writes it: "a[0].b.memory". */
static void concrete(char out[static REFUSALS_PATH_MAX], const char *path)
{
    size_t len = 0;
    for (; *path && len < REFUSALS_PATH_MAX - 16; path++) {
        bool element = strncmp(path, "[]", 2) == 0, member = strncmp(path, "{}", 2) == 0;
        len += (size_t)(element ? snprintf(out + len, 16, "[0]")
                : member        ? snprintf(out + len, 16, ".memory")
                                : snprintf(out + len, 16, "%c", *path));
        path += element || member;
    }
    out[len] = '\0';
}

/* The element or member `key` of `parent`, made if it is missing. */
static json_t *step_into(json_t *parent, const char *key, bool array)
{
    json_t *child = json_object_get(parent, key);
    if (child)
        return child;
    json_object_set_new(parent, key, array ? json_array() : json_object());
    return json_object_get(parent, key);
}

static void set_value(json_t *parent, const char *key, json_t *value)
{
    if (json_is_null(value))
        json_object_del(parent, key);
    else
        json_object_set(parent, key, value);
}

/* Sets what `path` (with "[]" and "{}") names. */
static void set_at(json_t *object, const char *path, json_t *value)
{
    for (;;) {
        char key[64];
        size_t len = strcspn(path, ".[{");
        snprintf(key, sizeof(key), "%.*s", (int)len, path);
        path += len;
        bool element = strncmp(path, "[]", 2) == 0, member = strncmp(path, "{}", 2) == 0;
        path += element || member ? 2 : 0;
        if (*path == '\0' && !element)
            return member ? set_value(step_into(object, key, false), "memory", value) : set_value(object, key, value);
        object = step_into(object, key, element);
        if (element && *path == '\0') {
            json_array_clear(object);
            json_array_append(object, value);
            return;
        }
        if (element && json_array_size(object) == 0)
            json_array_append_new(object, json_object());
        object = element ? json_array_get(object, 0) : object;
        path += *path == '.';
    }
}

/* ---- cases ---- */

struct place {
    const char *kind;
    char path[REFUSALS_PATH_MAX];
    const char *base; /* the place's own path, without the row's rest */
    const json_t *with;
};

static json_t *base_of(const json_t *table, const struct place *place, const json_t *row)
{
    json_t *spec = json_deep_copy(json_object_get(json_object_get(table, "bases"), place->kind));
    json_t *object = json_build("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "kubemysql.dev/v1alpha1", "kind", place->kind,
        "metadata", "name", "subject", "spec", spec);
    if (place->with)
        json_merge(object, place->with);
    if (json_object_get(row, "with"))
        json_merge(object, json_object_get(row, "with"));
    return object;
}

/* A field of the row: absolute, or behind the place's own path. */
static void field_of(char out[static REFUSALS_PATH_MAX], const struct place *place, const json_t *row, const char *key,
    const char *instead)
{
    const char *field = json_path_str(row, key, instead);
    char path[REFUSALS_PATH_MAX];
    snprintf(path, sizeof(path), "%.120s%.120s", *field == '.' ? place->base : "", field);
    concrete(out, path);
}

static void judge_values(const json_t *table, const struct place *place, const json_t *row, const char *which,
    size_t *count, void (*judge)(void *, const struct refusal *), void *arg)
{
    const char *only = json_path_str(row, "only", "");
    const json_t *values = json_object_get(row, which);
    for (size_t i = 0; i < json_array_size(values); i++) {
        bool bad = strcmp(which, "bad") == 0;
        struct refusal refusal = {.row = row,
            .value = json_array_get(values, i),
            .bad = bad,
            .by_server = bad && strcmp(only, "operator") != 0,
            .by_operator = bad && strcmp(only, "server") != 0,
            .number = (*count)++};
        snprintf(refusal.kind, sizeof(refusal.kind), "%s", place->kind);
        snprintf(refusal.schema_path, sizeof(refusal.schema_path), "%s", place->path);
        field_of(refusal.field, place, row, "field", place->path);
        field_of(refusal.operator_field, place, row, "operator_field", refusal.field);
        refusal.object = base_of(table, place, row);
        if (json_object_get(row, "old")) {
            json_merge(refusal.object, json_object_get(row, "old"));
            refusal.old = json_deep_copy(refusal.object);
        }
        json_t *value = refusals_value(refusal.value);
        set_at(refusal.object, place->path, value);
        json_decref(value);
        judge(arg, &refusal);
        json_decref(refusal.old);
        json_decref(refusal.object);
    }
}

static void judge_place(const json_t *table, const struct place *place, const json_t *row, size_t counts[static 2],
    void (*judge)(void *, const struct refusal *), void *arg)
{
    size_t good = 10000 + counts[1];
    judge_values(table, place, row, "bad", &counts[0], judge, arg);
    judge_values(table, place, row, "good", &good, judge, arg);
    counts[1] = good - 10000;
}

size_t refusals_each(const json_t *table, void (*judge)(void *arg, const struct refusal *refusal), void *arg)
{
    size_t i, j, counts[2] = {0, 0};
    const json_t *row, *each;
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        const char *at = json_path_str(row, "at", "");
        const char *rest = strchr(at, *at == '{' ? '}' : ' ');
        struct place place;
        char name[64];
        snprintf(name, sizeof(name), "%.*s", rest ? (int)(rest - at) - (*at == '{') : 0, at + (*at == '{'));
        if (*at != '{') {
            place = (struct place){.kind = name, .base = ""};
            snprintf(place.path, sizeof(place.path), "%s", rest ? rest + 1 : "");
            judge_place(table, &place, row, counts, judge, arg);
            continue;
        }
        json_array_foreach(json_object_get(json_object_get(table, "places"), name), j, each) {
            place = (struct place){.kind = json_path_str(each, "kind", ""),
                .base = json_path_str(each, "path", ""),
                .with = json_object_get(each, "with")};
            snprintf(place.path, sizeof(place.path), "%s%s", place.base, rest + 1);
            judge_place(table, &place, row, counts, judge, arg);
        }
    }
    return counts[0];
}
