/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/action_lane.h"

#include <unistd.h>

#include "agent/bootstrap/instance_config.h"
#include "agent/bootstrap/made_with.h"
#include "agent/bootstrap/memory_limit.h"
#include "agent/bootstrap/mycnf_check.h"
#include "agent/bootstrap/mycnf_memory.h"
#include "agent/bootstrap/run_mycnf.h"
#include "agent/bootstrap/server_exec.h"
#include "agent/bootstrap/upgrade.h"
#include "agent/bootstrap/zones.h"
#include "agent/mysql/events.h"
#include "agent/mysql/variables.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/worker.h"

#define ACTION_CONNECT_TIMEOUT_S 5
/* Account statements wait for backups' global locks, among others. */
#define ACTION_IO_TIMEOUT_S 60
#define CHECKS_MAX 4

struct action_lane {
    struct worker *worker;
    const struct agent_paths *paths;
    struct session_options options;
    unsigned checks;
};

struct action {
    struct action_lane *lane;
    struct error error;
    action_done_fn fn;
    void *arg;
    /* tend */
    action_tended_fn tended_fn;
    struct accounts_want *want;
    uint64_t digest;
    struct accounts_left left;
    char made_with[MADE_WITH_MAX];
    char older_tables[UPGRADE_VERSION_MAX];
    struct server_version version;
    bool partial_revokes;
    /* tend_events */
    bool take_over;
    /* check */
    char *mycnf;
    char *pod_name;
    uint16_t mysql_port;
    /* apply: checks what is there, changes it; preview: only says what it would change */
    bool preview;
    action_applied_fn applied_fn;
    struct strvec applied;
    struct strvec needs_restart;
};

/* What fn hears of a job that the end of the lane dropped; `run` replaces it. */
static void expect_drop(struct action *action)
{
    error_set(&action->error, ERROR_CANCELLED, "the agent ends");
}

static void action_free(struct action *action)
{
    accounts_want_free(action->want);
    free(action->mycnf);
    free(action->pod_name);
    strvec_release(&action->applied);
    strvec_release(&action->needs_restart);
    free(action);
}

static void finish_tending(const struct action *action)
{
    const struct action_tended tended = {
        .digest = action->digest,
        .left = action->left,
        .username = action->want->username,
        .database = action->want->database,
        .requires_tls = action->want->require_tls,
        .made_with = action->made_with,
        .older_tables = action->older_tables,
    };

    action->tended_fn(action->arg, &action->error, &tended);
}

static void finish(void *arg)
{
    struct action *action = arg;

    if (action->mycnf)
        action->lane->checks--;
    if (action->applied_fn)
        action->applied_fn(action->arg, &action->error, &action->applied, &action->needs_restart);
    else if (action->tended_fn)
        finish_tending(action);
    else
        action->fn(action->arg, &action->error);
    action_free(action);
}

struct action_lane *action_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user)
{
    struct action_lane *lane = xnew(struct action_lane);

    lane->worker = worker_new(loop, "action");
    lane->paths = paths;
    lane->options = (struct session_options){
        .socket = paths->socket,
        .user = user,
        .connect_timeout_s = ACTION_CONNECT_TIMEOUT_S,
        .io_timeout_s = ACTION_IO_TIMEOUT_S,
    };
    return lane;
}

void action_lane_free(struct action_lane *lane)
{
    if (!lane)
        return;
    worker_free(lane->worker);
    free(lane);
}

/* ---- tend ---- */

static char *mark_path(const struct agent_paths *paths)
{
    return xasprintf("%s/accounts-applied", paths->state_dir);
}

bool action_lane_accounts_mark(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = mark_path(paths);

    return fs_exists(path);
}

static void leave_mark(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = mark_path(paths);
    struct error err = ERROR_INIT;

    if (fs_exists(path))
        return;
    if (fs_mkdir_all(paths->state_dir, 0700, &err) < 0 || fs_write_file_atomic(path, "", 0, 0600, &err) < 0)
        log_warn("cannot note that accounts were made", LOG_ERR(&err));
}

/* Whoever waits for accounts does not wait for these. */
static void fill_zones(struct session *session)
{
    struct error err = ERROR_INIT;

    if (zones_fill(session, &err) < 0)
        log_warn("named time zones may be unknown to the server", LOG_ERR(&err));
}

static int ask_facts(const struct action *action, struct session *session, struct accounts_facts *ret, struct error *err)
{
    const struct accounts_want *want = action->want;

    if (want->scope != ACCOUNTS_LOGGED)
        return 0;
    if (want->lock_left && accounts_left_look(session, dialect_for(&action->version), &ret->left, err) < 0)
        return -1;
    return accounts_look_tls(session, &ret->tls_noted, err);
}

static int tend(struct action *action, struct error *err)
{
    struct action_lane *lane = action->lane;
    _cleanup_(session_closep) struct session *session = NULL;
    const struct dialect *dialect = dialect_for(&action->version);
    struct accounts_facts facts = {.partial_revokes = action->partial_revokes};
    struct accounts_plan plan;

    if (upgrade_system_tables(lane->paths, lane->options.user, &action->version, action->older_tables, err) < 0)
        return -1;
    session = session_open(&lane->options, err);
    if (!session || ask_facts(action, session, &facts, err) < 0 ||
        accounts_plan_make(action->want, dialect, &facts, &plan, err) < 0)
        return -1;
    int rc = accounts_apply(session, dialect, &plan, err);
    accounts_plan_release(&plan);
    if (rc < 0)
        return -1;
    made_with_ask(session, action->made_with);
    if (action->want->scope == ACCOUNTS_LOGGED)
        fill_zones(session);
    if (action->want->scope == ACCOUNTS_NONE)
        return 0;
    action->digest = accounts_digest(session, dialect);
    if (accounts_left_look(session, dialect, &action->left, NULL) < 0) /* the next probe may */
        action->left = (struct accounts_left){.is_known = false};
    leave_mark(lane->paths);
    return 0;
}

static void run_tend(void *arg)
{
    struct action *action = arg;

    if (tend(action, &action->error) == 0)
        error_clear(&action->error);
}

void action_lane_tend(struct action_lane *lane, struct accounts_want *want, const struct server_version *version,
    bool partial_revokes, action_tended_fn fn, void *arg)
{
    struct action *action = xnew(struct action);
    struct worker_job job = {.run = run_tend, .done = finish, .arg = action};

    *action = (struct action){
        .lane = lane,
        .tended_fn = fn,
        .arg = arg,
        .want = want,
        .version = *version,
        .partial_revokes = partial_revokes,
    };
    expect_drop(action);
    if (worker_submit(lane->worker, &job) < 0)
        abort(); /* one at a time, and CHECKS_MAX */
}

/* ---- events ---- */

static void run_tend_events(void *arg)
{
    struct action *action = arg;
    _cleanup_(session_closep) struct session *session = session_open(&action->lane->options, &action->error);

    if (session && events_tend(session, action->take_over, &action->error) == 0)
        error_clear(&action->error);
}

void action_lane_tend_events(
    struct action_lane *lane, const struct server_version *version, bool take_over, action_done_fn fn, void *arg)
{
    struct action *action = xnew(struct action);
    struct worker_job job = {.run = run_tend_events, .done = finish, .arg = action};

    *action = (struct action){.lane = lane, .fn = fn, .arg = arg, .version = *version, .take_over = take_over};
    expect_drop(action);
    if (worker_submit(lane->worker, &job) < 0)
        abort(); /* one at a time, and CHECKS_MAX */
}

/* ---- a server that is kept stopped ---- */

static void run_stop(void *arg)
{
    struct action *action = arg;
    _cleanup_(session_closep) struct session *session = session_open(&action->lane->options, &action->error);

    if (!session || server_keep_stopped(action->lane->paths, true, &action->error) < 0)
        return;
    if (session_exec(session, "SHUTDOWN", &action->error) == 0)
        error_clear(&action->error);
}

static void run_let_start(void *arg)
{
    struct action *action = arg;

    if (server_keep_stopped(action->lane->paths, false, &action->error) == 0)
        error_clear(&action->error);
}

static void submit(struct action_lane *lane, void (*run)(void *arg), action_done_fn fn, void *arg)
{
    struct action *action = xnew(struct action);
    struct worker_job job = {.run = run, .done = finish, .arg = action};

    *action = (struct action){.lane = lane, .fn = fn, .arg = arg};
    expect_drop(action);
    if (worker_submit(lane->worker, &job) < 0)
        abort(); /* one at a time, and CHECKS_MAX */
}

void action_lane_stop_server(struct action_lane *lane, action_done_fn fn, void *arg)
{
    submit(lane, run_stop, fn, arg);
}

void action_lane_let_start(struct action_lane *lane, action_done_fn fn, void *arg)
{
    submit(lane, run_let_start, fn, arg);
}

/* ---- certificates ---- */

static int reload_tls(struct action *action, struct error *err)
{
    _cleanup_(session_closep) struct session *session = NULL;
    const char *sql = dialect_for(&action->version)->reload_tls;

    if (!sql)
        return error_set(err, ERROR_NOT_FOUND, "this server reads its certificates at its start only");
    session = session_open(&action->lane->options, err);
    return session ? session_exec(session, sql, err) : -1;
}

static void run_reload_tls(void *arg)
{
    struct action *action = arg;

    if (reload_tls(action, &action->error) == 0)
        error_clear(&action->error);
}

void action_lane_reload_tls(struct action_lane *lane, const struct server_version *version, action_done_fn fn, void *arg)
{
    struct action *action = xnew(struct action);
    struct worker_job job = {.run = run_reload_tls, .done = finish, .arg = action};

    *action = (struct action){.lane = lane, .fn = fn, .arg = arg, .version = *version};
    expect_drop(action);
    if (worker_submit(lane->worker, &job) < 0)
        abort(); /* one at a time, and CHECKS_MAX */
}

/* ---- check ---- */

static int compose(
    const struct action *action, const struct server_binary *binary, struct strbuf *text, struct error *err)
{
    _cleanup_(agent_instance_config_release) struct agent_instance_config instance = {0};
    struct server_features features = {0};
    _cleanup_(strbuf_release) struct strbuf help, started_with;

    strbuf_init(&help, SERVER_HELP_MAX);
    strbuf_init(&started_with, MYCNF_MAX + 16 * KM_KIB);
    if (instance_config_load(action->lane->paths->config_instance, &instance, err) < 0 ||
        server_features_ask(binary, &features, &help, err) < 0)
        return -1;
    (void)(fs_read_file(action->lane->paths->run_mycnf, &started_with, NULL) ==
        0); /* no server was started yet: there is no file */
    struct run_mycnf_input input = {
        .mycnf = action->mycnf,
        .instance = &instance,
        .paths = action->lane->paths,
        .dialect = dialect_for(&binary->version),
        .features = features,
        .help = help.buf,
        .pod_name = action->pod_name,
        .port = action->mysql_port,
        .memory_max_bytes = run_mycnf_memory(started_with.buf), /* this container's limit is another */
    };
    run_mycnf_compose(&input, text);
    return text->overflowed ? error_set(err, ERROR_TOO_LARGE, "my.cnf is too large") : 0;
}

static int check_with(const struct action *action, const struct server_binary *binary, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(freep) char *path = xasprintf("%s/my.cnf.check", action->lane->paths->run_dir);

    strbuf_init(&text, MYCNF_MAX + 16 * KM_KIB);
    if (compose(action, binary, &text, err) < 0 || fs_write_file_atomic(path, text.buf, text.len, 0600, err) < 0)
        return -1;
    const struct mycnf_memory memory = {run_mycnf_memory(text.buf), memory_machine_bytes()};
    int rc = mycnf_memory_check(text.buf, &memory, err);
    if (rc == 0)
        rc = mycnf_check(binary, path, NULL, err);
    unlink(path);
    return rc;
}

static void run_check(void *arg)
{
    struct action *action = arg;
    struct server_binary binary;

    if (server_binary_find(&binary, &action->error) < 0)
        return;
    if (check_with(action, &binary, &action->error) == 0)
        error_clear(&action->error);
    server_binary_release(&binary);
}

int action_lane_check_mycnf(
    struct action_lane *lane, const char *mycnf, size_t len, const char *pod_name, action_done_fn fn, void *arg)
{
    if (lane->checks >= CHECKS_MAX)
        return -1;
    struct action *action = xnew(struct action);
    struct worker_job job = {.run = run_check, .done = finish, .arg = action};

    lane->checks++;
    *action = (struct action){
        .lane = lane,
        .fn = fn,
        .arg = arg,
        .mycnf = xstrndup(mycnf, len),
        .pod_name = xstrdup(pod_name),
    };
    expect_drop(action);
    if (worker_submit(lane->worker, &job) < 0)
        abort();
    return 0;
}

/* ---- apply ---- */

static int apply_changes(struct action *action, const struct strbuf *text, struct error *err)
{
    const struct agent_paths *paths = action->lane->paths;
    _cleanup_(variable_changes_release) struct variable_changes changes = {0};
    _cleanup_(session_closep) struct session *session = NULL;
    _cleanup_(strbuf_release) struct strbuf now;

    strbuf_init(&now, MYCNF_MAX + 16 * KM_KIB);
    if (fs_read_file(paths->run_mycnf, &now, err) < 0 || variables_diff(now.buf, text->buf, &changes, err) < 0)
        return -1;
    session = session_open(&action->lane->options, err);
    if (action->preview)
        return session ? variables_preview(session, &changes, &action->needs_restart, err) : -1;
    if (!session || variables_apply(session, &changes, &action->applied, &action->needs_restart, err) < 0)
        return -1;
    /* A container that starts again finds what the server has taken over. */
    return action->needs_restart.n ? 0 : fs_write_file_atomic(paths->run_mycnf, text->buf, text->len, 0640, err);
}

static void run_apply(void *arg)
{
    struct action *action = arg;
    _cleanup_(strbuf_release) struct strbuf text;
    struct server_binary binary;

    strbuf_init(&text, MYCNF_MAX + 16 * KM_KIB);
    error_clear(&action->error);
    if (server_binary_find(&binary, &action->error) < 0)
        return;
    if ((action->preview || check_with(action, &binary, &action->error) == 0) &&
        compose(action, &binary, &text, &action->error) == 0)
        (void)(apply_changes(action, &text, &action->error) == 0);
    server_binary_release(&binary);
}

static struct action *new_apply(
    struct action_lane *lane, const char *mycnf, size_t len, const char *pod_name, action_applied_fn fn, void *arg)
{
    struct action *action = xnew(struct action);

    *action = (struct action){
        .lane = lane,
        .applied_fn = fn,
        .arg = arg,
        .mycnf = xstrndup(mycnf, len),
        .pod_name = xstrdup(pod_name),
    };
    strvec_init(&action->applied);
    strvec_init(&action->needs_restart);
    expect_drop(action);
    return action;
}

static void submit_apply(struct action *action)
{
    struct worker_job job = {.run = run_apply, .done = finish, .arg = action};

    action->lane->checks++;
    if (worker_submit(action->lane->worker, &job) < 0)
        abort();
}

int action_lane_apply_mycnf(struct action_lane *lane, const char *mycnf, size_t len, const char *pod_name,
    uint16_t mysql_port, action_applied_fn fn, void *arg)
{
    if (lane->checks >= CHECKS_MAX)
        return -1;
    struct action *action = new_apply(lane, mycnf, len, pod_name, fn, arg);
    action->mysql_port = mysql_port;
    submit_apply(action);
    return 0;
}

int action_lane_preview_mycnf(struct action_lane *lane, const char *mycnf, size_t len, const char *pod_name,
    uint16_t mysql_port, action_applied_fn fn, void *arg)
{
    if (lane->checks >= CHECKS_MAX)
        return -1;
    struct action *action = new_apply(lane, mycnf, len, pod_name, fn, arg);
    action->mysql_port = mysql_port;
    action->preview = true;
    submit_apply(action);
    return 0;
}
