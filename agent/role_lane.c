#include "common/base.h"

#include "agent/role_lane.h"

#include "agent/bootstrap/seed_position.h"
#include "agent/mysql/role_change.h"
#include "agent/mysql/session.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/worker.h"

#define ROLE_CONNECT_TIMEOUT_S 2
#define ROLE_IO_TIMEOUT_S 60
/* Well within the session's patience. */
#define DRAIN_MAX_MS 40000

struct role_lane {
    struct worker *worker;
    struct session_options options;
    const struct agent_paths *paths;
    char *ca_path;
    void (*fn)(void *arg, const struct role_result *result);
    void *arg;
    bool busy; /* loop thread */
    /* From start to done these belong to the thread. */
    struct session *session;
    struct role_job job;
    struct role_result result;
};

static int follow(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    const struct role_job *job = &lane->job;
    struct role_source source = {
        .host = job->order.source_host,
        .port = job->order.source_port,
        .password = job->password,
        .ca_path = lane->ca_path,
        .semi_sync = job->order.semi_sync,
        .reconfigure = job->reconfigure,
        .restart = job->restart,
    };

    return role_follow(lane->session, dialect, &source, err);
}

static int open_for_writes(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    const struct agent_order *order = &lane->job.order;
    struct role_open_wish wish = {.wait_for = order->wait_for, .semi_sync = order->semi_sync, .acks = order->acks};

    return role_open(lane->session, dialect, &wish, &lane->result.done, err);
}

static int change(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    lane->result.done = true;
    switch (lane->job.action) {
    case ROLE_ACTION_OPEN:
        return open_for_writes(lane, dialect, err);
    case ROLE_ACTION_CLOSE:
        return role_close(
            lane->session, dialect, lane->options.user, MIN_OF(lane->job.order.drain_ms, (uint32_t)DRAIN_MAX_MS), err);
    case ROLE_ACTION_STOP:
        return role_stop(lane->session, dialect, err);
    case ROLE_ACTION_FOLLOW:
        return follow(lane, dialect, err);
    default:
        return 0;
    }
}

static void drop_broken(struct role_lane *lane)
{
    if (!lane->session || !session_is_broken(lane->session))
        return;
    session_close(lane->session);
    lane->session = NULL;
}

static void work(struct role_lane *lane)
{
    struct role_result *result = &lane->result;
    const struct dialect *dialect = dialect_for(&lane->job.version);
    struct error failure = ERROR_INIT;

    drop_broken(lane);
    if (!lane->session)
        lane->session = session_open(&lane->options, &failure);
    if (!lane->session) {
        result->error = failure;
        return;
    }
    /* A copy's server knows which transactions it holds before it replicates or is written to. */
    if (seed_position_apply(lane->paths, lane->session, &failure) < 0 || change(lane, dialect, &failure) < 0) {
        result->error = failure;
        result->done = false;
    }
    result->has_facts = !session_is_broken(lane->session) &&
        replication_facts_observe(lane->session, dialect, lane->options.user, &result->facts, NULL) == 0;
    drop_broken(lane);
}

static void run(void *arg)
{
    struct role_lane *lane = arg;
    int64_t started_us = clock_monotonic_us();

    lane->result = (struct role_result){0};
    work(lane);
    lane->result.took_us = clock_monotonic_us() - started_us;
}

static void done(void *arg)
{
    struct role_lane *lane = arg;

    secret_free(lane->job.password);
    lane->job.password = NULL;
    lane->busy = false;
    if (lane->fn)
        lane->fn(lane->arg, &lane->result);
}

struct role_lane *role_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    void (*fn)(void *arg, const struct role_result *result), void *arg)
{
    struct role_lane *lane = xnew(struct role_lane);

    lane->worker = worker_new(loop, "role");
    lane->options = (struct session_options){
        .socket = paths->socket,
        .user = user,
        .connect_timeout_s = ROLE_CONNECT_TIMEOUT_S,
        .io_timeout_s = ROLE_IO_TIMEOUT_S,
    };
    lane->paths = paths;
    lane->ca_path = xasprintf("%s/ca.crt", paths->tls_dir);
    lane->fn = fn;
    lane->arg = arg;
    return lane;
}

void role_lane_start(struct role_lane *lane, const struct role_job *job)
{
    struct worker_job work_job = {.run = run, .done = done, .arg = lane};

    if (lane->busy)
        abort();
    lane->busy = true;
    lane->job = *job;
    if (worker_submit(lane->worker, &work_job) < 0)
        abort();
}

void role_lane_free(struct role_lane *lane)
{
    if (!lane)
        return;
    lane->fn = NULL;
    worker_free(lane->worker);
    session_close(lane->session);
    free(lane->ca_path);
    free(lane);
}
