/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/clone_mysql.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/made_with.h"
#include "agent/bootstrap/tcp_probe.h"
#include "agent/mysql/session.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define INITIALISE_TIMEOUT_MS (10 * 60 * 1000)
#define START_TIMEOUT_MS 120000
#define CONNECT_PAUSE_US 100000
#define CONNECT_TIMEOUT_S 5
/* The statement is silent until it is through, which may take days. */
#define CLONE_TIMEOUT_S (14 * 24 * 60 * 60)
#define PROGRESS_TIMEOUT_S 10
#define PROGRESS_INTERVAL_MS 400
#define STATEMENT_MAX (8 * KM_KIB)
#define PASSWORD_MAX (4 * KM_KIB)
#define LINE_BYTES 300
/* ER_CLONE_DISK_SPACE: "Clone estimated database size is %s. Available space %s is not enough." */
#define CLONE_DISK_SPACE 3873
/* The scratch server's own files, and a margin. */
#define SCRATCH_FREE_MIN (192ULL * KM_MIB)
/*
 * Fact, tried on 9.7.4: a receiver that loses its donor tries to reconnect for five minutes, silently, which is of use
 * only while that server process lives. So once nothing has arrived for a while, it is tried whether the donor's server
 * can be reached at all.
 */
#define STILL_MS 5000
#define DONOR_GONE_MS 20000
#define PROBE_TIMEOUT_MS 3000

struct clone_mysql {
    struct clone_mysql_options options;
    char *scratch_dir; /* data folder of the scratch server */
    char *socket;
    struct subprocess *server;
    struct worker *watcher; /* asks how far it is */
    struct loop_timer watch_timer;
    struct error error; /* of the job */
    atomic_bool ended;  /* the server has gone, or should */
    bool cancelled;
    char line[LINE_BYTES]; /* the last one that the server called an error */
    /* the watcher's, while its job runs */
    struct session *watch_session;
    uint64_t seen_bytes, seen_total;
    bool seen;
    bool seen_gone; /* the donor's server does not take connections */
    bool watching;
    bool probe; /* the next look is at the donor too */
    uint64_t bytes, total;
    int64_t moved_ms; /* when `bytes` last changed */
    int64_t gone_ms;  /* since when the donor has been gone; 0: it is not */
    bool gave_up;
};

void clone_mysql_statement(
    const struct agent_order *order, const char *password, const char *directory, struct strbuf *out)
{
    strbuf_adds(out, "CLONE INSTANCE FROM ");
    sql_add_account(out, "replication", order->donor_host);
    strbuf_addf(out, ":%u IDENTIFIED BY ", order->donor_port);
    sql_add_string(out, password);
    strbuf_adds(out, " DATA DIRECTORY = ");
    sql_add_string(out, directory);
    strbuf_adds(out, " REQUIRE SSL");
}

/* ---- on the worker's thread ---- */

static struct session *open_session(const struct clone_mysql *clone, unsigned io_timeout_s, struct error *err)
{
    struct session_options options = {
        .socket = clone->socket,
        .user = clone->options.prepared->user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = io_timeout_s,
    };

    return session_open(&options, err);
}

/* The server comes up; its end is seen by the loop. */
static struct session *await_session(struct clone_mysql *clone, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + START_TIMEOUT_MS;
    struct session *session = NULL;

    while (!(session = open_session(clone, CLONE_TIMEOUT_S, err))) {
        if (atomic_load(&clone->ended) || clock_monotonic_ms() > end_ms) {
            error_prefix(err, "the server that is to receive the copy");
            return NULL;
        }
        usleep(CONNECT_PAUSE_US);
    }
    return session;
}

static int set_donor(struct session *session, const struct agent_order *order, struct error *err)
{
    _cleanup_(freep) char *donor = xasprintf("%s:%u", order->donor_host, order->donor_port);
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_adds(&sql, "SET GLOBAL clone_valid_donor_list = ");
    sql_add_string(&sql, donor);
    return session_exec(session, sql.buf, err);
}

static int run_statement(const struct clone_mysql *clone, struct session *session, struct error *err)
{
    const struct agent_paths *paths = clone->options.paths;
    _cleanup_(strbuf_release_secret) struct strbuf sql;
    _cleanup_(strbuf_release_secret) struct strbuf password;
    _cleanup_(freep) char *file = xasprintf("%s/replication", paths->accounts_dir);

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_init(&password, PASSWORD_MAX);
    if (fs_read_file(file, &password, err) < 0)
        return error_prefix(err, "the replication account's password");
    if (rmdir(paths->data_new_dir) < 0 && errno != ENOENT) /* CLONE makes it */
        return error_set_errno(err, errno, "%s", paths->data_new_dir);
    clone_mysql_statement(clone->options.order, password.buf, paths->data_new_dir, &sql);
    if (sql.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "the statement to clone is too long");
    return session_exec_secret(session, sql.buf, err);
}

static bool may_discard(const struct clone_mysql *clone)
{
    return clone->options.order->replace && fs_exists(clone->options.paths->data_dir);
}

static int say_too_small(const struct error *failure, struct error *err)
{
    return error_set_code(err, ERROR_TOO_LARGE, failure->code, "the data volume is too small: %s", failure->message);
}

static int copy(struct clone_mysql *clone, struct error *err)
{
    _cleanup_(session_closep) struct session *session = await_session(clone, err);
    struct error failure = ERROR_INIT;

    if (!session || set_donor(session, clone->options.order, err) < 0)
        return -1;
    if (run_statement(clone, session, &failure) == 0)
        return 0;
    const struct agent_paths *paths = clone->options.paths;
    if (failure.code == CLONE_DISK_SPACE && may_discard(clone)) {
        log_info("the volume cannot hold both: the data that is to be replaced goes first", LOG_ERR(&failure));
        if (fs_remove_all(paths->data_new_dir, err) < 0 || datadir_discard(paths, err) < 0)
            return -1;
        error_clear(&failure);
        if (run_statement(clone, session, &failure) == 0)
            return 0;
    }
    if (failure.code == CLONE_DISK_SPACE)
        return say_too_small(&failure, err);
    return error_set_code(err, failure.kind, failure.code, "%s", failure.message);
}

static void run_copy(void *arg)
{
    struct clone_mysql *clone = arg;

    if (copy(clone, &clone->error) == 0)
        error_clear(&clone->error); /* attempts to reach a server that comes up leave their reasons */
    else
        error_prefix(&clone->error, "cloning from %s", clone->options.order->donor_host);
}

static int initialise(struct clone_mysql *clone, struct error *err)
{
    _cleanup_(freep) char *datadir = xasprintf("--datadir=%s", clone->scratch_dir);
    _cleanup_(freep) char *file = xasprintf("%s/initialise.cnf", clone->options.paths->run_dir);
    _cleanup_(freep) char *defaults = xasprintf("--defaults-file=%s", file);
    const char *argv[] = {clone->options.prepared->binary.path, defaults, "--initialize-insecure", datadir,
        "--tmpdir=/tmp", "--innodb-buffer-pool-size=32M", "--innodb-doublewrite=OFF",
        "--loose-innodb-redo-log-capacity=32M", NULL};
    struct subprocess_options options = {.argv = argv, .new_process_group = true, .timeout_ms = INITIALISE_TIMEOUT_MS};
    struct subprocess_result result;

    /* How large the copy is, the scratch server is told by the donor; but it must fit itself. */
    if (fs_remove_all(clone->scratch_dir, err) < 0 ||
        datadir_make_room(clone->options.paths, SCRATCH_FREE_MIN, clone->options.order->replace,
            "the server that receives the copy", err) < 0 ||
        fs_mkdir_all(clone->scratch_dir, 0700, err) < 0 || made_with_write(clone->options.paths, file, err) < 0)
        return -1;
    return subprocess_run(&options, NULL, NULL, &result, err);
}

static void run_initialise(void *arg)
{
    struct clone_mysql *clone = arg;

    error_clear(&clone->error);
    if (initialise(clone, &clone->error) < 0)
        error_prefix(&clone->error, "making the server that is to receive the copy");
}

static void run_tidy(void *arg)
{
    struct clone_mysql *clone = arg;

    (void)(fs_remove_all(clone->scratch_dir, NULL) == 0); /* the next attempt says if it stays */
}

/* ---- progress, on the watcher's thread ---- */

static void take_progress(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct clone_mysql *clone = arg;

    UNUSED(names);
    if (count < 2 || !values[0] || !values[1])
        return;
    clone->seen_total = strtoull(values[0], NULL, 10);
    clone->seen_bytes = strtoull(values[1], NULL, 10);
    clone->seen = true;
}

static void run_watch(void *arg)
{
    struct clone_mysql *clone = arg;

    const struct agent_order *order = clone->options.order;

    clone->seen = false;
    clone->seen_gone =
        clone->probe && tcp_probe(order->donor_host, (uint16_t)order->donor_port, PROBE_TIMEOUT_MS, NULL) < 0;
    if (!clone->watch_session)
        clone->watch_session = open_session(clone, PROGRESS_TIMEOUT_S, NULL);
    if (!clone->watch_session)
        return;
    if (session_query(clone->watch_session, "SELECT SUM(estimate), SUM(data) FROM performance_schema.clone_progress",
            take_progress, clone, NULL) < 0)
        session_close(steal_ptr(clone->watch_session));
}

static void end_server(struct clone_mysql *clone)
{
    atomic_store(&clone->ended, true);
    if (clone->server)
        subprocess_kill(clone->server, SIGKILL);
}

static void look_for_donor(struct clone_mysql *clone)
{
    int64_t now_ms = clock_monotonic_ms();

    if (!clone->seen_gone)
        clone->gone_ms = 0;
    else if (!clone->gone_ms)
        clone->gone_ms = now_ms;
    if (!clone->gone_ms || now_ms - clone->gone_ms < DONOR_GONE_MS || clone->gave_up)
        return;
    clone->gave_up = true;
    end_server(clone); /* the statement ends with it */
}

static void on_watched(void *arg)
{
    struct clone_mysql *clone = arg;

    clone->watching = false;
    if (clone->seen && clone->seen_bytes != clone->bytes) {
        clone->moved_ms = clock_monotonic_ms();
        clone->bytes = clone->seen_bytes;
    }
    if (clone->seen)
        clone->total = clone->seen_total;
    look_for_donor(clone);
}

static void on_watch_timer(void *arg)
{
    struct clone_mysql *clone = arg;
    struct worker_job job = {.run = run_watch, .done = on_watched, .arg = clone};

    loop_timer_arm(&clone->watch_timer, PROGRESS_INTERVAL_MS);
    if (clone->watching)
        return;
    clone->probe = clone->bytes > 0 && clock_monotonic_ms() - clone->moved_ms > STILL_MS;
    if (worker_submit(clone->watcher, &job) == 0)
        clone->watching = true;
}

/* ---- on the loop ---- */

static void submit(struct clone_mysql *clone, void (*run)(void *), void (*done)(void *))
{
    struct worker_job job = {.run = run, .done = done, .arg = clone};

    if (run != run_tidy)
        error_set(&clone->error, ERROR_CANCELLED, "init ends"); /* what a dropped job is told; `run` replaces it */
    if (worker_submit(clone->options.worker, &job) < 0)
        done(clone); /* init ends */
}

static void on_tidied(void *arg)
{
    struct clone_mysql *clone = arg;
    struct error error = clone->error;

    clone->options.done(clone->options.arg, error.kind == ERROR_NONE ? NULL : &error);
}

static void stop_server(struct clone_mysql *clone)
{
    atomic_store(&clone->ended, true);
    loop_timer_cancel(&clone->watch_timer);
    worker_free(steal_ptr(clone->watcher)); /* its question is answered by now, or the server's end answers it */
    session_close(steal_ptr(clone->watch_session));
    subprocess_free(
        steal_ptr(clone->server)); /* nothing of it is of use any more; the copy is on the disk or in its cache */
}

static void on_copied(void *arg)
{
    struct clone_mysql *clone = arg;

    if (clone->error.kind != ERROR_NONE && !clone->cancelled && *clone->line)
        log_warn("the server that was to receive the copy said", LOG_STR("line", clone->line));
    if (clone->cancelled)
        error_set(&clone->error, ERROR_CANCELLED, "another order came");
    else if (clone->gave_up && clone->error.kind != ERROR_NONE)
        error_set(&clone->error, ERROR_UNAVAILABLE,
            "cloning from %s: after %llu MiB nothing came any more, and its server takes no connections",
            clone->options.order->donor_host, (unsigned long long)(clone->bytes / KM_MIB));
    stop_server(clone);
    submit(clone, run_tidy, on_tidied);
}

static void on_server_line(void *arg, const char *line)
{
    struct clone_mysql *clone = arg;

    if (strstr(line, "[ERROR]"))
        snprintf(clone->line, sizeof(clone->line), "%s", line);
    log_debug("the receiving server", LOG_STR("line", line));
}

static void on_server_exited(void *arg, const struct subprocess_result *result)
{
    struct clone_mysql *clone = arg;

    UNUSED(result);
    atomic_store(&clone->ended, true); /* the job's session notices */
}

static void build_argv(const struct clone_mysql *clone, struct strvec *argv)
{
    const struct agent_paths *paths = clone->options.paths;

    strvec_push(argv, clone->options.prepared->binary.path);
    strvec_pushf(argv, "--defaults-file=%s", paths->run_mycnf);
    strvec_pushf(argv, "--datadir=%s", clone->scratch_dir);
    strvec_pushf(argv, "--socket=%s", clone->socket);
    strvec_pushf(argv, "--pid-file=%s/scratch.pid", paths->run_dir);
    /* Its tables of time zones are empty. */
    static const char *const rest[] = {"--default-time-zone=SYSTEM", "--skip-networking", "--skip-log-bin",
        "--super-read-only=OFF", "--read-only=OFF", "--innodb-buffer-pool-size=64M",
        "--loose-innodb-redo-log-capacity=16M", "--performance-schema=ON", NULL};
    strvec_push_all(argv, rest);
    strvec_pushf(argv, "--loose-clone-ssl-ca=%s/ca.crt", paths->tls_dir);
    strvec_pushf(argv, "--loose-clone-ssl-cert=%s/tls.crt", paths->tls_dir);
    strvec_pushf(argv, "--loose-clone-ssl-key=%s/tls.key", paths->tls_dir);
}

static int start_server(struct clone_mysql *clone, struct error *err)
{
    static const struct subprocess_ops ops = {.stderr_line = on_server_line, .exited = on_server_exited};
    _cleanup_(strvec_release) struct strvec argv;

    strvec_init(&argv);
    build_argv(clone, &argv);
    struct subprocess_options options = {.argv = (const char *const *)argv.v, .new_process_group = true};
    unlink(clone->socket);
    clone->server = subprocess_start(clone->options.loop, &options, &ops, clone, err);
    return clone->server ? 0 : -1;
}

static void on_initialised(void *arg)
{
    struct clone_mysql *clone = arg;

    if (clone->cancelled && clone->error.kind == ERROR_NONE)
        error_set(&clone->error, ERROR_CANCELLED, "another order came");
    if (clone->error.kind != ERROR_NONE || start_server(clone, &clone->error) < 0) {
        submit(clone, run_tidy, on_tidied);
        return;
    }
    clone->watcher = worker_new(clone->options.loop, "clone-watch");
    loop_timer_arm(&clone->watch_timer, PROGRESS_INTERVAL_MS);
    submit(clone, run_copy, on_copied);
}

struct clone_mysql *clone_mysql_start(const struct clone_mysql_options *options)
{
    struct clone_mysql *clone = xnew(struct clone_mysql);

    clone->options = *options;
    clone->scratch_dir = xasprintf("%s/scratch", options->paths->state_dir);
    clone->socket = xasprintf("%s/scratch.sock", options->paths->run_dir);
    loop_timer_init(&clone->watch_timer, options->loop, on_watch_timer, clone);
    submit(clone, run_initialise, on_initialised);
    return clone;
}

void clone_mysql_cancel(struct clone_mysql *clone)
{
    clone->cancelled = true;
    end_server(clone);
}

void clone_mysql_free(struct clone_mysql *clone)
{
    if (!clone)
        return;
    stop_server(clone);
    loop_timer_release(&clone->watch_timer);
    free(clone->scratch_dir);
    free(clone->socket);
    free(clone);
}

void clone_mysql_progress(const struct clone_mysql *clone, uint64_t *ret_bytes, uint64_t *ret_total)
{
    *ret_bytes = clone->bytes;
    *ret_total = clone->total;
}
