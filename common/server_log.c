/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/server_log.h"

#define ERROR_MARK "[ERROR] "

static const char *const other_marks[] = {"[Note] ", "[Warning] ", "[System] "};

/* What the line says, NULL if it is to be left out. */
typedef const char *(*pick_fn)(const char *line);

static const char *pick_error(const char *line)
{
    const char *mark = strstr(line, ERROR_MARK);
    size_t len = strlen(line);
    bool gives_up = len >= strlen("Aborting") && str_eq(line + len - strlen("Aborting"), "Aborting");
    return mark && !gives_up ? mark + strlen(ERROR_MARK) : NULL;
}

static const char *pick_unmarked(const char *line)
{
    for (size_t i = 0; i < ARRAY_LEN(other_marks); i++) {
        if (strstr(line, other_marks[i]))
            return NULL;
    }
    return line;
}

/* What is picked is never longer than its line with the line's end, so it can be moved forward. */
static void keep_lines(char *text, pick_fn pick, const char *between)
{
    char *out = text;
    for (char *line = text, *next; line; line = next) {
        size_t len = strcspn(line, "\n");
        next = line[len] ? line + len + 1 : NULL;
        line[len] = '\0';
        const char *picked = pick(line);
        if (!picked || !*picked)
            continue;
        size_t picked_len = strlen(picked);
        if (out != text) {
            memcpy(out, between, strlen(between));
            out += strlen(between);
        }
        memmove(out, picked, picked_len);
        out += picked_len;
    }
    *out = '\0';
}

static bool has_other_mark(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(other_marks); i++) {
        if (strstr(text, other_marks[i]))
            return true;
    }
    return false;
}

void server_log_errors(char *text)
{
    if (strstr(text, ERROR_MARK))
        keep_lines(text, pick_error, "; ");
    else if (has_other_mark(text))
        keep_lines(text, pick_unmarked, "\n");
}
