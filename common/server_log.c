/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/server_log.h"

#define ERROR_MARK "[ERROR] "
#define SIGNAL_MARK " got signal "
#define CRASHED "the server crashed"

static bool has_any(const char *text, const char *const *parts)
{
    for (; *parts; parts++) {
        if (strstr(text, *parts))
            return true;
    }
    return false;
}

/* ---- one line ---- */

static const char *const note_marks[] = {"[Note] ", "[Warning] ", "[System] ", NULL};
/* MariaDB, MySQL. */
static const char *const begin_marks[] = {
    "[Note] Starting MariaDB ", ") starting as process ", ": ready for connections.", NULL};
static const char *const consequences[] = {"registration as a STORAGE ENGINE failed",
    "Plugin initialization aborted with error", "Unknown/unsupported storage engine: InnoDB",
    "Could not open mysql.plugin table", "Failed to initialize plugins", "Failed to initialize DD Storage Engine",
    "Data Dictionary initialization failed", NULL};
/* Of what a crash prints, also of its end alone. */
static const char *const crash_marks[] = {
    "stack_bottom = ", "my_print_stacktrace", "handle_fatal_signal", "Attempting backtrace", "/crashing.html", NULL};

/* MariaDB once it is ready; the agent before it makes way for the server. */
static bool is_unmarked_note(const char *line)
{
    return str_starts_with(line, "Version: '") ||
        (str_starts_with(line, "{\"time\":") && strstr(line, "\"level\":\"info\""));
}

/* The last line of each failed start, of both families. */
static bool gives_up(const char *line)
{
    static const char word[] = " Aborting";
    size_t len = strcspn(line, "\r");
    return len >= strlen(word) && strncmp(line + len - strlen(word), word, strlen(word)) == 0;
}

enum server_log_kind server_log_kind_of(const char *line)
{
    if (strstr(line, ERROR_MARK))
        return gives_up(line) || has_any(line, consequences) ? SERVER_LOG_CONSEQUENCE : SERVER_LOG_ERROR;
    if (has_any(line, begin_marks))
        return SERVER_LOG_BEGIN;
    if (has_any(line, note_marks) || is_unmarked_note(line))
        return SERVER_LOG_NOTE;
    return strstr(line, SIGNAL_MARK) ? SERVER_LOG_ERROR : SERVER_LOG_UNMARKED;
}

const char *server_log_said(const char *line)
{
    const char *mark = strstr(line, ERROR_MARK), *utc = strstr(line, " UTC - ");
    if (mark)
        return mark + strlen(ERROR_MARK);
    return utc ? utc + strlen(" UTC - ") : line;
}

/* ---- a text of lines ---- */

/* The next line, as a string of its own until end_line. */
static char *begin_line(char *line, char **ret_end)
{
    *ret_end = line + strcspn(line, "\n");
    if (**ret_end == '\0') {
        *ret_end = NULL;
        return line;
    }
    **ret_end = '\0';
    return line;
}

/* Returns what follows; NULL: nothing. */
static char *end_line(char *end)
{
    if (!end)
        return NULL;
    *end = '\n';
    return end + 1;
}

struct survey {
    size_t begin; /* where the part that tells begins */
    bool has[SERVER_LOG_CONSEQUENCE + 1];
};

/* Without an error since the server began, one of before tells, as of an option that is read first; but not of one that
 * was ready. */
static struct survey look_over(char *text)
{
    struct survey since = {.begin = 0}, all = {.begin = 0};
    bool was_ready = false;
    for (char *line = text, *end; line; line = end_line(end)) {
        enum server_log_kind kind = server_log_kind_of(begin_line(line, &end));
        if (kind == SERVER_LOG_BEGIN) {
            since = (struct survey){.begin = (size_t)(line - text)};
            was_ready = strstr(line, "ready for connections");
        }
        since.has[kind] = all.has[kind] = true;
    }
    bool tells = since.has[SERVER_LOG_ERROR] || since.has[SERVER_LOG_CONSEQUENCE] || was_ready;
    return tells ? since : all;
}

/* What is picked is never longer than its line with the line's end, so it can be moved forward. */
static void keep_lines(char *text, size_t begin, enum server_log_kind wanted, const char *between)
{
    char *out = text;
    for (char *line = text + begin, *end, *next; line; line = next) {
        bool fits = server_log_kind_of(begin_line(line, &end)) == wanted;
        const char *said = wanted == SERVER_LOG_UNMARKED ? line : server_log_said(line);
        size_t len = strlen(said);
        next = end ? end + 1 : NULL;
        if (!fits || len == 0 || gives_up(line))
            continue;
        if (out != text) {
            if (out + strlen(between) > said) /* two short lines without a mark */
                break;
            memcpy(out, between, strlen(between));
            out += strlen(between);
        }
        memmove(out, said, len);
        out += len;
    }
    *out = '\0';
}

void server_log_errors(char *text)
{
    bool crashed = has_any(text, crash_marks) && strlen(text) >= strlen(CRASHED);
    struct survey survey = look_over(text);
    if (survey.has[SERVER_LOG_ERROR])
        keep_lines(text, survey.begin, SERVER_LOG_ERROR, "; ");
    else if (survey.has[SERVER_LOG_CONSEQUENCE])
        keep_lines(text, survey.begin, SERVER_LOG_CONSEQUENCE, "; ");
    else if (crashed)
        memcpy(text, CRASHED, sizeof(CRASHED));
    else if (survey.has[SERVER_LOG_NOTE] || survey.has[SERVER_LOG_BEGIN])
        keep_lines(text, survey.begin, SERVER_LOG_UNMARKED, "\n");
}
