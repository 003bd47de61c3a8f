/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json_fields.h"

#include "common/hashmap.h"
#include "common/json.h"

static const void *at(const void *record, const struct json_field *field)
{
    return (const char *)record + field->offset;
}

unsigned json_name_index(const char *const *names, unsigned count, const char *text)
{
    for (unsigned i = 0; i < count; i++) {
        if (str_eq(names[i], text))
            return i;
    }
    return 0;
}

void json_copy_text(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);

    if (len >= size) {
        len = size - sizeof("...");
        /* text is longer than len: NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
        memcpy(to, text, len);
        memcpy(to + len, "...", sizeof("..."));
        return;
    }
    memcpy(to, text, len + 1);
}

/* ---- encode ---- */

static json_t *encode_name(const struct json_field *field, unsigned value)
{
    return value > 0 && value < field->name_count ? json_string(field->names[value]) : NULL;
}

static json_t *encode(const struct json_field *field, const void *value)
{
    switch (field->type) {
    case JSON_FIELD_TEXT:
        return *(const char *)value ? json_string(value) : NULL;
    case JSON_FIELD_POSITION:
        return str_empty(*(const char *const *)value) ? NULL : json_string(*(const char *const *)value);
    case JSON_FIELD_BOOL:
        return *(const bool *)value ? json_true() : NULL;
    case JSON_FIELD_U32:
        return *(const uint32_t *)value ? json_integer(*(const uint32_t *)value) : NULL;
    case JSON_FIELD_NAME:
        return encode_name(field, *(const unsigned *)value);
    case JSON_FIELD_I64:
    case JSON_FIELD_U64:
        break;
    }
    return *(const int64_t *)value ? json_integer(*(const int64_t *)value) : NULL;
}

void json_fields_encode(const struct json_field *fields, size_t count, const void *record, json_t *object)
{
    for (size_t i = 0; i < count; i++)
        json_put(object, fields[i].key, encode(&fields[i], at(record, &fields[i])));
}

/* ---- print ---- */

static bool is_plain(const char *text)
{
    for (; *text; text++) {
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            return false;
    }
    return true;
}

static void print_integer(struct strbuf *out, int64_t number)
{
    char text[24], *at = text + sizeof(text);
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--at = '-';
    strbuf_add(out, at, (size_t)(text + sizeof(text) - at));
}

/* A text of the record; NULL: it is no text. */
static const char *text_of(const struct json_field *field, const void *value)
{
    if (field->type == JSON_FIELD_TEXT)
        return value;
    if (field->type == JSON_FIELD_POSITION)
        return str_or_empty(*(const char *const *)value);
    if (field->type != JSON_FIELD_NAME)
        return NULL;
    unsigned place = *(const unsigned *)value;
    return place > 0 && place < field->name_count ? field->names[place] : "";
}

static int64_t integer_of(const struct json_field *field, const void *value)
{
    if (field->type == JSON_FIELD_BOOL)
        return *(const bool *)value;
    return field->type == JSON_FIELD_U32 ? *(const uint32_t *)value : *(const int64_t *)value;
}

static void print_value(const struct json_field *field, const void *value, const char *text, struct strbuf *out)
{
    if (text) {
        strbuf_addc(out, '"');
        strbuf_adds(out, text);
        strbuf_addc(out, '"');
    } else if (field->type == JSON_FIELD_BOOL)
        strbuf_adds(out, "true");
    else
        print_integer(out, integer_of(field, value));
}

bool json_fields_print(const struct json_field *fields, size_t count, const void *record, struct strbuf *out)
{
    const char *before = "{\"";
    for (size_t i = 0; i < count; i++) {
        const void *value = at(record, &fields[i]);
        const char *text = text_of(&fields[i], value);
        if (text ? str_empty(text) : integer_of(&fields[i], value) == 0)
            continue;
        if (text && !is_plain(text))
            return false;
        strbuf_adds(out, before);
        strbuf_adds(out, fields[i].key);
        strbuf_adds(out, "\":");
        print_value(&fields[i], value, text, out);
        before = ",\"";
    }
    strbuf_adds(out, *before == '{' ? "{}" : "}");
    return true;
}

/* ---- decode ---- */

static int decode_number(const json_t *object, const struct json_field *field, void *value, struct error *err)
{
    int64_t max = field->type == JSON_FIELD_U32 ? UINT32_MAX : INT64_MAX;
    int64_t number = 0;

    if (json_want_int(object, field->key, 0, max, &number, err) < 0)
        return -1;
    if (field->type == JSON_FIELD_U32)
        *(uint32_t *)value = (uint32_t)number;
    else
        *(int64_t *)value = number;
    return 0;
}

static int decode(const json_t *object, const struct json_field *field, void *value, struct error *err)
{
    const char *text = NULL;

    if (field->type == JSON_FIELD_BOOL)
        return json_want_bool(object, field->key, value, err);
    if (field->type != JSON_FIELD_TEXT && field->type != JSON_FIELD_NAME && field->type != JSON_FIELD_POSITION)
        return decode_number(object, field, value, err);
    if (json_want_str(object, field->key, &text, err) < 0)
        return -1;
    if (field->type == JSON_FIELD_NAME)
        *(unsigned *)value = json_name_index(field->names, field->name_count, str_or_empty(text));
    else if (field->type == JSON_FIELD_POSITION)
        *(const char **)value = str_or_empty(text);
    else
        json_copy_text(value, field->size, str_or_empty(text));
    return 0;
}

int json_fields_decode(
    const struct json_field *fields, size_t count, const json_t *object, void *record, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (decode(object, &fields[i], (char *)record + fields[i].offset, err) < 0)
            return -1;
    }
    return 0;
}

void json_fields_take(const struct json_field *fields, size_t count, struct position_pool *pool, void *record)
{
    for (size_t i = 0; i < count; i++) {
        const char **position = (const char **)(void *)((char *)record + fields[i].offset);
        if (fields[i].type == JSON_FIELD_POSITION)
            *position = position_take(pool, *position);
    }
}

/* ---- compare ---- */

static bool within_one_percent(uint64_t a, uint64_t b)
{
    uint64_t difference = a > b ? a - b : b - a;

    return difference <= MAX_OF(a, b) / 100;
}

static bool same(const struct json_field *field, const void *a, const void *b)
{
    if (field->change == CHANGE_IGNORED)
        return true;
    if (field->change == CHANGE_ONE_PERCENT)
        return within_one_percent(*(const uint64_t *)a, *(const uint64_t *)b);
    if (field->type == JSON_FIELD_POSITION)
        return position_same(*(const char *const *)a, *(const char *const *)b);
    return field->type == JSON_FIELD_TEXT ? strcmp(a, b) == 0 : memcmp(a, b, field->size) == 0;
}

bool json_fields_same(const struct json_field *fields, size_t count, const void *a, const void *b)
{
    for (size_t i = 0; i < count; i++) {
        if (!same(&fields[i], at(a, &fields[i]), at(b, &fields[i])))
            return false;
    }
    return true;
}

uint64_t json_fields_digest(const struct json_field *fields, size_t count, const void *record)
{
    uint64_t hash = HASH64_INIT;
    for (size_t i = 0; i < count; i++) {
        const void *value = at(record, &fields[i]);
        bool is_position = fields[i].type == JSON_FIELD_POSITION;
        const char *text = is_position ? str_or_empty(*(const char *const *)value) : value;
        if (fields[i].change != CHANGE_COUNTS)
            continue;
        if (is_position || fields[i].type == JSON_FIELD_TEXT)
            hash = hash64(hash, text, strlen(text) + 1); /* with its NUL: "ab","c" is not "a","bc" */
        else
            hash = hash64(hash, value, fields[i].size);
    }
    return hash;
}
