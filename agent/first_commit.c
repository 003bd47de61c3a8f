/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/first_commit.h"

#include <stdatomic.h>
#include <time.h>

#include "agent/mysql/replication_facts.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/session.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/gtid.h"
#include "common/worker.h"

#define CONNECT_TIMEOUT_S 2
#define IO_TIMEOUT_S 2
/* How often is asked, by how long ago it was opened. */
#define SOON_MS 1000
#define SOON_PAUSE_MS 10
#define LATER_PAUSE_MS 50

/* ---- pure ---- */

bool first_commit_is_there(const struct first_commit_view *view, const struct first_commit_look *look)
{
    uint64_t grown = look->count > view->count ? look->count - view->count : 0;

    return view->begun && (view->seen || (!look->changing && grown > look->begun - view->ended));
}

static void compare_with(struct first_commit_view *view, const struct first_commit_look *look)
{
    view->begun = true;
    view->count = look->count;
    view->ended = look->ended;
}

bool first_commit_take(struct first_commit_view *view, const struct first_commit_look *look, struct agent_moment *ret)
{
    bool is_there = first_commit_is_there(view, look);
    bool is_done =
        is_there && (!look->has_waits || !look->waits || (view->seen && look->acknowledged != view->acknowledged));

    if (is_done) {
        int64_t since_ms = view->changed_ms && !view->seen ? view->changed_ms : view->none_ms;
        *ret = (struct agent_moment){.at_ms = since_ms, .span_ms = look->answered_ms - since_ms};
        return true;
    }
    if (!view->begun || look->changing)
        compare_with(view, look);
    /* Who writes all the time is seen at the next look. */
    if (!look->changing)
        view->changed_ms = 0;
    else if (!view->changed_ms)
        view->changed_ms = view->none_ms;
    if (is_there && !view->seen) {
        view->seen = true;
        view->acknowledged = look->acknowledged;
    }
    view->none_ms = look->asked_ms;
    return false;
}

/* ---- the thread ---- */

struct first_commit {
    struct worker *worker;
    struct session_options options;
    const struct own_commits *own;
    void (*fn)(void *arg, uint64_t epoch, const struct agent_moment *moment);
    void *arg;
    bool busy;
    atomic_bool stopped;
    /* From submit to done these belong to the thread. */
    struct server_version version;
    uint64_t epoch;
    struct first_commit_view view;
    bool found;
    struct agent_moment moment;
};

/* Of MySQL what is executed is acknowledged, of MariaDB what is in its binary log need not be. */
static int ask_count(struct session *session, const struct dialect *dialect, uint64_t *ret)
{
    _cleanup_(gtid_set_freep) struct gtid_set *set = replication_executed(session, dialect, NULL);

    if (!set)
        return -1;
    *ret = gtid_set_count(set);
    return 0;
}

static int ask_waits(struct session *session, const struct dialect *dialect, struct first_commit_look *look)
{
    struct replication_facts facts = {.seen = true};

    if (semi_sync_observe(session, dialect, &facts, NULL) < 0)
        return -1;
    look->has_waits = true;
    look->waits = facts.semi_sync_source && facts.waiting_commits > 0;
    look->acknowledged = facts.acknowledged;
    return 0;
}

/* changes: own_commits.changes as of the look before. */
static int look_once(const struct first_commit *first, struct session *session, const struct first_commit_view *view,
    unsigned *changes, struct first_commit_look *ret)
{
    const struct dialect *dialect = dialect_for(&first->version);
    unsigned before = *changes;

    *ret = (struct first_commit_look){.asked_ms = clock_monotonic_ms(), .ended = atomic_load(&first->own->ended)};
    if (ask_count(session, dialect, &ret->count) < 0)
        return -1;
    ret->answered_ms = clock_monotonic_ms();
    ret->begun = atomic_load(&first->own->begun);
    *changes = atomic_load(&first->own->changes);
    ret->changing = *changes != before || *changes % 2 == 1;
    if (!first_commit_is_there(view, ret))
        return 0;
    if (ask_waits(session, dialect, ret) < 0)
        return -1;
    ret->answered_ms = ret->waits || view->seen ? clock_monotonic_ms() : ret->answered_ms;
    return 0;
}

/* Nobody is waited for any more. Where commits wait, the first one may be among them, and not have been told apart. */
static bool is_over(
    struct session *session, const struct dialect *dialect, const struct first_commit_view *view, int64_t age_ms)
{
    struct first_commit_look look = {.waits = view->seen};

    if (age_ms <= FIRST_COMMIT_MAX_MS)
        return false;
    if (!view->seen && ask_waits(session, dialect, &look) < 0)
        return true;
    return !look.waits || age_ms > FIRST_COMMIT_WAIT_MAX_MS;
}

static void pause_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static void run(void *arg)
{
    struct first_commit *first = arg;
    _cleanup_(session_closep) struct session *session = session_open(&first->options, NULL);
    struct first_commit_view *view = &first->view;
    struct first_commit_look look;
    int64_t opened_ms = clock_monotonic_ms();
    unsigned changes = atomic_load(&first->own->changes);

    first->found = false;
    while (session && !atomic_load(&first->stopped) && look_once(first, session, view, &changes, &look) == 0) {
        int64_t age_ms = look.asked_ms - opened_ms;
        first->found = first_commit_take(view, &look, &first->moment);
        if (first->found || is_over(session, dialect_for(&first->version), view, age_ms))
            break;
        pause_ms(age_ms < SOON_MS ? SOON_PAUSE_MS : LATER_PAUSE_MS);
    }
}

static void done(void *arg)
{
    struct first_commit *first = arg;

    first->busy = false;
    if (first->fn && first->found && !atomic_load(&first->stopped))
        first->fn(first->arg, first->epoch, &first->moment);
}

struct first_commit *first_commit_new(struct loop *loop, const char *socket, const char *user,
    const struct own_commits *own, void (*fn)(void *arg, uint64_t epoch, const struct agent_moment *moment), void *arg)
{
    struct first_commit *first = xnew(struct first_commit);

    first->worker = worker_new(loop, "first-commit");
    first->options = (struct session_options){
        .socket = socket,
        .user = user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = IO_TIMEOUT_S,
    };
    first->own = own;
    first->fn = fn;
    first->arg = arg;
    return first;
}

void first_commit_look_for(struct first_commit *first, const struct server_version *version, uint64_t epoch,
    const char *executed, int64_t looked_ms)
{
    enum gtid_flavour flavour = replication_gtid_flavour(dialect_for(version));
    _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(flavour, executed);
    struct worker_job job = {.run = run, .done = done, .arg = first};

    if (first->busy)
        return;
    first->busy = true;
    atomic_store(&first->stopped, false);
    first->version = *version;
    first->epoch = epoch;
    first->view = (struct first_commit_view){.begun = set != NULL,
        .count = set ? gtid_set_count(set) : 0,
        .ended = atomic_load(&first->own->ended),
        .none_ms = looked_ms};
    if (worker_submit(first->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

void first_commit_stop(struct first_commit *first)
{
    atomic_store(&first->stopped, true);
}

void first_commit_free(struct first_commit *first)
{
    if (!first)
        return;
    first->fn = NULL;
    atomic_store(&first->stopped, true);
    worker_free(first->worker);
    free(first);
}
