/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/donor.h"

#include "agent/backup/backup_stream.h"
#include "agent/backup/data_size.h"
#include "agent/backup/dump_command.h"
#include "agent/backup/statements_fit.h"
#include "agent/bootstrap/seed_position.h"
#include "agent/bootstrap/server_binary.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/worker.h"

/* A copy takes minutes; whoever came second asks another donor or comes back soon. */
#define RETRY_AFTER_S "5"

struct donor {
    struct loop *loop;
    const struct agent_paths *paths;
    const char *user;
    const struct agent_status *status;
    struct worker *worker; /* looks how large the data is, and what the copy holds */
    /* The one stream. */
    struct http_exchange *exchange; /* while the size is looked up */
    struct strvec argv;
    struct backup_stream *stream;
    struct stream_header header;
    char *data_dir;
    int64_t started_ms;
    bool busy;
    bool offers;     /* statements in place of files, if they fit */
    bool statements; /* they do */
};

static void settle(struct donor *donor)
{
    strvec_release(&donor->argv);
    free(steal_ptr(donor->data_dir));
    donor->busy = false;
}

static void on_ended(void *arg, const struct error *err, uint64_t bytes)
{
    struct donor *donor = arg;
    int64_t took_ms = clock_monotonic_ms() - donor->started_ms;

    donor->stream = NULL;
    settle(donor);
    if (err)
        log_warn("a copy of the data was not completed", LOG_INT("bytes", bytes), LOG_INT("ms", took_ms), LOG_ERR(err));
    else
        log_info("a copy of the data went out", LOG_INT("bytes", bytes), LOG_INT("ms", took_ms));
}

/* ---- the size, on the worker's thread; then the stream ---- */

static void run_estimate(void *arg)
{
    struct donor *donor = arg;

    struct data_size size = {0};

    if (data_size_estimate(donor->data_dir, &size, NULL) < 0)
        return;
    donor->header.estimate_bytes = size.bytes;
    donor->header.redo_bytes = size.redo_bytes;
    bool fits = false;
    if (donor->offers && size.bytes <= DONOR_STATEMENTS_MAX &&
        statements_fit(donor->paths->socket, donor->user, &fits, NULL) == 0)
        donor->statements = fits;
}

static void answer_by_statements(struct donor *donor)
{
    log_info("nobody acknowledges commits: the copy is to be asked for as statements");
    http_replyf(steal_ptr(donor->exchange), AGENT_COPY_BY_STATEMENTS,
        "commits wait for acknowledgements, and a copy of the files would wait for them: ask for statements");
    settle(donor);
}

static void on_estimated(void *arg)
{
    struct donor *donor = arg;
    struct error err = ERROR_INIT;
    struct backup_stream_options options = {
        .loop = donor->loop,
        .argv = (const char *const *)donor->argv.v,
        .header = donor->header,
        .worker = donor->worker,
        .socket = donor->paths->socket,
        .user = donor->user,
        .ended = on_ended,
        .arg = donor,
    };

    if (donor->statements) {
        answer_by_statements(donor);
        return;
    }
    donor->stream = backup_stream_start(&options, steal_ptr(donor->exchange), &err);
    if (donor->stream)
        return;
    log_warn("the data cannot be given", LOG_ERR(&err));
    settle(donor);
}

/* ---- what is run ---- */

static char *find_tool(const char *name, const char *old_name)
{
    char *path = server_binary_search(name);

    return path ? path : server_binary_search(old_name);
}

/* The my.cnf says where the server keeps what is not in the data folder, and which plugins read it. */
static bool plan_mariadb(struct donor *donor)
{
    char *tool = find_tool("mariadb-backup", "mariabackup");

    if (!tool)
        return false;
    strvec_push(&donor->argv, tool);
    free(tool);
    strvec_pushf(&donor->argv, "--defaults-file=%s", donor->paths->run_mycnf);
    strvec_push(&donor->argv, "--backup");
    strvec_push(&donor->argv, "--stream=xbstream");
    strvec_pushf(&donor->argv, "--socket=%s", donor->paths->socket);
    strvec_pushf(&donor->argv, "--user=%s", donor->user);
    strvec_pushf(&donor->argv, "--datadir=%s", donor->paths->data_dir);
    strvec_pushf(
        &donor->argv, "--target-dir=%s/donor", donor->paths->run_dir); /* it must have one; a stream leaves it empty */
    donor->header.method = STREAM_METHOD_XBSTREAM;
    return true;
}

/* For members whose image has no mariadb-backup. */
static bool plan_mariadb_dump(struct donor *donor)
{
    char *tool = find_tool("mariadb-dump", "mysqldump");

    if (!tool)
        return false;
    dump_command_mariadb(tool, donor->paths->socket, donor->user, &donor->argv);
    free(tool);
    donor->header.method = STREAM_METHOD_SQL;
    return true;
}

/* For members whose image has no CLONE; the others do not ask here. */
static bool plan_mysql(struct donor *donor)
{
    struct server_version version;
    char *tool = server_binary_search("mysqldump");

    if (!tool)
        return false;
    if (server_version_parse(donor->status->version, NULL, &version, NULL) == 0)
        dump_command(&version, tool, donor->paths->socket, donor->user, &donor->argv);
    free(tool);
    donor->header.method = STREAM_METHOD_SQL;
    return donor->argv.n > 0;
}

/* NULL, or which program is missing. */
static const char *plan(struct donor *donor, const char *method)
{
    if (donor->status->flavour != AGENT_FLAVOUR_MARIADB)
        return plan_mysql(donor) ? NULL : "mysqldump";
    if (method && str_eq(method, stream_method_names[STREAM_METHOD_SQL]))
        return plan_mariadb_dump(donor) ? NULL : "mariadb-dump";
    return plan_mariadb(donor) ? NULL : "mariadb-backup";
}

/* ---- who may have it, and when ---- */

static bool may_ask(struct http_exchange *exchange)
{
    const char *name = http_exchange_peer_name(exchange);

    if (!str_eq(name, AGENT_COMMON_NAME) && !str_eq(name, AGENT_OPERATOR_COMMON_NAME)) {
        http_replyf(exchange, 403, "a copy of the data is for members of this cluster only");
        return false;
    }
    if (!str_eq(http_exchange_method(exchange), "GET")) {
        http_replyf(exchange, 405, "ask with GET");
        return false;
    }
    return true;
}

static void refuse_for_now(struct http_exchange *exchange, const char *why)
{
    http_exchange_add_header(exchange, "Retry-After", RETRY_AFTER_S);
    http_replyf(exchange, 503, "%s", why);
}

static bool can_give(const struct donor *donor, struct http_exchange *exchange)
{
    if (donor->busy)
        refuse_for_now(exchange, "this member gives its data to another one already");
    else if (donor->status->backup.state == BACKUP_STATE_RUNNING)
        refuse_for_now(exchange, "a backup is taken of this member");
    else if (donor->status->phase != AGENT_PHASE_RUNNING)
        refuse_for_now(exchange, "this member's server does not answer");
    else if (seed_position_pending(donor->paths))
        refuse_for_now(exchange, "this member's own data has only just arrived");
    else
        return true;
    return false;
}

static void fill_header(struct donor *donor, struct http_exchange *exchange)
{
    const char *digest = http_exchange_query(exchange, "digest");

    donor->header = (struct stream_header){0};
    snprintf(donor->header.flavour, sizeof(donor->header.flavour), "%s", agent_flavour_name(donor->status->flavour));
    snprintf(donor->header.server_version, sizeof(donor->header.server_version), "%s", donor->status->version);
    if (digest && str_eq(digest, stream_digest_names[STREAM_DIGEST_POLY1305]))
        donor->header.digest = STREAM_DIGEST_POLY1305;
}

static bool nobody_acknowledges(const struct agent_status *status)
{
    return status->flavour == AGENT_FLAVOUR_MARIADB && status->role == AGENT_ROLE_PRIMARY && status->semi_sync &&
        status->semi_sync_replicas == 0;
}

static bool may_offer(const struct donor *donor, struct http_exchange *exchange)
{
    _cleanup_(freep) char *tool = find_tool("mariadb-dump", "mysqldump");

    return tool && http_exchange_query(exchange, "statements") && donor->header.method == STREAM_METHOD_XBSTREAM &&
        nobody_acknowledges(donor->status);
}

void donor_handle(struct donor *donor, struct http_exchange *exchange)
{
    struct worker_job job = {.run = run_estimate, .done = on_estimated, .arg = donor};

    if (!may_ask(exchange) || !can_give(donor, exchange))
        return;
    fill_header(donor, exchange);
    strvec_init(&donor->argv);
    const char *missing = plan(donor, http_exchange_query(exchange, "method"));
    if (missing) {
        strvec_release(&donor->argv);
        http_replyf(exchange, 500, "this image has no %s", missing);
        return;
    }
    log_info("another member asks for the data", LOG_STR("tool", donor->argv.v[0]));
    donor->offers = may_offer(donor, exchange);
    donor->statements = false;
    donor->exchange = exchange;
    donor->data_dir = xstrdup(donor->paths->data_dir);
    donor->started_ms = clock_monotonic_ms();
    donor->busy = true;
    if (worker_submit(donor->worker, &job) < 0)
        abort(); /* one at a time */
}

/* ---- life ---- */

struct donor *donor_new(
    struct loop *loop, const struct agent_paths *paths, const char *user, const struct agent_status *status)
{
    struct donor *donor = xnew(struct donor);

    donor->loop = loop;
    donor->paths = paths;
    donor->user = user;
    donor->status = status;
    donor->worker = worker_new(loop, "donor");
    return donor;
}

void donor_free(struct donor *donor)
{
    if (!donor)
        return;
    worker_free(donor->worker);
    backup_stream_free(donor->stream);
    if (donor->busy)
        settle(donor);
    free(donor);
}

bool donor_stalls(const struct donor *donor)
{
    return donor->stream && donor->header.method == STREAM_METHOD_SQL &&
        backup_stream_silent_ms(donor->stream) >= DONOR_STALL_MS;
}

uint32_t donor_serving(const struct donor *donor)
{
    return donor->busy ? 1 : 0;
}
