/* SPDX-License-Identifier: Apache-2.0 */
/* A server that hangs: its queue of connections is full when it is to be aborted. */
#include "common/base.h"

#include "agent/server_socket.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define QUEUE 2
#define HANG_MS 300
#define PATIENCE_MS 60000

static const char path[] = "server-socket-test.sock";

static int listener(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, sizeof(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Hangs, then accepts for ever. */
static void serve(int fd)
{
    if (listen(fd, QUEUE) < 0)
        _exit(1);
    poll(NULL, 0, HANG_MS);
    for (;;) {
        int client = accept(fd, NULL, NULL);
        if (client >= 0)
            close(client);
    }
}

static void test_one_whose_queue_is_full_is_aborted_when_it_goes_on(void **state)
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
        serve(fd);
    close(fd);
    for (int i = 0; i < QUEUE + 2; i++) { /* each gives up at once, and stays in the queue */
        while (i == 0 && !server_socket_accepts(path))
            poll(NULL, 0, 1);
        assert_true(server_socket_accepts(path));
    }
    assert_int_equal(server_socket_abort(path, PATIENCE_MS, NULL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void test_nobody_listens(void **state)
{
    struct error err = ERROR_INIT;

    UNUSED(state);
    assert_int_equal(server_socket_abort("/tmp/there-is-no-such-socket", PATIENCE_MS, &err), -1);
    assert_string_not_equal(err.message, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_whose_queue_is_full_is_aborted_when_it_goes_on),
        cmocka_unit_test(test_nobody_listens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
