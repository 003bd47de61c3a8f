/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/heartbeat_lane.h"

#include "agent/beat_rest.h"
#include "agent/mysql/database_look.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/session.h"
#include "agent/volume_try.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/log.h"
#include "common/worker.h"

#define BEAT_CONNECT_TIMEOUT_S 2
#define BEAT_IO_TIMEOUT_S 5
#define ER_BAD_DB 1049
#define ER_BAD_FIELD 1054
#define ER_WRONG_VALUE_COUNT_ON_ROW 1136
#define ER_NO_SUCH_TABLE 1146
#define ER_WARN_DATA_OUT_OF_RANGE 1264
#define ER_TRUNCATED_WRONG_VALUE 1292
#define ER_NO_DEFAULT_FOR_FIELD 1364
#define ER_TRUNCATED_WRONG_VALUE_FOR_FIELD 1366

struct heartbeat_lane {
    struct worker *worker;
    struct loop_timer timer;
    const struct agent_paths *paths;
    struct session_options options;
    struct beat_state *beat;
    void (*fn)(void *arg);
    void *arg;
    struct own_commits own;
    struct beat_wish wish;
    bool begins; /* beats were not wanted before */
    /* From submit to done these belong to the thread. */
    struct session *session;
    struct beat_wish job;
    struct beat_rest rest;
    struct error error;
};

/* Commits of the agent have a row lock to wait for if an earlier one still waits for acknowledgements. */
static struct session *open_session(const struct heartbeat_lane *lane, struct error *err)
{
    struct session *session = session_open(&lane->options, err);

    if (session && session_exec(session, "SET SESSION innodb_lock_wait_timeout = 2, lock_wait_timeout = 2", err) == 0)
        return session;
    session_close(session);
    return NULL;
}

static int commit(struct heartbeat_lane *lane, const char *sql, struct error *err)
{
    atomic_fetch_add(&lane->own.begun, 1);
    int rc = session_exec(lane->session, sql, err);
    if (rc < 0 &&
        !session_is_broken(lane->session)) /* the server says that it did not, as where a row lock is waited for */
        atomic_fetch_sub(&lane->own.begun, 1);
    else
        atomic_fetch_add(&lane->own.ended, 1);
    return rc;
}

static int write_beat(struct heartbeat_lane *lane, struct error *err)
{
    char sql[256];

    /* Short, as MariaDB's binary log has the text beside the row. */
    snprintf(sql, sizeof(sql),
        "REPLACE " HEARTBEAT_TABLE " (id,epoch,written_at) SELECT 1,%llu,%lld FROM DUAL WHERE @@read_only=0",
        (unsigned long long)lane->job.epoch, (long long)clock_realtime_us());
    return commit(lane, sql, err);
}

static void take_flag(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    *(bool *)arg = count > 0 && str_eq(values[0], "0");
}

/* Somebody has given it another shape: nothing in it is worth keeping. */
static bool is_misshapen(const struct error *error)
{
    static const int codes[] = {ER_BAD_FIELD, ER_WRONG_VALUE_COUNT_ON_ROW, ER_WARN_DATA_OUT_OF_RANGE,
        ER_TRUNCATED_WRONG_VALUE, ER_NO_DEFAULT_FOR_FIELD, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (error->code == codes[i])
            return true;
    }
    return false;
}

static int make_table(struct heartbeat_lane *lane, bool anew, struct error *err)
{
    bool writable = false, there = false;

    if (session_query(lane->session, "SELECT @@global.read_only", take_flag, &writable, err) < 0)
        return -1;
    if (!writable)
        return 0;
    if (anew) {
        log_warn("the table of the heartbeat was changed by another hand: it is made anew");
        if (commit(lane, "DROP TABLE IF EXISTS " HEARTBEAT_TABLE, err) < 0)
            return -1;
    }
    if (database_look(lane->session, HEARTBEAT_DATABASE, &there, err) < 0 ||
        (!there && commit(lane, "CREATE DATABASE IF NOT EXISTS " HEARTBEAT_DATABASE, err) < 0))
        return -1;
    return commit(lane,
        "CREATE TABLE IF NOT EXISTS " HEARTBEAT_TABLE
        " (id TINYINT UNSIGNED NOT NULL PRIMARY KEY, epoch BIGINT UNSIGNED NOT NULL, written_at BIGINT NOT NULL) "
        "ENGINE = InnoDB",
        err);
}

static int write_or_make(struct heartbeat_lane *lane, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (write_beat(lane, &failure) == 0)
        return 0;
    bool misshapen = is_misshapen(&failure);
    if (failure.code != ER_NO_SUCH_TABLE && failure.code != ER_BAD_DB && !misshapen) {
        *err = failure;
        return -1;
    }
    if (make_table(lane, misshapen, err) < 0)
        return -1;
    return write_beat(lane, err);
}

static void take_position(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct beat_look *look = arg;

    UNUSED(names);
    if (count < 1 || !values[0])
        return;
    look->known = true;
    look->position = hash64(HASH64_INIT, values[0], strlen(values[0]));
}

static void take_prepares(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count > 1 && values[1])
        *(uint64_t *)arg = strtoull(values[1], NULL, 10);
}

/* A server without such a variable is never at rest. */
static int look_at_server(const struct heartbeat_lane *lane, struct beat_look *ret, struct error *err)
{
    bool mariadb = lane->job.family == AGENT_FLAVOUR_MARIADB;
    const char *position = mariadb ? "SELECT @@global.gtid_binlog_pos" : "SELECT @@global.gtid_executed";
    struct error failure = ERROR_INIT;

    *ret = (struct beat_look){0};
    if ((session_query(lane->session, position, take_position, ret, &failure) == 0 &&
            session_query(lane->session, "SHOW GLOBAL STATUS LIKE 'Handler_prepare'", take_prepares, &ret->prepares,
                &failure) == 0) ||
        failure.kind == ERROR_DATABASE)
        return 0;
    if (err)
        *err = failure;
    return -1;
}

static int write_row(struct heartbeat_lane *lane, const struct beat_look *before, int64_t now_ms, struct error *err)
{
    struct beat_look after = {0};

    if (write_or_make(lane, err) < 0)
        return -1;
    /* role_close knows the session by its database. */
    (void)(session_exec(lane->session, "USE " HEARTBEAT_DATABASE, NULL) == 0);
    if (look_at_server(lane, &after, err) < 0)
        return -1;
    beat_rest_note_row(&lane->rest, before, &after, now_ms);
    return 0;
}

static int beat(struct heartbeat_lane *lane, struct error *err)
{
    struct beat_look look = {0};
    int64_t now_ms = clock_monotonic_ms();

    if (look_at_server(lane, &look, err) < 0)
        return -1;
    if (!beat_rest_wants_row(&lane->rest, &look, lane->job.may_rest, now_ms) && volume_try(lane->paths, NULL) == 0)
        return 0;
    return write_row(lane, &look, now_ms, err);
}

static void run(void *arg)
{
    struct heartbeat_lane *lane = arg;

    error_clear(&lane->error);
    if (!lane->session)
        lane->session = open_session(lane, &lane->error);
    if (!lane->session)
        return;
    if (beat(lane, &lane->error) < 0 || session_is_broken(lane->session)) {
        session_close(lane->session);
        lane->session = NULL;
        lane->rest = (struct beat_rest){0};
    }
}

static void done(void *arg)
{
    struct heartbeat_lane *lane = arg;
    struct beat_state *beat = lane->beat;

    beat->error = lane->error;
    if (lane->error.kind == ERROR_NONE)
        beat->blocked_since_ms = 0;
    beat->started_ms = 0;
    if (lane->fn)
        lane->fn(lane->arg);
}

static void on_timer(void *arg)
{
    struct heartbeat_lane *lane = arg;
    struct worker_job job = {.run = run, .done = done, .arg = lane};

    loop_timer_arm(&lane->timer, HEARTBEAT_INTERVAL_MS);
    if (lane->beat->started_ms)
        return;
    lane->beat->started_ms = clock_monotonic_ms();
    if (!lane->beat->blocked_since_ms)
        lane->beat->blocked_since_ms = lane->beat->started_ms;
    if (lane->begins || lane->job.epoch != lane->wish.epoch)
        lane->rest = (struct beat_rest){0};
    lane->begins = false;
    lane->job = lane->wish;
    if (worker_submit(lane->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

struct heartbeat_lane *heartbeat_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    struct beat_state *beat, void (*fn)(void *arg), void *arg)
{
    struct heartbeat_lane *lane = xnew(struct heartbeat_lane);

    lane->worker = worker_new(loop, "heartbeat");
    loop_timer_init(&lane->timer, loop, on_timer, lane);
    lane->paths = paths;
    lane->options = (struct session_options){
        .socket = paths->socket,
        .user = user,
        .connect_timeout_s = BEAT_CONNECT_TIMEOUT_S,
        .io_timeout_s = BEAT_IO_TIMEOUT_S,
    };
    lane->beat = beat;
    lane->fn = fn;
    lane->arg = arg;
    return lane;
}

void heartbeat_lane_beat(struct heartbeat_lane *lane, const struct beat_wish *wish)
{
    bool needs_row = lane->wish.may_rest && !wish->may_rest;

    lane->wish = *wish;
    if (lane->beat->wanted && !needs_row)
        return;
    lane->begins = lane->begins || !lane->beat->wanted;
    lane->beat->wanted = true;
    loop_timer_arm(&lane->timer, 0);
}

void heartbeat_lane_stop(struct heartbeat_lane *lane)
{
    lane->beat->wanted = false;
    lane->beat->blocked_since_ms = 0;
    loop_timer_cancel(&lane->timer);
}

struct own_commits *heartbeat_lane_commits(struct heartbeat_lane *lane)
{
    return &lane->own;
}

void heartbeat_lane_free(struct heartbeat_lane *lane)
{
    if (!lane)
        return;
    lane->fn = NULL;
    loop_timer_release(&lane->timer);
    worker_free(lane->worker);
    session_close(lane->session);
    free(lane);
}
