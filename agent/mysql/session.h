/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: one connection to the mysqld of this pod, by its unix socket, as the operating system's user.
 *
 * No password exists: the server takes the socket peer's identity (MariaDB: unix_socket, MySQL: auth_socket). A
 * self-contained agent cannot load MySQL's authentication plugins (dlopen), and libmariadb's built-in ones wait for a
 * challenge that never comes; so a plugin of our own answers with nothing, which is what the server's side asks for.
 * Oracle's libmysqlclient needs no such plugin (make check-libmysqlclient, 9.7). What it lacks no session of ours uses:
 * MariaDB's ways in by ed25519, PARSEC and GSSAPI, and, but for a plugin file, mysql_native_password.
 *
 * A session belongs to one thread at a time. Every session runs with utf8mb4, its statements stay out of the general
 * and slow logs, and sql_mode is fixed, so quoting (sql_text.h) means the same everywhere.
 */
#ifndef KM_AGENT_MYSQL_SESSION_H
#define KM_AGENT_MYSQL_SESSION_H

#include "common/base.h"

#include "common/error.h"

/* A session holds the named lock (GET_LOCK) of this name with its number behind it: strangers.h knows it by that. */
#define SESSION_MARK "kube-mysql-agent "

struct session;

struct session_options {
    const char *socket; /* path */
    const char *user;   /* account name: the operating system's user name */
    unsigned connect_timeout_s;
    unsigned io_timeout_s; /* silence of the server during a statement */
};

/* Once per process, before any thread starts. */
void session_library_init(void);
void session_library_end(void);

/* NULL on failure. ERROR_UNAVAILABLE: nobody listens; ERROR_TIMEOUT; ERROR_UNAUTHORIZED; ERROR_DATABASE. */
struct session *session_open(const struct session_options *options, struct error *err);
void session_close(struct session *session); /* NULL is fine; does not wait for the server */
static inline void session_closep(struct session **p)
{
    session_close(*p);
}
/* After ERROR_UNAVAILABLE or ERROR_TIMEOUT a session is of no further use. */
bool session_is_broken(const struct session *session);
/* Whenever the server has answered, be it with an error, the time is stored there (monotonic, ms), which must outlive
 * the session. */
void session_note_answers(struct session *session, _Atomic int64_t *at_ms);
const char *session_user(const struct session *session);
unsigned long session_id(const struct session *session); /* as the list of connections has it */
/* No other session of this process has, or had, the same; never 0. All that one session reads is of one process of the
 * server. */
uint64_t session_serial(const struct session *session);
/* Of the session that this process opened last, from any thread; 0: none yet. The server numbers connections as they
 * come, from 1 on after each start. */
unsigned long session_latest_id(void);
/* Those it was opened with, as long as it lives. */
struct session_options session_options_of(const struct session *session);
/* The descriptor of the connection: it becomes readable when an idle session's server ends. */
int session_fd(const struct session *session);

/* Error messages are the server's own. They may quote the statement: callers who send secrets do not pass them on
 * unless the server is known to hide them; session_exec_secret does that. */
int session_exec(struct session *session, const char *sql, struct error *err) KM_MUST_CHECK;
/* As session_exec, but a syntax error (whose text quotes the statement) is replaced by its number. */
int session_exec_secret(struct session *session, const char *sql, struct error *err) KM_MUST_CHECK;

/* A statement without rows whose answer is not waited for: nothing else may be sent before session_receive. */
int session_send(struct session *session, const char *sql, struct error *err) KM_MUST_CHECK;
bool session_is_answered(const struct session *session, int timeout_ms);       /* also by the end of the connection */
int session_receive(struct session *session, struct error *err) KM_MUST_CHECK; /* waits for it */

/* Calls row for each row; values may be NULL (SQL NULL). names: column names, as many as values. */
typedef void (*session_row_fn)(void *arg, unsigned count, const char *const *names, const char *const *values);
int session_query(
    struct session *session, const char *sql, session_row_fn row, void *arg, struct error *err) KM_MUST_CHECK;

#endif
