/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/last_words.h"

#include "agent/bootstrap/mycnf_check.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/server_log.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define TELLING_MAX ((LAST_WORDS_LINES + LAST_WORDS_ERRORS) * LAST_WORDS_LINE_BYTES)

/* What an error says, of a server or a tool; "": it is none. */
static void read_error(const char *line, char ret[static LAST_WORDS_LINE_BYTES])
{
    mycnf_check_reason(line, ret, LAST_WORDS_LINE_BYTES);
    if (!*ret && server_log_kind_of(line) == SERVER_LOG_ERROR)
        json_copy_text(ret, LAST_WORDS_LINE_BYTES, server_log_said(line));
}

static void note_error(struct last_words *words, const char *line)
{
    enum server_log_kind kind = server_log_kind_of(line);
    char error[LAST_WORDS_LINE_BYTES];

    if (kind == SERVER_LOG_BEGIN)
        words->error_count = 0;
    read_error(line, error);
    if (*error && kind != SERVER_LOG_CONSEQUENCE && words->error_count < LAST_WORDS_ERRORS)
        memcpy(words->errors[words->error_count++], error, sizeof(error));
}

void last_words_note(struct last_words *words, const char *line)
{
    if (str_empty(line))
        return;
    note_error(words, line);
    json_copy_text(words->lines[words->count % LAST_WORDS_LINES], LAST_WORDS_LINE_BYTES, line);
    words->count++;
}

void last_words_note_all(struct last_words *words, const char *text)
{
    _cleanup_(strvec_release) struct strvec lines;

    strvec_init(&lines);
    strvec_split(&lines, text, "\r\n");
    for (size_t i = 0; i < lines.n; i++)
        last_words_note(words, lines.v[i]);
}

static unsigned held(const struct last_words *words)
{
    return MIN_OF(words->count, (unsigned)LAST_WORDS_LINES);
}

/* 0: the oldest that is held. */
static const char *line_at(const struct last_words *words, unsigned index)
{
    return words->lines[(words->count - held(words) + index) % LAST_WORDS_LINES];
}

static void cut_at_word(const char *text, char *ret, size_t size)
{
    size_t len = strlen(text);

    if (len < size) {
        memcpy(ret, text, len + 1);
        return;
    }
    size_t end = size - sizeof("...");
    while (end > 0 && text[end] != ' ')
        end--;
    if (end == 0) { /* there is no blank to cut at */
        json_copy_text(ret, size, text);
        return;
    }
    snprintf(ret, size, "%.*s...", (int)end, text);
}

static void add_error(struct strbuf *text, const char *error)
{
    if (*error && !strstr(text->buf, error))
        strbuf_addf(text, "%s%s", text->len ? "; " : "", error);
}

/* Consequences of what is not known; else what is no note. */
static void add_rest(const struct last_words *words, struct strbuf *text)
{
    char error[LAST_WORDS_LINE_BYTES];

    for (unsigned i = 0; i < held(words); i++) {
        if (server_log_kind_of(line_at(words, i)) != SERVER_LOG_CONSEQUENCE)
            continue;
        read_error(line_at(words, i), error);
        add_error(text, error);
    }
    for (unsigned i = held(words); i > 0 && !text->len; i--) {
        if (server_log_kind_of(line_at(words, i - 1)) == SERVER_LOG_UNMARKED)
            strbuf_adds(text, line_at(words, i - 1));
    }
    if (!text->len && held(words) > 0)
        strbuf_adds(text, line_at(words, held(words) - 1));
}

void last_words_telling(const struct last_words *words, char *ret, size_t size)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, TELLING_MAX);
    for (unsigned i = 0; i < words->error_count; i++)
        add_error(&text, words->errors[i]);
    if (!text.len)
        add_rest(words, &text);
    cut_at_word(text.buf, ret, size);
}

void last_words_log(const struct last_words *words, const char *program)
{
    for (unsigned i = 0; i < held(words); i++)
        log_warn("last words of a program that failed", LOG_STR("program", program), LOG_STR("line", line_at(words, i)));
}
