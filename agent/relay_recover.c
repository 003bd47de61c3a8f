/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/relay_recover.h"

#include <strings.h>
#include <sys/stat.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/log_index.h"
#include "agent/bootstrap/relay_keep.h"
#include "agent/bootstrap/run_mycnf.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/role_change.h"
#include "agent/mysql/row_value.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define SQL_MAX (2 * KM_KIB)
#define POLL_SQL "DO SLEEP(0.01)"
#define PAUSE_SQL "DO SLEEP(0.5)"

void relay_recovery_release(struct relay_recovery *recovery)
{
    gtid_set_free(recovery->wanted);
    *recovery = (struct relay_recovery){0};
}

struct relay_status {
    struct replication_facts facts;
    char file[256]; /* the applier's */
    uint64_t at;
};

static void take_status(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct relay_status *status = arg;
    bool is_own = replication_row_is_own(count, names, values);

    replication_facts_take_row(&status->facts, count, names, values);
    for (unsigned i = 0; is_own && i < count; i++) {
        if (values[i] && strcasecmp(names[i], "Relay_Log_File") == 0)
            snprintf(status->file, sizeof(status->file), "%s", values[i]);
        else if (values[i] && strcasecmp(names[i], "Relay_Log_Pos") == 0)
            status->at = strtoull(values[i], NULL, 10);
    }
}

static int look(struct session *session, const struct dialect *dialect, struct relay_status *ret, struct error *err)
{
    *ret = (struct relay_status){0};
    return session_query(session, dialect->replica_status, take_status, ret, err);
}

/* ---- files ---- */

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

static int check_files(const struct strvec *logs, struct error *err)
{
    for (size_t i = 0; i < logs->n; i++) {
        if (!fs_exists(logs->v[i]))
            return error_set(err, ERROR_NOT_FOUND, "%.60s is gone", name_of(logs->v[i]));
    }
    return 0;
}

static int check_applier(const struct strvec *logs, const struct relay_status *status, struct error *err)
{
    struct stat st;

    for (size_t i = 0; i < logs->n; i++) {
        if (strcmp(name_of(logs->v[i]), status->file) != 0)
            continue;
        bool reached = stat(logs->v[i], &st) == 0 && (uint64_t)st.st_size >= status->at;
        return reached ? 0 : error_set(err, ERROR_NOT_FOUND, "%.60s is shorter than it was", status->file);
    }
    return error_set(err, ERROR_NOT_FOUND, "%.60s is gone", status->file);
}

/* ---- MySQL ---- */

static int step_mysql(
    const struct agent_paths *paths, const struct dialect *dialect, struct session *session, struct error *err)
{
    _cleanup_(strvec_release) struct strvec logs;
    struct relay_status status;

    strvec_init(&logs);
    if (look(session, dialect, &status, err) < 0)
        return -1;
    if (!status.facts.configured)
        return 0;
    if (log_index_files(paths->data_dir, LOG_INDEX_RELAY_LOG, &logs, err) < 0 || check_files(&logs, err) < 0)
        return -1;
    return check_applier(&logs, &status, err);
}

/* ---- MariaDB ---- */

static void take_text(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count > 0 && values[0])
        strbuf_adds(arg, values[0]);
}

static struct gtid_set *slave_pos(struct session *session, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    if (session_query(session, "SELECT @@global.gtid_slave_pos", take_text, &text, err) < 0)
        return NULL;
    return gtid_set_parse(GTID_MARIADB, text.buf, err);
}

struct search {
    const struct gtid_set *have; /* gtid_slave_pos */
    struct gtid_set *last;
    bool found, mixed;
    size_t index;
    uint64_t from;
};

static int on_transaction(void *arg, size_t index, const struct binlog_transaction *transaction, struct error *err)
{
    struct search *search = arg;
    bool beyond = !gtid_set_contains(search->have, &transaction->gtid);

    UNUSED(err);
    gtid_set_add(search->last, &transaction->gtid);
    search->mixed = search->mixed || (search->found && !beyond);
    if (beyond && !search->found) {
        search->found = true;
        search->index = index;
        search->from = transaction->from;
    }
    return 0;
}

static bool reaches(const struct gtid_set *have, const struct gtid_set *wanted)
{
    enum gtid_relation relation = gtid_set_compare(wanted, have);

    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

/* As my.cnf has it: a recovery that was left in the midst of has set the server's to 0. */
static int set_threads(const struct agent_paths *paths, struct session *session, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf mycnf;
    char sql[80];
    uint64_t threads = 0;

    strbuf_init(&mycnf, MYCNF_MAX + 16 * KM_KIB);
    if (fs_read_file(paths->run_mycnf, &mycnf, err) < 0)
        return -1;
    (void)(run_mycnf_number(mycnf.buf, "slave_parallel_threads", &threads));
    snprintf(sql, sizeof(sql), "SET GLOBAL slave_parallel_threads = %llu", (unsigned long long)threads);
    return session_exec(session, sql, err);
}

/* Where the applier's file is gone the server refuses everything but to forget its source (error 1201): one that was
 * killed twice while it began new relay logs names a file in relay-log.info that it had not made yet. */
static int by_gtid_again(const struct agent_paths *paths, struct session *session, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (session_exec(session, "STOP SLAVE", err) < 0)
        return -1;
    if (session_exec(session, "CHANGE MASTER TO MASTER_USE_GTID = slave_pos", &failure) < 0 &&
        session_exec(session, "RESET SLAVE ALL", err) < 0)
        return -1;
    return set_threads(paths, session, err);
}

static int start_at(const char *path, uint64_t from, struct session *session, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, SQL_MAX);
    strbuf_adds(&sql, "CHANGE MASTER TO MASTER_USE_GTID = no, RELAY_LOG_FILE = ");
    sql_add_string(&sql, name_of(path));
    strbuf_addf(&sql, ", RELAY_LOG_POS = %llu", (unsigned long long)from);
    if (session_exec(session, "STOP SLAVE", err) < 0 ||
        session_exec(session, "SET GLOBAL slave_parallel_threads = 0", err) < 0 ||
        session_exec(session, sql.buf, err) < 0)
        return -1;
    return session_exec(session, "START SLAVE SQL_THREAD", err);
}

/* *ret_begun: something is being applied; else everything is. */
static int begin_mariadb(struct relay_recovery *recovery, const struct agent_paths *paths, struct session *session,
    bool *ret_begun, struct error *err)
{
    _cleanup_(strvec_release) struct strvec logs;
    _cleanup_(gtid_set_freep) struct gtid_set *have = slave_pos(session, err);
    _cleanup_(gtid_set_freep) struct gtid_set *last = gtid_set_new(GTID_MARIADB);
    struct search search = {.have = have, .last = last};

    *ret_begun = false;
    strvec_init(&logs);
    if (!have || log_index_files(paths->data_dir, LOG_INDEX_RELAY_LOG, &logs, err) < 0 || check_files(&logs, err) < 0 ||
        binlog_relay_scan((const char *const *)logs.v, logs.n, GTID_MARIADB, on_transaction, &search, err) < 0)
        return -1;
    if (search.mixed)
        return error_set(
            err, ERROR_INVALID, "its GTID domains were not applied in the order in which they were received");
    if (!search.found)
        return by_gtid_again(paths, session, err);
    log_info("what was received before the start is applied", LOG_STR("file", name_of(logs.v[search.index])),
        LOG_INT("from", (int64_t)search.from));
    if (start_at(logs.v[search.index], search.from, session, err) < 0)
        return -1;
    *ret_begun = true;
    recovery->wanted = steal_ptr(last);
    return 0;
}

/* The error says nothing about the relay logs. */
static bool passes(uint32_t error)
{
    switch (error) {
    case 1021: /* ER_DISK_FULL */
    case 1114: /* ER_RECORD_FILE_FULL */
    case 1205: /* ER_LOCK_WAIT_TIMEOUT */
    case 1213: /* ER_LOCK_DEADLOCK */
    case 1317: /* ER_QUERY_INTERRUPTED */
    case 1927: /* ER_CONNECTION_KILLED */
        return true;
    default:
        return false;
    }
}

/* *recovery is empty afterwards if it has to be begun again. */
static int await_wanted(struct relay_recovery *recovery, const struct dialect *dialect, struct session *session,
    bool *ret, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + ROLE_WAIT_MS;
    struct relay_status status;

    for (;;) {
        if (look(session, dialect, &status, err) < 0)
            return -1;
        _cleanup_(gtid_set_freep) struct gtid_set *have = slave_pos(session, err);
        if (!have)
            return -1;
        *ret = reaches(have, recovery->wanted);
        if (*ret || clock_monotonic_ms() >= end_ms)
            return 0;
        uint32_t error = status.facts.applier_errno;
        if (status.facts.applier == AGENT_THREAD_OFF && (!error || passes(error))) {
            relay_recovery_release(recovery);
            return error ? session_exec(session, PAUSE_SQL, err) : 0; /* 0: an order has stopped it */
        }
        if (status.facts.applier == AGENT_THREAD_OFF)
            return error_set_code(err, ERROR_INVALID, (int)error, "what it had received cannot be applied: %s",
                status.facts.applier_error);
        if (session_exec(session, POLL_SQL, err) < 0)
            return -1;
    }
}

static int step_mariadb(struct relay_recovery *recovery, const struct agent_paths *paths, const struct dialect *dialect,
    struct session *session, enum relay_outcome *ret, struct error *err)
{
    struct relay_status status;
    bool there = false, begun = true;

    if (look(session, dialect, &status, err) < 0)
        return -1;
    if (!recovery->wanted && status.facts.configured && begin_mariadb(recovery, paths, session, &begun, err) < 0)
        return -1;
    if (!begun || !status.facts.configured) {
        *ret = RELAY_WHOLE;
        return 0;
    }
    if (await_wanted(recovery, dialect, session, &there, err) < 0)
        return -1;
    if (!there)
        return 0;
    relay_recovery_release(recovery);
    *ret = RELAY_WHOLE;
    return by_gtid_again(paths, session, err);
}

/* ---- both ---- */

int relay_recover_step(struct relay_recovery *recovery, const struct agent_paths *paths, const struct dialect *dialect,
    struct session *session, enum relay_outcome *ret, char *ret_why, size_t size, struct error *err)
{
    struct error failure = ERROR_INIT;
    bool mariadb = dialect->family == AGENT_FLAVOUR_MARIADB;

    *ret = mariadb ? RELAY_NOT_YET : RELAY_WHOLE;
    int rc = mariadb ? step_mariadb(recovery, paths, dialect, session, ret, &failure)
                     : step_mysql(paths, dialect, session, &failure);
    if (rc == 0)
        return 0;
    relay_recovery_release(recovery);
    if (session_is_broken(session)) {
        *err = failure;
        return -1;
    }
    *ret = RELAY_BROKEN;
    row_value_copy(ret_why, size, failure.message);
    return 0;
}

/* MySQL: after RESET REPLICA the applier cannot be started alone (error 1871). Only START of the receiver or CHANGE
 * reads the connection metadata again (9.7, rpl_replica.cc: load_mi_and_rli_from_repositories, start_slave_threads).
 */
static int drop_logs(
    const struct agent_paths *paths, const struct dialect *dialect, struct session *session, struct error *err)
{
    if (dialect->family == AGENT_FLAVOUR_MARIADB)
        return by_gtid_again(paths, session, err);
    const struct replication_terms *terms = dialect->replication;
    _cleanup_(freep) char *stop = xasprintf("STOP %s%s", terms->replica, terms->own);
    _cleanup_(freep) char *reset = xasprintf("RESET %s%s", terms->replica, terms->own);
    _cleanup_(freep) char *change = xasprintf("%s %s_AUTO_POSITION = 1%s", terms->change, terms->source, terms->own);
    if (session_exec(session, stop, err) < 0 || session_exec(session, reset, err) < 0)
        return -1;
    return session_exec(session, change, err);
}

int relay_recover_drop(struct relay_recovery *recovery, const struct agent_paths *paths, const struct dialect *dialect,
    struct session *session, struct error *err)
{
    struct relay_status status;

    relay_recovery_release(recovery);
    if (look(session, dialect, &status, err) < 0)
        return -1;
    if (status.facts.configured && drop_logs(paths, dialect, session, err) < 0)
        return -1;
    return relay_keep_dropped(paths, err);
}
