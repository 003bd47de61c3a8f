/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json.h"

#include "common/alloc.h"
#include "common/hashmap.h"

static _Noreturn void bug(const char *what)
{
    fprintf(stderr, "json: %s\n", what);
    abort();
}

/* Nesting of the text without building it: jansson's own limit is 2048 and not ours to set. */
static bool too_deep(const char *data, size_t len)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = data[i];
        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\';
        else if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth -= depth > 0;
        if (depth > JSON_DEPTH_MAX)
            return true;
    }
    return false;
}

/* jansson's own texts quote the input, which may hold secrets; these do not. */
static const char *parse_problem(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_invalid_utf8:
        return "invalid UTF-8";
    case json_error_premature_end_of_input:
        return "the text ends early";
    case json_error_end_of_input_expected:
        return "more text after the document";
    case json_error_duplicate_key:
        return "a key occurs twice";
    case json_error_numeric_overflow:
        return "a number is too large";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a NUL character in a key";
    default:
        return "a syntax error";
    }
}

json_t *json_parse(const char *data, size_t len, struct error *err)
{
    if (too_deep(data, len)) {
        error_set(err, ERROR_PROTOCOL, "JSON: nested deeper than %d", JSON_DEPTH_MAX);
        return NULL;
    }
    if (len && memchr(data, '\0', len)) { /* jansson would step over raw NUL bytes, wherever they are */
        error_set(err, ERROR_PROTOCOL, "JSON: a NUL byte");
        return NULL;
    }
    json_error_t error;
    /* An escaped NUL in a value is legal JSON: one odd annotation must not make a whole page of objects unreadable. */
    json_t *value = json_loadb(data, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!value)
        error_set(
            err, ERROR_PROTOCOL, "JSON: %s at line %d, column %d", parse_problem(&error), error.line, error.column);
    return value;
}

/* ---- building ------------------------------------------------------------------------------------------------ */

void json_put(json_t *object, const char *key, json_t *value)
{
    if (value && json_object_set_new(object, key, value) != 0)
        bug("cannot set a member");
}

/* A string from bytes that are not UTF-8: those become U+FFFD. */
static json_t *repaired_string(const char *value)
{
    _cleanup_(strbuf_release) struct strbuf quoted;
    strbuf_init(&quoted, 6 * strlen(value) + 2);
    strbuf_add_json_string(&quoted, value);
    return json_loadb(quoted.buf, quoted.len, JSON_DECODE_ANY, NULL);
}

void json_put_str(json_t *object, const char *key, const char *value)
{
    if (!value)
        return;
    json_t *string = json_string(value);
    json_put(object, key, string ? string : repaired_string(value));
}

void json_put_int(json_t *object, const char *key, int64_t value)
{
    json_put(object, key, json_integer(value));
}

void json_put_bool(json_t *object, const char *key, bool value)
{
    json_put(object, key, json_boolean(value));
}

json_t *json_build(const char *fmt, ...)
{
    json_error_t error;
    va_list ap;
    va_start(ap, fmt);
    json_t *value = json_vpack_ex(&error, 0, fmt, ap);
    va_end(ap);
    if (!value)
        bug(error.text);
    return value;
}

void json_merge(json_t *base, const json_t *over)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)over, key, value) {
        if (json_is_null(value)) {
            json_object_del(base, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(json_object_get(base, key)))
                json_put(base, key, json_object());
            json_merge(json_object_get(base, key), value);
        } else {
            json_put(base, key, json_deep_copy(value));
        }
    }
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY };

static int dump_to_strbuf(const char *data, size_t len, void *arg)
{
    strbuf_add(arg, data, len);
    return 0;
}

static int dump_to_hash(const char *data, size_t len, void *arg)
{
    uint64_t *state = arg;
    *state = hash64(*state, data, len);
    return 0;
}

struct sink {
    json_dump_callback_t write;
    void *arg;
};

struct member {
    const char *key;
    const json_t *value;
};

static void write_value(const struct sink *sink, const json_t *value);

/* As jansson writes it. */
static void write_leaf(const struct sink *sink, const json_t *value)
{
    if (json_dump_callback(value, sink->write, sink->arg, CANONICAL) != 0)
        bug("cannot write a document");
}

static bool needs_no_escapes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == '\\')
            return false;
    }
    return true;
}

static void write_quoted(const struct sink *sink, const char *text, size_t len)
{
    sink->write("\"", 1, sink->arg);
    sink->write(text, len, sink->arg);
    sink->write("\"", 1, sink->arg);
}

static void write_string(const struct sink *sink, const json_t *value)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (needs_no_escapes(text, len))
        write_quoted(sink, text, len);
    else
        write_leaf(sink, value);
}

static void write_key(const struct sink *sink, const char *key)
{
    if (needs_no_escapes(key, strlen(key))) {
        write_quoted(sink, key, strlen(key));
        return;
    }
    _cleanup_(json_decrefp) json_t *string = json_string(key);
    write_leaf(sink, string);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void write_object(const struct sink *sink, const json_t *object)
{
    size_t count = json_object_size(object), n = 0;
    _cleanup_(freep) struct member *members = xnew_array(struct member, MAX_OF(1, count));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        members[n++] = (struct member){key, value};
    qsort(members, n, sizeof(*members), by_key);
    sink->write("{", 1, sink->arg);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            sink->write(",", 1, sink->arg);
        write_key(sink, members[i].key);
        sink->write(":", 1, sink->arg);
        write_value(sink, members[i].value);
    }
    sink->write("}", 1, sink->arg);
}

static void write_array(const struct sink *sink, const json_t *array)
{
    sink->write("[", 1, sink->arg);
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i > 0)
            sink->write(",", 1, sink->arg);
        write_value(sink, json_array_get(array, i));
    }
    sink->write("]", 1, sink->arg);
}

/* What jansson writes with these flags, byte for byte: hashes of it are stored. It looks for circles as it goes, which
 * our trees never have, and prints the address of every object and array for that: more than half of the time. */
static void write_value(const struct sink *sink, const json_t *value)
{
    if (json_is_object(value))
        write_object(sink, value);
    else if (json_is_array(value))
        write_array(sink, value);
    else if (json_is_string(value))
        write_string(sink, value);
    else
        write_leaf(sink, value);
}

void json_canonical(const json_t *value, struct strbuf *out)
{
    write_value(&(struct sink){dump_to_strbuf, out}, value);
}

uint64_t json_hash(const json_t *value)
{
    uint64_t state = HASH64_INIT;
    if (value)
        write_value(&(struct sink){dump_to_hash, &state}, value);
    return state;
}

char *json_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text)
        bug("cannot write a document");
    return text;
}
