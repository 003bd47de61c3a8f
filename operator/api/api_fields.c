/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/api_fields.h"

#include "operator/api/quantity.h"

static const char *const json_type_names[] = {
    [JSON_OBJECT] = "an object",
    [JSON_ARRAY] = "an array",
    [JSON_STRING] = "a string",
    [JSON_INTEGER] = "a number",
    [JSON_REAL] = "a number",
    [JSON_TRUE] = "a boolean",
    [JSON_FALSE] = "a boolean",
    [JSON_NULL] = "null",
};

static const char *const wanted_type_names[] = {
    [API_STRING] = "a string",
    [API_INTEGER] = "an integer",
    [API_BOOLEAN] = "a boolean",
    [API_OBJECT] = "an object",
    [API_ARRAY] = "an array",
    [API_MAP] = "an object",
    [API_OPAQUE] = "an object",
    [API_QUANTITY] = "a quantity like 10Gi",
    [API_SCALAR] = "a string, number or boolean",
};

/* One place in the document: where it is called what in problems, and in the table. */
struct place {
    const json_t *value;
    const char *path;  /* "spec.config.name" */
    const char *table; /* "config.name" */
};

struct walk {
    const struct api_field *fields;
    struct api_problems *problems;
};

static bool has_type(const json_t *value, enum api_type type)
{
    switch (type) {
    case API_STRING:
        return json_is_string(value);
    case API_INTEGER:
        return json_is_integer(value);
    case API_BOOLEAN:
        return json_is_boolean(value);
    case API_OBJECT:
    case API_MAP:
    case API_OPAQUE:
        return json_is_object(value);
    case API_ARRAY:
        return json_is_array(value);
    case API_QUANTITY:
        return json_is_string(value) || json_is_number(value);
    case API_SCALAR:
        return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
    }
    return false;
}

/* Whether `value` is one of "A|B|C". */
static bool is_listed(const char *values, const char *value)
{
    size_t len = strlen(value);
    for (const char *at = values; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, value, len) == 0 && (at[len] == '|' || at[len] == '\0'))
            return len > 0;
    }
    return false;
}

static void add_not_listed(
    const struct place *place, const char *values, const char *value, struct api_problems *problems)
{
    char list[128];
    size_t len = 0;
    for (const char *c = values; *c && len < sizeof(list) - 3; c++) {
        list[len++] = *c == '|' ? ',' : *c;
        if (*c == '|')
            list[len++] = ' ';
    }
    list[len] = '\0';
    api_problems_add(problems, place->path, "must be one of %s, not \"%.40s\"", list, value);
}

static void check_string(const struct place *place, const struct api_field *field, struct api_problems *problems)
{
    const char *text = json_string_value(place->value);
    int64_t len = (int64_t)json_string_length(place->value);
    if (strlen(text) != (size_t)len) {
        api_problems_add(problems, place->path, "must not hold NUL characters");
        return;
    }
    if (field->values) {
        if (!is_listed(field->values, text))
            add_not_listed(place, field->values, text, problems);
        return;
    }
    if (field->max > 0 && (len < field->min || len > field->max)) {
        if (len == 0)
            api_problems_add(problems, place->path, "must not be empty");
        else
            api_problems_add(problems, place->path, "must have at most %lld characters, not %lld",
                (long long)field->max, (long long)len);
        return;
    }
    const char *wrong = field->check ? field->check(text) : NULL;
    if (wrong)
        api_problems_add(problems, place->path, "%s", wrong);
}

static void check_integer(const struct place *place, const struct api_field *field, struct api_problems *problems)
{
    int64_t value = json_integer_value(place->value);
    if ((field->min != 0 || field->max != 0) && (value < field->min || value > field->max))
        api_problems_add(problems, place->path, "must be between %lld and %lld, not %lld", (long long)field->min,
            (long long)field->max, (long long)value);
}

static void check_place(const struct walk *walk, const struct place *place, const struct api_field *field);

static const struct api_field *find_field(const struct api_field *fields, const char *path)
{
    for (; fields->path; fields++) {
        if (strcmp(fields->path, path) == 0)
            return fields;
    }
    return NULL;
}

/* Appends ".key" for plain keys, ["key"] for others; keys may be anything, so they are cut and made printable. */
static void path_append(char out[static API_PATH_MAX], const char *path, const char *key)
{
    char clean[65];
    size_t len = 0;
    bool plain = *key != '\0';
    for (; *key && len < sizeof(clean) - 1; key++) {
        bool is_word = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z') || (*key >= '0' && *key <= '9') ||
            *key == '_' || *key == '-';
        plain = plain && is_word;
        clean[len++] = (unsigned char)*key < ' ' || *key == 127 ? '?' : *key;
    }
    clean[len] = '\0';
    int n = snprintf(out, API_PATH_MAX, plain ? "%s.%s" : "%s[\"%s\"]", path, clean);
    if (n >= API_PATH_MAX)
        memcpy(out + API_PATH_MAX - sizeof("..."), "...", sizeof("..."));
}

static void check_unknown(const struct walk *walk, const struct place *place)
{
    char table[API_PATH_MAX], path[API_PATH_MAX];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)place->value, key, value) {
        int n = snprintf(table, sizeof(table), "%s%s%s", place->table, *place->table ? "." : "", key);
        if (json_is_null(value) || (n < API_PATH_MAX && find_field(walk->fields, table)))
            continue;
        path_append(path, place->path, key);
        api_problems_add(walk->problems, path, "is not a known field");
    }
}

static void check_object(const struct walk *walk, const struct place *place)
{
    size_t prefix_len = strlen(place->table);
    for (const struct api_field *field = walk->fields; field->path; field++) {
        const char *key = field->path;
        if (prefix_len > 0) {
            if (strncmp(key, place->table, prefix_len) != 0 || key[prefix_len] != '.')
                continue;
            key += prefix_len + 1;
        }
        if (strpbrk(key, ".[{"))
            continue;
        char path[API_PATH_MAX];
        path_append(path, place->path, key);
        const json_t *value = json_object_get(place->value, key);
        if (value && !json_is_null(value))
            check_place(walk, &(struct place){value, path, field->path}, field);
        else if (field->required)
            api_problems_add(walk->problems, path, "is required");
    }
    check_unknown(walk, place);
}

/* The row that describes elements or values, if there is one: the parent's path with "[]" or "{}". */
static const struct api_field *child_field(const struct walk *walk, const struct place *place, const char *brackets)
{
    char table[API_PATH_MAX];
    snprintf(table, sizeof(table), "%s%s", place->table, brackets);
    return find_field(walk->fields, table);
}

/* Whether an array or a map is small enough. */
static bool check_count(
    const struct place *place, const struct api_field *field, size_t count, struct api_problems *problems)
{
    if (field->max == 0 || count <= (size_t)field->max)
        return true;
    api_problems_add(problems, place->path, "must have at most %lld %s, not %zu", (long long)field->max,
        field->type == API_MAP ? "keys" : "elements", count);
    return false;
}

static void check_array(const struct walk *walk, const struct place *place, const struct api_field *array)
{
    const struct api_field *field = child_field(walk, place, "[]");
    if (!check_count(place, array, json_array_size(place->value), walk->problems))
        return;
    for (size_t i = 0; field && i < json_array_size(place->value); i++) {
        char path[API_PATH_MAX];
        snprintf(path, sizeof(path), "%.130s[%zu]", place->path, i);
        check_place(walk, &(struct place){json_array_get(place->value, i), path, field->path}, field);
    }
}

static void check_map(const struct walk *walk, const struct place *place, const struct api_field *map)
{
    const struct api_field *field = child_field(walk, place, "{}");
    if (!check_count(place, map, json_object_size(place->value), walk->problems) || !field)
        return;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)place->value, key, value) {
        char path[API_PATH_MAX];
        path_append(path, place->path, key);
        if (!json_is_null(value))
            check_place(walk, &(struct place){value, path, field->path}, field);
    }
}

static void check_place(const struct walk *walk, const struct place *place, const struct api_field *field)
{
    int64_t bytes;
    if (!has_type(place->value, field->type)) {
        api_problems_add(walk->problems, place->path, "must be %s, not %s", wanted_type_names[field->type],
            json_type_names[json_typeof(place->value)]);
    } else if (field->type == API_STRING) {
        check_string(place, field, walk->problems);
    } else if (field->type == API_INTEGER) {
        check_integer(place, field, walk->problems);
    } else if (field->type == API_QUANTITY) {
        if (quantity_from_json(place->value, &bytes) < 0)
            api_problems_add(walk->problems, place->path, "must be a quantity: write 1Gi or 1G, not 1GB");
        else if (bytes < field->min)
            api_problems_add(walk->problems, place->path, "must be a positive quantity like 10Gi");
    } else if (field->type == API_OBJECT) {
        check_object(walk, place);
    } else if (field->type == API_ARRAY) {
        check_array(walk, place, field);
    } else if (field->type == API_MAP) {
        check_map(walk, place, field);
    }
}

void api_fields_check(
    const json_t *object, const char *prefix, const struct api_field *fields, struct api_problems *problems)
{
    struct walk walk = {.fields = fields, .problems = problems};
    if (!object || json_is_null(object))
        object = NULL;
    else if (!json_is_object(object)) {
        api_problems_add(problems, prefix, "must be an object, not %s", json_type_names[json_typeof(object)]);
        return;
    }
    check_object(&walk, &(struct place){object, prefix, ""});
}
