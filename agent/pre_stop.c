/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/pre_stop.h"

#include <time.h>

#include "agent/bootstrap/init.h"
#include "agent/bootstrap/instance_config.h"
#include "agent/bootstrap/server_exec.h"
#include "agent/mysql/observe.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/role_close.h"
#include "agent/mysql/row_value.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/session.h"
#include "agent/server_socket.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_client.h"
#include "common/log.h"
#include "common/loop.h"

#define REQUEST_TIMEOUT_MS 1000
#define CLOSE_CONNECT_TIMEOUT_S 2
#define CLOSE_IO_TIMEOUT_S 10

/* ---- the decision ---- */

/* Whether it has been so for max_ms. */
static bool lasts(bool is_so, int64_t *since_ms, int64_t max_ms, int64_t now_ms)
{
    if (!is_so)
        *since_ms = 0;
    else if (*since_ms == 0)
        *since_ms = now_ms;
    return is_so && now_ms - *since_ms >= max_ms;
}

const char *pre_stop_may_go(struct pre_stop *state, const struct pre_stop_answer *answer, int64_t now_ms)
{
    bool is_primary = answer->answered && str_starts_with(answer->role, "primary");
    bool is_fenced = answer->answered && str_starts_with(answer->role, "fenced");
    bool is_turning = answer->answered && strstr(answer->role, "turning");
    bool is_applying = answer->answered && strstr(answer->role, "applying");
    bool is_alone = answer->answered && strstr(answer->role, "alone");
    bool is_last = answer->answered && strstr(answer->role, "last");

    if (lasts(!answer->answered, &state->silent_since_ms, PRE_STOP_SILENCE_MS, now_ms))
        return "the agent does not answer";
    if (!answer->answered)
        return NULL;
    if (!answer->live)
        return "the server hangs";
    bool turns_for_ever = lasts(is_turning, &state->turning_since_ms, PRE_STOP_TURN_MS, now_ms);
    if (is_turning && !turns_for_ever)
        return NULL;
    bool applies_for_ever = lasts(is_applying, &state->applying_since_ms, PRE_STOP_APPLY_MS, now_ms);
    if (is_applying && !applies_for_ever)
        return NULL;
    if (!is_primary && !is_fenced)
        return "this member is not the primary";
    if (is_last)
        return "nobody is left to take over";
    if (lasts(is_alone, &state->alone_since_ms, PRE_STOP_ALONE_MS, now_ms))
        return "no operator is there to move the primary";
    if (lasts(is_fenced, &state->fenced_since_ms, PRE_STOP_FENCED_MS, now_ms))
        return "the primary is closed, and is not followed by another one";
    return NULL;
}

/* ---- asking ---- */

struct door {
    const struct agent_options *options;
    struct loop *loop;
    struct http_client *http;
    bool done;
    int status; /* 0: no answer */
    char text[64];
};

static void on_answer(void *arg, const struct http_response *response, const struct error *err)
{
    struct door *door = arg;

    door->done = true;
    door->status = err ? 0 : response->status;
    snprintf(door->text, sizeof(door->text), "%.60s", err ? "" : response->body);
}

static int ask(struct door *door, const char *path)
{
    _cleanup_(freep) char *url = xasprintf("http://127.0.0.1:%u%s", door->options->plain_port, path);
    const struct http_request_options request = {
        .method = "GET",
        .url = url,
        .connect_timeout_ms = REQUEST_TIMEOUT_MS,
        .timeout_ms = REQUEST_TIMEOUT_MS,
        .done = on_answer,
        .arg = door,
    };

    door->done = false;
    http_client_start(door->http, &request);
    while (!door->done)
        loop_run_once(door->loop, REQUEST_TIMEOUT_MS);
    return door->status;
}

static const char *ask_once(struct door *door, struct pre_stop *state)
{
    struct pre_stop_answer answer = {.role = ""};
    int live = ask(door, "/live");

    answer.answered = live != 0 && ask(door, "/role") != 0;
    answer.live = live == 200;
    answer.role = door->text;
    return pre_stop_may_go(state, &answer, clock_monotonic_ms());
}

static void pause_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void close_primary(struct door *door)
{
    struct error err = ERROR_INIT;
    int64_t end_ms = clock_monotonic_ms() + PRE_STOP_CLOSE_MS;

    if (server_mark_stopping(&door->options->paths, &err) < 0) {
        log_warn("the primary is stopped without being closed", LOG_STR("error", err.message));
        return;
    }
    while (ask(door, "/role") && str_starts_with(door->text, "primary") && !strstr(door->text, "closed") &&
        clock_monotonic_ms() < end_ms)
        pause_ms(PRE_STOP_POLL_MS);
}

/* ---- the server itself ---- */

struct local_server {
    struct session *session; /* NULL: nobody could log in */
    const struct dialect *dialect;
};

static int look_who_it_is(struct local_server *server, struct error *err)
{
    struct observation observed = {.read_only = false};

    if (observe_server(server->session, false, &observed, err) < 0)
        return -1;
    server->dialect = dialect_for(&observed.version);
    return server->dialect ? 0 : error_set(err, ERROR_INVALID, "what server this is cannot be told");
}

/* Leave it in any case. */
static int enter_server(const struct agent_options *options, struct local_server *ret, struct error *err)
{
    _cleanup_(freep) char *user = NULL;

    *ret = (struct local_server){.session = NULL};
    session_library_init();
    if (init_user_name(&user, err) < 0)
        return -1;
    const struct session_options how = {.socket = options->paths.socket,
        .user = user,
        .connect_timeout_s = CLOSE_CONNECT_TIMEOUT_S,
        .io_timeout_s = CLOSE_IO_TIMEOUT_S};
    ret->session = session_open(&how, err);
    return ret->session ? look_who_it_is(ret, err) : -1;
}

static void leave_server(struct local_server *server)
{
    if (server->session)
        session_close(server->session);
    session_library_end();
}

/* Nothing else is asked: no table, for somebody may hold its lock and wait for an acknowledgement (accounts that are
 * being made lock mysql.user). */
static int may_answer_clients(const struct local_server *server, bool *ret, struct error *err)
{
    struct replication_facts facts = {.seen = false};
    bool read_only = false;
    const char *sql = server->dialect->super_read_only ? "SELECT @@global.super_read_only" : "SELECT @@global.read_only";

    if (session_query(server->session, sql, row_value_take_flag, &read_only, err) < 0 ||
        semi_sync_observe(server->session, server->dialect, &facts, err) < 0)
        return -1;
    *ret = !read_only || facts.semi_sync_source;
    return 0;
}

/* A MySQL server that gets SIGTERM tells the clients whose commits wait that these are done. So no server is left to
 * SIGTERM that may have such clients, whatever its agent says: it may be dead, or frozen in the midst of a close. */
static int close_server(const struct agent_options *options, struct error *err)
{
    struct local_server server;
    bool may_answer = false;
    int rc = enter_server(options, &server, err);

    if (rc == 0)
        rc = may_answer_clients(&server, &may_answer, err);
    if (rc == 0 && may_answer) {
        log_info("the server is closed before it is stopped");
        rc = role_close(server.session, server.dialect, 0, NULL, err);
    }
    leave_server(&server);
    return rc;
}

/* Whether its commits wait for other members. */
static bool others_acknowledge(const struct agent_options *options)
{
    struct local_server server;
    struct replication_facts facts = {.seen = false};
    struct error err = ERROR_INIT;

    if (!server_is_there(&options->paths))
        return false;
    bool known = enter_server(options, &server, &err) == 0 &&
        semi_sync_observe(server.session, server.dialect, &facts, &err) == 0;
    leave_server(&server);
    return known && facts.semi_sync_source;
}

/* Accounts that are being made while their commit waits let nobody log in (MySQL's lock of the ACL cache), and a server
 * that hangs answers nobody. Clients that cannot be disconnected first must not hear from the server any more. */
static void close_or_kill(const struct agent_options *options, bool is_closed)
{
    struct error err = ERROR_INIT;

    if (close_server(options, &err) == 0)
        return;
    log_warn("it is not known whether clients wait for a commit", LOG_ERR(&err));
    error_clear(&err);
    if (is_closed)
        return;
    log_warn("the server is killed, so that it tells no client of a commit");
    if (server_socket_kill(options->paths.socket, PRE_STOP_KILL_MS, &err) < 0)
        log_error("the server could not be killed", LOG_ERR(&err));
}

static void wait_for_handover(const struct agent_options *options)
{
    struct door door = {.options = options};
    struct pre_stop state = {0};
    const char *reason = NULL;
    int64_t end_ms = clock_monotonic_ms() + (int64_t)options->wait_seconds * 1000;
    struct error err = ERROR_INIT;

    if (server_mark_leaving(&options->paths, &err) < 0)
        log_warn("the agent does not know that the server is to be stopped", LOG_STR("error", err.message));
    door.loop = loop_new();
    door.http = http_client_new(door.loop);
    while (!(reason = ask_once(&door, &state)) && clock_monotonic_ms() < end_ms)
        pause_ms(PRE_STOP_POLL_MS);
    log_info("the server may be stopped",
        LOG_STR("reason", reason ? reason : "the time to hand over is up, and this member is still the primary"));
    if (!door.status || str_starts_with(door.text, "primary"))
        close_primary(&door);
    bool is_closed = door.status != 0 && str_starts_with(door.text, "replica") && !strstr(door.text, " open");
    if (server_is_there(&options->paths))
        close_or_kill(options, is_closed);
    http_client_free(door.http);
    loop_free(door.loop);
}

int pre_stop_run(const struct agent_options *options, struct error *err)
{
    struct agent_instance_config config = {0};

    if (instance_config_load(options->paths.config_instance, &config, err) < 0)
        return -1;
    /* Else there is nobody to hand over to; unless members were added, of which the mounted file does not know yet: the
     * kubelet brings it up to date once a minute. */
    if (config.replicas > 1 || others_acknowledge(options))
        wait_for_handover(options);
    agent_instance_config_release(&config);
    return 0;
}

int linger_run(const struct agent_options *options, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + (int64_t)options->wait_seconds * 1000;

    UNUSED(err);
    if (!server_is_there(&options->paths))
        return 0;
    while (server_is_there(&options->paths) && clock_monotonic_ms() < end_ms)
        pause_ms(PRE_STOP_POLL_MS);
    pause_ms(AGENT_STATUS_INTERVAL_MS); /* the last word gets out */
    return 0;
}
