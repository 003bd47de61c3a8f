/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/agent.h"

#include <signal.h>

#include "agent/action_lane.h"
#include "agent/agent_decide.h"
#include "agent/agent_metrics.h"
#include "agent/agent_server.h"
#include "agent/archive_keeper.h"
#include "agent/backup_keeper.h"
#include "agent/binlog_keeper.h"
#include "agent/bootstrap/init.h"
#include "agent/bootstrap/run_mycnf.h"
#include "agent/bootstrap/server_exec.h"
#include "agent/check_keeper.h"
#include "agent/donor.h"
#include "agent/instance_files.h"
#include "agent/mysql/room.h"
#include "agent/probe_lane.h"
#include "agent/readiness.h"
#include "agent/role_decide.h"
#include "agent/role_keeper.h"
#include "agent/role_status.h"
#include "agent/server_socket.h"
#include "agent/slow_log.h"
#include "agent/tail_donor.h"
#include "agent/tmp_keeper.h"
#include "agent/volume_watch.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/tls.h"

/* How often the loop looks around without having been told of anything. Costs a few microseconds. */
#define TICK_MS 200
#define FILES_INTERVAL_MS 1000
/* After the sentinel has fallen, the server's lock and socket go within the same exit of the process: look closely. */
#define FALLEN_TICK_MS 2
#define FALLEN_TICKS 100
/* An agent that is ended before its server, as where the pod was deleted by force and the hooks had no time: it goes on
 * closing the server, and tells of it. kubelet kills it two seconds after the signal. */
#define LEAVING_MS 1500
#define LAST_WORD_MS 100

struct agent {
    const struct agent_options *options;
    struct loop *loop;
    char *user;
    struct instance_state state;
    struct agent_status status;
    struct agent_view view;
    struct agent_metrics *metrics;
    struct agent_server *server;
    struct tls_server *tls;
    struct probe_lane *probes;
    struct action_lane *actions;
    struct donor *donor;
    struct backup_keeper *backups;
    struct archive_keeper *archive;
    struct check_keeper *check;
    struct binlog_keeper *binlogs;
    struct tail_donor *tail_donor;
    struct holds_door *holds;
    struct role_keeper *roles;
    struct volume_watch *volume;
    struct tmp_keeper *tmp;
    struct loop_timer tick;
    struct loop_timer end; /* armed since SIGTERM */
    int64_t leaves_ms;     /* since when; 0: it was not */
    bool last_word;        /* its server has ended since */
    bool is_alone;         /* no operator has watched for OPERATOR_SILENT_MS */
    unsigned fallen_ticks;
    struct session *sentinel;
    struct slow_log *slow_log;
    struct session *old_sentinel; /* fallen; closed by the probe lane */
    struct loop_fd *sentinel_watch;
    struct accounts_want want;
    uint64_t accounts_generation; /* of the action that runs */
    bool action_commits;          /* likewise */
    uint64_t tls_generation;
    uint64_t events_epoch;
    enum accounts_scope accounts_scope; /* likewise */
    uint64_t accounts_signature;
    uint64_t tls_signature;
    int64_t files_at_ms;
    struct position_pool *positions; /* holds those of the status */
    bool ending;                     /* lanes hand in their last results; nothing new is begun */
};

static void agent_turn(struct agent *agent);

/* ---- publish ---- */

static void read_mycnf_hash(const struct agent *agent, char ret[static 65])
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, MYCNF_MAX + 16 * KM_KIB);
    ret[0] = '\0';
    if (fs_read_file(agent->options->paths.run_mycnf, &text, NULL) == 0)
        run_mycnf_hash(text.buf, ret);
}

static void publish(struct agent *agent, int64_t now_ms)
{
    struct agent_status status = {0};

    agent->state.instance = agent->options->pod_name;
    agent->state.user = agent->user;
    snprintf(status.instance, sizeof(status.instance), "%s", agent->options->pod_name);
    memcpy(status.pod_uid, agent->options->pod_uid, sizeof(status.pod_uid));
    memcpy(status.boot_id, agent->status.boot_id, sizeof(status.boot_id));
    memcpy(status.mycnf_hash, agent->status.mycnf_hash, sizeof(status.mycnf_hash));
    status.sequence = agent->status.sequence;
    status.serving_backups = donor_serving(agent->donor);
    status.backup = *backup_keeper_report(agent->backups);
    status.archive = *archive_keeper_report(agent->archive);
    status.check = *check_keeper_report(agent->check);
    binlog_keeper_fill(agent->binlogs, &status);
    readiness_fill_status(&agent->state, now_ms, &status);
    bool changed = !agent_status_same(&status, &agent->status);
    bool phase_changed = status.phase != agent->status.phase || status.ready != agent->status.ready;
    if (changed)
        status.sequence++;
    struct position_pool *old = agent->positions;
    agent->positions = position_pool_ref(agent->state.replication.positions);
    agent->status = status;
    position_pool_unref(old);
    if (phase_changed)
        log_info("the member has changed", LOG_STR("phase", agent_phase_name(status.phase)),
            LOG_BOOL("ready", status.ready), LOG_STR("reason", status.ready_reason));
    if (!changed)
        return;
    agent_metrics_status(agent->metrics, &agent->status);
    agent_server_publish(agent->server);
}

/* ---- observe ---- */

static void drop_sentinel(struct agent *agent)
{
    loop_fd_free(steal_ptr(agent->sentinel_watch));
    if (!agent->old_sentinel)
        agent->old_sentinel = steal_ptr(agent->sentinel);
    session_close(steal_ptr(agent->sentinel));
}

static void on_sentinel_fallen(int fd, unsigned what, void *arg)
{
    struct agent *agent = arg;

    UNUSED(fd);
    UNUSED(what);
    drop_sentinel(agent);
    agent->fallen_ticks = FALLEN_TICKS;
    agent->state.probe_now = true;
    agent_turn(agent);
}

static void keep_sentinel(struct agent *agent, struct session *sentinel)
{
    if (!sentinel)
        return;
    if (agent->sentinel)
        drop_sentinel(agent);
    agent->sentinel = sentinel;
    agent->sentinel_watch = loop_fd_new(agent->loop, session_fd(sentinel), LOOP_READABLE, on_sentinel_fallen, agent);
}

/* The probe has lost its connection, clients have taken the last ones, and the sentinel has one. */
static bool lend_sentinel(struct agent *agent)
{
    if (!agent->sentinel || agent->old_sentinel || !room_is_lacking(&agent->state.probe_error))
        return false;
    drop_sentinel(agent);
    return true;
}

/* A server that has gone: what was known of it is no longer true. */
static void forget_server(struct agent *agent)
{
    struct instance_state *state = &agent->state;

    state->last_answer_ms = 0;
    state->last_status_ms = 0;
    error_clear(&state->probe_error);
    state->last_probe_ms = 0;
    state->unanswered_since_ms = 0;
    role_keeper_server_gone(agent->roles);
}

/* A connection that says nothing leaves a warning in the server's log, so one is made only when nothing better is
 * known. */
static bool look_at_socket(const struct agent *agent)
{
    const struct instance_state *state = &agent->state;

    if (agent->sentinel)
        return true;
    if (state->server_there)
        return state->probe_error.kind == ERROR_TIMEOUT || (state->last_answer_ms && !state->probe_error.kind);
    return server_socket_accepts(agent->options->paths.socket);
}

static void look_from_outside(struct agent *agent, int64_t now_ms)
{
    struct instance_state *state = &agent->state;
    bool was_there = state->server_there || state->socket_accepts;

    state->server_there = server_is_there(&agent->options->paths);
    state->socket_accepts = look_at_socket(agent);
    if (!state->socket_accepts)
        state->accepts_since_ms = 0;
    else if (!state->accepts_since_ms)
        state->accepts_since_ms = now_ms;
    bool is_there = state->server_there || state->socket_accepts;
    state->seen_gone |= !is_there;
    if (was_there && !is_there) {
        drop_sentinel(agent);
        forget_server(agent);
    }
    if (!was_there && is_there)
        read_mycnf_hash(agent, agent->status.mycnf_hash);
}

/* A password or an account that somebody has changed behind our back is set right again: with another one, replicas are
 * shut out. */
static void watch_accounts(struct agent *agent)
{
    struct instance_state *state = &agent->state;

    bool others = agent_note_digest(state), own = agent_note_own_account(state);
    if (others)
        log_warn("accounts were changed by another hand: they are applied again");
    if (!others && !own)
        return;
    state->accounts_wanted++;
    state->accounts_retry_ms = 0;
}

/* The account that spec.username names was there, and somebody has dropped it. */
static void watch_user(struct agent *agent, const struct accounts_left *seen)
{
    struct instance_state *state = &agent->state;
    bool is_told = !str_empty(agent->want.username) && agent_is_primary(state) &&
        state->accounts_applied == state->accounts_wanted;
    bool was_there = state->user_is_there;

    if (!seen->is_known) /* not each probe asks */
        return;
    state->user_is_there = is_told && accounts_left_name(seen, agent->want.username);
    if (!is_told || !was_there || state->user_is_there || accounts_left_are_cut(seen))
        return;
    log_warn("the account of spec.username was dropped by another hand: it is made again",
        LOG_STR("account", agent->want.username));
    state->accounts_wanted++;
    state->accounts_retry_ms = 0;
}

static void take_left(struct agent *agent, const struct accounts_left *left)
{
    if (!left->is_known)
        return;
    agent->state.left = *left;
    accounts_left_without(&agent->state.left, agent->want.username, agent->want.database);
}

/* What an action changes meanwhile it looks at itself. */
static void take_probed_left(struct agent *agent)
{
    const struct instance_state *state = &agent->state;

    if (!state->action_running && state->probe_started_ms > state->role.finished_ms) {
        watch_user(agent, &state->observed.left);
        take_left(agent, &state->observed.left);
    }
}

static void on_probe(void *arg, struct probe_result *result)
{
    struct agent *agent = arg;
    struct instance_state *state = &agent->state;

    agent_note_answer(state, &result->error);
    if (!*state->observed.version.text)
        state->observed.version = result->observed.version;
    if (result->error.kind == ERROR_NONE) {
        struct server_status last = state->observed.status;
        bool partial_revokes = state->observed.partial_revokes;
        uint64_t extension_bytes = state->observed.extension_bytes;
        struct uptime_look look = {result->asked_ms, result->answered_ms, result->observed.uptime_s};
        bool restarted = agent_server_restarted(&state->uptime, &look);
        state->uptime = look;
        state->observed = result->observed;
        state->last_answer_ms = state->probe_started_ms;
        state->probe_us = result->probe_us;
        state->lock_waited_s = MAX_OF(result->lock_waited_s, 0);
        if (restarted)
            role_keeper_server_gone(agent->roles);
        role_keeper_observed(agent->roles, &result->replication, state->probe_started_ms);
        watch_accounts(agent);
        take_probed_left(agent);
        if (result->observed.has_status) {
            state->last_status_ms = state->probe_started_ms;
        } else {
            state->observed.status = last;
            state->observed.partial_revokes = partial_revokes;
            state->observed.extension_bytes = extension_bytes;
        }
        keep_sentinel(agent, steal_ptr(result->sentinel));
        role_keeper_admit(agent->roles, steal_ptr(result->admitted));
    }
    if (result->mark == AGENT_MARK_RESEED && state->role.mark == AGENT_MARK_NONE)
        state->role.mark = result->mark; /* by the start of a server (server_start.h) */
    state->probe_started_ms = 0;
    agent_metrics_probe(agent->metrics, state);
    agent_turn(agent);
}

/* ---- files ---- */

static void read_accounts(struct agent *agent)
{
    struct instance_state *state = &agent->state;
    uint64_t signature = instance_files_accounts_signature(&agent->options->paths);
    struct accounts_want want;
    struct error err = ERROR_INIT;

    if (signature == agent->accounts_signature)
        return;
    if (instance_files_read_accounts(&agent->options->paths, agent->user, &want, &state->missing_file, &err) < 0) {
        if (state->files_error.kind == ERROR_NONE)
            log_warn("the mounted files cannot be used", LOG_ERR(&err));
        state->files_error = err; /* and the signature stays old: tried again */
        return;
    }
    error_clear(&state->files_error);
    accounts_want_release(&agent->want);
    agent->want = want;
    agent->accounts_signature = signature;
    role_keeper_set_password(agent->roles, agent->want.replication_password);
    memcpy(state->accounts_wanted_hash, want.hash, sizeof(want.hash));
    state->accounts_incomplete = state->missing_file != NULL;
    state->tls_wanted_of_all = want.require_tls;
    state->binlog_max_bytes = instance_files_read_binlog_max(&agent->options->paths);
    state->accounts_wanted++;
    state->accounts_retry_ms = 0;
}

static int load_tls(struct agent *agent, struct error *err)
{
    const struct agent_options *options = agent->options;
    _cleanup_(tls_files_release) struct tls_files files = {0};

    if (instance_files_read_tls(&options->paths, &files, err) < 0)
        return -1;
    if (agent->tls) {
        if (tls_server_reload(agent->tls, &files.pair, files.ca_pem, err) < 0)
            return -1;
    } else {
        agent->tls = tls_server_new(&files.pair, files.ca_pem, err);
        if (!agent->tls)
            return -1;
        if (agent_server_listen_tls(agent->server, agent->tls, options->bind, options->tls_port, err) < 0) {
            tls_server_free(steal_ptr(agent->tls));
            return -1;
        }
    }
    role_keeper_set_tls(agent->roles, &files.pair, files.ca_pem);
    agent->state.certificate_not_after_ms = files.not_after_ms;
    return 0;
}

static void read_tls(struct agent *agent)
{
    uint64_t signature = instance_files_tls_signature(&agent->options->paths);
    struct error err = ERROR_INIT;

    if (signature == agent->tls_signature)
        return;
    if (load_tls(agent, &err) < 0) {
        if (agent->state.tls_error.kind == ERROR_NONE)
            log_warn("the certificates cannot be used", LOG_ERR(&err));
        agent->state.tls_error = err;
        return;
    }
    log_info("certificates are loaded");
    error_clear(&agent->state.tls_error);
    agent->tls_signature = signature;
    agent->state.tls_wanted++;
}

/* ---- act ---- */

/* commits: it may write to the binary log. */
static void begin_action(struct agent *agent, bool commits)
{
    agent->state.action_running = true;
    agent->action_commits = commits;
    if (commits)
        role_keeper_changes(agent->roles);
}

/* What a probe saw meanwhile may be half of what the action does. */
static void end_action(struct agent *agent)
{
    agent->state.action_running = false;
    if (agent->action_commits)
        role_keeper_changes(agent->roles);
    agent->state.role.finished_ms = clock_monotonic_ms();
}

static void on_reloaded(void *arg, const struct error *error)
{
    struct agent *agent = arg;

    end_action(agent);
    agent->state.tls_reloaded = agent->tls_generation;
    if (error->kind == ERROR_NONE)
        log_info("the server has read its certificates again");
    else if (error->kind != ERROR_CANCELLED)
        log_warn("the server goes on with the certificates it has", LOG_ERR(error));
}

static void note_accounts(struct agent *agent, const struct action_tended *tended)
{
    struct instance_state *state = &agent->state;

    state->accounts_once = true;
    if (agent->accounts_scope == ACCOUNTS_LOGGED) {
        state->named_known = true;
        snprintf(state->named_user, sizeof(state->named_user), "%s", str_or_empty(tended->username));
        snprintf(state->named_database, sizeof(state->named_database), "%s", str_or_empty(tended->database));
        state->named_requires_tls = tended->requires_tls;
    }
    take_left(agent, &tended->left);
    if (state->accounts_applied == state->accounts_wanted)
        memcpy(state->accounts_applied_hash, agent->want.hash, sizeof(agent->want.hash));
    log_info("accounts are applied", LOG_BOOL("logged", agent->accounts_scope == ACCOUNTS_LOGGED));
}

static void on_tended(void *arg, const struct error *error, const struct action_tended *tended)
{
    struct agent *agent = arg;
    struct instance_state *state = &agent->state;

    end_action(agent);
    if (error->kind == ERROR_CANCELLED)
        return;
    if (error->kind != ERROR_NONE) {
        log_warn("accounts could not be applied", LOG_ERR(error));
        state->accounts_error = *error;
        state->accounts_error_scope = agent->accounts_scope;
        state->accounts_retry_ms = clock_monotonic_ms() + ACCOUNTS_RETRY_MS;
    } else {
        error_clear(&state->accounts_error);
        snprintf(state->made_with, sizeof(state->made_with), "%s", tended->made_with);
        snprintf(state->older_tables, sizeof(state->older_tables), "%s", tended->older_tables);
        state->accounts_applied = agent->accounts_generation;
        state->accounts_scope = agent->accounts_scope;
        state->accounts_digest = tended->digest;
        state->own_account_due = state->own_account_due && agent->accounts_scope < ACCOUNTS_LOGGED;
        if (agent->accounts_scope > ACCOUNTS_NONE)
            note_accounts(agent, tended);
    }
    agent_turn(agent);
}

static void on_events(void *arg, const struct error *error)
{
    struct agent *agent = arg;
    struct instance_state *state = &agent->state;

    end_action(agent);
    if (error->kind == ERROR_CANCELLED)
        return;
    /* A look that began before must not start it again at once. */
    state->events_retry_ms = clock_monotonic_ms() + ACCOUNTS_RETRY_MS;
    if (error->kind == ERROR_NONE)
        state->events_epoch = agent->events_epoch;
    else
        log_warn("events could not be looked after", LOG_ERR(error));
}

/* Whatever became of it: the mark on the volume says what holds. */
static void on_stop_changed(void *arg, const struct error *error)
{
    struct agent *agent = arg;
    struct role_state *role = &agent->state.role;

    end_action(agent);
    if (error->kind == ERROR_CANCELLED)
        return;
    role->marked_stopped = server_is_kept_stopped(&agent->options->paths);
    agent->state.stop_retry_ms = clock_monotonic_ms() + ROLE_RETRY_MS;
    if (error->kind != ERROR_NONE)
        log_warn("the server could not be stopped, or let start", LOG_ERR(error));
    else
        log_info(role->marked_stopped ? "the server is stopped, and kept so" : "the server is let start");
    agent_turn(agent);
}

static void act(struct agent *agent, const struct agent_decision *decision, int64_t now_ms)
{
    struct instance_state *state = &agent->state;

    if (decision->probe) {
        bool is_spare = lend_sentinel(agent);
        struct session *old_sentinel = steal_ptr(agent->old_sentinel);
        struct probe_wish wish = {
            .is_spare = is_spare,
            .with_status = decision->probe_with_status,
            .sentinel = !agent->sentinel,
            .beat_late = role_beat_is_late(state, now_ms),
            .lock_waits = agent_asks_for_lock_waits(state, decision->probe_with_status),
            .old_sentinel = old_sentinel,
        };
        wish.admit = role_keeper_is_shut_out(agent->roles, &wish.admitted);
        agent_note_probe(state, now_ms);
        (void)(probe_lane_start(agent->probes, &wish) == 0);
    }
    if (decision->apply_accounts) {
        struct accounts_want *want = accounts_want_copy(&agent->want);
        agent->accounts_scope = want->scope = agent_accounts_scope(state);
        want->lock_left = state->role.lock_left;
        want->own_account = state->own_account_due;
        begin_action(agent, want->scope == ACCOUNTS_LOGGED);
        agent->accounts_generation = state->accounts_wanted;
        action_lane_tend(
            agent->actions, want, &state->observed.version, state->observed.partial_revokes, on_tended, agent);
    }
    if (decision->tend_events) {
        begin_action(agent, true);
        agent->events_epoch = state->role.epoch;
        action_lane_tend_events(
            agent->actions, &state->observed.version, state->events_epoch != state->role.epoch, on_events, agent);
    }
    if (decision->stop_server || decision->let_start) {
        begin_action(agent, false);
        if (decision->stop_server)
            action_lane_stop_server(agent->actions, on_stop_changed, agent);
        else
            action_lane_let_start(agent->actions, on_stop_changed, agent);
    }
    if (decision->reload_tls) {
        begin_action(agent, false);
        agent->tls_generation = state->tls_wanted;
        action_lane_reload_tls(agent->actions, &state->observed.version, on_reloaded, agent);
    }
}

/* ---- one turn: observe, decide, act, publish ---- */

/* The server has ended before the time is up, and that was published. */
static void end_soon(struct agent *agent)
{
    bool is_there = agent->state.server_there || agent->state.socket_accepts;

    if (agent->leaves_ms > 0 && !is_there && !agent->last_word) {
        agent->last_word = true;
        loop_timer_arm(&agent->end, LAST_WORD_MS);
    }
}

/* Nobody else in the cluster can say so: what was written last of it stands there, however old that is. */
static void note_operator(struct agent *agent, int64_t now_ms)
{
    int64_t silent_ms = agent_server_alone_ms(agent->server, now_ms);
    bool is_alone = silent_ms >= OPERATOR_SILENT_MS;

    agent_metrics_operator(agent->metrics, silent_ms);
    if (is_alone && !agent->is_alone)
        log_warn("no operator watches: nothing fails over, and the cluster's status is as old as that",
            LOG_INT("seconds", silent_ms / 1000));
    else if (!is_alone && agent->is_alone)
        log_info("an operator watches again");
    agent->is_alone = is_alone;
}

static void agent_turn(struct agent *agent)
{
    int64_t now_ms = clock_monotonic_ms();

    if (agent->ending)
        return;
    agent_note_turn(&agent->state, now_ms);
    agent_note_part(&agent->state, probe_lane_answered_ms(agent->probes));
    look_from_outside(agent, now_ms);
    volume_watch_turn(agent->volume, now_ms);
    tmp_keeper_turn(agent->tmp, now_ms);
    agent_metrics_tmp(agent->metrics, tmp_keeper_report(agent->tmp));
    if (now_ms >= agent->files_at_ms) {
        agent->files_at_ms = now_ms + FILES_INTERVAL_MS;
        read_accounts(agent);
        read_tls(agent);
    }
    struct agent_decision decision = agent_decide(&agent->state, agent->view.last_scrape_ms, now_ms);
    act(agent, &decision, now_ms);
    agent->state.serving_copies = donor_serving(agent->donor);
    agent->state.copy_stalls = donor_stalls(agent->donor);
    role_keeper_turn(agent->roles, decision.phase, now_ms);
    binlog_keeper_turn(agent->binlogs, decision.phase, now_ms);
    publish(agent, now_ms);
    note_operator(agent, now_ms);
    archive_keeper_turn(agent->archive, now_ms);
    agent->state.beat.log_wanted = archive_keeper_is_active(agent->archive);
    check_keeper_turn(agent->check);
    if (agent->fallen_ticks > 0 && decision.phase != AGENT_PHASE_DOWN)
        agent->fallen_ticks--;
    else
        agent->fallen_ticks = 0;
    end_soon(agent);
    loop_timer_arm(&agent->tick, agent->fallen_ticks > 0 ? FALLEN_TICK_MS : TICK_MS);
}

static void on_tick(void *arg)
{
    agent_turn(arg);
}

static void on_mycnf_applied(void *arg)
{
    struct agent *agent = arg;

    log_info("a changed my.cnf is in force");
    read_mycnf_hash(agent, agent->status.mycnf_hash);
    agent_server_publish(agent->server);
}

static void on_backup(void *arg)
{
    agent_turn(arg);
}

static void on_role(void *arg)
{
    agent_turn(arg);
}

/* ---- life ---- */

static void on_end(void *arg)
{
    struct agent *agent = arg;

    loop_stop(agent->loop);
}

static void on_signal(int signum, void *arg)
{
    struct agent *agent = arg;
    const struct agent_paths *paths = &agent->options->paths;
    bool must_tell = server_is_leaving(paths) && server_is_there(paths);

    if (agent->leaves_ms == 0 && must_tell) {
        log_info("the agent ends by a signal once its server has ended", LOG_INT("signal", signum));
        agent->leaves_ms = clock_monotonic_ms();
        loop_timer_arm(&agent->end, LEAVING_MS);
        return;
    }
    log_info("the agent ends by a signal", LOG_INT("signal", signum));
    loop_stop(agent->loop);
}

static int make_parts(struct agent *agent, const struct agent_options *options, struct error *err)
{
    agent->actions = action_lane_new(agent->loop, &options->paths, agent->user);
    agent->donor = donor_new(agent->loop, &options->paths, agent->user, &agent->status);
    agent->backups = backup_keeper_new(&(struct backup_keeper_options){.loop = agent->loop,
        .paths = &options->paths,
        .user = agent->user,
        .status = &agent->status,
        .donor = agent->donor,
        .changed = on_backup,
        .arg = agent});
    agent->archive = archive_keeper_new(&(struct archive_keeper_options){.loop = agent->loop,
        .paths = &options->paths,
        .status = &agent->status,
        .newest_log = &agent->state.beat.log_file,
        .changed = on_backup,
        .arg = agent});
    agent->check = check_keeper_new(&(struct check_keeper_options){
        .loop = agent->loop, .paths = &options->paths, .status = &agent->status, .changed = on_backup, .arg = agent});
    agent->slow_log = slow_log_new(agent->loop, &options->paths, agent->user, STDOUT_FILENO);
    agent->tail_donor = tail_donor_new(agent->loop, &options->paths, &agent->state.gone_executed);
    agent->holds = holds_door_new(agent->loop, &options->paths, &agent->status);
    agent->volume = volume_watch_new(agent->loop, &options->paths, &agent->state, on_role, agent);
    agent->tmp = tmp_keeper_new(&(struct tmp_keeper_options){.loop = agent->loop,
        .paths = &options->paths,
        .user = agent->user,
        .state = &agent->state,
        .wished_bytes = options->tmp_bytes,
        .ephemeral_bytes = options->ephemeral_bytes});
    agent->binlogs = binlog_keeper_new(agent->loop, &options->paths, agent->user, &agent->state, on_role, agent);
    agent->probes = probe_lane_new(agent->loop, &options->paths, agent->user, on_probe, agent);
    agent->roles = role_keeper_new(agent->loop, &options->paths, agent->user, &agent->state, on_role, agent, err);
    return agent->roles ? 0 : -1;
}

static int agent_start(struct agent *agent, const struct agent_options *options, struct error *err)
{
    agent->options = options;
    if (init_user_name(&agent->user, err) < 0)
        return -1;
    char *boot_id = tls_random_password(20);
    snprintf(agent->status.boot_id, sizeof(agent->status.boot_id), "%s", boot_id);
    free(boot_id);
    agent->loop = loop_new();
    agent->metrics = agent_metrics_new();
    if (make_parts(agent, options, err) < 0)
        return -1;
    agent->view = (struct agent_view){
        .loop = agent->loop,
        .state = &agent->state,
        .status = &agent->status,
        .metrics = agent_metrics_registry(agent->metrics),
        .actions = agent->actions,
        .donor = agent->donor,
        .backups = agent->backups,
        .archive = agent->archive,
        .check = agent->check,
        .binlogs = agent->binlogs,
        .tail_donor = agent->tail_donor,
        .holds = agent->holds,
        .roles = agent->roles,
        .pod_name = options->pod_name,
        .mysql_port = options->mysql_port,
        .mycnf_applied = on_mycnf_applied,
        .arg = agent,
    };
    agent->server = agent_server_new(&agent->view);
    agent->state.accounts_once = action_lane_accounts_mark(&options->paths);
    agent->state.role.keep_stopped = agent->state.role.marked_stopped = server_is_kept_stopped(&options->paths);
    loop_timer_init(&agent->tick, agent->loop, on_tick, agent);
    loop_timer_arm(&agent->tick, 0);
    loop_timer_init(&agent->end, agent->loop, on_end, agent);
    loop_on_signal(agent->loop, SIGTERM, on_signal, agent);
    loop_on_signal(agent->loop, SIGINT, on_signal, agent);
    return agent_server_listen_plain(agent->server, options->bind, options->plain_port, err);
}

static void agent_end(struct agent *agent)
{
    agent->ending = true;
    if (agent->loop) {
        loop_timer_release(&agent->tick);
        loop_timer_release(&agent->end);
        slow_log_free(agent->slow_log);
        archive_keeper_free(agent->archive);
        check_keeper_free(agent->check);
        backup_keeper_free(agent->backups);
        probe_lane_free(agent->probes);
        action_lane_free(agent->actions);
        donor_free(agent->donor);
        tail_donor_free(agent->tail_donor);
        holds_door_free(agent->holds);
        binlog_keeper_free(agent->binlogs);
        role_keeper_free(agent->roles);
        volume_watch_free(agent->volume);
        tmp_keeper_free(agent->tmp);
        agent_server_free(agent->server);
        position_pool_unref(agent->positions);
        drop_sentinel(agent);
        session_close(agent->old_sentinel);
        tls_server_free(agent->tls);
        agent_metrics_free(agent->metrics);
        loop_free(agent->loop);
    }
    accounts_want_release(&agent->want);
    free(agent->user);
}

int agent_run(const struct agent_options *options, struct error *err)
{
    struct agent *agent = xnew(struct agent);

    signal(SIGPIPE, SIG_IGN);
    session_library_init();
    int rc = agent_start(agent, options, err);
    if (rc == 0) {
        log_info("the agent runs", LOG_STR("instance", options->pod_name), LOG_STR("bootId", agent->status.boot_id));
        loop_run(agent->loop);
    }
    agent_end(agent);
    free(agent);
    session_library_end();
    return rc;
}
