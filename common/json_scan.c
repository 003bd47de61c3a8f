/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json_scan.h"

#include "common/alloc.h"
#include "common/json_value_scan.h"

static const struct json_slice absent = {.data = NULL};

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && json_is_space(*p))
        p++;
    return p;
}

const char *json_skip_value(const char *p, const char *end)
{
    struct json_value_scan scan;
    p = skip_space(p, end);
    if (p == end || !json_value_scan_begin(&scan, *p))
        return NULL;
    const char *stop = json_value_scan_run(&scan, p, end);
    return !stop && scan.kind == JSON_SCAN_SCALAR ? end : stop;
}

/* The value at p (after white space) as a slice; moves *p behind it. */
static bool take_value(const char **p, const char *end, struct json_slice *ret)
{
    const char *start = skip_space(*p, end);
    const char *stop = json_skip_value(start, end);
    if (!stop)
        return false;
    *ret = (struct json_slice){.data = start, .len = (size_t)(stop - start)};
    *p = stop;
    return true;
}

static bool take_char(const char **p, const char *end, char c)
{
    *p = skip_space(*p, end);
    if (*p == end || **p != c)
        return false;
    ++*p;
    return true;
}

/* Moves to where the next member or element starts: behind the opening bracket, or behind a comma. */
static bool step_inside(struct json_slice container, const char **cursor, char open, const char **p, const char **end)
{
    if (!container.data)
        return false;
    *p = *cursor ? *cursor : container.data;
    *end = container.data + container.len;
    return take_char(p, *end, *cursor ? ',' : open);
}

bool json_slice_next_member(
    struct json_slice object, const char **cursor, struct json_slice *ret_key, struct json_slice *ret_value)
{
    const char *p, *end;
    struct json_slice key, value;
    if (!step_inside(object, cursor, '{', &p, &end))
        return false;
    p = skip_space(p, end);
    if (p == end || *p != '"' || !take_value(&p, end, &key) || !take_char(&p, end, ':') || !take_value(&p, end, &value))
        return false;
    *ret_key = (struct json_slice){.data = key.data + 1, .len = key.len - 2};
    *ret_value = value;
    *cursor = p;
    return true;
}

bool json_slice_next_element(struct json_slice array, const char **cursor, struct json_slice *ret_value)
{
    const char *p, *end;
    if (!step_inside(array, cursor, '[', &p, &end) || !take_value(&p, end, ret_value))
        return false;
    *cursor = p;
    return true;
}

struct json_slice json_slice_member(struct json_slice object, const char *key)
{
    size_t key_len = strlen(key);
    struct json_slice name, value;
    for (const char *cursor = NULL; json_slice_next_member(object, &cursor, &name, &value);) {
        if (name.len == key_len && memcmp(name.data, key, key_len) == 0)
            return value;
    }
    return absent;
}

struct json_slice json_slice_get(struct json_slice object, ...)
{
    va_list ap;
    va_start(ap, object);
    for (const char *key; object.data && (key = va_arg(ap, const char *));)
        object = json_slice_member(object, key);
    va_end(ap);
    return object;
}

/* ---- strings ------------------------------------------------------------------------------------------------- */

static bool is_string(struct json_slice value)
{
    return value.data && value.len >= 2 && value.data[0] == '"' && value.data[value.len - 1] == '"';
}

static bool take_hex4(const char **p, const char *end, uint32_t *ret)
{
    if (end - *p < 4)
        return false;
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) {
        char c = (*p)[i];
        int digit = c >= '0' && c <= '9' ? c - '0'
            : c >= 'a' && c <= 'f'       ? c - 'a' + 10
            : c >= 'A' && c <= 'F'       ? c - 'A' + 10
                                         : -1;
        if (digit < 0)
            return false;
        code = code << 4 | (uint32_t)digit;
    }
    *p += 4;
    *ret = code;
    return true;
}

static void add_utf8(struct strbuf *out, uint32_t code)
{
    char bytes[4];
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(lead[len] | code);
    strbuf_add(out, bytes, len);
}

/* What stands after "\u"; a high surrogate takes its low one along, a lonely one becomes U+FFFD. */
static bool unescape_unicode(const char **p, const char *end, struct strbuf *out)
{
    uint32_t code, low;
    if (!take_hex4(p, end, &code))
        return false;
    const char *after = *p + 2;
    bool high = code >= 0xd800 && code <= 0xdbff;
    if (high && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u' && take_hex4(&after, end, &low) && low >= 0xdc00 &&
        low <= 0xdfff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        *p = after;
    } else if (code >= 0xd800 && code <= 0xdfff) {
        code = 0xfffd;
    }
    add_utf8(out, code);
    return true;
}

static bool unescape_one(const char **p, const char *end, struct strbuf *out)
{
    static const char plain['u' + 1] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};
    if (*p == end)
        return false;
    unsigned char c = (unsigned char)*(*p)++;
    if (c == 'u')
        return unescape_unicode(p, end, out);
    if (c >= sizeof(plain) || !plain[c])
        return false;
    strbuf_addc(out, plain[c]);
    return true;
}

int json_slice_string(struct json_slice value, struct strbuf *out)
{
    if (!is_string(value))
        return -1;
    size_t before = out->len;
    const char *end = value.data + value.len - 1;
    for (const char *p = value.data + 1; p < end;) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        strbuf_add(out, p, (size_t)((escape ? escape : end) - p));
        p = escape ? escape + 1 : end;
        if (escape && !unescape_one(&p, end, out)) {
            strbuf_truncate(out, before);
            return -1;
        }
    }
    if (out->overflowed)
        strbuf_truncate(out, before);
    return 0;
}

bool json_slice_str_eq(struct json_slice value, const char *s)
{
    if (!is_string(value))
        return false;
    size_t len = strlen(s);
    if (!memchr(value.data, '\\', value.len))
        return value.len == len + 2 && memcmp(value.data + 1, s, len) == 0;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, value.len);
    return json_slice_string(value, &text) == 0 && text.len == len && memcmp(text.buf, s, len) == 0;
}

char *json_slice_strdup(struct json_slice value)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, value.len); /* no escape is shorter than what it stands for */
    return json_slice_string(value, &text) == 0 ? strbuf_detach(&text, NULL) : NULL;
}

/* ---- other scalars ------------------------------------------------------------------------------------------- */

int64_t json_slice_int(struct json_slice value, int64_t fallback)
{
    size_t i = 0;
    bool negative = value.data && value.len > 0 && value.data[0] == '-';
    i += negative;
    if (!value.data || i == value.len)
        return fallback;
    int64_t number = 0;
    for (; i < value.len; i++) {
        int digit = value.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, negative ? -digit : digit, &number))
            return fallback;
    }
    return number;
}

bool json_slice_is_true(struct json_slice value)
{
    return value.data && value.len == 4 && memcmp(value.data, "true", 4) == 0;
}
