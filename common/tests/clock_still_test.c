/* SPDX-License-Identifier: Apache-2.0 */
/* clock_util.h: what stories with doubles go by. */
#include "common/base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/loop.h"
#include "common/tests/clock_util.h"

#define HOUR_MS (3600 * 1000)
#define ECHOES 2000

static int64_t real_ms(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void count(void *arg)
{
    ++*(int *)arg;
}

static void test_no_time_passes_while_it_computes(void **state)
{
    UNUSED(state);
    int64_t monotonic_us = clock_monotonic_us(), realtime_us = clock_realtime_us();
    for (int64_t until_ms = real_ms() + 20; real_ms() < until_ms;)
        ;
    assert_int_equal(clock_monotonic_us(), monotonic_us);
    assert_int_equal(clock_realtime_us(), realtime_us);
}

static void test_waiting_takes_no_time(void **state)
{
    UNUSED(state);
    struct loop *loop = loop_new();
    struct loop_timer timer;
    int fired = 0;
    int64_t before_ms = clock_monotonic_ms(), realtime_ms = clock_realtime_ms();
    loop_timer_init(&timer, loop, count, &fired);
    loop_timer_arm(&timer, HOUR_MS);
    while (!fired)
        loop_run_once(loop, 2 * HOUR_MS);
    assert_in_range(clock_monotonic_ms() - before_ms, HOUR_MS, HOUR_MS + 2);
    assert_in_range(clock_realtime_ms() - realtime_ms, HOUR_MS, HOUR_MS + 2);
    loop_timer_release(&timer);
    loop_free(loop);
}

/* ---- what is under way ---- */

struct echo {
    int count;
};

/* One byte comes back from the other end, again and again. */
static void on_byte(int fd, unsigned what, void *arg)
{
    UNUSED(what);
    struct echo *echo = arg;
    char byte;
    if (read(fd, &byte, 1) == 1 && ++echo->count < ECHOES)
        assert_int_equal(write(fd, &byte, 1), 1);
}

static void connect_pair(int pair[static 2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(pair[0], (struct sockaddr *)&address, size), 0);
    pair[1] = accept(listener, NULL, NULL);
    assert_true(pair[1] >= 0);
    close(listener);
}

static void test_a_timer_does_not_overtake_what_was_sent(void **state)
{
    UNUSED(state);
    struct loop *loop = loop_new();
    struct loop_timer timer;
    struct echo echo = {.count = 0};
    int fired = 0, pair[2];
    int64_t before_us = clock_monotonic_us();
    connect_pair(pair);
    struct loop_fd *watches[] = {loop_fd_new(loop, pair[0], LOOP_READABLE, on_byte, &echo),
        loop_fd_new(loop, pair[1], LOOP_READABLE, on_byte, &echo)};
    loop_timer_init(&timer, loop, count, &fired);
    loop_timer_arm(&timer, 1);
    assert_int_equal(write(pair[0], "x", 1), 1);
    while (echo.count < ECHOES) {
        loop_run_once(loop, HOUR_MS);
        assert_int_equal(fired, 0);
    }
    assert_int_equal(clock_monotonic_us(), before_us);
    loop_run_once(loop, HOUR_MS);
    assert_int_equal(fired, 1);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
        loop_fd_free(watches[i]);
        close(pair[i]);
    }
    loop_timer_release(&timer);
    loop_free(loop);
}

/* ---- who never waits ---- */

static void arm_again(void *arg)
{
    loop_timer_arm(arg, 0);
}

static void test_who_turns_without_waiting_is_ended(void **state)
{
    UNUSED(state);
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct loop *loop = loop_new();
        struct loop_timer timer;
        signal(SIGABRT, SIG_DFL);
        loop_timer_init(&timer, loop, arm_again, &timer);
        loop_timer_arm(&timer, 0);
        for (int turn = 0; turn < 2 * CLOCK_TURNS_MAX; turn++)
            loop_run_once(loop, HOUR_MS);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_time_passes_while_it_computes),
        cmocka_unit_test(test_waiting_takes_no_time),
        cmocka_unit_test(test_a_timer_does_not_overtake_what_was_sent),
        cmocka_unit_test(test_who_turns_without_waiting_is_ended),
    };
    clock_stand_still();
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
