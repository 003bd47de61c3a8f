/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/last_words.h"

#include "agent/bootstrap/mycnf_check.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define TELLING_MAX (LAST_WORDS_LINES * LAST_WORDS_LINE_BYTES)

void last_words_note(struct last_words *words, const char *line)
{
    if (str_empty(line))
        return;
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

void last_words_telling(const struct last_words *words, char *ret, size_t size)
{
    _cleanup_(strbuf_release) struct strbuf text;
    char reason[LAST_WORDS_LINE_BYTES];

    strbuf_init(&text, TELLING_MAX);
    for (unsigned i = 0; i < held(words); i++) {
        mycnf_check_reason(line_at(words, i), reason, sizeof(reason));
        if (*reason && !strstr(text.buf, reason))
            strbuf_addf(&text, "%s%s", text.len ? "; " : "", reason);
    }
    if (!text.len && held(words) > 0)
        strbuf_adds(&text, line_at(words, held(words) - 1));
    cut_at_word(text.buf, ret, size);
}

void last_words_log(const struct last_words *words, const char *program)
{
    for (unsigned i = 0; i < held(words); i++)
        log_warn("last words of a program that failed", LOG_STR("program", program), LOG_STR("line", line_at(words, i)));
}
