/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/log.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/strbuf.h"

/* What a cut record needs at its end: `,"truncated":true}` and the line feed. */
enum { TAIL_BYTES = 32 };

/* The one process-wide variable of this layer: written by log_setup before threads start, read afterwards. */
static struct {
    enum log_level level;
    enum log_format format;
    int fd;
} config = {.level = LOG_INFO, .format = LOG_FORMAT_JSON, .fd = STDERR_FILENO};

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};
static const char *const level_columns[] = {
    [LOG_DEBUG] = "DEBUG", [LOG_INFO] = "INFO ", [LOG_WARN] = "WARN ", [LOG_ERROR] = "ERROR"};
static const char *const format_names[] = {[LOG_FORMAT_JSON] = "json", [LOG_FORMAT_TEXT] = "text"};

/* How one format writes the parts of a record. */
struct log_style {
    void (*start)(struct strbuf *record, enum log_level level, const char *msg);
    void (*key)(struct strbuf *record, const char *key);
    void (*text)(struct strbuf *record, const char *value);
    const char *truncated;
    const char *end;
};

void log_setup(enum log_level level, enum log_format format, int fd)
{
    config.level = level;
    config.format = format;
    config.fd = fd;
}

static int find_name(const char *const *names, size_t count, const char *s)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(names[i], s))
            return (int)i;
    }
    return -1;
}

int log_level_parse(const char *s, enum log_level *ret)
{
    int found = find_name(level_names, ARRAY_LEN(level_names), s);
    if (found < 0)
        return -1;
    *ret = (enum log_level)found;
    return 0;
}

int log_format_parse(const char *s, enum log_format *ret)
{
    int found = find_name(format_names, ARRAY_LEN(format_names), s);
    if (found < 0)
        return -1;
    *ret = (enum log_format)found;
    return 0;
}

bool log_enabled(enum log_level level)
{
    return level >= config.level;
}

/* The longest beginning of value (by halving) whose quoted form still fits. */
static void add_quoted(struct strbuf *record, const char *value)
{
    bool overflowed = record->overflowed;
    size_t before = record->len;
    strbuf_add_json_string(record, value);
    for (size_t len = strlen(value) / 2; record->len == before && len > 0; len /= 2) {
        _cleanup_(freep) char *cut = xstrndup(value, len);
        strbuf_add_json_string(record, cut);
        overflowed = true;
    }
    record->overflowed = overflowed || record->len == before;
}

static bool needs_quotes(const char *value)
{
    if (!*value)
        return true;
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return true;
    }
    return false;
}

static void text_value(struct strbuf *record, const char *value)
{
    size_t before = record->len;
    if (!needs_quotes(value))
        strbuf_adds(record, value);
    if (record->len == before)
        add_quoted(record, value);
}

static void json_start(struct strbuf *record, enum log_level level, const char *msg)
{
    char now[CLOCK_RFC3339_MICRO_SIZE];
    clock_format_rfc3339_micro(clock_realtime_us(), now);
    strbuf_addf(record, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", now, level_names[level]);
    add_quoted(record, msg);
}

static void text_start(struct strbuf *record, enum log_level level, const char *msg)
{
    int64_t now_ms = clock_realtime_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm = {0};
    gmtime_r(&seconds, &tm);
    strbuf_addf(record, "%02d:%02d:%02d.%03d %s ", tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(now_ms % 1000),
        level_columns[level]);
    bool plain = true;
    for (const char *p = msg; *p; p++)
        plain = plain && (unsigned char)*p >= ' ' && *p != 0x7f;
    if (plain && strlen(msg) < record->max - record->len)
        strbuf_adds(record, msg);
    else
        add_quoted(record, msg);
}

static void json_key(struct strbuf *record, const char *key)
{
    strbuf_addc(record, ',');
    strbuf_add_json_string(record, key);
    strbuf_addc(record, ':');
}

static void text_key(struct strbuf *record, const char *key)
{
    strbuf_addf(record, " %s=", key);
}

static const struct log_style styles[] = {
    [LOG_FORMAT_JSON] = {json_start, json_key, add_quoted, ",\"truncated\":true", "}\n"},
    [LOG_FORMAT_TEXT] = {text_start, text_key, text_value, " truncated=true", "\n"},
};

/* A field goes in whole (a text perhaps shortened) or not at all. */
static void add_text(const struct log_style *style, struct strbuf *record, const char *key, const char *value)
{
    size_t start = record->len;
    style->key(record, key);
    size_t value_at = record->len;
    if (!record->overflowed)
        style->text(record, value);
    if (record->len == value_at)
        strbuf_truncate(record, start);
}

static void add_literal(const struct log_style *style, struct strbuf *record, const char *key, const char *value)
{
    size_t start = record->len;
    style->key(record, key);
    strbuf_adds(record, value);
    if (record->overflowed)
        strbuf_truncate(record, start);
}

static void add_field(const struct log_style *style, struct strbuf *record, const struct log_field *field)
{
    char number[24];
    switch (field->type) {
    case LOG_FIELD_STR:
        add_text(style, record, field->key, str_or_empty(field->str));
        break;
    case LOG_FIELD_INT:
        snprintf(number, sizeof(number), "%lld", (long long)field->i);
        add_literal(style, record, field->key, number);
        break;
    case LOG_FIELD_BOOL:
        add_literal(style, record, field->key, field->b ? "true" : "false");
        break;
    case LOG_FIELD_ERROR:
        add_text(style, record, "error", field->err ? field->err->message : "");
        add_text(style, record, "errorKind", error_kind_name(field->err ? field->err->kind : ERROR_NONE));
        break;
    }
}

static void write_record(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nobody to tell */
        data += n;
        len -= (size_t)n;
    }
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t count)
{
    int saved_errno = errno;
    const struct log_style *style = &styles[config.format];
    _cleanup_(strbuf_release) struct strbuf record;
    strbuf_init(&record, LOG_RECORD_MAX - TAIL_BYTES);
    style->start(&record, level, str_or_empty(msg));
    for (size_t i = 0; i < count && !record.overflowed; i++)
        add_field(style, &record, &fields[i]);
    bool truncated = record.overflowed;
    record.max = LOG_RECORD_MAX;
    if (truncated)
        strbuf_adds(&record, style->truncated);
    strbuf_adds(&record, style->end);
    write_record(config.fd, record.buf, record.len);
    errno = saved_errno;
}
