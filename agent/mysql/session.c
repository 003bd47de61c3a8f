/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/session.h"

#include <mysql.h>
#include <poll.h>
#include <stdatomic.h>

#include "agent/mysql/socket_plugin.h"
#include "common/alloc.h"
#include "common/clock.h"

#define SESSION_COLUMNS_MAX 128
/* From mysqld_error.h, which differs between the families: these numbers do not. */
#define ER_DBACCESS_DENIED 1044
#define ER_ACCESS_DENIED 1045
#define ER_PARSE 1064
#define ER_ACCESS_DENIED_NO_PASSWORD 1698
#define CR_FIRST 2000
#define CR_LAST 2999

static atomic_ulong latest_id;
static atomic_ullong latest_serial;

struct session {
    MYSQL *mysql;
    char *socket, *user;
    uint64_t serial;
    unsigned connect_timeout_s;
    unsigned io_timeout_s;
    bool broken;
    _Atomic int64_t *answered_ms; /* NULL: nobody asks */
};

void session_library_init(void)
{
    mysql_library_init(0, NULL, NULL);
    socket_plugin_register();
}

void session_library_end(void)
{
    mysql_library_end();
}

static enum error_kind kind_of(unsigned number, int64_t elapsed_ms, unsigned timeout_s)
{
    if (number == ER_ACCESS_DENIED || number == ER_ACCESS_DENIED_NO_PASSWORD || number == ER_DBACCESS_DENIED)
        return ERROR_UNAUTHORIZED;
    if (number < CR_FIRST || number > CR_LAST)
        return ERROR_DATABASE;
    /* The client library says "lost connection" for both; only the clock tells them apart. */
    return elapsed_ms + 50 >= (int64_t)timeout_s * 1000 ? ERROR_TIMEOUT : ERROR_UNAVAILABLE;
}

static int fail(struct session *session, int64_t started_ms, unsigned timeout_s, bool secret, struct error *err)
{
    unsigned number = mysql_errno(session->mysql);
    enum error_kind kind = kind_of(number, clock_monotonic_ms() - started_ms, timeout_s);

    if (kind == ERROR_UNAVAILABLE || kind == ERROR_TIMEOUT)
        session->broken = true;
    if (secret && number == ER_PARSE)
        return error_set_code(err, kind, (int)number, "server error %u: syntax error", number);
    return error_set_code(err, kind, (int)number, "server error %u: %s", number, mysql_error(session->mysql));
}

static void set_options(MYSQL *mysql, const struct session_options *options)
{
    unsigned io_timeout_s = options->io_timeout_s;

    mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &options->connect_timeout_s);
    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &io_timeout_s);
    mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &io_timeout_s);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    /* Nothing of the surroundings may be loaded: the image's libraries are not the ones we were built with. */
    mysql_options(mysql, MYSQL_PLUGIN_DIR, "/nonexistent");
    socket_plugin_select(mysql);
}

/* sql_log_off keeps statements out of the general log; wait_timeout lets an idle session live. MariaDB: nothing of ours
 * is written in the domain of a server's start (start_domain.h). The lock is nobody else's: it is had at once.
 * lock_wait_timeout: a statement that waits for a metadata lock ends in the server before we give it up; else it would
 * stay there, and whoever comes behind it would go on waiting for it. */
static int prepare(struct session *session, struct error *err)
{
    _cleanup_(freep) char *sql =
        xasprintf("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION', sql_log_off = 1, long_query_time = 31536000, "
                  "wait_timeout = 31536000, lock_wait_timeout = %u, autocommit = 1 /*M!100002 , gtid_domain_id = 0 */, "
                  "@kube_mysql_agent = GET_LOCK(CONCAT('" SESSION_MARK "', CONNECTION_ID()), 0)",
            session->io_timeout_s > 2 ? session->io_timeout_s - 1 : 1);

    return session_exec(session, sql, err);
}

struct session *session_open(const struct session_options *options, struct error *err)
{
    struct session *session = xnew(struct session);
    int64_t started_ms = clock_monotonic_ms();

    session->serial = atomic_fetch_add(&latest_serial, 1) + 1;
    session->socket = xstrdup(options->socket);
    session->user = xstrdup(options->user);
    session->connect_timeout_s = options->connect_timeout_s;
    session->io_timeout_s = options->io_timeout_s;
    session->mysql = mysql_init(NULL);
    if (!session->mysql)
        abort();
    set_options(session->mysql, options);
    if (!mysql_real_connect(session->mysql, NULL, options->user, NULL, NULL, 0, options->socket, 0)) {
        fail(session, started_ms, options->connect_timeout_s, false, err);
        session_close(session);
        return NULL;
    }
    if (prepare(session, err) < 0) {
        session_close(session);
        return NULL;
    }
    atomic_store(&latest_id, session_id(session));
    return session;
}

uint64_t session_serial(const struct session *session)
{
    return session->serial;
}

unsigned long session_latest_id(void)
{
    return atomic_load(&latest_id);
}

void session_close(struct session *session)
{
    if (!session)
        return;
    mysql_close(session->mysql);
    free(session->socket);
    free(session->user);
    free(session);
}

bool session_is_broken(const struct session *session)
{
    return session->broken;
}

void session_note_answers(struct session *session, _Atomic int64_t *at_ms)
{
    session->answered_ms = at_ms;
}

const char *session_user(const struct session *session)
{
    return session->user;
}

unsigned long session_id(const struct session *session)
{
    return mysql_thread_id(session->mysql);
}

struct session_options session_options_of(const struct session *session)
{
    return (struct session_options){
        .socket = session->socket,
        .user = session->user,
        .connect_timeout_s = session->connect_timeout_s,
        .io_timeout_s = session->io_timeout_s,
    };
}

int session_fd(const struct session *session)
{
    return socket_plugin_fd(session->mysql);
}

static int run(struct session *session, const char *sql, bool secret, struct error *err)
{
    int64_t started_ms = clock_monotonic_ms();

    if (session->broken)
        return error_set(err, ERROR_UNAVAILABLE, "the connection to the server is lost");
    int rc = mysql_real_query(session->mysql, sql, strlen(sql));
    if (rc != 0)
        rc = fail(session, started_ms, session->io_timeout_s, secret, err);
    if (session->answered_ms && !session->broken)
        atomic_store(session->answered_ms, clock_monotonic_ms());
    return rc;
}

int session_query(struct session *session, const char *sql, session_row_fn row, void *arg, struct error *err)
{
    const char *names[SESSION_COLUMNS_MAX];
    int64_t started_ms = clock_monotonic_ms();

    if (run(session, sql, false, err) < 0)
        return -1;
    MYSQL_RES *result = mysql_store_result(session->mysql);
    if (!result)
        return mysql_field_count(session->mysql) == 0 ? 0 : fail(session, started_ms, session->io_timeout_s, false, err);
    unsigned count = MIN_OF(mysql_num_fields(result), SESSION_COLUMNS_MAX);
    MYSQL_FIELD *fields = mysql_fetch_fields(result);
    for (unsigned i = 0; i < count; i++)
        names[i] = fields[i].name;
    MYSQL_ROW values;
    while (row && (values = mysql_fetch_row(result)))
        row(arg, count, names, (const char *const *)values);
    mysql_free_result(result);
    return 0;
}

int session_exec(struct session *session, const char *sql, struct error *err)
{
    return session_query(session, sql, NULL, NULL, err);
}

int session_exec_secret(struct session *session, const char *sql, struct error *err)
{
    if (run(session, sql, true, err) < 0)
        return -1;
    mysql_free_result(mysql_store_result(session->mysql));
    return 0;
}

int session_send(struct session *session, const char *sql, struct error *err)
{
    if (session->broken)
        return error_set(err, ERROR_UNAVAILABLE, "the connection to the server is lost");
    if (mysql_send_query(session->mysql, sql, strlen(sql)) != 0)
        return fail(session, clock_monotonic_ms(), session->io_timeout_s, false, err);
    return 0;
}

bool session_is_answered(const struct session *session, int timeout_ms)
{
    struct pollfd fd = {.fd = session_fd(session), .events = POLLIN};

    return poll(&fd, 1, timeout_ms) > 0;
}

int session_receive(struct session *session, struct error *err)
{
    int64_t started_ms = clock_monotonic_ms();

    if (mysql_read_query_result(session->mysql) != 0)
        return fail(session, started_ms, session->io_timeout_s, false, err);
    return 0;
}
