/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/world_copy.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/loop.h"
#include "common/strbuf.h"

#define END_MAX (4 * KM_MIB)
#define SOCKETS_MAX 1024
static const char no_end[] = "it did not come to its end";

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "world_copy: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- the sockets ---- */

struct sockets {
    int listeners[SOCKETS_MAX];
    struct sockaddr_in names[SOCKETS_MAX];
    size_t listener_count;
    int connections[SOCKETS_MAX];
    size_t connection_count;
};

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

static struct sockaddr_in name_of(int fd)
{
    struct sockaddr_in name;
    socklen_t size = sizeof(name);
    must(getsockname(fd, (struct sockaddr *)&name, &size) == 0, "getsockname");
    return name;
}

static void gather(struct sockets *ret)
{
    *ret = (struct sockets){.listener_count = 0};
    DIR *dir = opendir("/proc/self/fd");
    must(dir, "/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(dir));) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (*entry->d_name == '.' || option_of(fd, SO_DOMAIN) != AF_INET || option_of(fd, SO_TYPE) != SOCK_STREAM)
            continue;
        must(ret->listener_count < SOCKETS_MAX && ret->connection_count < SOCKETS_MAX, "too many sockets");
        if (option_of(fd, SO_ACCEPTCONN) != 1) {
            ret->connections[ret->connection_count++] = fd;
            continue;
        }
        ret->names[ret->listener_count] = name_of(fd);
        ret->listeners[ret->listener_count++] = fd;
    }
    closedir(dir);
}

static bool has_accepted_all(const struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->listener_count; i++) {
        struct pollfd ready = {.fd = sockets->listeners[i], .events = POLLIN};
        if (poll(&ready, 1, 0) != 0)
            return false;
    }
    return true;
}

/* Two processes that listen on one socket would take each other's connections. It keeps its name; one that was given by
 * the kernel is lost with that, and taken again. */
static void stop_listening(const struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->listener_count; i++) {
        int fd = sockets->listeners[i];
        const struct sockaddr *name = (const struct sockaddr *)&sockets->names[i];
        must(shutdown(fd, SHUT_RD) == 0, "shutdown");
        must(bind(fd, name, sizeof(sockets->names[i])) == 0 || errno == EINVAL, "bind again"); /* EINVAL: it is bound */
    }
}

static void listen_again(const struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->listener_count; i++)
        must(listen(sockets->listeners[i], SOMAXCONN) == 0, "listen again");
}

static void take_the_place_of(int fd, int replaced)
{
    must(dup2(fd, replaced) == replaced, "dup2");
    close(fd);
}

static void listen_in_the_copy(const struct sockets *sockets)
{
    static const int on = 1;
    for (size_t i = 0; i < sockets->listener_count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        must(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0, "SO_REUSEADDR");
        must(bind(fd, (const struct sockaddr *)&sockets->names[i], sizeof(sockets->names[i])) == 0, "bind");
        must(listen(fd, SOMAXCONN) == 0, "listen");
        take_the_place_of(fd, sockets->listeners[i]);
    }
}

/* As if the other end were gone, at both ends. */
static void end_connections_in_the_copy(const struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->connection_count; i++) {
        int pair[2];
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0, "socketpair");
        close(pair[1]);
        take_the_place_of(pair[0], sockets->connections[i]);
    }
}

/* ---- the copy ---- */

static void read_end(int fd, pid_t pid, struct strbuf *out)
{
    char part[4096];
    ssize_t n;
    int status;
    while ((n = read(fd, part, sizeof(part))) > 0)
        strbuf_add(out, part, (size_t)n);
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        strbuf_reset(out);
        strbuf_adds(out, no_end);
    }
}

static void begin_copy(const struct sockets *sockets, struct loop *loop)
{
    listen_in_the_copy(sockets);
    end_connections_in_the_copy(sockets);
    must(event_reinit(loop_base(loop)) == 0, "event_reinit");
}

/* The nth act, from 1. */
static bool is_tried(const struct world_copies *copies, size_t n)
{
    return (n - 1) % copies->every == 0;
}

bool world_copy_make(struct world_copies *copies, struct loop *loop)
{
    struct sockets sockets;
    struct strbuf text;
    int ends[2];
    must(copies->count < WORLD_COPIES_MAX, "too many acts");
    if (is_tried(copies, copies->count + 1))
        gather(&sockets);
    if (!is_tried(copies, copies->count + 1) || !has_accepted_all(&sockets)) {
        copies->ends[copies->count++] = NULL;
        return false;
    }
    must(pipe(ends) == 0, "pipe");
    stop_listening(&sockets);
    fflush(NULL);
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        close(ends[0]);
        copies->out = ends[1];
        begin_copy(&sockets, loop);
        return true;
    }
    close(ends[1]);
    strbuf_init(&text, END_MAX);
    read_end(ends[0], pid, &text);
    close(ends[0]);
    listen_again(&sockets);
    copies->ends[copies->count++] = strbuf_detach(&text, NULL);
    return false;
}

void world_copy_end(const struct world_copies *copies, const char *text)
{
    if (!world_copy_is(copies))
        return;
    for (size_t sent = 0, len = strlen(text); sent < len;) {
        ssize_t n = write(copies->out, text + sent, len - sent);
        must(n > 0, "write");
        sent += (size_t)n;
    }
    fflush(NULL);
    _exit(0);
}

/* ---- telling ---- */

/* The first line that differs, from a little before where it does: a message holds no more. */
static void fail_at_difference(size_t n, size_t acts, const char *end, const char *wanted)
{
    size_t at = 0, line = 0;
    for (; end[at] && end[at] == wanted[at]; at++) {
        if (end[at] == '\n')
            line = at + 1;
    }
    size_t from = at - MIN_OF(at - line, 160);
    fail_msg("killed after act %zu of %zu it ends differently, in %.60s: %.320s\ninstead of %.320s", n, acts,
        end + line, end + from, wanted + from);
}

size_t world_crash_every(void)
{
    const char *text = getenv("KM_CRASH_EVERY");
    return text ? MAX_OF((size_t)strtoul(text, NULL, 10), (size_t)1) : 1;
}

void world_dies_at_every_step(world_tell_fn tell, const void *arg, size_t at_least)
{
    struct world_copies copies = {.every = world_crash_every(), .out = -1};
    size_t tried = 0;
    _cleanup_(freep) char *wanted = tell(arg, 0, &copies);
    assert_true(copies.count >= at_least);
    for (size_t n = 1; n <= copies.count; n++) {
        if (!is_tried(&copies, n))
            continue;
        tried++;
        if (!copies.ends[n - 1])
            copies.ends[n - 1] = tell(arg, n, NULL);
        if (!str_eq(copies.ends[n - 1], wanted))
            fail_at_difference(n, copies.count, copies.ends[n - 1], wanted);
    }
    for (size_t i = 0; i < copies.count; i++)
        free(copies.ends[i]);
    printf("crash points: %zu of %zu tried\n", tried, copies.count); /* run-tests.sh adds these up */
}
