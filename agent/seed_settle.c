/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_settle.h"

#include "agent/bootstrap/load_mysql.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/session.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/log.h"

#define CONNECT_TIMEOUT_S 10
#define IO_TIMEOUT_S 600

struct seed_settle {
    struct seed_settle_options options;
    const struct dialect *dialect;
    struct load_mysql *load;
    char *gtid;
    struct error error; /* of the worker's job */
    bool cancelled;
};

static void end_with(struct seed_settle *settle, const struct error *err)
{
    struct error cancelled = ERROR_INIT;

    error_set(&cancelled, ERROR_CANCELLED, "another order came");
    settle->options.done(settle->options.arg, settle->cancelled ? &cancelled : err);
}

/* ---- on the worker's thread ---- */

static int check_holds(const struct seed_settle *settle, const struct gtid_set *executed, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *told =
        gtid_set_parse(replication_gtid_flavour(settle->dialect), settle->options.gtid, err);

    if (!told)
        return error_prefix(err, "the backup's position");
    enum gtid_relation relation = gtid_set_compare(told, executed);
    if (relation == GTID_EQUAL || relation == GTID_SUBSET)
        return 0;
    return error_set(err, ERROR_PROTOCOL, "the copy holds %.150s, the backup is said to hold %.150s", settle->gtid,
        settle->options.gtid);
}

static int look(struct seed_settle *settle, struct error *err)
{
    const struct session_options options = {
        .socket = load_mysql_socket(settle->load),
        .user = settle->options.prepared->user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = IO_TIMEOUT_S,
    };
    _cleanup_(session_closep) struct session *session = session_open(&options, err);
    _cleanup_(freep) char *forget = xasprintf("RESET %s ALL", settle->dialect->replication->replica);
    _cleanup_(strbuf_release) struct strbuf text = {0};

    if (!session || session_exec(session, forget, err) < 0)
        return -1;
    _cleanup_(gtid_set_freep) struct gtid_set *executed = replication_executed(session, settle->dialect, err);
    if (!executed)
        return -1;
    strbuf_init(&text, POSITION_TEXT_MAX);
    gtid_set_print(executed, &text);
    if (text.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "the copy's position has more than %zu bytes", POSITION_TEXT_MAX);
    str_replace(&settle->gtid, str_or_empty(text.buf));
    return check_holds(settle, executed, err);
}

static void run_look(void *arg)
{
    struct seed_settle *settle = arg;

    error_clear(&settle->error);
    if (look(settle, &settle->error) < 0)
        error_prefix(&settle->error, "the server on the copy");
}

/* ---- on the loop ---- */

static void on_looked(void *arg)
{
    struct seed_settle *settle = arg;

    if (settle->cancelled || settle->error.kind != ERROR_NONE) {
        end_with(settle, &settle->error);
        return;
    }
    log_info("a server was started on the copy", LOG_STR("gtid", str_or_empty(settle->gtid)));
    load_mysql_stop(settle->load);
}

static void on_ready(void *arg, const struct error *err)
{
    struct seed_settle *settle = arg;
    struct worker_job job = {.run = run_look, .done = on_looked, .arg = settle};

    if (err) {
        struct error failure = *err;
        error_prefix(&failure, "the server cannot be started on the copy");
        end_with(settle, &failure);
        return;
    }
    error_set(&settle->error, ERROR_CANCELLED, "init ends"); /* what a dropped job is told; `run` replaces it */
    if (worker_submit(settle->options.worker, &job) < 0)
        on_looked(settle); /* init ends */
}

static void on_stopped(void *arg, const struct error *err)
{
    end_with(arg, err);
}

/* ---- life ---- */

struct seed_settle *seed_settle_start(const struct seed_settle_options *options)
{
    struct seed_settle *settle = xnew(struct seed_settle);
    const struct load_mysql_options load = {
        .loop = options->loop,
        .worker = options->worker,
        .prepared = options->prepared,
        .paths = options->paths,
        .existing = true,
        .ready = on_ready,
        .stopped = on_stopped,
        .arg = settle,
    };

    settle->options = *options;
    settle->dialect = dialect_for(&options->prepared->binary.version);
    settle->load = load_mysql_start(&load);
    return settle;
}

void seed_settle_cancel(struct seed_settle *settle)
{
    settle->cancelled = true;
    load_mysql_cancel(settle->load);
}

void seed_settle_free(struct seed_settle *settle)
{
    if (!settle)
        return;
    load_mysql_free(settle->load);
    free(settle->gtid);
    free(settle);
}

const char *seed_settle_gtid(const struct seed_settle *settle)
{
    return str_or_empty(settle->gtid);
}
