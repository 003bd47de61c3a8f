/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/readiness.h"

#include "agent/look_answer.h"
#include "agent/mysql/dialect.h"
#include "agent/role_status.h"
#include "agent/write_times.h"
#include "common/json_fields.h"

#define LOOK_FAILED_TOLD_MS 2000

static struct readiness yes(void)
{
    return (struct readiness){.yes = true};
}

static struct readiness no(const char *fmt, ...) KM_PRINTF(1, 2);
static struct readiness no(const char *fmt, ...)
{
    struct readiness readiness = {.yes = false};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(readiness.reason, sizeof(readiness.reason), fmt, ap);
    va_end(ap);
    return readiness;
}

static const char *const phase_texts[AGENT_PHASE_COUNT] = {
    [AGENT_PHASE_UNKNOWN] = "nothing is known about the server yet",
    [AGENT_PHASE_STARTING] = "the server does not answer yet",
    [AGENT_PHASE_HUNG] = "the server does not answer any more",
    [AGENT_PHASE_DOWN] = "the server is not there",
};

static struct readiness ready_in_role(const struct instance_state *state, int64_t now_ms)
{
    struct readiness readiness = {0};

    readiness.yes = role_ready(state, now_ms, readiness.reason, sizeof(readiness.reason));
    return readiness;
}

struct readiness readiness_ready(const struct instance_state *state, int64_t now_ms)
{
    enum agent_phase phase = agent_phase_of(state, now_ms);

    if (phase == AGENT_PHASE_DOWN && state->role.marked_stopped)
        return no("the server is kept stopped");
    if (phase != AGENT_PHASE_RUNNING)
        return no("%s", phase_texts[phase]);
    if (state->probe_error.kind != ERROR_NONE)
        return no("the server refuses the probe: %.90s", state->probe_error.message);
    if (state->accounts_once || state->replication.accounts_present)
        return ready_in_role(state, now_ms);
    if (state->accounts_error.kind != ERROR_NONE)
        return no("accounts are not made: %.95s", state->accounts_error.message);
    return no("accounts are not made yet");
}

struct readiness readiness_live(const struct instance_state *state, int64_t now_ms)
{
    if (agent_phase_of(state, now_ms) != AGENT_PHASE_HUNG || agent_volume_is_full(state))
        return yes();
    int64_t since_ms = state->last_answer_ms ? state->last_answer_ms : state->accepts_since_ms;
    if (now_ms - since_ms < LIVE_HUNG_MS)
        return yes();
    return no("the server has not answered for %lld s", (long long)((now_ms - since_ms) / 1000));
}

struct readiness readiness_startup(const struct instance_state *state, int64_t now_ms)
{
    enum agent_phase phase = agent_phase_of(state, now_ms);

    if (phase == AGENT_PHASE_RUNNING || (phase == AGENT_PHASE_HUNG && state->last_answer_ms))
        return yes();
    return no("%s", phase_texts[phase]);
}

/* Both ends of it, once there is too little: what is free between them looks like enough. */
static void say_floor(const struct instance_state *state, char *out, size_t size)
{
    const struct volume_room *room = &state->room;
    unsigned long long least = volume_room_rounded_up_mib(room->floor, room->bytes);
    unsigned long long enough = volume_room_rounded_up_mib(volume_room_enough(room), room->bytes);

    if (volume_room_passes(room) && state->role.closed_for_room)
        snprintf(out, size,
            ": closed for writes, as it filled fast (below %llu MiB then); opens by itself within a minute", least);
    else if (room->is_short && state->role.closed_for_room)
        snprintf(out, size, ": closed for writes, which end below %llu MiB and open again at %llu MiB", least, enough);
    else if (room->is_short)
        snprintf(out, size, ": too little, which begins below %llu MiB and ends at %llu MiB", least, enough);
    else
        snprintf(out, size, "; a primary is closed for writes below %llu MiB",
            (unsigned long long)volume_room_rounded_mib(room->floor, room->bytes));
}

/* As of the latest collection of counters, which also a server that is full answers: the session is there before. */
static void add_connections_full(const struct instance_state *state, struct agent_status *status)
{
    double used = server_status_value(&state->observed.status, "Threads_connected");
    double most = server_status_value(&state->observed.status, "max_connections");

    if (status->phase == AGENT_PHASE_RUNNING && most > 0 && used >= most)
        agent_status_add_problem(status, AGENT_PROBLEM_CONNECTIONS_FULL,
            "%.0f connections are open, max_connections is %.0f: clients are refused (Too many connections); end idle "
            "ones, or raise spec.mycnf.max_connections",
            used, most);
}

/* One look that fails proves little: a server that ends refuses them, too. */
static void add_look_failed(const struct instance_state *state, int64_t now_ms, struct agent_status *status)
{
    const char *unread = *state->replication.unread ? state->replication.unread : state->observed.unread;
    bool lasts = now_ms - MAX_OF(state->last_answer_ms, state->role.started_ms) >= LOOK_FAILED_TOLD_MS;

    if (status->phase != AGENT_PHASE_RUNNING || state->probe_error.kind == ERROR_UNAUTHORIZED)
        return;
    if (look_is_refused(state) && lasts)
        agent_status_add_problem(status, AGENT_PROBLEM_LOOK_FAILED,
            "the server does not say how it is, and what is told of it is old: %.160s; mend what it names; until then it "
            "is closed if it must be, and changed in no other way",
            state->probe_error.message);
    else if (state->probe_error.kind == ERROR_NONE && *unread)
        agent_status_add_problem(status, AGENT_PROBLEM_LOOK_FAILED, "not known, as the server refuses to tell: %s; %s",
            unread,
            replication_unread_is_ours(unread) ? "mend the table that it names, or DROP it if it is in the database "
                                                 "kubemysql: the primary's agent makes it anew"
                                               : "mend what it names");
}

/* For an account that does not exist MySQL answers as if it existed, with some authentication plugin: its error message
 * does not say that the account is missing. */
static void add_locked_out(const struct instance_state *state, struct agent_status *status)
{
    const char *user = state->user ? state->user : "mysql";

    if (state->probe_error.kind == ERROR_UNAUTHORIZED)
        agent_status_add_problem(status, AGENT_PROBLEM_AGENT_LOCKED_OUT,
            "the server refuses the agent: its account %s@localhost is not there, or somebody has changed it; what is "
            "told of the server is old; deleting the pod makes the account anew; the server's words: %.190s",
            user, state->probe_error.message);
    else if (status->phase == AGENT_PHASE_RUNNING && state->own_account == OWN_ACCOUNT_LOST)
        agent_status_add_problem(status, AGENT_PROBLEM_AGENT_LOCKED_OUT,
            "the agent's account %s@localhost is not there, or somebody has changed it, and it cannot be made anew on "
            "a server that is read-only; the primary makes it anew where that has lost it, too; else deleting the pod "
            "does, and until then only the connections that are open go on",
            user);
}

static void add_problems(const struct instance_state *state, int64_t now_ms, struct agent_status *status)
{
    const struct volume_room *room = &state->room;
    char floor[128];

    say_floor(state, floor, sizeof(floor));
    if (state->missing_file)
        agent_status_add_problem(status, AGENT_PROBLEM_SECRET_MISSING,
            "the file \"%s\" is missing among the account Secrets", state->missing_file);
    if (state->files_error.kind != ERROR_NONE)
        agent_status_add_problem(status, AGENT_PROBLEM_CONFIG_INVALID, "%s", state->files_error.message);
    if (state->accounts_error.kind != ERROR_NONE)
        agent_status_add_problem(status, AGENT_PROBLEM_ACCOUNTS_FAILED, "%s", state->accounts_error.message);
    if (state->tls_error.kind != ERROR_NONE)
        agent_status_add_problem(status, AGENT_PROBLEM_CERTIFICATE_INVALID, "%s", state->tls_error.message);
    const struct server_version *version = &state->observed.version;
    if (state->tls_wanted_of_all && *version->text && !dialect_for(version)->require_tls)
        agent_status_add_problem(status, AGENT_PROBLEM_TLS_NOT_REQUIRED,
            "spec.tls.mode is Required, and a server of version %s cannot require TLS of its clients",
            state->observed.version.text);
    if (agent_volume_is_full(state))
        agent_status_add_problem(status, AGENT_PROBLEM_VOLUME_FULL, "%llu of %llu MiB of the data volume are free%s",
            (unsigned long long)volume_room_rounded_mib(room->free_bytes, room->bytes),
            (unsigned long long)(room->bytes / KM_MIB), floor);
    add_connections_full(state, status);
    add_locked_out(state, status);
    add_look_failed(state, now_ms, status);
}

/* A primary says what it has done, the others what has come to them. */
static void fill_accounts(const struct instance_state *state, struct agent_status *ret)
{
    const struct replication_facts *facts = &state->replication;
    bool primary = agent_is_primary(state);
    const char *hash = primary ? state->accounts_applied_hash : facts->accounts_hash;
    bool done = primary ? state->accounts_wanted == state->accounts_applied && state->accounts_scope == ACCOUNTS_LOGGED
                        : facts->accounts_present && strcmp(facts->accounts_hash, state->accounts_wanted_hash) == 0;

    json_copy_text(ret->accounts_hash, sizeof(ret->accounts_hash), hash);
    if (primary && state->named_known) {
        ret->named_known = true;
        json_copy_text(ret->named_user, sizeof(ret->named_user), state->named_user);
        json_copy_text(ret->named_database, sizeof(ret->named_database), state->named_database);
        json_copy_text(
            ret->named_tls, sizeof(ret->named_tls), state->named_requires_tls ? AGENT_TLS_REQUIRED : AGENT_TLS_OFFERED);
        accounts_left_fill_status(&state->left, ret);
    }
    ret->accounts_applied =
        done && state->accounts_wanted && !state->accounts_incomplete && state->files_error.kind == ERROR_NONE;
}

void readiness_fill_status(const struct instance_state *state, int64_t now_ms, struct agent_status *ret)
{
    struct readiness ready = readiness_ready(state, now_ms);
    const struct observation *observed = &state->observed;

    ret->phase = agent_phase_of(state, now_ms);
    ret->flavour = observed->version.flavour;
    json_copy_text(ret->version, sizeof(ret->version), observed->version.text);
    json_copy_text(ret->server_uuid, sizeof(ret->server_uuid), observed->server_uuid);
    json_copy_text(ret->ready_reason, sizeof(ret->ready_reason), ready.reason);
    fill_accounts(state, ret);
    ret->ready = ready.yes;
    ret->server_id = observed->server_id;
    ret->uptime_s = observed->uptime_s;
    ret->read_only = state->replication.read_only;
    ret->volume_bytes = state->room.bytes;
    ret->volume_free_bytes = state->room.free_bytes;
    ret->volume_floor_bytes = state->room.floor;
    ret->room_passes = volume_room_passes(&state->room);
    ret->probe_us = state->probe_us;
    ret->certificate_not_after_ms = state->certificate_not_after_ms;
    add_problems(state, now_ms, ret);
    role_fill_status(state, now_ms, ret);
    write_times_fill(state, ret);
}
