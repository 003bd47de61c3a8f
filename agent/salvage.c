/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/mysql/replication_facts.h"
#include "agent/relay_apply.h"
#include "agent/tail_donor.h"
#include "common/agent_identity.h"
#include "common/alloc.h"
#include "common/frame_stream.h"
#include "common/fs.h"
#include "common/gtid.h"
#include "common/log.h"

/* Agents of earlier versions have no other way to be asked. */
#define AFTER_IN_URL_MAX 4096
#define CONNECT_TIMEOUT_MS 2000
#define IDLE_TIMEOUT_MS 5000
/* It is in the relay log, in the binary log and in the tables. */
#define ROOM_FACTOR 4
#define URL_MAX (AFTER_IN_URL_MAX + 2 * KM_KIB)

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
        log_info("the end of the dead primary's binary logs is here", LOG_STR("gtids", str_or_empty(trailer.gtid)),
            LOG_INT("bytes", (int64_t)trailer.bytes));
        finish(fetch, str_or_empty(trailer.gtid), NULL);
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
    _cleanup_(strbuf_release) struct strbuf url;
    char pod[AGENT_POD_NAME_SIZE];
    bool fits = strlen(options->after) <= AFTER_IN_URL_MAX;

    strbuf_init(&url, (size_t)URL_MAX);
    strbuf_addf(&url, "https://%s:%u/v1/binlogs/tail%s%s", options->host, options->port, fits ? "?after=" : "",
        fits ? options->after : "");
    agent_identity_of_host(options->host, pod);
    agent_identity_add(&url, pod, NULL);
    struct http_request_options request = {
        .method = fits ? "GET" : "POST",
        .url = url.buf,
        .body = fits ? NULL : options->after,
        .body_len = fits ? 0 : strlen(options->after),
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

void salvage_forget(const struct agent_paths *paths, const struct dialect *dialect, struct session *session)
{
    const struct relay_apply apply = {.data_dir = paths->data_dir, .dialect = dialect, .channel = SALVAGE_CHANNEL};

    relay_apply_forget(&apply, session);
}

int salvage_apply(const struct salvage_apply *what, struct session *session, struct error *err)
{
    _cleanup_(freep) char *spool = spool_path(what->paths);
    const struct relay_apply apply = {
        .data_dir = what->paths->data_dir,
        .dialect = what->dialect,
        .channel = SALVAGE_CHANNEL,
        .log = spool,
        .gtids = what->gtids,
        .limit_ms = SALVAGE_APPLY_MS,
    };

    if (!*what->gtids)
        return 0;
    return relay_apply_run(&apply, session, err) < 0 ? error_prefix(err, "what the dead primary had") : 0;
}
