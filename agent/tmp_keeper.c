/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tmp_keeper.h"

#include "agent/mysql/room.h"
#include "agent/mysql/tmp_clients.h"
#include "agent/tmp_room.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/worker.h"

#define CONNECT_TIMEOUT_S 2
#define IO_TIMEOUT_S 5
/* What goes on is not said at each look. */
#define SAY_AGAIN_MS 60000

struct tmp_keeper {
    struct worker *worker;
    struct tmp_keeper_options options;
    struct session_options session_options;
    int64_t next_ms;
    bool busy, ending;
    struct tmp_report report;
    /* From submit to done these belong to the thread. */
    struct server_version version;
    uint64_t bound;
    struct session *session; /* kept while they are beyond their bound */
    struct tmp_look look;
    struct tmp_history history;
    bool is_known;
    struct tmp_ended ended;
    unsigned ended_now;
    int64_t said_ms;
};

static void read_look(struct tmp_keeper *keeper)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct tmp_look look;

    strbuf_init(&text, 2 * TMP_LOOK_TEXT_SIZE);
    /* What there was of the server before tells nothing of this one. */
    if (!fs_exists(keeper->options.paths->tmp_look)) {
        keeper->look = (struct tmp_look){0};
        keeper->history.count = 0;
        keeper->is_known = false;
        return;
    }
    /* One that is being written over is read whole the next time. */
    if (fs_read_file(keeper->options.paths->tmp_look, &text, NULL) == 0 && tmp_look_parse(text.buf, &look))
        keeper->look = look;
    tmp_history_add(&keeper->history, &keeper->look);
    keeper->is_known = tmp_room_knows(&keeper->look, clock_monotonic_ms());
}

static bool says_now(struct tmp_keeper *keeper)
{
    int64_t now_ms = clock_monotonic_ms();

    if (keeper->said_ms && now_ms - keeper->said_ms < SAY_AGAIN_MS)
        return false;
    keeper->said_ms = now_ms;
    return true;
}

static int open_session(struct tmp_keeper *keeper, struct error *err)
{
    if (keeper->session && session_is_broken(keeper->session)) {
        session_close(keeper->session);
        keeper->session = NULL;
    }
    if (!keeper->session)
        keeper->session = session_open(&keeper->session_options, err);
    return keeper->session ? 0 : -1;
}

static int end_one(
    struct tmp_keeper *keeper, const struct tmp_client *client, const struct tmp_choice *choice, struct error *err)
{
    if (tmp_clients_end(keeper->session, &keeper->version, client->id, err) < 0)
        return -1;
    log_warn("temporary files are beyond their bound: the connection that fills them is ended",
        LOG_STR("user", client->user), LOG_INT("connection", (int64_t)client->id),
        LOG_INT("statementSeconds", client->age_ms / 1000), LOG_STR("by", tmp_evidence_names[choice->evidence]),
        LOG_INT("itsMiB", (int64_t)(choice->bytes / KM_MIB)), LOG_INT("allMiB", (int64_t)(keeper->look.bytes / KM_MIB)),
        LOG_INT("boundMiB", (int64_t)(keeper->bound / KM_MIB)));
    keeper->ended = (struct tmp_ended){.id = client->id, .at_ms = clock_monotonic_ms(), .bytes = keeper->look.bytes};
    keeper->ended_now++;
    return 0;
}

static bool is_there(const struct tmp_client *clients, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++) {
        if (clients[i].id == id)
            return true;
    }
    return false;
}

static int make_room(struct tmp_keeper *keeper, struct error *err)
{
    struct tmp_client *clients = NULL;
    size_t count = 0;

    if (open_session(keeper, err) < 0)
        return -1;
    int rc = tmp_clients_list(keeper->session, &keeper->version, &clients, &count, err);
    int64_t now_ms = clock_monotonic_ms();
    if (rc == 0 && !tmp_room_waits(&keeper->ended, &keeper->look, is_there(clients, count, keeper->ended.id), now_ms)) {
        struct tmp_choice choice = tmp_room_choose(&keeper->history, clients, count, now_ms);
        if (choice.evidence != TMP_EVIDENCE_NONE)
            rc = end_one(keeper, &clients[choice.client], &choice, err);
        else if (says_now(keeper))
            log_warn("temporary files are beyond their bound, and whose they are is not known",
                LOG_INT("allMiB", (int64_t)(keeper->look.bytes / KM_MIB)),
                LOG_INT("boundMiB", (int64_t)(keeper->bound / KM_MIB)));
    }
    free(clients);
    return rc;
}

static void run(void *arg)
{
    struct tmp_keeper *keeper = arg;
    struct error err = ERROR_INIT;

    keeper->ended_now = 0;
    read_look(keeper);
    bool is_beyond = keeper->is_known && keeper->bound && keeper->look.bytes > keeper->bound;
    if (is_beyond && make_room(keeper, &err) < 0 && says_now(keeper))
        log_warn("temporary files are beyond their bound, and no connection could be ended", LOG_ERR(&err));
    if (is_beyond)
        return;
    session_close(keeper->session);
    keeper->session = NULL;
}

static void done(void *arg)
{
    struct tmp_keeper *keeper = arg;
    struct tmp_report *report = &keeper->report;

    keeper->busy = false;
    if (keeper->ending)
        return;
    if (report->is_known && !keeper->is_known && keeper->options.state->server_there)
        log_warn("what the server's temporary files take is not known any more");
    report->is_known = keeper->is_known;
    report->bytes = keeper->is_known ? keeper->look.bytes : 0;
    report->bound = keeper->bound;
    report->ended += keeper->ended_now;
}

struct tmp_keeper *tmp_keeper_new(const struct tmp_keeper_options *options)
{
    struct tmp_keeper *keeper = xnew(struct tmp_keeper);

    keeper->worker = worker_new(options->loop, "tmp");
    keeper->options = *options;
    keeper->session_options = (struct session_options){.socket = options->paths->socket,
        .user = options->user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = IO_TIMEOUT_S};
    return keeper;
}

void tmp_keeper_turn(struct tmp_keeper *keeper, int64_t now_ms)
{
    const struct tmp_keeper_options *options = &keeper->options;
    const struct tmp_report *report = &keeper->report;
    struct worker_job job = {.run = run, .done = done, .arg = keeper};

    if (keeper->busy || now_ms < keeper->next_ms || !options->state->last_answer_ms)
        return;
    bool is_near = report->is_known && report->bound && report->bytes > report->bound / 4;
    keeper->next_ms = now_ms + (is_near ? TMP_KEEPER_BUSY_MS : TMP_KEEPER_INTERVAL_MS);
    keeper->bound = options->wished_bytes ? options->wished_bytes
                                          : tmp_room_bound(options->state->room.bytes, options->ephemeral_bytes);
    keeper->version = options->state->observed.version;
    keeper->busy = true;
    if (worker_submit(keeper->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

const struct tmp_report *tmp_keeper_report(const struct tmp_keeper *keeper)
{
    return &keeper->report;
}

void tmp_keeper_free(struct tmp_keeper *keeper)
{
    if (!keeper)
        return;
    keeper->ending = true;
    worker_free(keeper->worker);
    session_close(keeper->session);
    free(keeper);
}
