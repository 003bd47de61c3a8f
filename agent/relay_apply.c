/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/relay_apply.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "agent/mysql/replication_facts.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/gtid.h"

#define POLL_MS 5
#define POLL_MAX_MS 200
#define NOBODY "nobody.invalid" /* RFC 2606: never resolves; nothing connects to it anyway */

/* Servers put the channel's name behind "relaylog" (run_mycnf.c), and behind what they keep of a channel in files. */
static const char *const relay_names[] = {
    "relaylog-%s.000001", "relaylog-%s.000002", "relaylog-%s.index", "relay-log-%s.info", "master-%s.info"};

/* Of data_dir. */
static char *file_of(const struct relay_apply *what, size_t index)
{
    /* The formats are those above. */
    const char *mark = strstr(relay_names[index], "%s");

    return xasprintf(
        "%s/%.*s%s%s", what->data_dir, (int)(mark - relay_names[index]), relay_names[index], what->channel, mark + 2);
}

static bool is_mariadb(const struct dialect *dialect)
{
    return dialect->family == AGENT_FLAVOUR_MARIADB;
}

/* verb: "STOP", "START"; rest: "ALL", "SQL_THREAD", "STATUS", "". */
static char *channel_sql(const struct relay_apply *what, const char *verb, const char *rest)
{
    const char *replica = what->dialect->replication->replica;

    return is_mariadb(what->dialect) ? xasprintf("%s %s '%s' %s", verb, replica, what->channel, rest)
                                     : xasprintf("%s %s %s FOR CHANNEL '%s'", verb, replica, rest, what->channel);
}

static int on_channel(
    const struct relay_apply *what, struct session *session, const char *verb, const char *rest, struct error *err)
{
    _cleanup_(freep) char *sql = channel_sql(what, verb, rest);

    return session_exec(session, sql, err);
}

void relay_apply_forget(const struct relay_apply *what, struct session *session)
{
    /* Errors: there is none, which is what is wanted. */
    (void)(on_channel(what, session, "STOP", "", NULL) == 0);
    (void)(on_channel(what, session, "RESET", "ALL", NULL) == 0);
    for (size_t i = 0; i < ARRAY_LEN(relay_names); i++) {
        _cleanup_(freep) char *path = file_of(what, i);
        unlink(path);
    }
}

static int place_relay_log(const struct relay_apply *what, struct error *err)
{
    _cleanup_(freep) char *log = file_of(what, 0);
    _cleanup_(freep) char *index = file_of(what, 2);
    _cleanup_(freep) char *text = xasprintf(".%s\n", strrchr(log, '/'));

    if (rename(what->log, log) < 0)
        return error_set_errno(err, errno, "renaming %s", what->log);
    return fs_write_file_atomic(index, text, strlen(text), 0600, err);
}

static int configure(const struct relay_apply *what, struct session *session, struct error *err)
{
    const struct replication_terms *terms = what->dialect->replication;
    _cleanup_(freep) char *log = file_of(what, 0);
    const char *name = strrchr(log, '/') + 1;
    _cleanup_(freep) char *sql = is_mariadb(what->dialect)
        ? xasprintf("CHANGE MASTER '%s' TO MASTER_HOST = '" NOBODY "', MASTER_USE_GTID = no, "
                    "RELAY_LOG_FILE = '%s', RELAY_LOG_POS = 4",
              what->channel, name)
        : xasprintf("%s %s_HOST = '" NOBODY "', %s_AUTO_POSITION = 0, RELAY_LOG_FILE = '%s', RELAY_LOG_POS = 4 "
                    "FOR CHANNEL '%s'",
              terms->change, terms->source, terms->source, name, what->channel);

    return session_exec(session, sql, err);
}

static int is_executed(const struct relay_apply *what, struct session *session, bool *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed = replication_executed(session, what->dialect, err);
    _cleanup_(gtid_set_freep) struct gtid_set *wanted =
        executed ? gtid_set_parse(replication_gtid_flavour(what->dialect), what->gtids, err) : NULL;

    if (!wanted)
        return -1;
    enum gtid_relation relation = gtid_set_compare(wanted, executed);
    *ret = relation == GTID_EQUAL || relation == GTID_SUBSET;
    return 0;
}

static void take_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    for (unsigned i = 0; i < count; i++)
        replication_facts_take(arg, names[i], values[i]);
}

static int check_applier(const struct relay_apply *what, struct session *session, struct error *err)
{
    _cleanup_(freep) char *sql = channel_sql(what, "SHOW", "STATUS");
    struct replication_facts facts = {0};

    if (session_query(session, sql, take_row, &facts, err) < 0)
        return -1;
    if (facts.applier_errno)
        return error_set_code(err, ERROR_DATABASE, (int)facts.applier_errno, "%s", facts.applier_error);
    return 0;
}

static int await_executed(const struct relay_apply *what, struct session *session, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + what->limit_ms;
    struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    bool there = false;

    while (is_executed(what, session, &there, err) == 0 && !there) {
        if (check_applier(what, session, err) < 0)
            return -1;
        if (what->cancelled && what->cancelled(what->arg))
            return error_set(err, ERROR_CANCELLED, "another order came");
        if (what->limit_ms && clock_monotonic_ms() > end_ms)
            return error_set(err, ERROR_TIMEOUT, "not all of %.200s is executed yet", what->gtids);
        nanosleep(&pause, NULL);
        if (!what->limit_ms)
            pause.tv_nsec = MIN_OF(pause.tv_nsec + 1000000L, POLL_MAX_MS * 1000000L); /* nobody waits for writes */
    }
    return there ? 0 : -1;
}

int relay_apply_run(const struct relay_apply *what, struct session *session, struct error *err)
{
    relay_apply_forget(what, session);
    int rc = place_relay_log(what, err);
    if (rc == 0)
        rc = configure(what, session, err);
    if (rc == 0)
        rc = on_channel(what, session, "START", "SQL_THREAD", err);
    if (rc == 0)
        rc = await_executed(what, session, err);
    relay_apply_forget(what, session);
    return rc;
}
