/* SPDX-License-Identifier: Apache-2.0 */
/* The path language of json.h and its getters. */
#include "common/base.h"

#include "common/json.h"

struct step {
    const char *key; /* NULL: index */
    size_t key_len;
    size_t index;
};

static bool read_index(const char **p, struct step *step)
{
    size_t index = 0;
    const char *digit = *p;
    for (; *digit >= '0' && *digit <= '9' && index < INT_MAX / 10; digit++)
        index = index * 10 + (size_t)(*digit - '0');
    if (digit == *p || *digit != ']')
        return false;
    *step = (struct step){.index = index};
    *p = digit + 1;
    return true;
}

static bool read_quoted_key(const char **p, struct step *step)
{
    const char *end = strstr(*p, "\"]");
    if (!end)
        return false;
    *step = (struct step){.key = *p, .key_len = (size_t)(end - *p)};
    *p = end + 2;
    return true;
}

/* One step and the dot after it. False: the path itself is malformed. */
static bool read_step(const char **p, struct step *step)
{
    if (**p == '[') {
        *p += 1;
        bool quoted = **p == '"';
        *p += quoted;
        if (!(quoted ? read_quoted_key(p, step) : read_index(p, step)))
            return false;
    } else {
        size_t len = strcspn(*p, ".[");
        if (!len)
            return false;
        *step = (struct step){.key = *p, .key_len = len};
        *p += len;
    }
    if (**p == '.')
        return *++*p != '\0';
    return **p == '\0' || **p == '[';
}

/*
 * Follows path. Returns the value or NULL; *ret_stuck (may be NULL) is then the length of the path up to a value that
 * is there, is not null and cannot have the next step (a string where an object was expected); untouched if something
 * is just absent.
 */
static const json_t *follow(const json_t *root, const char *path, size_t *ret_stuck)
{
    const json_t *value = root;
    for (const char *p = path; value && *p;) {
        size_t before = (size_t)(p - path);
        struct step step;
        if (!read_step(&p, &step))
            return NULL;
        bool fits = step.key ? json_is_object(value) : json_is_array(value);
        if (!fits) {
            if (ret_stuck && !json_is_null(value))
                *ret_stuck = before;
            return NULL;
        }
        value = step.key ? json_object_getn(value, step.key, step.key_len) : json_array_get(value, step.index);
    }
    return value;
}

const json_t *json_path(const json_t *root, const char *path)
{
    return follow(root, path, NULL);
}

const char *json_path_str(const json_t *root, const char *path, const char *fallback)
{
    const json_t *value = json_path(root, path);
    return json_is_string(value) ? json_string_value(value) : fallback;
}

int64_t json_path_int(const json_t *root, const char *path, int64_t fallback)
{
    const json_t *value = json_path(root, path);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool json_path_bool(const json_t *root, const char *path, bool fallback)
{
    const json_t *value = json_path(root, path);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static int stuck_error(const char *path, size_t stuck, struct error *err)
{
    bool wants_array = path[stuck] == '[' && path[stuck + 1] != '"';
    const char *noun = wants_array ? "an array" : "an object";
    if (!stuck)
        return error_set(err, ERROR_INVALID, "the document must be %s", noun);
    int shown = (int)(path[stuck - 1] == '.' ? stuck - 1 : stuck);
    return error_set(err, ERROR_INVALID, "%.*s: must be %s", shown, path, noun);
}

/* 1: a value of the type is in *ret, 0: absent or null, -1: wrong. */
static int want(
    const json_t *root, const char *path, json_type type, const char *noun, const json_t **ret, struct error *err)
{
    size_t stuck = SIZE_MAX;
    const json_t *value = follow(root, path, &stuck);
    if (stuck != SIZE_MAX)
        return stuck_error(path, stuck, err);
    if (!value || json_is_null(value))
        return 0;
    bool fits = json_typeof(value) == type || (type == JSON_TRUE && json_is_false(value));
    if (!fits)
        return error_set(err, ERROR_INVALID, "%s: must be %s", path, noun);
    *ret = value;
    return 1;
}

int json_want_str(const json_t *root, const char *path, const char **ret, struct error *err)
{
    const json_t *value;
    int found = want(root, path, JSON_STRING, "a string", &value, err);
    if (found > 0)
        *ret = json_string_value(value);
    return MIN_OF(found, 0);
}

int json_want_int(const json_t *root, const char *path, int64_t min, int64_t max, int64_t *ret, struct error *err)
{
    const json_t *value;
    int found = want(root, path, JSON_INTEGER, "a whole number", &value, err);
    if (found <= 0)
        return found;
    int64_t number = json_integer_value(value);
    if (number < min || number > max)
        return error_set(err, ERROR_INVALID, "%s: must be from %lld to %lld, not %lld", path, (long long)min,
            (long long)max, (long long)number);
    *ret = number;
    return 0;
}

int json_want_bool(const json_t *root, const char *path, bool *ret, struct error *err)
{
    const json_t *value;
    int found = want(root, path, JSON_TRUE, "true or false", &value, err);
    if (found > 0)
        *ret = json_is_true(value);
    return MIN_OF(found, 0);
}

int json_want_object(const json_t *root, const char *path, const json_t **ret, struct error *err)
{
    return MIN_OF(want(root, path, JSON_OBJECT, "an object", ret, err), 0);
}

int json_want_array(const json_t *root, const char *path, const json_t **ret, struct error *err)
{
    return MIN_OF(want(root, path, JSON_ARRAY, "an array", ret, err), 0);
}
