/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/room.h"

#include "common/alloc.h"
#include "common/log.h"

#define ER_TOO_MANY_CONNECTIONS 1040
#define ROOM 16
#define ATTEMPTS 6

bool room_is_lacking(const struct error *err)
{
    return err->code == ER_TOO_MANY_CONNECTIONS;
}

static struct session *raise_and_open(
    struct session *inside, const struct session_options *options, int more, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL max_connections = @allowed + %d", more);

    return session_exec(inside, sql, err) < 0 ? NULL : session_open(options, err);
}

struct session *room_open(struct session *inside, const struct session_options *options, struct error *err)
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
