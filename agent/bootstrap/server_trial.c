/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_trial.h"

#include <signal.h>

#include "agent/bootstrap/data_growth.h"
#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/mycnf_check.h"
#include "agent/bootstrap/run_mycnf.h"
#include "agent/bootstrap/trial_mycnf.h"
#include "agent/mysql/session.h"
#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define CONNECT_TIMEOUT_S 5
#define TEXT_MAX ((size_t)(MYCNF_MAX + 32 * KM_KIB))
#define CUT_SHOWN 100
#define OPTIONS_SHOWN 100
#define ER_ACCOUNT_IS_LOCKED 3118

struct trial {
    const struct agent_paths *paths;
    const struct server_binary *binary;
    const char *user;
    struct data_growth growth;
    struct error write_failure; /* of the server that answers */
};

/* ---- before ---- */

static int prepare_mycnf(const struct agent_paths *paths, struct strbuf *cut, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text, more;

    strbuf_init(&text, TEXT_MAX);
    strbuf_init(&more, TEXT_MAX);
    if (fs_read_file(paths->run_mycnf, &text, err) < 0 || trial_mycnf_add(text.buf, &more, cut, err) < 0)
        return -1;
    strbuf_add(&text, more.buf, more.len);
    if (text.overflowed || more.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "my.cnf is too large");
    if (cut->len > 0)
        log_info("the server is tried with smaller sizes than it is to have", LOG_STR("cut", cut->buf));
    return fs_write_file_atomic(paths->run_mycnf, text.buf, text.len, 0640, err);
}

/* ---- while it runs ---- */

/* The server starts as every member does, read-only. The rows are for no replica, and wait for none. */
static int open_for_writes(struct session *session, struct error *err)
{
    struct error ignored = ERROR_INIT; /* a server without the variable takes writes from this user anyway */

    if (session_exec(session, "SET GLOBAL super_read_only = OFF", &ignored) < 0)
        log_debug("a server without super_read_only", LOG_STR("error", ignored.message));
    return session_exec(session, "SET SESSION sql_log_bin = 0", err);
}

/* A server may answer queries and refuse every row: innodb_force_recovery is such an option. Can be repeated. */
static int write_rows(struct session *session, struct error *err)
{
    static const char *const statements[] = {
        "CREATE DATABASE IF NOT EXISTS kube_mysql_trial",
        "CREATE TABLE IF NOT EXISTS kube_mysql_trial.t (id INT PRIMARY KEY) ENGINE = InnoDB",
        "REPLACE INTO kube_mysql_trial.t VALUES (1)",
        "COMMIT",
        "DROP DATABASE IF EXISTS kube_mysql_trial",
    };

    if (open_for_writes(session, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        if (session_exec(session, statements[i], err) < 0)
            return -1;
    }
    return 0;
}

/* It answers: whether it takes rows is in write_failure then. */
static bool answers(struct trial *trial)
{
    const struct session_options options = {
        .socket = trial->paths->socket,
        .user = trial->user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = CONNECT_TIMEOUT_S,
    };
    struct error err = ERROR_INIT;
    struct session *session = fs_exists(options.socket) ? session_open(&options, &err) : NULL;
    bool yes = session && session_exec(session, "SELECT 1", &err) == 0;

    /* It listens only when it is done with the init-file, which lets us in: that could not write. */
    if (!session && (err.kind == ERROR_UNAUTHORIZED || err.code == ER_ACCOUNT_IS_LOCKED)) {
        trial->write_failure = err;
        return true;
    }

    if (yes && write_rows(session, &err) < 0) {
        yes = err.kind == ERROR_DATABASE; /* else it was too slow, or lost: asked again */
        if (yes)
            trial->write_failure = err;
    }
    session_close(session);
    return yes;
}

static enum subprocess_watch watch(void *arg)
{
    struct trial *trial = arg;

    return answers(trial) ? SUBPROCESS_ENOUGH : data_growth_watch(&trial->growth);
}

/* ---- when it has ended ---- */

static void add_log_file(const struct agent_paths *paths, struct strbuf *said)
{
    static const char *const suffixes[] = {"", ".err"};
    _cleanup_(strbuf_release) struct strbuf mycnf;
    char name[512];

    strbuf_init(&mycnf, TEXT_MAX);
    if (fs_read_file(paths->run_mycnf, &mycnf, NULL) < 0 || !trial_mycnf_log(mycnf.buf, name, sizeof(name)))
        return;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        _cleanup_(freep) char *path =
            xasprintf("%s%s%s%s", *name == '/' ? "" : paths->data_dir, *name == '/' ? "" : "/", name, suffixes[i]);
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, KM_MIB);
        if (fs_read_file(path, &text, NULL) < 0 || text.len == 0)
            continue;
        strbuf_add(said, text.buf, text.len);
        return;
    }
}

static void describe_end(const struct subprocess_result *result, char *ret, size_t size)
{
    if (result->timed_out)
        snprintf(ret, size, "it made no progress for %lld minutes", DATA_GROWTH_PATIENCE_MS / 60000);
    else if (result->term_signal)
        snprintf(ret, size, "it was ended by signal %d (%s)", result->term_signal, strsignal(result->term_signal));
    else
        snprintf(ret, size, "it ended with status %d", result->exit_code);
}

/* Only the cluster's own my.cnf is to blame: what was composed around it is ours. The options come first, as the
 * message may be cut further on. */
static int blame(const struct trial *trial, enum error_kind kind, const char *what, const char *reason,
    const struct strbuf *cut, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf mycnf;
    char options[OPTIONS_SHOWN];

    strbuf_init(&mycnf, TEXT_MAX);
    bool named = fs_read_file(trial->paths->config_mycnf, &mycnf, NULL) == 0 &&
        trial_mycnf_blame(mycnf.buf, reason, options, sizeof(options));
    bool is_cut = cut->len > 0;
    return error_set(err, kind, "%s: %s %s: %s%s%.*s%s", named ? options : AGENT_CHECK_START,
        trial->binary->version.text, what, reason, is_cut ? " (tried with " : "", is_cut ? CUT_SHOWN : 0,
        str_or_empty(cut->buf), is_cut ? ")" : "");
}

static int report(const struct trial *trial, const struct subprocess_result *result, struct strbuf *said,
    const struct strbuf *cut, struct error *err)
{
    char reason[ERROR_MESSAGE_MAX - 100], end[96], all[ERROR_MESSAGE_MAX];

    add_log_file(trial->paths, said);
    trial_mycnf_reason(str_or_empty(said->buf), reason, sizeof(reason));
    log_error("the server does not start", LOG_STR("said", str_or_empty(said->buf)));
    describe_end(result, end, sizeof(end));
    snprintf(all, sizeof(all), "%s%s%s", reason, *reason ? "; " : "", end);
    return blame(trial, result->timed_out ? ERROR_TIMEOUT : ERROR_INVALID, "does not start", all, cut, err);
}

/* Servers name the table alone ("Table is read only"), or whom they do not let in. */
static int report_no_rows(
    const struct trial *trial, const struct strbuf *said, const struct strbuf *cut, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf mycnf;
    char cause[48] = "", all[ERROR_MESSAGE_MAX];
    uint64_t level;

    log_error("the server takes no rows", LOG_STR("said", str_or_empty(said->buf)));
    strbuf_init(&mycnf, TEXT_MAX);
    if (fs_read_file(trial->paths->config_mycnf, &mycnf, NULL) == 0 &&
        run_mycnf_number(mycnf.buf, "innodb_force_recovery", &level) && level > 0)
        snprintf(cause, sizeof(cause), "innodb_force_recovery is %llu: ", (unsigned long long)level);
    snprintf(all, sizeof(all), "%s%.400s", cause, trial->write_failure.message);
    return blame(trial, ERROR_INVALID, "starts, but takes no rows", all, cut, err);
}

static int make_scratch_data(const struct trial *trial, const struct strbuf *cut, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (datadir_initialise(trial->paths, trial->binary, trial->user, &failure) == 0)
        return 0;
    return blame(trial, failure.kind, "makes no scratch data", failure.message, cut, err);
}

static int run(struct trial *trial, const struct strbuf *cut, struct strbuf *adjusted, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(strbuf_release) struct strbuf said;
    struct subprocess_result result = {0};

    strvec_init(&argv);
    strbuf_init(&said, SUBPROCESS_STDERR_MAX + KM_MIB);
    strvec_push(&argv, trial->binary->path);
    strvec_pushf(&argv, "--defaults-file=%s", trial->paths->run_mycnf);
    const struct subprocess_options options = {
        .argv = (const char *const *)argv.v,
        .new_process_group = true,
        .timeout_ms = DATA_GROWTH_PATIENCE_MS,
        .watch = watch,
        .watch_arg = trial,
    };
    int rc = subprocess_run(&options, NULL, &said, &result, err);
    bool is_spawned = rc == 0 || result.exit_code || result.term_signal || result.timed_out;
    if (result.enough && adjusted->len == 0)
        mycnf_check_adjusted(str_or_empty(said.buf), adjusted);
    if (result.enough && trial->write_failure.kind != ERROR_NONE)
        return report_no_rows(trial, &said, cut, err);
    return result.enough || !is_spawned ? rc : report(trial, &result, &said, cut, err);
}

int server_trial(const struct agent_paths *paths, const struct server_binary *binary, const char *user,
    struct strbuf *cut, struct strbuf *adjusted, struct error *err)
{
    struct trial trial = {.paths = paths, .binary = binary, .user = user, .growth = {.dir = paths->data_dir}};
    int64_t begin_ms = clock_monotonic_ms();

    if (prepare_mycnf(paths, cut, err) < 0)
        return -1;
    if (make_scratch_data(&trial, cut, err) < 0)
        return -1;
    int64_t made_ms = clock_monotonic_ms();
    if (run(&trial, cut, adjusted, err) < 0)
        return -1;
    log_info("the server starts", LOG_STR("server", binary->version.text),
        LOG_INT("scratch_data_ms", made_ms - begin_ms), LOG_INT("start_ms", clock_monotonic_ms() - made_ms));
    return 0;
}
