/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/tests/http_util.h"

struct probe {
    struct loop *loop;
    struct loop_timer timer;
    struct loop_timer other;
    int fired;
    int64_t now_ms[2];
    int64_t due_ms;
};

static void on_fire(void *arg)
{
    struct probe *p = arg;
    p->fired++;
    assert_true(loop_now_ms(p->loop) >= p->due_ms); /* never early */
}

static void on_fire_again(void *arg)
{
    struct probe *p = arg;
    if (++p->fired < 5)
        loop_timer_arm(&p->timer, 0);
    else
        loop_stop(p->loop);
}

static void on_fire_cancel(void *arg)
{
    struct probe *p = arg;
    p->fired++;
    loop_timer_cancel(&p->other);
}

static void on_fire_slow(void *arg)
{
    struct probe *p = arg;
    p->now_ms[0] = loop_now_ms(p->loop);
    const int64_t end_ms = clock_monotonic_ms() + 10;
    while (clock_monotonic_ms() < end_ms)
        usleep(1000);
    p->now_ms[1] = loop_now_ms(p->loop);
    p->due_ms = clock_monotonic_ms() + 30;
    loop_timer_arm(&p->other, 30);
}

static void test_timers(void **state)
{
    UNUSED(state);
    struct probe p = {.loop = loop_new()};
    loop_timer_init(&p.timer, p.loop, on_fire, &p);
    loop_timer_arm(&p.timer, 0);
    assert_int_equal(p.fired, 0);
    assert_true(p.timer.armed);
    loop_for(p.loop, 10);
    assert_int_equal(p.fired, 1);
    assert_false(p.timer.armed);
    loop_timer_arm(&p.timer, 10);
    loop_timer_cancel(&p.timer);
    loop_for(p.loop, 30);
    assert_int_equal(p.fired, 1);
    p.due_ms = clock_monotonic_ms() + 40;
    loop_timer_arm(&p.timer, 1);
    loop_timer_arm(&p.timer, 40); /* replaces */
    loop_for(p.loop, 80);
    assert_int_equal(p.fired, 2);
    loop_timer_release(&p.timer);
    loop_timer_release(&p.timer);
    struct loop_timer zeroed = {.loop = NULL};
    loop_timer_release(&zeroed);
    loop_free(p.loop);
}

static void test_run_stop_and_rearm(void **state)
{
    UNUSED(state);
    struct probe p = {.loop = loop_new()};
    loop_timer_init(&p.timer, p.loop, on_fire_again, &p);
    loop_timer_arm(&p.timer, 0);
    loop_run(p.loop);
    assert_int_equal(p.fired, 5);
    loop_stop(p.loop);
    loop_run(p.loop); /* returns at once */
    loop_timer_release(&p.timer);
    loop_free(p.loop);
}

/* Both are due in the same turn; the one that runs first cancels the other. */
static void test_cancel_in_same_turn(void **state)
{
    UNUSED(state);
    struct probe p = {.loop = loop_new()};
    struct probe q = {.loop = p.loop};
    loop_timer_init(&p.timer, p.loop, on_fire_cancel, &p);
    loop_timer_init(&p.other, p.loop, on_fire, &q);
    loop_timer_arm(&p.timer, 1);
    loop_timer_arm(&p.other, 2);
    usleep(5000);
    loop_for(p.loop, 10);
    assert_int_equal(p.fired, 1);
    assert_int_equal(q.fired, 0);
    loop_timer_release(&p.timer);
    loop_timer_release(&p.other);
    loop_free(p.loop);
}

static void test_now_stands_still_and_timers_are_not_early(void **state)
{
    UNUSED(state);
    struct probe p = {.loop = loop_new()};
    loop_timer_init(&p.timer, p.loop, on_fire_slow, &p);
    loop_timer_init(&p.other, p.loop, on_fire, &p);
    loop_timer_arm(&p.timer, 0);
    assert_true(loop_until(p.loop, &p.fired, 1));
    assert_int_equal(p.now_ms[0], p.now_ms[1]);
    loop_timer_release(&p.timer);
    loop_timer_release(&p.other);
    loop_free(p.loop);
}

static void on_signal(int signum, void *arg)
{
    assert_int_equal(signum, SIGUSR1);
    ++*(int *)arg;
}

static void test_signals(void **state)
{
    UNUSED(state);
    int count = 0;
    struct loop *loop = loop_new();
    loop_on_signal(loop, SIGUSR1, on_signal, &count);
    raise(SIGUSR1);
    assert_int_equal(count, 0);
    assert_true(loop_until(loop, &count, 1));
    raise(SIGUSR1);
    assert_true(loop_until(loop, &count, 2));
    loop_free(loop);
}

static void on_readable(int fd, unsigned what, void *arg)
{
    char byte;
    assert_int_equal(what, LOOP_READABLE);
    assert_int_equal(read(fd, &byte, 1), 1);
    ++*(int *)arg;
}

static void test_descriptors(void **state)
{
    UNUSED(state);
    int fds[2];
    int count = 0;
    struct loop *loop = loop_new();
    assert_int_equal(pipe(fds), 0);
    struct loop_fd *watch = loop_fd_new(loop, fds[0], LOOP_READABLE, on_readable, &count);
    assert_int_equal(write(fds[1], "ab", 2), 2);
    assert_true(loop_until(loop, &count, 2)); /* level-triggered: one byte each turn */
    loop_fd_free(watch);
    assert_int_equal(write(fds[1], "c", 1), 1);
    loop_for(loop, 10);
    assert_int_equal(count, 2);
    close(fds[0]);
    close(fds[1]);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers),
        cmocka_unit_test(test_run_stop_and_rearm),
        cmocka_unit_test(test_cancel_in_same_turn),
        cmocka_unit_test(test_now_stands_still_and_timers_are_not_early),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
