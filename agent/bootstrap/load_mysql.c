/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/load_mysql.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/last_words.h"
#include "agent/bootstrap/mycnf_check.h"
#include "agent/mysql/session.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/subprocess.h"

#define START_TIMEOUT_MS 120000
/* One on a copy applies its redo log first, and perhaps upgrades its tables; its end is noticed. */
#define RECOVERY_TIMEOUT_MS (6LL * 60 * 60 * 1000)
#define CONNECT_PAUSE_US 100000
#define CONNECT_TIMEOUT_S 5
#define LINE_BYTES 190
#define NOBODYS_SERVER_ID "4294967295"
/* An empty server and a margin; what is loaded is judged by the stream's header. */
#define EMPTY_FREE_MIN (256ULL * KM_MIB)

struct load_mysql {
    struct load_mysql_options options;
    char *socket;
    struct subprocess *server;
    struct error error; /* of the worker's job */
    atomic_bool ended;  /* the server has gone, or should */
    bool cancelled;
    bool stopping;
    struct subprocess_result end; /* once `ended` by itself */
    bool exited;
    char first[LINE_BYTES], last[LINE_BYTES]; /* of what the server called errors */
    struct last_words words;
};

static bool is_mariadb(const struct load_mysql *load)
{
    return load->options.prepared->binary.version.flavour == AGENT_FLAVOUR_MARIADB;
}

/* ---- on the worker's thread ---- */

static int initialise(const struct load_mysql *load, struct error *err)
{
    const struct load_mysql_options *options = &load->options;

    if (datadir_make_room(options->paths, EMPTY_FREE_MIN, options->replace, "an empty database alone", err) < 0)
        return -1;
    return datadir_make_empty_database(options->paths, &options->prepared->binary, options->prepared->user, err);
}

static void run_initialise(void *arg)
{
    struct load_mysql *load = arg;

    error_clear(&load->error);
    if (initialise(load, &load->error) < 0)
        error_prefix(&load->error, "making the server that is to load the copy");
}

/* The server is started from the loop, as after run_initialise. */
static void run_nothing(void *arg)
{
    struct load_mysql *load = arg;

    error_clear(&load->error);
}

static int await_server(const struct load_mysql *load, struct error *err)
{
    struct session_options options = {
        .socket = load->socket,
        .user = load->options.prepared->user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = CONNECT_TIMEOUT_S,
    };
    int64_t limit_ms = load->options.existing ? RECOVERY_TIMEOUT_MS : START_TIMEOUT_MS;
    int64_t end_ms = clock_monotonic_ms() + limit_ms;
    struct session *session = NULL;

    while (!(session = session_open(&options, err))) {
        if (atomic_load(&load->ended) || clock_monotonic_ms() > end_ms)
            return error_prefix(err, "the server that is to load the copy");
        usleep(CONNECT_PAUSE_US);
    }
    session_close(session);
    return 0;
}

static void run_await(void *arg)
{
    struct load_mysql *load = arg;

    if (await_server(load, &load->error) == 0)
        error_clear(&load->error); /* attempts to reach a server that comes up leave their reasons */
}

/* ---- on the loop ---- */

static void submit(struct load_mysql *load, void (*run)(void *), void (*done)(void *))
{
    struct worker_job job = {.run = run, .done = done, .arg = load};

    error_set(&load->error, ERROR_CANCELLED, "init ends"); /* what a dropped job is told; `run` replaces it */
    if (worker_submit(load->options.worker, &job) < 0)
        done(load); /* init ends */
}

/* The first one is mostly the cause, the last one what the server ended for. */
static void describe_lines(const struct load_mysql *load, char *ret, size_t size)
{
    bool two = !str_eq(load->first, load->last);

    snprintf(
        ret, size, "%s%s%s", *load->first ? load->first : "it said nothing", two ? "; … " : "", two ? load->last : "");
}

/* Whatever it met in the files it meets again; one that was killed met nothing. */
static void describe_end(const struct load_mysql *load, struct error *err)
{
    const struct subprocess_result *end = &load->end;
    bool killed = end->term_signal == SIGKILL || end->term_signal == SIGTERM;
    char lines[2 * LINE_BYTES + 8];

    describe_lines(load, lines, sizeof(lines));
    error_set(err, killed ? ERROR_IO : ERROR_INVALID, "the server ended by itself with %s %d: %s",
        end->term_signal ? "signal" : "status", end->term_signal ? end->term_signal : end->exit_code, lines);
}

static void be_ready(struct load_mysql *load)
{
    const struct error failure = load->error;

    if (load->cancelled)
        error_set(&load->error, ERROR_CANCELLED, "another order came");
    else if (failure.kind != ERROR_NONE && failure.kind != ERROR_CANCELLED && load->exited)
        describe_end(load, &load->error);
    else if (failure.kind != ERROR_NONE && *load->last)
        error_set_code(&load->error, failure.kind, failure.code, "%.250s; it said: %s", failure.message, load->last);
    load->options.ready(load->options.arg, load->error.kind == ERROR_NONE ? NULL : &load->error);
}

static void on_awaited(void *arg)
{
    be_ready(arg);
}

static void on_server_line(void *arg, const char *line)
{
    struct load_mysql *load = arg;
    char reason[LINE_BYTES];

    mycnf_check_reason(line, reason, sizeof(reason));
    if (*reason)
        memcpy(load->last, reason, sizeof(reason));
    if (!*load->first)
        memcpy(load->first, reason, sizeof(reason));
    last_words_note(&load->words, line);
    log_debug("the loading server", LOG_STR("line", line));
}

static void on_server_exited(void *arg, const struct subprocess_result *result)
{
    struct load_mysql *load = arg;
    struct error err = ERROR_INIT;

    load->end = *result;
    load->exited = true;
    if (result->exit_code != 0)
        last_words_log(&load->words, "the server that loads the copy");
    atomic_store(&load->ended, true); /* a job that waits for it notices, and so does the client */
    if (!load->stopping)
        return;
    if (result->exit_code != 0)
        error_set(&err, ERROR_IO, "the server that loaded the copy ended with %s %d: %s",
            result->term_signal ? "signal" : "status", result->term_signal ? result->term_signal : result->exit_code,
            load->last);
    load->options.stopped(load->options.arg, err.kind == ERROR_NONE ? NULL : &err);
}

/* What is lost when this server dies is thrown away anyway: nothing is synced before it ends by itself. */
static void build_argv(const struct load_mysql *load, struct strvec *argv)
{
    static const char *const rest[] = {"--skip-networking", "--read-only=OFF", "--event-scheduler=OFF",
        "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF", "--max-allowed-packet=1G", NULL};
    const struct agent_paths *paths = load->options.paths;
    const struct dialect *dialect = dialect_for(&load->options.prepared->binary.version);

    strvec_push(argv, load->options.prepared->binary.path);
    strvec_pushf(argv, "--defaults-file=%s", paths->run_mycnf);
    strvec_pushf(argv, "--datadir=%s", paths->data_new_dir);
    strvec_pushf(argv, "--socket=%s", load->socket);
    strvec_pushf(argv, "--pid-file=%s/load.pid", paths->run_dir);
    strvec_push_all(argv, rest);
    /* MySQL 5.6 has nothing but its binary log to keep the position in: the dump says SET GLOBAL gtid_purged, and
     * nothing else that is in it is logged (SET SQL_LOG_BIN = 0). */
    if (is_mariadb(load) || dialect->gtid_table)
        strvec_push(argv, "--skip-log-bin");
    if (dialect->super_read_only)
        strvec_push(argv, "--super-read-only=OFF");
    if (load->options.existing)
        strvec_push(argv, "--server-id=" NOBODYS_SERVER_ID);
}

static int start_server(struct load_mysql *load, struct error *err)
{
    static const struct subprocess_ops ops = {.stderr_line = on_server_line, .exited = on_server_exited};
    _cleanup_(strvec_release) struct strvec argv;

    strvec_init(&argv);
    build_argv(load, &argv);
    struct subprocess_options options = {.argv = (const char *const *)argv.v, .new_process_group = true};
    unlink(load->socket);
    load->server = subprocess_start(load->options.loop, &options, &ops, load, err);
    return load->server ? 0 : -1;
}

static void on_initialised(void *arg)
{
    struct load_mysql *load = arg;

    if (load->cancelled || load->error.kind != ERROR_NONE || start_server(load, &load->error) < 0)
        be_ready(load);
    else
        submit(load, run_await, on_awaited);
}

/* ---- life ---- */

struct load_mysql *load_mysql_start(const struct load_mysql_options *options)
{
    struct load_mysql *load = xnew(struct load_mysql);

    load->options = *options;
    load->socket = xasprintf("%s/load.sock", options->paths->run_dir);
    if (options->existing)
        submit(load, run_nothing, on_initialised);
    else
        submit(load, run_initialise, on_initialised);
    return load;
}

const char *load_mysql_socket(const struct load_mysql *load)
{
    return load->socket;
}

int load_mysql_command(const struct load_mysql *load, struct strvec *argv, struct error *err)
{
    char *tool = is_mariadb(load) ? server_binary_search("mariadb") : NULL;

    if (!tool)
        tool = server_binary_search("mysql");
    if (!tool)
        return error_set(err, ERROR_NOT_FOUND, "this image has no mysql (the client)");
    strvec_push(argv, tool);
    free(tool);
    strvec_push(argv, "--no-defaults");
    strvec_pushf(argv, "--socket=%s", load->socket);
    strvec_pushf(argv, "--user=%s", load->options.prepared->user);
    strvec_push(argv, "--binary-mode"); /* what rows hold is never a command of the client */
    strvec_push(argv, "--default-character-set=utf8mb4");
    strvec_push(argv, "--max-allowed-packet=1G");
    return 0;
}

void load_mysql_stop(struct load_mysql *load)
{
    struct error err = ERROR_INIT;

    load->stopping = true;
    if (!atomic_load(&load->ended)) {
        subprocess_kill(load->server, SIGTERM);
        return;
    }
    describe_end(load, &err);
    load->options.stopped(load->options.arg, &err);
}

void load_mysql_cancel(struct load_mysql *load)
{
    load->cancelled = true;
    atomic_store(&load->ended, true);
    if (load->server)
        subprocess_kill(load->server, SIGKILL);
}

void load_mysql_free(struct load_mysql *load)
{
    if (!load)
        return;
    subprocess_free(load->server);
    free(load->socket);
    free(load);
}
