/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/first_commit.h"

#include <stdatomic.h>
#include <time.h>

#include "agent/mysql/replication_facts.h"
#include "agent/mysql/room.h"
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
#define LATER_MS 5000
#define LATER_PAUSE_MS 50
#define LATE_PAUSE_MS 250
#define RETRY_PAUSE_MS 500

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

/* The agent's own commit waits for a moment now and then: what nothing got past from one look to the next, blocks. */
static void note_waits(struct first_commit_view *view, const struct first_commit_look *look)
{
    if (!look->has_waits)
        return;
    if (look->waits && view->waited && look->acknowledged == view->waited_acknowledged)
        view->idle_since_ms = look->asked_ms;
    view->waited = look->waits;
    view->waited_acknowledged = look->acknowledged;
}

bool first_commit_take(
    struct first_commit_view *view, const struct first_commit_look *look, struct first_commit_moment *ret)
{
    bool is_there = first_commit_is_there(view, look);
    bool is_done =
        is_there && (!look->has_waits || !look->waits || (view->seen && look->acknowledged != view->acknowledged));

    if (is_done) {
        int64_t since_ms = view->changed_ms && !view->seen ? view->changed_ms : view->none_ms;
        *ret = (struct first_commit_moment){
            .done = {.at_ms = since_ms, .span_ms = look->answered_ms - since_ms},
            .idle_ms = view->idle_since_ms ? MAX_OF(0, since_ms - view->idle_since_ms) : 0,
        };
        return true;
    }
    note_waits(view, look);
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

struct first_commit_wish {
    struct server_version version;
    uint64_t epoch;
    struct first_commit_view view;
};

struct first_commit {
    struct worker *worker;
    struct session_options options;
    const struct own_commits *own;
    first_commit_fn *fn;
    void *arg;
    bool busy, has_next;
    struct first_commit_wish next;
    atomic_bool stopped;
    /* From submit to done these belong to the thread. */
    struct first_commit_wish wish;
    bool found;
    struct first_commit_moment moment;
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

/* Where nothing is there yet, that commits wait shows what keeps them away; soon after the opening they always do. */
static bool asks_waits(const struct first_commit_view *view, const struct first_commit_look *look, int64_t age_ms)
{
    return first_commit_is_there(view, look) || age_ms >= SOON_MS;
}

/* changes: own_commits.changes as of the look before. */
static int look_once(const struct first_commit *first, struct session *session, int64_t opened_ms, unsigned *changes,
    struct first_commit_look *ret)
{
    const struct dialect *dialect = dialect_for(&first->wish.version);
    const struct first_commit_view *view = &first->wish.view;
    unsigned before = *changes;

    *ret = (struct first_commit_look){.asked_ms = clock_monotonic_ms(), .ended = atomic_load(&first->own->ended)};
    if (ask_count(session, dialect, &ret->count) < 0)
        return -1;
    ret->answered_ms = clock_monotonic_ms();
    ret->begun = atomic_load(&first->own->begun);
    *changes = atomic_load(&first->own->changes);
    ret->changing = *changes != before || *changes % 2 == 1;
    if (!asks_waits(view, ret, ret->asked_ms - opened_ms))
        return 0;
    if (ask_waits(session, dialect, ret) < 0)
        return -1;
    ret->answered_ms = ret->waits || view->seen ? clock_monotonic_ms() : ret->answered_ms;
    return 0;
}

static int64_t pause_after(const struct first_commit_view *view, int64_t age_ms)
{
    if (age_ms < SOON_MS)
        return SOON_PAUSE_MS;
    return age_ms < LATER_MS || view->waited ? LATER_PAUSE_MS : LATE_PAUSE_MS;
}

static void pause_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* A server that is busy may answer the next time; the last connection that it has is not for this. When the server has
 * ended, first_commit_stop ends this, too. */
static void run(void *arg)
{
    struct first_commit *first = arg;
    _cleanup_(session_closep) struct session *session = NULL;
    struct error failure = ERROR_INIT;
    struct first_commit_look look;
    int64_t opened_ms = clock_monotonic_ms(), age_ms = 0;
    unsigned changes = atomic_load(&first->own->changes);

    first->found = false;
    while (!atomic_load(&first->stopped) && !first->found && age_ms <= FIRST_COMMIT_MAX_MS) {
        age_ms = clock_monotonic_ms() - opened_ms;
        if (!session)
            session = session_open(&first->options, &failure);
        if (!session && room_is_lacking(&failure))
            return;
        if (!session || look_once(first, session, opened_ms, &changes, &look) < 0) {
            session_close(steal_ptr(session));
            pause_ms(RETRY_PAUSE_MS);
            continue;
        }
        first->found = first_commit_take(&first->wish.view, &look, &first->moment);
        if (!first->found)
            pause_ms(pause_after(&first->wish.view, age_ms));
    }
}

static void begin(struct first_commit *first, const struct first_commit_wish *wish);

static void done(void *arg)
{
    struct first_commit *first = arg;

    first->busy = false;
    if (first->fn && first->found && !atomic_load(&first->stopped))
        first->fn(first->arg, first->wish.epoch, &first->moment);
    if (first->fn && first->has_next)
        begin(first, &first->next);
}

static void begin(struct first_commit *first, const struct first_commit_wish *wish)
{
    struct worker_job job = {.run = run, .done = done, .arg = first};

    first->busy = true;
    first->has_next = false;
    atomic_store(&first->stopped, false);
    first->wish = *wish;
    if (worker_submit(first->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

struct first_commit *first_commit_new(struct loop *loop, const char *socket, const char *user,
    const struct own_commits *own, first_commit_fn *fn, void *arg)
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
    const struct first_commit_wish wish = {
        .version = *version,
        .epoch = epoch,
        .view = {.begun = set != NULL,
            .count = set ? gtid_set_count(set) : 0,
            .ended = atomic_load(&first->own->ended),
            .none_ms = looked_ms,
            .idle_since_ms = looked_ms},
    };

    if (!first->busy) {
        begin(first, &wish);
        return;
    }
    atomic_store(&first->stopped, true);
    first->next = wish;
    first->has_next = true;
}

void first_commit_stop(struct first_commit *first)
{
    atomic_store(&first->stopped, true);
    first->has_next = false;
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
