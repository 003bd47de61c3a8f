/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/holds_door.h"

#include "agent/backup/binlog_holds.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/position.h"
#include "common/worker.h"

struct holds_door {
    const struct agent_paths *paths;
    const struct agent_status *status;
    struct worker *worker;
    bool busy;
    struct http_exchange *exchange;
    /* From submit to done these are the thread's. */
    enum agent_flavour flavour;
    char *executed, *gtids;
    bool all;
    struct error error;
};

static int is_in_set(const char *executed, const char *gtids, bool *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = gtid_set_parse(GTID_MYSQL, gtids, err);
    if (!wanted)
        return -1;
    _cleanup_(gtid_set_freep) struct gtid_set *has =
        position_is_whole(executed) ? gtid_set_parse(GTID_MYSQL, executed, err) : NULL;
    if (!has)
        return error_set(err, ERROR_UNAVAILABLE, "the set of this server's transactions is not known");
    enum gtid_relation relation = gtid_set_compare(has, wanted);
    *ret = relation == GTID_EQUAL || relation == GTID_SUPERSET;
    return 0;
}

int holds_find(const char *data_dir, enum agent_flavour flavour, const char *executed, const char *gtids, bool *ret,
    struct error *err)
{
    if (flavour == AGENT_FLAVOUR_MARIADB)
        return binlog_holds(data_dir, gtids, ret, err);
    return is_in_set(str_or_empty(executed), gtids, ret, err);
}

static void run_find(void *arg)
{
    struct holds_door *door = arg;
    error_clear(&door->error);
    (void)(holds_find(door->paths->data_dir, door->flavour, door->executed, door->gtids, &door->all, &door->error) == 0);
}

static void on_found(void *arg)
{
    struct holds_door *door = arg;
    struct http_exchange *exchange = steal_ptr(door->exchange);
    if (door->error.kind == ERROR_NONE)
        http_replyf(exchange, 200, "{\"all\":%s}\n", door->all ? "true" : "false");
    else
        http_replyf(exchange, door->error.kind == ERROR_INVALID ? 400 : 500, "%s", door->error.message);
    free(steal_ptr(door->executed));
    free(steal_ptr(door->gtids));
    door->busy = false;
}

void holds_door_handle(struct holds_door *door, struct http_exchange *exchange)
{
    const struct agent_status *status = door->status;
    struct worker_job job = {.run = run_find, .done = on_found, .arg = door};
    if (!str_eq(http_exchange_peer_name(exchange), AGENT_COMMON_NAME)) {
        http_replyf(exchange, 403, "for members of this cluster only");
        return;
    }
    if (status->role != AGENT_ROLE_PRIMARY || !status->order_done || !status->writable) {
        http_replyf(exchange, 409, "this member is not the open primary");
        return;
    }
    if (door->busy) {
        http_replyf(exchange, 503, "another member is being served");
        return;
    }
    door->busy = true;
    door->exchange = exchange;
    door->flavour = status->flavour;
    door->executed = xstrdup(str_or_empty(status->gtid_executed));
    door->gtids = xstrdup(str_or_empty(http_exchange_body(exchange, NULL)));
    error_set(&door->error, ERROR_CANCELLED, "the agent ends");
    if (worker_submit(door->worker, &job) < 0)
        abort(); /* one at a time */
}

struct holds_door *holds_door_new(struct loop *loop, const struct agent_paths *paths, const struct agent_status *status)
{
    struct holds_door *door = xnew(struct holds_door);
    door->paths = paths;
    door->status = status;
    door->worker = worker_new(loop, "holds");
    return door;
}

void holds_door_free(struct holds_door *door)
{
    if (!door)
        return;
    worker_free(door->worker);
    free(door);
}
