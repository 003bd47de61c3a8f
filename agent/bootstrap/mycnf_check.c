/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/mycnf_check.h"

#include "common/strvec.h"
#include "common/subprocess.h"

/* What follows the last of these in a line is for people. */
static const char *const prefixes[] = {"[ERROR] ", "[Server] ", "Buffered error: ", "mysqld: ", "mariadbd: ", "error: "};

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

int mycnf_check(const struct server_binary *binary, const char *path, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(strbuf_release) struct strbuf tail;
    struct subprocess_result result = {0};
    struct error failure = ERROR_INIT;
    char reason[ERROR_MESSAGE_MAX];

    strvec_init(&argv);
    strbuf_init(&tail, SUBPROCESS_STDERR_MAX);
    strvec_push(&argv, binary->path);
    strvec_pushf(&argv, "--defaults-file=%s", path);
    if (dialect_for(&binary->version)->validate_config) {
        strvec_push(&argv, "--validate-config");
    } else {
        strvec_push(&argv, "--help");
        strvec_push(&argv, "--verbose");
    }
    struct subprocess_options options = {
        .argv = (const char *const *)argv.v,
        .new_process_group = true,
        .timeout_ms = MYCNF_CHECK_TIMEOUT_MS,
    };
    if (subprocess_run(&options, NULL, &tail, &result, &failure) == 0)
        return 0;
    mycnf_check_reason(tail.buf, reason, sizeof(reason));
    if (result.timed_out || result.exit_code <= 0 || !*reason) {
        if (err)
            *err = failure;
        return -1;
    }
    return error_set(err, ERROR_INVALID, "%s refuses my.cnf: %s", binary->version.text, reason);
}
