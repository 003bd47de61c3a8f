#include "common/base.h"

#include "agent/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "agent/mysql/replication_facts.h"
#include "agent/tail_donor.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/frame_stream.h"
#include "common/fs.h"
#include "common/gtid.h"
#include "common/log.h"

#define CONNECT_TIMEOUT_MS 2000
#define IDLE_TIMEOUT_MS 5000
/* It is in the relay log, in the binary log and in the tables. */
#define ROOM_FACTOR 4
#define POLL_MS 5
#define CHANNEL "salvage"
#define NOBODY "salvage.invalid" /* RFC 2606: never resolves; nothing connects to it anyway */

static char *spool_path(const struct agent_paths *paths)
{
    return xasprintf("%s/salvage.binlog", paths->state_dir);
}

/* ---- fetch ---- */

struct salvage_fetch {
    struct salvage_fetch_options options;
    struct http_client *client;
    struct http_request *request;
    struct frame_reader reader;
    struct error error; /* found in the data */
    int fd;
    uint64_t bytes, room;
};

static int on_header(void *arg, const struct stream_header *header, struct error *err)
{
    UNUSED(arg);
    if (header->method != STREAM_METHOD_BINLOG)
        return error_set(err, ERROR_PROTOCOL, "the stream is no binary log");
    return 0;
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    struct salvage_fetch *fetch = arg;

    fetch->bytes += len;
    if (fetch->bytes > fetch->room)
        return error_set(err, ERROR_TOO_LARGE, "the volume has no room for more than %llu bytes of binary log",
            (unsigned long long)fetch->room);
    while (len > 0) {
        ssize_t n = write(fetch->fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(err, errno, "writing salvage.binlog");
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int on_body(void *arg, const char *data, size_t len)
{
    struct salvage_fetch *fetch = arg;

    return frame_reader_feed(&fetch->reader, data, len, &fetch->error);
}

static void finish(struct salvage_fetch *fetch, const char *gtids, const struct error *err)
{
    fetch->options.done(fetch->options.arg, gtids, err);
}

static void on_response(void *arg, const struct http_response *response, const struct error *failure)
{
    struct salvage_fetch *fetch = arg;
    struct stream_trailer trailer = {0};
    struct error err = ERROR_INIT;

    fetch->request = NULL;
    if (fetch->error.kind != ERROR_NONE)
        err = fetch->error;
    else if (failure)
        err = *failure;
    else if (response->status != 200)
        error_set_code(&err, ERROR_UNAVAILABLE, response->status, "it answers %d: %.*s", response->status,
            (int)strcspn(response->body, "\r\n"), response->body);
    else if (frame_reader_finish(&fetch->reader, &trailer, &err) == 0) {
        log_info("the end of the dead primary's binary logs is here", LOG_STR("gtids", trailer.gtid),
            LOG_INT("bytes", (int64_t)trailer.bytes));
        finish(fetch, trailer.gtid, NULL);
        return;
    }
    error_prefix(&err, "the binary logs of %.100s", fetch->options.host);
    finish(fetch, NULL, &err);
}

static int open_spool(struct salvage_fetch *fetch, struct error *err)
{
    const struct agent_paths *paths = fetch->options.paths;
    _cleanup_(freep) char *path = spool_path(paths);
    uint64_t free_bytes = 0;
    uint64_t total = 0;

    if (fs_mkdir_all(paths->state_dir, 0700, err) < 0 || fs_space(paths->volume_dir, &free_bytes, &total, err) < 0)
        return -1;
    fetch->room = MIN_OF(free_bytes / ROOM_FACTOR, TAIL_MAX_BYTES + KM_MIB);
    fetch->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fetch->fd < 0 ? error_set_errno(err, errno, "creating %s", path) : 0;
}

struct salvage_fetch *salvage_fetch_start(const struct salvage_fetch_options *options)
{
    static const struct frame_reader_ops ops = {.header = on_header, .data = on_data};
    struct salvage_fetch *fetch = xnew(struct salvage_fetch);
    _cleanup_(freep) char *url =
        xasprintf("https://%s:%u/v1/binlogs/tail?after=%s", options->host, options->port, options->after);
    struct http_request_options request = {
        .method = "GET",
        .url = url,
        .tls = options->tls,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .idle_timeout_ms = IDLE_TIMEOUT_MS,
        .data = on_body,
        .done = on_response,
        .arg = fetch,
    };

    *fetch = (struct salvage_fetch){.options = *options, .fd = -1};
    fetch->options.tls = http_tls_ref(options->tls);
    fetch->options.host = xstrdup(options->host);
    frame_reader_init(&fetch->reader, &ops, fetch);
    fetch->client = http_client_new(options->loop);
    /* Without a spool the first data fails, and the error is the spool's. */
    if (open_spool(fetch, &fetch->error) < 0)
        log_warn("nothing can be salvaged", LOG_ERR(&fetch->error));
    fetch->request = http_client_start(fetch->client, &request);
    return fetch;
}

void salvage_fetch_free(struct salvage_fetch *fetch)
{
    if (!fetch)
        return;
    http_client_free(fetch->client);
    frame_reader_release(&fetch->reader);
    http_tls_unref(fetch->options.tls);
    free((char *)(uintptr_t)fetch->options.host);
    if (fetch->fd >= 0)
        close(fetch->fd);
    free(fetch);
}

/* ---- apply ---- */

/* Beside the server's own "relaylog" (run_mycnf.c): servers put the channel's name behind it. */
static const char *const relay_names[] = {"relaylog-" CHANNEL ".000001", "relaylog-" CHANNEL ".000002",
    "relaylog-" CHANNEL ".index", "relay-log-" CHANNEL ".info", "master-" CHANNEL ".info"};

static bool is_mariadb(const struct dialect *dialect)
{
    return dialect->family == AGENT_FLAVOUR_MARIADB;
}

/* verb: "STOP", "START"; rest: "ALL", "SQL_THREAD", "STATUS", "". */
static char *channel_sql(const struct dialect *dialect, const char *verb, const char *rest)
{
    const char *replica = dialect->replication->replica;

    return is_mariadb(dialect) ? xasprintf("%s %s '" CHANNEL "' %s", verb, replica, rest)
                               : xasprintf("%s %s %s FOR CHANNEL '" CHANNEL "'", verb, replica, rest);
}

static int on_channel(
    struct session *session, const struct dialect *dialect, const char *verb, const char *rest, struct error *err)
{
    _cleanup_(freep) char *sql = channel_sql(dialect, verb, rest);

    return session_exec(session, sql, err);
}

void salvage_forget(const struct agent_paths *paths, const struct dialect *dialect, struct session *session)
{
    /* Errors: there is none, which is what is wanted. */
    (void)(on_channel(session, dialect, "STOP", "", NULL) == 0);
    (void)(on_channel(session, dialect, "RESET", "ALL", NULL) == 0);
    for (size_t i = 0; i < ARRAY_LEN(relay_names); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", paths->data_dir, relay_names[i]);
        unlink(path);
    }
}

static int place_relay_log(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *spool = spool_path(paths);
    _cleanup_(freep) char *log = xasprintf("%s/%s", paths->data_dir, relay_names[0]);
    _cleanup_(freep) char *index = xasprintf("%s/%s", paths->data_dir, relay_names[2]);
    _cleanup_(freep) char *text = xasprintf("./%s\n", relay_names[0]);

    if (rename(spool, log) < 0)
        return error_set_errno(err, errno, "renaming %s", spool);
    return fs_write_file_atomic(index, text, strlen(text), 0600, err);
}

static int configure(const struct dialect *dialect, struct session *session, struct error *err)
{
    const struct replication_terms *terms = dialect->replication;
    _cleanup_(freep) char *sql = is_mariadb(dialect)
        ? xasprintf("CHANGE MASTER '" CHANNEL "' TO MASTER_HOST = '" NOBODY "', MASTER_USE_GTID = no, "
                    "RELAY_LOG_FILE = '%s', RELAY_LOG_POS = 4",
              relay_names[0])
        : xasprintf("%s %s_HOST = '" NOBODY "', %s_AUTO_POSITION = 0, RELAY_LOG_FILE = '%s', RELAY_LOG_POS = 4 "
                    "FOR CHANNEL '" CHANNEL "'",
              terms->change, terms->source, terms->source, relay_names[0]);

    return session_exec(session, sql, err);
}

static int is_executed(const struct salvage_apply *what, struct session *session, bool *ret, struct error *err)
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

static int check_applier(const struct salvage_apply *what, struct session *session, struct error *err)
{
    _cleanup_(freep) char *sql = channel_sql(what->dialect, "SHOW", "STATUS");
    struct replication_facts facts = {0};

    if (session_query(session, sql, take_row, &facts, err) < 0)
        return -1;
    if (facts.applier_errno)
        return error_set_code(err, ERROR_DATABASE, (int)facts.applier_errno, "%s", facts.applier_error);
    return 0;
}

static int await_executed(const struct salvage_apply *what, struct session *session, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + SALVAGE_APPLY_MS;
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    bool there = false;

    while (is_executed(what, session, &there, err) == 0 && !there) {
        if (check_applier(what, session, err) < 0)
            return -1;
        if (clock_monotonic_ms() > end_ms)
            return error_set(err, ERROR_TIMEOUT, "not all of %.200s is executed yet", what->gtids);
        nanosleep(&pause, NULL);
    }
    return there ? 0 : -1;
}

int salvage_apply(const struct salvage_apply *what, struct session *session, struct error *err)
{
    if (!*what->gtids)
        return 0;
    salvage_forget(what->paths, what->dialect, session);
    int rc = place_relay_log(what->paths, err);
    if (rc == 0)
        rc = configure(what->dialect, session, err);
    if (rc == 0)
        rc = on_channel(session, what->dialect, "START", "SQL_THREAD", err);
    if (rc == 0)
        rc = await_executed(what, session, err);
    salvage_forget(what->paths, what->dialect, session);
    return rc < 0 ? error_prefix(err, "what the dead primary had") : 0;
}
