/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/observe.h"

#include "common/strbuf.h"

#define SQL_MAX (16 * KM_KIB)

static void copy_cut(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);

    if (len < size) {
        memcpy(to, text, len + 1);
        return;
    }
    snprintf(to, size, "%.*s...", (int)(size - sizeof("...")), text);
}

static bool is_true(const char *value)
{
    return value && strcmp(value, "0") != 0 && strcmp(value, "OFF") != 0;
}

struct identity {
    struct observation *observation;
    struct error error;
    bool seen;
};

/* Columns: dialect.h, `observe`. */
static void take_identity(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct identity *identity = arg;
    struct observation *observation = identity->observation;

    UNUSED(names);
    if (count < 7 || !values[0])
        return;
    identity->seen = server_version_parse(values[0], values[1], &observation->version, &identity->error) == 0;
    observation->server_id = (uint32_t)strtoul(str_or_empty(values[2]), NULL, 10);
    copy_cut(observation->server_uuid, sizeof(observation->server_uuid), str_or_empty(values[3]));
    observation->read_only = is_true(values[4]);
}

static void take_version(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct server_version *version = arg;

    UNUSED(names);
    if (count >= 2 && values[0])
        (void)(server_version_parse(values[0], values[1], version, NULL) == 0);
}

int observe_version(struct session *session, struct server_version *ret, struct error *err)
{
    *ret = (struct server_version){0};
    return session_query(session, "SELECT VERSION(), @@version_comment", take_version, ret, err);
}

static int identify(struct session *session, struct observation *observation, struct error *err)
{
    struct server_version version;
    struct identity identity = {.observation = observation};

    if (observe_version(session, &version, err) < 0)
        return -1;
    if (session_query(session, dialect_for(&version)->observe, take_identity, &identity, err) < 0)
        return -1;
    if (!identity.seen) {
        error_clear(err);
        return error_set(err, ERROR_PROTOCOL, "the server does not say its version: %s", identity.error.message);
    }
    return 0;
}

struct taking {
    struct server_status *status;
    enum server_status_source source;
};

static void take_pair(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct taking *taking = arg;

    UNUSED(names);
    if (count >= 2 && values[0])
        server_status_take(taking->status, taking->source, values[0], values[1]);
}

static void take_columns(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct taking *taking = arg;
    bool is_own = replication_row_is_own(count, names, values);

    for (unsigned i = 0; is_own && i < count; i++)
        server_status_take(taking->status, taking->source, names[i], values[i]);
}

static int collect_status(struct session *session, struct taking *taking, struct error *err)
{
    char sql[128];

    for (const char *const *each = server_status_patterns(); *each; each++) {
        snprintf(sql, sizeof(sql), "SHOW GLOBAL STATUS LIKE '%s'", *each);
        if (session_query(session, sql, take_pair, taking, err) < 0)
            return -1;
    }
    return 0;
}

static int collect(
    struct session *session, enum server_status_source source, struct observation *observation, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    struct taking taking = {.status = &observation->status, .source = source};

    strbuf_init(&sql, SQL_MAX);
    if (source == SOURCE_REPLICA)
        return session_query(session, dialect_for(&observation->version)->replica_status, take_columns, &taking, err);
    if (source == SOURCE_STATUS && observation->version.flavour == AGENT_FLAVOUR_MARIADB)
        return collect_status(session, &taking, err);
    server_status_sql(source, &sql);
    return session_query(session, sql.buf, take_pair, &taking, err);
}

static void take_number(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count >= 2 && values[1])
        *(int64_t *)arg = is_true(values[1]) ? MAX_OF(strtoll(values[1], NULL, 10), 1) : 0;
}

static int observe_status(struct session *session, struct observation *ret, struct error *err)
{
    static const enum server_status_source sources[] = {SOURCE_STATUS, SOURCE_VARIABLE, SOURCE_REPLICA};
    int64_t partial_revokes = 0, extension_mib = 0;

    if (session_query(session, "SHOW GLOBAL VARIABLES LIKE 'partial_revokes'", take_number, &partial_revokes, err) < 0)
        return -1;
    ret->partial_revokes = partial_revokes != 0;
    if (session_query(
            session, "SHOW GLOBAL VARIABLES LIKE 'innodb_autoextend_increment'", take_number, &extension_mib, err) < 0)
        return -1;
    ret->extension_bytes = (uint64_t)extension_mib * KM_MIB;
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        if (collect(session, sources[i], ret, err) < 0)
            return -1;
    }
    ret->has_status = true;
    return 0;
}

int observe_server(struct session *session, bool with_status, struct observation *ret, struct error *err)
{
    struct error failure = ERROR_INIT;

    memset(ret, 0, sizeof(*ret));
    server_status_clear(&ret->status);
    if (identify(session, ret, err) < 0 ||
        session_query(session, "SHOW GLOBAL STATUS LIKE 'Uptime'", take_number, &ret->uptime_s, err) < 0)
        return -1;
    if (!with_status || observe_status(session, ret, &failure) == 0)
        return 0;
    return replication_goes_without(ret->unread, "counters and settings", &failure, err) ? 0 : -1;
}
