/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/clone_local.h"

#include <unistd.h>

#include "agent/backup/data_size.h"
#include "agent/mysql/session.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/gtid.h"

#define CONNECT_TIMEOUT_S 5
#define ASK_TIMEOUT_S 60
/* Silent until it is through, which may take days. */
#define CLONE_TIMEOUT_S (14 * 24 * 60 * 60)
#define STATEMENT_MAX (8 * KM_KIB)
/* ER_CLONE_TOO_MANY_CONCURRENT_CLONES: another member is being seeded from this server. */
#define CLONE_TOO_MANY 3634
#define BUSY_PAUSE_MS 5000
#define BUSY_MAX_MS (10 * 60 * 1000)
#define END_PAUSE_MS 100
#define END_MAX_MS 60000

static const char ask_engines[] = /* those whose rows are lost; what has no rows of its own is not */
    "SELECT CONCAT(table_schema, '.', table_name, ' (', engine, ')') FROM information_schema.tables"
    " WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')"
    " AND engine NOT IN ('InnoDB', 'MEMORY', 'BLACKHOLE', 'FEDERATED', 'MRG_MYISAM') LIMIT 1";
static const char ask_plugin[] =
    "SELECT plugin_status FROM information_schema.plugins WHERE plugin_name = 'clone' AND plugin_status = 'ACTIVE'";
static const char ask_position[] = "SELECT @@GLOBAL.gtid_executed";
/* Of this copy, or still of the one before: then a position is left out, no more. */
static const char ask_last_pages[] =
    "SELECT stage FROM performance_schema.clone_progress WHERE stage = 'PAGE COPY' AND state <> 'Not Started'";

struct making {
    const struct clone_local *clone;
    struct session *worker; /* the statement's */
    struct session *asker;
    struct clone_local_made made;
    struct error why; /* it was ended */
};

int clone_local_check_room(uint64_t data_bytes, uint64_t free_bytes, uint64_t *ret_reserve, struct error *err)
{
    uint64_t reserve = MAX_OF(data_bytes / 10, CLONE_LOCAL_RESERVE_MIN);

    *ret_reserve = reserve;
    if (data_bytes + reserve <= free_bytes)
        return 0;
    return error_set(err, ERROR_TOO_LARGE,
        "the volume is too small for a copy beside the data: %llu MiB of data and a reserve of %llu MiB, %llu MiB are free; a full volume would stop the database",
        (unsigned long long)(data_bytes / KM_MIB), (unsigned long long)(reserve / KM_MIB),
        (unsigned long long)(free_bytes / KM_MIB));
}

int clone_local_check_left(uint64_t free_bytes, uint64_t reserve, struct error *err)
{
    if (free_bytes >= reserve / 2)
        return 0;
    return error_set(err, ERROR_TOO_LARGE,
        "the copy was given up when %llu MiB were left on the volume: a full one would stop the database",
        (unsigned long long)(free_bytes / KM_MIB));
}

int clone_local_may_go_on(const struct clone_local *clone, uint64_t reserve, struct error *err)
{
    uint64_t free_bytes = 0;
    uint64_t total = 0;

    if (clone->is_unwanted(clone->arg))
        return error_set(err, ERROR_CANCELLED, "nobody takes the copy any more");
    if (fs_space(clone->data_dir, &free_bytes, &total, NULL) < 0)
        return 0; /* nothing is known */
    return clone_local_check_left(free_bytes, reserve, err);
}

/* ---- asking ---- */

static struct session *open_session(const char *socket, const char *user, unsigned io_timeout_s, struct error *err)
{
    const struct session_options options = {
        .socket = socket, .user = user, .connect_timeout_s = CONNECT_TIMEOUT_S, .io_timeout_s = io_timeout_s};

    return session_open(&options, err);
}

static void take_answer(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    char **answer = arg;

    UNUSED(names);
    if (count == 1 && values[0])
        str_replace(answer, values[0]);
}

/* The one value, or NULL: no row. */
static int ask(struct session *session, const char *sql, char **ret, struct error *err)
{
    free(steal_ptr(*ret));
    return session_query(session, sql, take_answer, ret, err);
}

/* *ret is replaced. */
static int ask_gtid(struct session *session, char **ret, struct error *err)
{
    _cleanup_(freep) char *answer = NULL;
    _cleanup_(strbuf_release) struct strbuf text = {0};

    strbuf_init(&text, POSITION_TEXT_MAX);
    if (ask(session, ask_position, &answer, err) < 0)
        return -1;
    _cleanup_(gtid_set_freep) struct gtid_set *set = gtid_set_parse(GTID_MYSQL, str_or_empty(answer), err);
    if (!set)
        return error_prefix(err, "the server's position");
    gtid_set_print(set, &text);
    if (text.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "gtid: the server's position has more than %zu bytes", POSITION_TEXT_MAX);
    str_replace(ret, str_or_empty(text.buf));
    return 0;
}

static int check_server(struct session *session, struct error *err)
{
    _cleanup_(freep) char *answer = NULL;

    if (ask(session, ask_plugin, &answer, err) < 0)
        return -1;
    if (!answer)
        return error_set(err, ERROR_INVALID, "the server has not loaded the plugin \"clone\": only logical is possible");
    if (ask(session, ask_engines, &answer, err) < 0)
        return -1;
    if (answer)
        return error_set(err, ERROR_INVALID,
            "the server copies InnoDB only, %.100s would be empty: only logical is possible", answer);
    return 0;
}

static int check_room(struct making *making, struct error *err)
{
    struct data_size size = {0};
    uint64_t free_bytes = 0;
    uint64_t total = 0;

    if (data_size_estimate(making->clone->data_dir, &size, err) < 0 ||
        fs_space(making->clone->data_dir, &free_bytes, &total, err) < 0)
        return -1;
    return clone_local_check_room(size.bytes, free_bytes, &making->made.reserve, err);
}

/* ---- while the server copies ---- */

static void take_position(struct making *making)
{
    _cleanup_(freep) char *last_pages = NULL;
    _cleanup_(freep) char *gtid = NULL;

    if (ask_gtid(making->asker, &gtid, NULL) == 0 && ask(making->asker, ask_last_pages, &last_pages, NULL) == 0 &&
        !last_pages)
        str_replace(&making->made.gtid, gtid);
}

/* Whether it may go on. */
static bool may_go_on(struct making *making)
{
    return clone_local_may_go_on(making->clone, making->made.reserve, &making->why) == 0;
}

/* By a session of its own: one that has waited for a full disk is broken. */
static void end_statement(const struct making *making)
{
    _cleanup_(session_closep) struct session *session =
        open_session(making->clone->socket, making->clone->user, CONNECT_TIMEOUT_S, NULL);
    _cleanup_(freep) char *sql = xasprintf("KILL QUERY %lu", session_id(making->worker));

    if (session)
        (void)(session_exec(session, sql, NULL) == 0); /* it has ended, or the next look tries again */
}

static void watch(struct making *making)
{
    while (!session_is_answered(making->worker, CLONE_LOCAL_LOOK_MS)) {
        if (making->why.kind != ERROR_NONE || !may_go_on(making))
            end_statement(making);
        else
            take_position(making);
    }
}

static int run_statement(struct making *making, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_adds(&sql, "CLONE LOCAL DATA DIRECTORY = ");
    sql_add_string(&sql, making->clone->folder);
    if (ask_gtid(making->asker, &making->made.gtid, err) < 0 || session_send(making->worker, sql.buf, err) < 0)
        return -1;
    watch(making);
    int rc = session_receive(making->worker, err);
    if (making->why.kind == ERROR_NONE)
        return rc;
    if (err)
        *err = making->why;
    return -1;
}

static int pause_for(struct making *making, int64_t ms, struct error *err)
{
    for (int64_t end_ms = clock_monotonic_ms() + ms; clock_monotonic_ms() < end_ms;) {
        if (!may_go_on(making)) {
            if (err)
                *err = making->why;
            return -1;
        }
        usleep(CLONE_LOCAL_LOOK_MS * 1000);
    }
    return 0;
}

/* One copy at a time: another one ends sooner or later. */
static int copy(struct making *making, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + BUSY_MAX_MS;
    struct error failure = ERROR_INIT;
    bool told = false;

    while (run_statement(making, &failure) < 0) {
        if (failure.code != CLONE_TOO_MANY)
            return error_set_code(err, failure.kind, failure.code, "%s", failure.message);
        if (clock_monotonic_ms() > end_ms)
            return error_set(
                err, ERROR_CONFLICT, "the server makes another copy, for another member: %s", failure.message);
        if (!told)
            making->clone->say(making->clone->arg, "the server makes another copy; this one waits for its end");
        told = true;
        error_clear(&failure);
        if (pause_for(making, BUSY_PAUSE_MS, err) < 0)
            return -1;
    }
    return 0;
}

static int make(struct making *making, struct error *err)
{
    if (check_server(making->asker, err) < 0 || check_room(making, err) < 0)
        return -1;
    making->worker = open_session(making->clone->socket, making->clone->user, CLONE_TIMEOUT_S, err);
    return making->worker ? copy(making, err) : -1;
}

int clone_local_make(const struct clone_local *clone, struct clone_local_made *ret, struct error *err)
{
    struct making making = {.clone = clone, .why = ERROR_INIT};

    making.asker = open_session(clone->socket, clone->user, ASK_TIMEOUT_S, err);
    if (!making.asker)
        return -1;
    int rc = make(&making, err);
    session_close(making.worker);
    session_close(making.asker);
    if (rc == 0)
        *ret = making.made;
    else
        free(making.made.gtid);
    return rc;
}

/* ---- what is left ---- */

/* The connection of a CLONE into this folder; NULL: none. */
static int find_statement(struct session *session, const char *folder, char **ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_adds(&sql,
        "SELECT processlist_id FROM performance_schema.threads WHERE processlist_info LIKE 'CLONE LOCAL DATA DIRECTORY%'"
        " AND processlist_id <> CONNECTION_ID() AND LOCATE(");
    sql_add_string(&sql, folder);
    strbuf_adds(&sql, ", processlist_info) > 0 LIMIT 1");
    return ask(session, sql.buf, ret, err);
}

static int end_others(const char *socket, const char *user, const char *folder, struct error *err)
{
    _cleanup_(session_closep) struct session *session = open_session(socket, user, ASK_TIMEOUT_S, NULL);
    int64_t end_ms = clock_monotonic_ms() + END_MAX_MS;
    _cleanup_(freep) char *found = NULL;

    while (session && find_statement(session, folder, &found, NULL) == 0 && found) {
        _cleanup_(freep) char *sql = xasprintf("KILL %s", found);
        if (clock_monotonic_ms() > end_ms)
            return error_set(err, ERROR_TIMEOUT, "a CLONE LOCAL that nobody waits for does not end");
        (void)(session_exec(session, sql, NULL) == 0); /* it has just ended */
        usleep(END_PAUSE_MS * 1000);
    }
    return 0;
}

int clone_local_remove(const char *socket, const char *user, const char *folder, struct error *err)
{
    if (!fs_exists(folder))
        return 0;
    if (end_others(socket, user, folder, err) < 0)
        return -1;
    return fs_remove_all(folder, err);
}
