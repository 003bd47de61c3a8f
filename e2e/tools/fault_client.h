/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_client.h: what the tools of the fault bed share: clocks in nanoseconds, passwords, connections that a deadline
 * of milliseconds can end.
 *
 * libmariadb counts its time-outs in seconds. Here a second thread ends what takes too long: it shuts the socket down,
 * and the call fails.
 */
#ifndef KM_E2E_FAULT_CLIENT_H
#define KM_E2E_FAULT_CLIENT_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mysql.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000LL

static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void pause_us(long us)
{
    const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static inline bool read_password(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(out, (int)size, file)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        if (file)
            fclose(file);
        return false;
    }
    out[strcspn(out, "\r\n")] = '\0';
    fclose(file);
    return true;
}

/* A connection and until when the call that is under way may take (0: none is). */
struct session {
    MYSQL *mysql;
    _Atomic int64_t deadline_ns;
    _Atomic int fd;
    unsigned error;
    char message[160];
};

static inline void session_end(struct session *session)
{
    session->deadline_ns = 0;
    session->fd = -1;
    if (session->mysql)
        mysql_close(session->mysql);
    session->mysql = NULL;
}

/* Called by the watching thread every few milliseconds. */
static inline void session_watch(struct session *session)
{
    const int64_t deadline = session->deadline_ns;
    const int fd = session->fd;
    if (deadline > 0 && fd >= 0 && now_ns() > deadline)
        shutdown(fd, SHUT_RDWR);
}

static inline bool session_query(struct session *session, const char *sql, int64_t limit_ms)
{
    session->deadline_ns = now_ns() + limit_ms * NS_PER_MS;
    const bool ok = mysql_query(session->mysql, sql) == 0;
    session->deadline_ns = 0;
    session->error = ok ? 0 : mysql_errno(session->mysql);
    if (!ok)
        snprintf(session->message, sizeof(session->message), "%s", mysql_error(session->mysql));
    return ok;
}

/* The first field of the first row as a number; -1: it failed. */
static inline int64_t session_number(struct session *session, const char *sql, int64_t limit_ms)
{
    if (!session_query(session, sql, limit_ms))
        return -1;
    MYSQL_RES *result = mysql_store_result(session->mysql);
    const MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    const int64_t number = row && row[0] ? strtoll(row[0], NULL, 10) : -1;
    mysql_free_result(result);
    return number;
}

/* Whether a server greets there within limit_ms (one that is frozen accepts, but says nothing); mysql_real_connect
 * would wait for a second at least. */
static inline bool somebody_greets(const char *host, const char *port, int limit_ms)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    if (getaddrinfo(host, port, &hints, &list) != 0)
        return false;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0;
    if (ok && connect(fd, list->ai_addr, list->ai_addrlen) < 0) {
        struct pollfd poller = {.fd = fd, .events = POLLOUT};
        int problem = errno;
        socklen_t len = sizeof(problem);
        ok = problem == EINPROGRESS && poll(&poller, 1, limit_ms) == 1 &&
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &len) == 0 && problem == 0;
    }
    struct pollfd greeting = {.fd = fd, .events = POLLIN};
    ok = ok && poll(&greeting, 1, limit_ms) == 1;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return ok;
}

/* socket_path or host. libmariadb counts in seconds; the deadlines of queries are what holds later. */
static inline bool session_begin(
    struct session *session, const char *host, const char *socket_path, const char *user, const char *password)
{
    unsigned limit_s = 1;
    MYSQL *mysql = mysql_init(NULL);
    mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &limit_s);
    limit_s = 5;
    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &limit_s);
    if (!mysql_real_connect(mysql, host, user, password, NULL, 3306, socket_path, 0)) {
        session->error = mysql_errno(mysql);
        snprintf(session->message, sizeof(session->message), "connect: %s", mysql_error(mysql));
        mysql_close(mysql);
        return false;
    }
    session->mysql = mysql;
    session->fd = (int)mysql_get_socket(mysql);
    return true;
}

#endif
