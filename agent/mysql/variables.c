/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/variables.h"

#include <ctype.h>

#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/option_size.h"
#include "common/strbuf.h"

#define SQL_MAX (16 * KM_KIB)
#define NAME_MAX_BYTES 64
#define ER_UNKNOWN_SYSTEM_VARIABLE 1193

/* ---- files ---- */

static void change_release(struct variable_change *change)
{
    free(change->name);
    free(change->value);
}

void variable_changes_release(struct variable_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++)
        change_release(&changes->v[i]);
    free(changes->v);
    *changes = (struct variable_changes){0};
}

static struct variable_change *find(const struct variable_changes *options, const char *name)
{
    for (size_t i = 0; i < options->n; i++) {
        if (strcmp(options->v[i].name, name) == 0)
            return &options->v[i];
    }
    return NULL;
}

static char *trimmed(const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char)*text)) {
        text++;
        len--;
    }
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    return xstrndup(text, len);
}

/* Quotes around a whole value, and the escapes of option files. */
static char *unquoted(char *value)
{
    size_t len = strlen(value);
    char *to = value;
    const char *from = value;
    const char *end = value + len;

    if (len >= 2 && (*value == '"' || *value == '\'') && value[len - 1] == *value) {
        from++;
        end--;
    }
    while (from < end) {
        static const char escapes[] = "n\nt\tb\br\rs \\\\\"\"''";
        const char *hit = *from == '\\' && from + 1 < end ? strchr(escapes, from[1]) : NULL;
        bool is_escape = hit && (hit - escapes) % 2 == 0;
        *to++ = is_escape ? hit[1] : *from;
        from += is_escape ? 2 : 1;
    }
    *to = '\0';
    return value;
}

static struct variable_change parse_option(const char *line, size_t len)
{
    const char *equals = memchr(line, '=', len);
    struct variable_change option = {.bare = !equals};
    _cleanup_(freep) char *name = trimmed(line, equals ? (size_t)(equals - line) : len);

    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
    option.loose = str_starts_with(name, "loose_");
    option.name = xstrdup(option.loose ? name + strlen("loose_") : name);
    option.value = equals ? unquoted(trimmed(equals + 1, len - (size_t)(equals - line) - 1)) : xstrdup("");
    return option;
}

static bool is_list(const char *name)
{
    return str_starts_with(name, "plugin_load") || str_starts_with(name, "replicate_") ||
        str_starts_with(name, "binlog_do_db") || str_starts_with(name, "binlog_ignore_db");
}

static int add_option(struct variable_changes *options, struct variable_change option, struct error *err)
{
    struct variable_change *known = find(options, option.name);

    option.repeated = is_list(option.name);
    if (known && option.repeated) {
        char *all = xasprintf("%s\n%s", known->value, option.value);
        free(option.value);
        option.value = all;
    }
    if (known) {
        change_release(known);
        *known = option;
        return 0;
    }
    if (options->n == VARIABLES_MAX) {
        change_release(&option);
        return error_set(err, ERROR_TOO_LARGE, "my.cnf has more than %d options", VARIABLES_MAX);
    }
    options->v = xreallocarray(options->v, options->n + 1, sizeof(*options->v));
    options->v[options->n++] = option;
    return 0;
}

static int parse(const char *text, struct variable_changes *ret, struct error *err)
{
    bool ours = false;

    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        const char *start = line + strspn(line, " \t");
        size_t rest = start < line + len ? (size_t)(line + len - start) : 0;
        line += len + (line[len] == '\n');
        if (rest == 0 || *start == '#' || *start == ';' || *start == '!')
            continue;
        if (*start == '[')
            ours = rest >= 8 && strncmp(start, "[mysqld]", 8) == 0;
        else if (ours && add_option(ret, parse_option(start, rest), err) < 0)
            return -1;
    }
    return 0;
}

static struct variable_change copy_of(const struct variable_change *option, bool gone)
{
    struct variable_change copy = *option;

    copy.name = xstrdup(option->name);
    copy.value = gone ? NULL : xstrdup(option->value);
    return copy;
}

static int compare(const struct variable_changes *before, const struct variable_changes *after,
    struct variable_changes *ret, struct error *err)
{
    for (size_t i = 0; i < after->n; i++) {
        const struct variable_change *old = find(before, after->v[i].name);
        if ((!old || strcmp(old->value, after->v[i].value) != 0 || old->bare != after->v[i].bare) &&
            add_option(ret, copy_of(&after->v[i], false), err) < 0)
            return -1;
    }
    for (size_t i = 0; i < before->n; i++) {
        if (!find(after, before->v[i].name) && add_option(ret, copy_of(&before->v[i], true), err) < 0)
            return -1;
    }
    return 0;
}

int variables_diff(const char *old_text, const char *new_text, struct variable_changes *ret, struct error *err)
{
    _cleanup_(variable_changes_release) struct variable_changes before = {0};
    _cleanup_(variable_changes_release) struct variable_changes after = {0};
    _cleanup_(variable_changes_release) struct variable_changes changes = {0};

    if (parse(old_text, &before, err) < 0 || parse(new_text, &after, err) < 0 ||
        compare(&before, &after, &changes, err) < 0)
        return -1;
    *ret = changes;
    changes = (struct variable_changes){0};
    return 0;
}

/* ---- statements ---- */

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= NAME_MAX_BYTES && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

/* 32M to 33554432; false if it is no number of bytes with a suffix. */
static bool scaled(const char *value, uint64_t *ret)
{
    size_t len = option_size_read(value, ret);

    return len > 0 && !value[len] && isalpha((unsigned char)value[len - 1]) && *ret != UINT64_MAX;
}

static bool is_plain_number(const char *value)
{
    const char *digits = value + (*value == '-');
    size_t whole = strspn(digits, "0123456789");
    size_t all = digits[whole] == '.' ? whole + 1 + strspn(digits + whole + 1, "0123456789") : whole;

    return whole > 0 && digits[all] == '\0';
}

static void add_value(struct strbuf *out, const char *value)
{
    uint64_t number;

    if (scaled(value, &number))
        strbuf_addf(out, "%llu", (unsigned long long)number);
    else if (is_plain_number(value))
        strbuf_adds(out, value);
    else
        sql_add_string(out, value);
}

bool variables_sql(const struct variable_change *change, struct strbuf *out)
{
    if (!is_name(change->name) || change->repeated || (change->bare && change->value))
        return false;
    strbuf_addf(out, "SET GLOBAL %s = ", change->name);
    if (change->value)
        add_value(out, change->value);
    else
        strbuf_adds(out, "DEFAULT");
    return true;
}

/* ---- the server ---- */

static bool is_answer(const struct error *error)
{
    return error->kind == ERROR_DATABASE || error->kind == ERROR_UNAUTHORIZED;
}

enum verdict { VERDICT_CAN, VERDICT_IGNORED, VERDICT_RESTART };

static int try_one(struct session *session, const struct variable_change *change, enum verdict *ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    struct error failure = ERROR_INIT;

    strbuf_init(&sql, SQL_MAX);
    *ret = VERDICT_RESTART;
    if (!variables_sql(change, &sql))
        return 0;
    strbuf_reset(&sql);
    strbuf_addf(&sql, "SET GLOBAL %s = @@GLOBAL.%s", change->name, change->name);
    if (session_exec(session, sql.buf, &failure) == 0)
        *ret = VERDICT_CAN;
    else if (!is_answer(&failure)) {
        *err = failure;
        return -1;
    } else if (change->loose && failure.code == ER_UNKNOWN_SYSTEM_VARIABLE)
        *ret = VERDICT_IGNORED;
    return 0;
}

static int try_all(struct session *session, const struct variable_changes *changes, bool *ignored,
    struct strvec *needs_restart, struct error *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        enum verdict verdict;
        if (try_one(session, &changes->v[i], &verdict, err) < 0)
            return -1;
        ignored[i] = verdict == VERDICT_IGNORED;
        if (verdict == VERDICT_RESTART)
            strvec_push(needs_restart, changes->v[i].name);
    }
    return 0;
}

static void take_value(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count > 0 && values[0])
        *(char **)arg = xstrdup(values[0]);
}

static int read_value(struct session *session, const char *name, char **ret, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SELECT @@GLOBAL.%s", name);

    return session_query(session, sql, take_value, ret, err);
}

static int set_one(struct session *session, const struct variable_change *change, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, SQL_MAX);
    variables_sql(change, &sql);
    return session_exec(session, sql.buf, err);
}

/* Best effort: what was, was accepted once. */
static void set_back(struct session *session, const struct variable_changes *changes, char *const *was, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct variable_change back = {.name = changes->v[i].name, .value = was[i]};
        if (was[i])
            (void)(set_one(session, &back, NULL) == 0);
    }
}

static int set_all(struct session *session, const struct variable_changes *changes, const bool *ignored, char **was,
    struct strvec *needs_restart, struct error *err)
{
    struct error failure = ERROR_INIT;

    for (size_t i = 0; i < changes->n; i++) {
        const struct variable_change *change = &changes->v[i];
        if (ignored[i])
            continue;
        if (read_value(session, change->name, &was[i], &failure) == 0 && set_one(session, change, &failure) == 0)
            continue;
        set_back(session, changes, was, i);
        if (is_answer(&failure)) {
            strvec_push(needs_restart, change->name);
            return 0;
        }
        *err = failure;
        return -1;
    }
    return 0;
}

int variables_preview(
    struct session *session, const struct variable_changes *changes, struct strvec *needs_restart, struct error *err)
{
    bool *ignored = xcalloc(changes->n + 1, sizeof(*ignored));
    int rc = try_all(session, changes, ignored, needs_restart, err);

    free(ignored);
    return rc;
}

int variables_apply(struct session *session, const struct variable_changes *changes, struct strvec *applied,
    struct strvec *needs_restart, struct error *err)
{
    bool *ignored = xcalloc(changes->n + 1, sizeof(*ignored));
    char **was = xcalloc(changes->n + 1, sizeof(*was));
    int rc = try_all(session, changes, ignored, needs_restart, err);

    if (rc == 0 && needs_restart->n == 0)
        rc = set_all(session, changes, ignored, was, needs_restart, err);
    for (size_t i = 0; rc == 0 && needs_restart->n == 0 && i < changes->n; i++)
        strvec_push(applied, changes->v[i].name);
    for (size_t i = 0; i < changes->n; i++)
        free(was[i]);
    free(was);
    free(ignored);
    return rc;
}
