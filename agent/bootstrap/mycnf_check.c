/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/mycnf_check.h"

#include <unistd.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define MYCNF_CHECK_TEXT_MAX ((size_t)(1 * KM_MIB))

/* What follows the last of these in a line is for people. */
static const char *const prefixes[] = {
    "[ERROR] ", "[Server] ", "[InnoDB] ", "Buffered error: ", "mysqld: ", "mariadbd: ", "error: "};

static const char *strip_prefixes(const char *line)
{
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        const char *at = strstr(line, prefixes[i]);
        if (at)
            line = at + strlen(prefixes[i]);
    }
    return line;
}

static bool is_complaint(const char *line)
{
    return strstr(line, "[ERROR]") || str_starts_with(line, "error: ");
}

/* "Aborting" and its like end the list of reasons and say nothing. */
static bool is_noise(const char *line)
{
    return str_starts_with(line, "Aborting") || str_starts_with(line, "Parsing options");
}

void mycnf_check_reason(const char *server_stderr, char *ret, size_t size)
{
    _cleanup_(strvec_release) struct strvec lines;
    size_t used = 0;

    ret[0] = '\0';
    strvec_init(&lines);
    strvec_split(&lines, server_stderr, "\r\n");
    for (size_t i = 0; i < lines.n && used + 1 < size; i++) {
        const char *said = strip_prefixes(lines.v[i]);
        if (!is_complaint(lines.v[i]) || is_noise(said))
            continue;
        int written = snprintf(ret + used, size - used, "%s%s", used ? "; " : "", said);
        used = MIN_OF(used + (size_t)MAX_OF(written, 0), size - 1);
    }
}

/* MariaDB says some of it twice, the second time as a buffered warning. */
void mycnf_check_adjusted(const char *server_stderr, struct strbuf *out)
{
    _cleanup_(strvec_release) struct strvec lines;
    size_t begin = out->len;

    strvec_init(&lines);
    strvec_split(&lines, server_stderr, "\r\n");
    for (size_t i = 0; i < lines.n; i++) {
        const char *said = strstr(lines.v[i], "[Warning]") ? strstr(lines.v[i], "option '") : NULL;
        if (!said || !(strstr(said, " adjusted to ") || strstr(said, "truncated")))
            continue;
        size_t len = strlen(said);
        _cleanup_(freep) char *text = xasprintf("%.*s", (int)(len - (said[len - 1] == '.')), said);
        if (out->len == begin || !strstr(out->buf + begin, text))
            strbuf_addf(out, "%s%s", out->len == begin ? "" : "; ", text);
    }
}

/* ---- whom a reason names ---- */

/* An option line of a my.cnf; value "" without one. Not NUL-terminated. */
struct option {
    const char *key, *value;
    size_t key_len, value_len;
};

static bool read_option(const char *line, size_t len, struct option *ret)
{
    const char *equals = memchr(line, '=', len);
    size_t key_len = equals ? (size_t)(equals - line) : len;
    const char *value = equals ? equals + 1 : line + len;

    while (key_len > 0 && line[key_len - 1] == ' ')
        key_len--;
    while (value < line + len && *value == ' ')
        value++;
    *ret = (struct option){line, value, key_len, (size_t)(line + len - value)};
    return key_len > 0 && line[0] != '#' && line[0] != '[' && line[0] != '!';
}

static bool same_name(const char *a, size_t a_len, const char *b, size_t b_len)
{
    for (size_t i = 0; i < a_len && a_len == b_len; i++) {
        if (a[i] != b[i] && !(strchr("-_", a[i]) && strchr("-_", b[i])))
            return false;
    }
    return a_len == b_len;
}

/* 'KEY', 'KEY=VALUE' or '--KEY' in the reason; or 'VALUE', and nothing else is looked for then. */
static bool is_named(const char *reason, const struct option *option, bool by_value)
{
    for (const char *at = reason; (at = strchr(at, '\'')); at++) {
        size_t len = strcspn(++at, "'");
        const char *name = len > 2 && at[0] == '-' && at[1] == '-' ? at + 2 : at;
        size_t name_len = MIN_OF(strcspn(name, "="), (size_t)(at + len - name));
        bool fits = by_value ? len > 0 && len == option->value_len && memcmp(at, option->value, len) == 0
                             : same_name(name, name_len, option->key, option->key_len);
        if (fits)
            return true;
        at += len;
        if (!*at)
            break;
    }
    return false;
}

static void name_option(const struct option *option, char *reason, size_t size)
{
    size_t used = strlen(reason);
    snprintf(reason + used, size - used, " (%.*s = %.*s)", (int)option->key_len, option->key, (int)option->value_len,
        option->value);
}

static int leave_out(const char *mycnf, char *reason, size_t size, bool by_value, struct strbuf *rest)
{
    _cleanup_(freep) char *said = xstrdup(reason);
    int named = 0;

    for (const char *line = mycnf, *end; *line; line = end) {
        struct option option;
        size_t len = strcspn(line, "\n");
        end = line + len + (line[len] == '\n');
        bool is_out = read_option(line, len, &option) && is_named(said, &option, by_value);
        if (!is_out)
            strbuf_add(rest, line, (size_t)(end - line));
        if (is_out && by_value)
            name_option(&option, reason, size);
        named += is_out;
    }
    return named;
}

bool mycnf_check_without(const char *mycnf, char *reason, size_t size, struct strbuf *rest)
{
    size_t before = rest->len;

    if (leave_out(mycnf, reason, size, false, rest) > 0)
        return true;
    strbuf_truncate(rest, before);
    return leave_out(mycnf, reason, size, true, rest) > 0;
}

/* ---- what the server refuses ---- */

enum verdict { VERDICT_TAKEN, VERDICT_REFUSED, VERDICT_UNKNOWN };

/* TAKEN: adjusted, which may be NULL; REFUSED: reason; UNKNOWN: err. */
static enum verdict ask(const struct server_binary *binary, const char *path, char *reason, size_t size,
    struct strbuf *adjusted, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(strbuf_release) struct strbuf tail;
    struct subprocess_result result = {0};

    strvec_init(&argv);
    strbuf_init(&tail, SUBPROCESS_STDERR_MAX);
    strvec_push(&argv, binary->path);
    strvec_pushf(&argv, "--defaults-file=%s", path);
    const struct dialect *dialect = dialect_for(&binary->version);
    _cleanup_(freep) char *index = xasprintf("%s.index", path);
    if (dialect->validate_config) {
        strvec_push(&argv, "--validate-config");
    } else {
        /* 5.6 and 5.7 open the index of the binary log before they print anything, and there may be no data folder
         * yet. */
        if (dialect->family == AGENT_FLAVOUR_MYSQL)
            strvec_pushf(&argv, "--log-bin-index=%s", index);
        strvec_push(&argv, "--help");
        strvec_push(&argv, "--verbose");
    }
    struct subprocess_options options = {
        .argv = (const char *const *)argv.v,
        .new_process_group = true,
        .timeout_ms = MYCNF_CHECK_TIMEOUT_MS,
    };
    int rc = subprocess_run(&options, NULL, &tail, &result, err);
    unlink(index);
    if (rc == 0 && adjusted)
        mycnf_check_adjusted(tail.buf, adjusted);
    if (rc == 0)
        return VERDICT_TAKEN;
    mycnf_check_reason(tail.buf, reason, size);
    return result.timed_out || result.exit_code <= 0 || !*reason ? VERDICT_UNKNOWN : VERDICT_REFUSED;
}

/* What else it would refuse, behind the first reason. */
static void find_further(const struct server_binary *binary, const char *path, char *reason, size_t size)
{
    _cleanup_(freep) char *beside = xasprintf("%s.check", path);
    _cleanup_(strbuf_release) struct strbuf mycnf, rest;
    int64_t end_ms = clock_monotonic_ms() + MYCNF_CHECK_ROUNDS_MS;
    char *last = reason; /* of this round */

    strbuf_init(&mycnf, MYCNF_CHECK_TEXT_MAX);
    strbuf_init(&rest, MYCNF_CHECK_TEXT_MAX);
    if (fs_read_file(path, &mycnf, NULL) < 0)
        return;
    for (int round = 1; mycnf_check_without(mycnf.buf, last, size - (size_t)(last - reason), &rest); round++) {
        size_t used = strlen(reason);
        if (round == MYCNF_CHECK_ROUNDS_MAX || clock_monotonic_ms() > end_ms || used + sizeof("; ") >= size ||
            fs_write_file_atomic(beside, rest.buf, rest.len, 0600, NULL) < 0)
            break;
        last = reason + used + strlen("; ");
        if (ask(binary, beside, last, size - (size_t)(last - reason), NULL, NULL) != VERDICT_REFUSED) {
            *last = '\0';
            break;
        }
        memcpy(reason + used, "; ", strlen("; "));
        strbuf_truncate(&mycnf, 0);
        strbuf_add(&mycnf, rest.buf, rest.len);
        strbuf_truncate(&rest, 0);
    }
    unlink(beside);
}

int mycnf_check(const struct server_binary *binary, const char *path, struct strbuf *adjusted, struct error *err)
{
    char reason[ERROR_MESSAGE_MAX] = "";

    switch (ask(binary, path, reason, sizeof(reason), adjusted, err)) {
    case VERDICT_TAKEN:
        return 0;
    case VERDICT_UNKNOWN:
        return -1;
    case VERDICT_REFUSED:
        break;
    }
    find_further(binary, path, reason, sizeof(reason));
    return error_set(err, ERROR_INVALID, "%s refuses my.cnf: %s", binary->version.text, reason);
}
