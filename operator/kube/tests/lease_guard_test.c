/* SPDX-License-Identifier: Apache-2.0 */
/* A child works on and on with a guard; what it did last is read from memory that it shares with the test. */
#include "common/base.h"

#include "operator/kube/lease_guard.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define DEADLINE_MS 300
#define LATE_MS 20000 /* a machine that is busy; ends a hang */

struct shared {
    int64_t deadline_ms;
    int64_t worked_ms; /* when the child last did anything */
};

static struct shared *shared;

static int set_up(void **state)
{
    UNUSED(state);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
    UNUSED(state);
    return munmap(shared, sizeof(*shared));
}

static int64_t worked_ms(void)
{
    return __atomic_load_n(&shared->worked_ms, __ATOMIC_SEQ_CST);
}

static void work_until(int64_t end_ms)
{
    int64_t now_ms;
    while ((now_ms = lease_guard_now_ms()) < end_ms)
        __atomic_store_n(&shared->worked_ms, now_ms, __ATOMIC_SEQ_CST);
}

/* Returns to the test only. */
static pid_t start_child(bool free_in_time, int64_t first_deadline_ms)
{
    int64_t now_ms = lease_guard_now_ms();
    shared->deadline_ms = now_ms + DEADLINE_MS;
    shared->worked_ms = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    struct lease_guard *guard = lease_guard_new(NULL);
    if (!guard)
        _exit(2);
    lease_guard_set(guard, now_ms + first_deadline_ms);
    lease_guard_set(guard, shared->deadline_ms);
    if (free_in_time)
        lease_guard_free(guard);
    work_until(shared->deadline_ms + (free_in_time ? DEADLINE_MS : LATE_MS));
    _exit(3);
}

static int end_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_a_process_that_runs_on_is_ended(void **state)
{
    UNUSED(state);
    assert_int_equal(end_of(start_child(false, 10 * LATE_MS)), 1);
    /* what it did last may be older: it does not always run */
    assert_true(lease_guard_now_ms() >= shared->deadline_ms);
    assert_true(worked_ms() > 0);
    assert_true(worked_ms() < shared->deadline_ms + LATE_MS / 2);
}

/* It does nothing at all any more when it is continued. */
static void test_a_stopped_process_does_nothing_when_it_goes_on(void **state)
{
    UNUSED(state);
    int status;
    pid_t pid = start_child(false, 10 * LATE_MS);
    while (worked_ms() == 0)
        usleep(1000);
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    if (!WIFSTOPPED(status)) { /* the machine slept over the deadline: says nothing */
        assert_int_equal(WEXITSTATUS(status), 1);
        skip();
    }
    int64_t last_ms = worked_ms();
    while (lease_guard_now_ms() < shared->deadline_ms + 100)
        usleep(10000);
    kill(pid, SIGCONT);
    assert_int_equal(end_of(pid), 1);
    assert_int_equal(worked_ms(), last_ms);
}

static void test_a_deadline_that_has_passed_ends_it_at_once(void **state)
{
    UNUSED(state);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct lease_guard *guard = lease_guard_new(NULL);
        lease_guard_set(guard, lease_guard_now_ms() - 5000);
        work_until(lease_guard_now_ms() + LATE_MS);
        _exit(3);
    }
    assert_int_equal(end_of(pid), 1);
}

static void test_freed_or_put_off_it_ends_nothing(void **state)
{
    UNUSED(state);
    assert_int_equal(end_of(start_child(true, 10 * LATE_MS)), 3);
    assert_true(worked_ms() > shared->deadline_ms);
    lease_guard_free(NULL);
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_process_that_runs_on_is_ended),
        CASE(test_a_stopped_process_does_nothing_when_it_goes_on),
        CASE(test_a_deadline_that_has_passed_ends_it_at_once),
        CASE(test_freed_or_put_off_it_ends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
