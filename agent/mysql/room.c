/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/room.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/alloc.h"
#include "common/log.h"

#define ER_TOO_MANY_CONNECTIONS 1040
#define ROOM 16
#define ATTEMPTS 6

bool room_is_lacking(const struct error *err)
{
    return err->code == ER_TOO_MANY_CONNECTIONS;
}

/* Of this process: the limit is changed by one thread at a time, and is what it was when that one is done with it. */
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;

static struct session *raise_and_open(
    struct session *inside, const struct session_options *options, int more, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL max_connections = @allowed + %d", more);

    return session_exec(inside, sql, err) < 0 ? NULL : session_open(options, err);
}

static struct session *open_within(struct session *inside, const struct session_options *options, struct error *err)
{
    struct error failure = ERROR_INIT, left = ERROR_INIT;
    struct session *session = NULL;

    if (session_exec(inside, "SET @allowed = @@global.max_connections", err) < 0)
        return NULL;
    for (int i = 0; !session && i < ATTEMPTS; i++) {
        error_clear(&failure);
        session = raise_and_open(inside, options, ROOM << i, &failure);
        if (!session && !room_is_lacking(&failure))
            break;
    }
    if (session_exec(inside, "SET GLOBAL max_connections = @allowed", &left) < 0)
        log_warn("max_connections could not be set back", LOG_ERR(&left));
    if (!session && err)
        *err = failure;
    return session;
}

struct session *room_open(struct session *inside, const struct session_options *options, struct error *err)
{
    pthread_mutex_lock(&limit_lock);
    struct session *session = open_within(inside, options, err);

    pthread_mutex_unlock(&limit_lock);
    return session;
}

/* ---- for replicas ---- */

uint32_t replica_room_decide(struct replica_room *room, bool lacking, uint32_t used, uint32_t limit)
{
    if (room->allowed > 0 && limit != room->raised)
        *room = (struct replica_room){.allowed = 0};
    if (lacking && used >= limit) {
        uint32_t allowed = room->allowed ? room->allowed : limit;
        uint32_t next = MIN_OF(used + REPLICA_ROOM_STEP, allowed + REPLICA_ROOM_MAX);
        if (next <= limit)
            return 0;
        *room = (struct replica_room){.allowed = allowed, .raised = next};
        return next;
    }
    if (lacking || room->allowed == 0 || used > room->allowed)
        return 0;
    uint32_t allowed = room->allowed;
    *room = (struct replica_room){.allowed = 0};
    return allowed;
}

struct usage {
    uint32_t used, limit;
};

static void take_used(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct usage *usage = arg;

    UNUSED(names);
    if (count == 2 && values[1])
        usage->used = (uint32_t)strtoul(values[1], NULL, 10);
}

static void take_limit(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct usage *usage = arg;

    UNUSED(names);
    if (count == 1 && values[0])
        usage->limit = (uint32_t)strtoul(values[0], NULL, 10);
}

static bool is_lacking(const struct replication_facts *facts)
{
    return facts->semi_sync_source && facts->waiting_commits > 0 &&
        facts->semi_sync_clients < MAX_OF(facts->semi_sync_acks, 1U);
}

static void tend(struct session *session, bool lacking, struct replica_room *room)
{
    struct usage usage = {.used = 0};
    struct error err = ERROR_INIT;

    if (session_query(session, "SHOW GLOBAL STATUS LIKE 'Threads_connected'", take_used, &usage, &err) < 0 ||
        session_query(session, "SELECT @@global.max_connections", take_limit, &usage, &err) < 0 || usage.limit == 0)
        return;
    struct replica_room before = *room;
    uint32_t limit = replica_room_decide(room, lacking, usage.used, usage.limit);
    if (limit == 0)
        return;
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL max_connections = %u", limit);
    if (session_exec(session, sql, &err) < 0) {
        *room = before;
        log_warn("max_connections could not be changed for replicas", LOG_ERR(&err));
        return;
    }
    log_info(lacking ? "commits wait, and clients have every connection: there are more, for a replica"
                     : "max_connections is set back",
        LOG_INT("connections", usage.used), LOG_INT("max_connections", limit));
}

void replica_room_tend(struct session *session, const struct replication_facts *facts, struct replica_room *room)
{
    bool lacking = is_lacking(facts);

    /* While another thread makes room for itself, what is read here is its limit. */
    if ((!lacking && room->allowed == 0) || pthread_mutex_trylock(&limit_lock) != 0)
        return;
    tend(session, lacking, room);
    pthread_mutex_unlock(&limit_lock);
}
