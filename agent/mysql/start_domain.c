/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/start_domain.h"

#include "agent/mysql/row_value.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define SESSIONS_MAX 4096
#define ER_NO_SUCH_THREAD 1094

static void take_text(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct strbuf *text = arg;

    UNUSED(names);
    if (count > 0 && values[0])
        strbuf_adds(text, values[0]);
}

static void take_id(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct strvec *ids = arg;

    UNUSED(names);
    if (count > 0 && values[0] && ids->n < SESSIONS_MAX)
        strvec_push(ids, values[0]);
}

/* A session has the domain that was set when it began, and would write in it once this server is primary. */
static int end_sessions(struct session *session, struct error *err)
{
    struct error failure = ERROR_INIT;
    _cleanup_(strvec_release) struct strvec ids;
    char sql[64];

    strvec_init(&ids);
    if (session_query(session,
            "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER NOT IN "
            "('system user', 'event_scheduler') AND COMMAND NOT IN ('Daemon', 'Binlog Dump')",
            take_id, &ids, err) < 0)
        return -1;
    for (size_t i = 0; i < ids.n; i++) {
        snprintf(sql, sizeof(sql), "KILL SOFT CONNECTION %.20s", ids.v[i]);
        error_clear(&failure);
        if (session_exec(session, sql, &failure) < 0 && failure.code != ER_NO_SUCH_THREAD) {
            *err = failure;
            return -1;
        }
    }
    return 0;
}

int start_domain_leave(struct session *session, const struct dialect *dialect, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf domain = {0};

    if (dialect->family != AGENT_FLAVOUR_MARIADB)
        return 0;
    strbuf_init(&domain, 64);
    if (session_query(session, "SELECT @@global.gtid_domain_id", take_text, &domain, err) < 0)
        return -1;
    if (!str_eq(domain.buf, START_DOMAIN))
        return 0;
    if (session_exec(session, "SET GLOBAL gtid_domain_id = 0", err) < 0)
        return -1;
    return end_sessions(session, err);
}

int start_domain_look(struct session *session, const struct dialect *dialect, char *ret, size_t size, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = {0};

    *ret = '\0';
    if (dialect->family != AGENT_FLAVOUR_MARIADB)
        return 0;
    strbuf_init(&text, size - 1);
    if (session_query(session,
            "SELECT REGEXP_SUBSTR(@@global.gtid_binlog_pos, '(?<![0-9])" START_DOMAIN "-[0-9]+-[0-9]+')", take_text,
            &text, err) < 0)
        return -1;
    row_value_copy(ret, size, str_or_empty(text.buf));
    return 0;
}
