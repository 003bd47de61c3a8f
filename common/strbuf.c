/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/strbuf.h"

#include "common/alloc.h"

enum { STRBUF_FIRST_BYTES = 64 };

static char *empty_text(void)
{
    return (char *)(uintptr_t) ""; /* never written: capacity 0 says so */
}

static void set_len(struct strbuf *sb, size_t len)
{
    sb->len = len;
    if (sb->capacity)
        sb->buf[len] = '\0';
}

/* Makes room for `more` bytes and the NUL; false (and overflowed) if that would pass the maximum. */
static bool reserve(struct strbuf *sb, size_t more)
{
    if (more > sb->max - sb->len) {
        sb->overflowed = true;
        return false;
    }
    size_t need = sb->len + more + 1;
    if (need <= sb->capacity)
        return true;
    size_t limit = sb->max + 1;
    size_t doubled = sb->capacity > limit / 2 ? limit : sb->capacity * 2;
    size_t capacity = MIN_OF(MAX_OF(MAX_OF(need, doubled), (size_t)STRBUF_FIRST_BYTES), MAX_OF(limit, need));
    sb->buf = xrealloc(sb->capacity ? sb->buf : NULL, capacity);
    sb->capacity = capacity;
    return true;
}

void strbuf_init(struct strbuf *sb, size_t max)
{
    *sb = (struct strbuf){.buf = empty_text(), .max = MIN_OF(max, SIZE_MAX / 2)};
}

void strbuf_release(struct strbuf *sb)
{
    if (!sb)
        return;
    if (sb->capacity)
        free(sb->buf);
    strbuf_init(sb, sb->max);
}

void strbuf_release_secret(struct strbuf *sb)
{
    if (sb && sb->capacity)
        explicit_bzero(sb->buf, sb->capacity);
    strbuf_release(sb);
}

void strbuf_reset(struct strbuf *sb)
{
    set_len(sb, 0);
    sb->overflowed = false;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
    if (!len || !reserve(sb, len))
        return;
    memcpy(sb->buf + sb->len, data, len);
    set_len(sb, sb->len + len);
}

void strbuf_adds(struct strbuf *sb, const char *s)
{
    strbuf_add(sb, s, strlen(s));
}

void strbuf_addc(struct strbuf *sb, char c)
{
    strbuf_add(sb, &c, 1);
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strbuf_addvf(sb, fmt, ap);
    va_end(ap);
}

void strbuf_addvf(struct strbuf *sb, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t room = sb->capacity ? sb->capacity - sb->len : 0;
    int n = vsnprintf(room ? sb->buf + sb->len : NULL, room, fmt, ap);
    if (n > 0 && (size_t)n < room) {
        sb->len += (size_t)n; /* capacity never exceeds max + 1, so it fits the maximum too */
    } else if (n > 0 && reserve(sb, (size_t)n)) {
        vsnprintf(sb->buf + sb->len, (size_t)n + 1, fmt, again);
        sb->len += (size_t)n;
    } else {
        sb->overflowed = sb->overflowed || n < 0;
        set_len(sb, sb->len);
    }
    va_end(again);
}

/* Length of the well-formed UTF-8 character at s (table 3-7 of the Unicode standard), 0 if there is none. */
static size_t utf8_char_len(const unsigned char *s)
{
    unsigned char c = s[0];
    if (c < 0x80)
        return 1;
    size_t len = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) /* stops at the NUL too */
            return 0;
    }
    bool overlong_or_surrogate = (c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) ||
        (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f);
    return overlong_or_surrogate ? 0 : len;
}

static void add_json_escape(struct strbuf *sb, unsigned char c)
{
    static const char *const short_form[0x60] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"};
    if (c < ARRAY_LEN(short_form) && short_form[c])
        strbuf_adds(sb, short_form[c]);
    else
        strbuf_addf(sb, "\\u%04x", c);
}

/* Additions made of pieces: begun with overflowed false, undone as a whole if any piece did not fit. */
static bool begin_whole(struct strbuf *sb)
{
    bool before = sb->overflowed;
    sb->overflowed = false;
    return before;
}

static void end_whole(struct strbuf *sb, size_t start, bool overflowed_before)
{
    if (sb->overflowed)
        set_len(sb, start);
    sb->overflowed = sb->overflowed || overflowed_before;
}

void strbuf_add_json_string(struct strbuf *sb, const char *s)
{
    size_t start = sb->len;
    bool before = begin_whole(sb);
    strbuf_addc(sb, '"');
    const char *plain = s; /* start of the run that needs no escape */
    while (*s && !sb->overflowed) {
        unsigned char c = (unsigned char)*s;
        size_t len = utf8_char_len((const unsigned char *)s);
        if (len && c >= 0x20 && c != '"' && c != '\\') {
            s += len;
            continue;
        }
        strbuf_add(sb, plain, (size_t)(s - plain));
        if (len)
            add_json_escape(sb, c);
        else
            strbuf_adds(sb, "\xef\xbf\xbd");
        plain = ++s;
    }
    strbuf_add(sb, plain, (size_t)(s - plain));
    strbuf_addc(sb, '"');
    end_whole(sb, start, before);
}

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
        c == '_' || c == '~';
}

void strbuf_add_urlencoded(struct strbuf *sb, const char *s)
{
    size_t start = sb->len;
    bool before = begin_whole(sb);
    for (; *s && !sb->overflowed; s++) {
        if (is_unreserved((unsigned char)*s))
            strbuf_addc(sb, *s);
        else
            strbuf_addf(sb, "%%%02X", (unsigned char)*s);
    }
    end_whole(sb, start, before);
}

void strbuf_consume(struct strbuf *sb, size_t n)
{
    n = MIN_OF(n, sb->len);
    if (!n)
        return;
    memmove(sb->buf, sb->buf + n, sb->len - n);
    set_len(sb, sb->len - n);
}

void strbuf_truncate(struct strbuf *sb, size_t len)
{
    set_len(sb, MIN_OF(len, sb->len));
}

char *strbuf_detach(struct strbuf *sb, size_t *ret_len)
{
    char *text = sb->capacity ? sb->buf : xstrdup("");
    if (ret_len)
        *ret_len = sb->len;
    strbuf_init(sb, sb->max);
    return text;
}
