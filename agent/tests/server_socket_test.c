/* SPDX-License-Identifier: Apache-2.0 */
/* A server that hangs: its queue of connections is full when it is to be killed. */
#include "common/base.h"

#include "agent/server_socket.h"

#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"

#define QUEUE 2
#define HANG_MS 300
#define WORK_MS 2 /* on each client */
#define PATIENCE_MS 60000
#define ORDERLY 3

static const char path[] = "server-socket-test.sock";

static int listener(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, sizeof(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* As MariaDB's handler, whose process 1 goes on and shuts down. */
static void on_abort(int signum)
{
    signal(signum, SIG_DFL);
    kill(getpid(), signum);
    _exit(ORDERLY);
}

/* Hangs, then accepts for ever. */
static void serve(int fd)
{
    signal(SIGABRT, on_abort);
    if (listen(fd, QUEUE) < 0)
        _exit(1);
    poll(NULL, 0, HANG_MS);
    for (;;) {
        int client = accept(fd, NULL, NULL);
        int64_t end_ms = clock_monotonic_ms() + WORK_MS;
        while (clock_monotonic_ms() < end_ms)
            ;
        if (client >= 0)
            close(client);
    }
}

/* As process 1, where that is allowed; one that ends tells how. */
static void serve_as_in_a_container(int fd)
{
    int status = 0;

    if (unshare(CLONE_NEWPID) < 0)
        serve(fd);
    pid_t pid = fork();
    if (pid == 0)
        serve(fd);
    close(fd);
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

static void test_one_whose_queue_is_full_is_killed_when_it_goes_on(void **state)
{
    char dir[] = "/tmp/server-socket-XXXXXX";
    int status = 0;

    UNUSED(state);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    int fd = listener();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        serve_as_in_a_container(fd);
    close(fd);
    for (int i = 0; i < QUEUE + 2; i++) { /* each gives up at once, and stays in the queue */
        while (i == 0 && !server_socket_accepts(path))
            poll(NULL, 0, 1);
        assert_true(server_socket_accepts(path));
    }
    assert_int_equal(server_socket_kill(path, PATIENCE_MS, NULL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void test_nobody_listens(void **state)
{
    struct error err = ERROR_INIT;

    UNUSED(state);
    assert_int_equal(server_socket_kill("/tmp/there-is-no-such-socket", PATIENCE_MS, &err), -1);
    assert_string_not_equal(err.message, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_whose_queue_is_full_is_killed_when_it_goes_on),
        cmocka_unit_test(test_nobody_listens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
