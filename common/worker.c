/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/list.h"

/* Enough for a database client and a log record; only what is touched costs memory. */
#define WORKER_STACK_BYTES ((size_t)(1 * KM_MIB))

struct queued_job {
    struct list_node node;
    struct worker_job job;
};

struct worker {
    pthread_t thread;
    int event_fd; /* the thread tells the loop that `finished` is not empty */
    struct loop_fd *watch;
    _Atomic int64_t busy_since_ms;
    size_t pending;  /* loop thread only */
    bool delivering; /* loop thread only: run_finished is on the stack and frees the struct if `freed` */
    bool freed;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct list_node waiting;
    struct list_node finished;
    size_t waiting_count;
    bool stopping;
};

static void tell_loop(struct worker *worker)
{
    const uint64_t one = 1;
    while (write(worker->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static struct queued_job *take_job(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    while (list_empty(&worker->waiting) && !worker->stopping)
        pthread_cond_wait(&worker->wake, &worker->lock);
    struct list_node *node = worker->stopping ? NULL : list_pop_front(&worker->waiting);
    if (node)
        worker->waiting_count--;
    pthread_mutex_unlock(&worker->lock);
    return node ? container_of(node, struct queued_job, node) : NULL;
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct queued_job *queued;
    while ((queued = take_job(worker))) {
        atomic_store(&worker->busy_since_ms, clock_monotonic_ms());
        queued->job.run(queued->job.arg);
        atomic_store(&worker->busy_since_ms, 0);
        pthread_mutex_lock(&worker->lock);
        list_push_back(&worker->finished, &queued->node);
        pthread_mutex_unlock(&worker->lock);
        tell_loop(worker);
    }
    return NULL;
}

static struct queued_job *next_finished(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    struct list_node *node = list_pop_front(&worker->finished);
    pthread_mutex_unlock(&worker->lock);
    return node ? container_of(node, struct queued_job, node) : NULL;
}

static void run_done(struct worker *worker, struct queued_job *queued)
{
    const struct worker_job job = queued->job;
    free(queued);
    worker->pending--;
    if (job.done)
        job.done(job.arg);
}

/* A `done` may submit further jobs and may free the worker. */
static void run_finished(struct worker *worker)
{
    struct queued_job *queued;
    worker->delivering = true;
    while (!worker->freed && (queued = next_finished(worker)))
        run_done(worker, queued);
    worker->delivering = false;
    if (worker->freed)
        free(worker);
}

static void on_event_fd(int fd, unsigned what, void *arg)
{
    UNUSED(what);
    uint64_t count;
    if (read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
        run_finished(arg);
}

/* Signals belong to the loop thread, so the new thread is born with all of them blocked. */
static void start_thread(struct worker *worker, const char *name)
{
    sigset_t all;
    sigset_t before;
    pthread_attr_t attr;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, WORKER_STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&worker->thread, &attr, worker_main, worker) != 0)
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    pthread_setname_np(worker->thread, name);
}

struct worker *worker_new(struct loop *loop, const char *name)
{
    struct worker *worker = xnew(struct worker);
    list_init(&worker->waiting);
    list_init(&worker->finished);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->event_fd < 0)
        abort();
    worker->watch = loop_fd_new(loop, worker->event_fd, LOOP_READABLE, on_event_fd, worker);
    start_thread(worker, name);
    return worker;
}

int worker_submit(struct worker *worker, const struct worker_job *job)
{
    pthread_mutex_lock(&worker->lock);
    const bool accepted = worker->waiting_count < WORKER_QUEUE_MAX && !worker->stopping;
    if (accepted) {
        struct queued_job *queued = xnew(struct queued_job);
        queued->job = *job;
        list_push_back(&worker->waiting, &queued->node);
        worker->waiting_count++;
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->lock);
    if (!accepted)
        return -1;
    worker->pending++;
    return 0;
}

size_t worker_pending(const struct worker *worker)
{
    return worker->pending;
}

int64_t worker_busy_since_ms(const struct worker *worker)
{
    return atomic_load(&((struct worker *)(uintptr_t)worker)->busy_since_ms);
}

static void stop_thread(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->stopping = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
}

void worker_free(struct worker *worker)
{
    struct list_node *node;
    if (!worker)
        return;
    stop_thread(worker);
    loop_fd_free(worker->watch);
    while ((node = list_pop_front(&worker->finished)))
        run_done(worker, container_of(node, struct queued_job, node));
    while ((node = list_pop_front(&worker->waiting)))
        run_done(worker, container_of(node, struct queued_job, node));
    close(worker->event_fd);
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    worker->freed = true;
    if (!worker->delivering)
        free(worker);
}
