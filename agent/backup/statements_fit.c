/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/statements_fit.h"

#include "agent/mysql/session.h"

#define CONNECT_TIMEOUT_S 5
#define ASK_TIMEOUT_S 5

static void take_table(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    bool *found = arg;

    UNUSED(names);
    UNUSED(values);
    *found = count > 0;
}

int statements_fit(const char *socket, const char *user, bool *ret, struct error *err)
{
    struct session_options options = {
        .socket = socket, .user = user, .connect_timeout_s = CONNECT_TIMEOUT_S, .io_timeout_s = ASK_TIMEOUT_S};
    _cleanup_(session_closep) struct session *session = session_open(&options, err);
    bool found = false;

    if (!session ||
        session_query(session,
            "SELECT 1 FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND engine <> 'InnoDB' AND "
            "table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') LIMIT 1",
            take_table, &found, err) < 0)
        return -1;
    *ret = !found;
    return 0;
}
