/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/worker.h"

#include <semaphore.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/tests/http_util.h"

struct job {
    int number;
    int ran;
    int *done_count;
    int *order; /* numbers in the order of their `done` */
    sem_t *gate;
    struct worker *worker;
    struct job *next;
};

static void run(void *arg)
{
    struct job *job = arg;
    if (job->gate)
        sem_wait(job->gate);
    job->ran++;
}

static void done(void *arg)
{
    struct job *job = arg;
    job->order[(*job->done_count)++] = job->number;
}

static void done_and_submit(void *arg)
{
    struct job *job = arg;
    done(arg);
    const struct worker_job next = {.run = run, .done = done, .arg = job->next};
    assert_int_equal(worker_submit(job->worker, &next), 0);
}

static void done_and_free(void *arg)
{
    struct job *job = arg;
    done(arg);
    worker_free(job->worker);
}

static void test_order_and_limit(void **state)
{
    UNUSED(state);
    sem_t gate;
    int count = 0;
    int order[WORKER_QUEUE_MAX + 2];
    struct job jobs[WORKER_QUEUE_MAX + 2];
    sem_init(&gate, 0, 0);
    struct loop *loop = loop_new();
    struct worker *worker = worker_new(loop, "test");
    assert_int_equal(worker_busy_since_ms(worker), 0);
    const int64_t before_ms = clock_monotonic_ms();
    for (int i = 0; i < WORKER_QUEUE_MAX + 1; i++) {
        jobs[i] = (struct job){.number = i, .done_count = &count, .order = order, .gate = i == 0 ? &gate : NULL};
        const struct worker_job job = {.run = run, .done = done, .arg = &jobs[i]};
        assert_int_equal(worker_submit(worker, &job), 0);
        for (int tries = 0; i == 0 && worker_busy_since_ms(worker) == 0 && tries < 5000; tries++)
            usleep(1000);
    }
    assert_true(worker_busy_since_ms(worker) >= before_ms);
    const struct worker_job extra = {.run = run, .done = done, .arg = &jobs[WORKER_QUEUE_MAX + 1]};
    assert_int_equal(worker_submit(worker, &extra), -1);
    assert_int_equal(worker_pending(worker), WORKER_QUEUE_MAX + 1);
    loop_for(loop, 10);
    assert_int_equal(count, 0);
    sem_post(&gate);
    assert_true(loop_until(loop, &count, WORKER_QUEUE_MAX + 1));
    for (int i = 0; i < count; i++) {
        assert_int_equal(order[i], i);
        assert_int_equal(jobs[i].ran, 1);
    }
    assert_int_equal(worker_pending(worker), 0);
    worker_free(worker);
    loop_free(loop);
    sem_destroy(&gate);
}

static void test_free_drops_what_waits(void **state)
{
    UNUSED(state);
    int count = 0;
    int order[3];
    struct job jobs[3];
    struct loop *loop = loop_new();
    struct worker *worker = worker_new(loop, "test");
    sem_t gate;
    sem_init(&gate, 0, 0);
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job){.number = i, .done_count = &count, .order = order, .gate = i == 0 ? &gate : NULL};
        const struct worker_job job = {.run = run, .done = done, .arg = &jobs[i]};
        assert_int_equal(worker_submit(worker, &job), 0);
    }
    while (worker_busy_since_ms(worker) == 0)
        usleep(1000);
    sem_post(&gate);
    worker_free(worker);
    assert_int_equal(count, 3); /* every owner gets its argument back */
    assert_int_equal(jobs[0].ran, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(order[i], i);
    loop_free(loop);
    sem_destroy(&gate);
    worker_free(NULL);
}

static void test_submit_and_free_in_done(void **state)
{
    UNUSED(state);
    int count = 0;
    int order[3];
    struct loop *loop = loop_new();
    struct worker *worker = worker_new(loop, "a-name-too-long-for-the-kernel");
    struct job second = {.number = 2, .done_count = &count, .order = order};
    struct job first = {.number = 1, .done_count = &count, .order = order, .worker = worker, .next = &second};
    struct job last = {.number = 3, .done_count = &count, .order = order, .worker = worker};
    const struct worker_job one = {.run = run, .done = done_and_submit, .arg = &first};
    assert_int_equal(worker_submit(worker, &one), 0);
    assert_true(loop_until(loop, &count, 2));
    const struct worker_job three = {.run = run, .done = done_and_free, .arg = &last};
    assert_int_equal(worker_submit(worker, &three), 0);
    assert_true(loop_until(loop, &count, 3));
    loop_for(loop, 5);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_limit),
        cmocka_unit_test(test_free_drops_what_waits),
        cmocka_unit_test(test_submit_and_free_in_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
