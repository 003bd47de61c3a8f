/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/agent_watch.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/hashmap.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "operator/api/cluster_status.h"
#include "operator/instance/mycnf_sender.h"
#include "operator/instance/order_sender.h"

static const struct task_door door_of_archive = {
    .method = "PUT", .path = "/v1/archive", .end_path = "/v1/archive", .id_is_digest = true};
static const struct task_door door_of_check = {
    .method = "PUT", .path = "/v1/check", .end_path = "/v1/check", .id_is_digest = true};
static const struct task_door door_of_purge = {.method = "PUT", .path = "/v1/binlogs/purge", .id_is_digest = true};

static const struct backoff_policy reconnect_policy = {.base_ms = 200, .max_ms = 5000, .jitter_percent = 30};

/* After news of the pod: its agent may just have come up. */
#define NUDGE_MS 50

/* What one chunk may bring on top of a line that is not complete. */
#define RECEIVE_BUFFER_BYTES (size_t)(16 * KM_KIB)

/* Of a buffer that long lines have filled, no more is kept from line to line. */
#define LINE_KEPT_BYTES (size_t)(8 * KM_KIB)

/* What moves all the time, as it was last told. */
struct progress {
    uint64_t volume_free_bytes;
    uint64_t seed_bytes, seed_total_bytes;
    uint64_t backup_bytes;
    uint32_t long_transactions;
    int64_t lag_ms;
    int64_t told_ms;
};

struct agent_watch {
    struct loop *loop;
    struct http_client *http;
    struct agent_target target;
    struct order_sender *orders;
    struct mycnf_sender *mycnf, *preview;
    struct backup_sender *backup, *restore;
    struct task_sender *archive, *check, *purge;
    void (*changed)(void *arg);
    void *arg;
    struct http_request *request;
    struct loop_timer reconnect;
    struct backoff backoff;
    struct strbuf line;
    char *status; /* the last line; NULL: none came yet */
    size_t status_len;
    uint64_t digest; /* of what is news in it */
    struct progress progress;
    bool spoke; /* on this connection */
    bool tried;
    bool nudged;       /* the next attempt was brought forward */
    bool was_stranger; /* who answered last is another pod's agent, and that was logged */
    int64_t last_word_ms;
    /* when its binary logs begin, by its own word, and when it was first heard to say so, by our wall clock */
    int64_t binlogs_told_ms, binlogs_heard_ms;
    struct error failure;
};

static void stream_open(void *arg);

/* ---- what is news ---- */

static struct progress progress_of(const struct agent_status *status)
{
    return (struct progress){
        .volume_free_bytes = status->volume_free_bytes,
        .seed_bytes = status->seed.bytes,
        .seed_total_bytes = status->seed.total_bytes,
        .backup_bytes = status->backup.raw_bytes,
        .long_transactions = status->long_transactions,
        .lag_ms = status->replication.lag_ms,
    };
}

static bool moved_one_percent(uint64_t a, uint64_t b)
{
    return MAX_OF(a, b) - MIN_OF(a, b) > MAX_OF(a, b) / 100;
}

static bool progressed(const struct progress *a, const struct progress *b)
{
    return a->seed_bytes != b->seed_bytes || a->seed_total_bytes != b->seed_total_bytes ||
        a->backup_bytes != b->backup_bytes || a->long_transactions != b->long_transactions ||
        cluster_lag_moved(a->lag_ms, b->lag_ms) || moved_one_percent(a->volume_free_bytes, b->volume_free_bytes);
}

uint64_t agent_watch_digest(struct agent_status *status)
{
    bool blocked = status->writes_blocked_ms >= AGENT_WATCH_BLOCKED_MS || status->stalled_ms >= AGENT_WATCH_BLOCKED_MS;
    status->gtid_executed = status->gtid_received = "";
    *status->long_transaction = '\0';
    status->long_transactions = 0;
    return hash64(agent_status_digest(status), &blocked, sizeof(blocked));
}

static bool says_something_new(struct agent_watch *watch, struct agent_status *status)
{
    struct progress progress = progress_of(status);
    uint64_t digest = agent_watch_digest(status);
    int64_t now_ms = loop_now_ms(watch->loop);
    bool late = now_ms - watch->progress.told_ms >= AGENT_WATCH_PROGRESS_MS;
    bool news = !watch->spoke || digest != watch->digest || (late && progressed(&progress, &watch->progress));
    watch->digest = digest;
    if (news) {
        watch->progress = progress;
        watch->progress.told_ms = now_ms;
    }
    return news;
}

/* ---- the stream ---- */

static void keep_line(struct agent_watch *watch, size_t len)
{
    free(watch->status);
    watch->status = xmemdup(watch->line.buf, len);
    watch->status_len = len;
}

/* Of `run`; while there is no such process nobody can be told. */
static void tasks_lost(struct agent_watch *watch)
{
    task_sender_lost(watch->archive);
    task_sender_lost(watch->check);
    task_sender_lost(watch->purge);
}

static void note_binlogs(struct agent_watch *watch, int64_t from_ms)
{
    if (from_ms == watch->binlogs_told_ms)
        return;
    watch->binlogs_told_ms = from_ms;
    watch->binlogs_heard_ms = clock_realtime_ms();
}

static void take_status(struct agent_watch *watch, struct agent_status *status)
{
    char boot_id[sizeof(status->boot_id)], order_hash[sizeof(status->order_hash)];
    int64_t clock_ms = status->clock_ms;
    unsigned asides = agent_status_asides(status);
    memcpy(boot_id, status->boot_id, sizeof(boot_id));
    memcpy(order_hash, status->order_hash, sizeof(order_hash));
    note_binlogs(watch, status->binlogs_from_ms);
    backup_sender_heard(watch->backup, boot_id, status->backup.id);
    if (status->phase == AGENT_PHASE_SEEDING)
        tasks_lost(watch);
    else {
        task_sender_heard(watch->archive, boot_id, status->archive.task);
        task_sender_heard(watch->check, boot_id, status->check.task);
        task_sender_heard(watch->purge, boot_id, status->purge_granted);
    }
    if (status->phase == AGENT_PHASE_SEEDING)
        backup_sender_heard(watch->restore, boot_id, status->seed.task);
    else
        backup_sender_lost(watch->restore);
    mycnf_sender_heard(watch->mycnf, status);
    mycnf_sender_heard(watch->preview, status);
    bool news = says_something_new(watch, status);
    watch->spoke = watch->tried = true;
    watch->last_word_ms = loop_now_ms(watch->loop);
    backoff_reset(&watch->backoff);
    error_clear(&watch->failure);
    order_sender_heard(watch->orders, boot_id, order_hash, asides, clock_ms);
    if (news)
        watch->changed(watch->arg);
}

/* Addresses are used again, and caches lag behind: what another pod says is nobody's word. */
static int check_identity(struct agent_watch *watch, const struct agent_status *status)
{
    const struct agent_target *target = &watch->target;
    if (agent_identity_is(target->pod, target->uid, status->instance, status->pod_uid)) {
        watch->was_stranger = false;
        return 0;
    }
    bool other_pod = !agent_identity_is(target->pod, NULL, status->instance, NULL);
    error_set(&watch->failure, ERROR_CONFLICT, "at %s answers %s %s, not %s", target->address,
        other_pod ? "the agent of" : "another pod of that name,", other_pod ? status->instance : status->pod_uid,
        other_pod ? target->pod : target->uid);
    if (!watch->was_stranger)
        log_warn("another pod's agent answers; its word does not count", LOG_STR("member", target->pod),
            LOG_ERR(&watch->failure));
    watch->was_stranger = true;
    return -1;
}

/* Decodes every complete line in the buffer; the rest stays for the next chunk. */
static int take_lines(struct agent_watch *watch)
{
    char *newline;
    while ((newline = memchr(watch->line.buf, '\n', watch->line.len))) {
        size_t len = (size_t)(newline - watch->line.buf);
        _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
        struct agent_status status = {0};
        if (agent_status_decode(watch->line.buf, len, positions, &status, &watch->failure) < 0 ||
            check_identity(watch, &status) < 0)
            return -1;
        keep_line(watch, len);
        strbuf_consume(&watch->line, len + 1);
        take_status(watch, &status);
    }
    return 0;
}

static int on_data(void *arg, const char *data, size_t len)
{
    struct agent_watch *watch = arg;
    strbuf_add(&watch->line, data, len);
    if (take_lines(watch) < 0)
        return -1;
    if (watch->line.len == 0 && watch->line.capacity > LINE_KEPT_BYTES)
        strbuf_release(&watch->line);
    if (watch->line.overflowed || watch->line.len > AGENT_STATUS_MAX)
        return error_set(&watch->failure, ERROR_TOO_LARGE, "a status line of more than %ld bytes", AGENT_STATUS_MAX);
    return 0;
}

static void on_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct agent_watch *watch = arg;
    watch->request = NULL;
    bool ended_by_us = err && err->kind == ERROR_CANCELLED; /* on_data said why */
    if (err && !ended_by_us)
        watch->failure = *err;
    else if (!ended_by_us && response->status == AGENT_IDENTITY_MISDIRECTED)
        error_set_code(&watch->failure, ERROR_CONFLICT, response->status,
            "another pod's agent answers at %s, and says so", watch->target.address);
    else if (!ended_by_us)
        error_set_code(&watch->failure, ERROR_UNAVAILABLE, response->status,
            "the agent answered %d and ended the stream", response->status);
    bool lost = watch->spoke || !watch->tried;
    watch->spoke = false;
    watch->tried = true;
    strbuf_reset(&watch->line);
    order_sender_lost(watch->orders);
    mycnf_sender_lost(watch->mycnf);
    mycnf_sender_lost(watch->preview);
    backup_sender_lost(watch->backup);
    backup_sender_lost(watch->restore);
    tasks_lost(watch);
    loop_timer_arm(&watch->reconnect, backoff_next_ms(&watch->backoff, &reconnect_policy));
    if (lost)
        watch->changed(watch->arg);
}

static void stream_open(void *arg)
{
    struct agent_watch *watch = arg;
    int64_t silence_ms = watch->target.silence_ms > 0 ? watch->target.silence_ms : AGENT_WATCH_SILENCE_MS;
    watch->nudged = false;
    const struct http_request_options options = {
        .method = "GET",
        .connect_timeout_ms = (int)silence_ms,
        .idle_timeout_ms = (int)silence_ms,
        .receive_buffer_bytes = RECEIVE_BUFFER_BYTES,
        .data = on_data,
        .done = on_done,
        .arg = watch,
    };
    watch->request = agent_target_start(&watch->target, watch->http, "/v1/status?watch=1", options);
}

static void on_sender_news(void *arg)
{
    struct agent_watch *watch = arg;
    watch->changed(watch->arg);
}

struct agent_watch *agent_watch_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    void (*changed)(void *arg), void *arg)
{
    struct agent_watch *watch = xnew(struct agent_watch);
    watch->loop = loop;
    watch->http = http;
    agent_target_copy(target, &watch->target);
    watch->orders = order_sender_new(loop, http, &watch->target, on_sender_news, watch);
    watch->mycnf = mycnf_sender_new(loop, http, &watch->target, MYCNF_SENDER_APPLY, on_sender_news, watch);
    watch->preview = mycnf_sender_new(loop, http, &watch->target, MYCNF_SENDER_PREVIEW, on_sender_news, watch);
    watch->backup = backup_sender_new(loop, http, &watch->target, on_sender_news, watch);
    watch->restore = backup_sender_new_for_restores(loop, http, &watch->target, on_sender_news, watch);
    watch->archive = task_sender_new(loop, http, &watch->target, &door_of_archive, on_sender_news, watch);
    watch->check = task_sender_new(loop, http, &watch->target, &door_of_check, on_sender_news, watch);
    watch->purge = task_sender_new(loop, http, &watch->target, &door_of_purge, on_sender_news, watch);
    watch->changed = changed;
    watch->arg = arg;
    watch->backoff.random_state = random_seed();
    watch->last_word_ms = loop_now_ms(loop);
    strbuf_init(&watch->line, AGENT_STATUS_MAX + RECEIVE_BUFFER_BYTES);
    error_set(&watch->failure, ERROR_UNAVAILABLE, "not connected yet");
    loop_timer_init(&watch->reconnect, loop, stream_open, watch);
    loop_timer_arm(&watch->reconnect, 0);
    return watch;
}

void agent_watch_nudge(struct agent_watch *watch)
{
    if (watch->request || watch->nudged || watch->backoff.attempts == 0)
        return;
    watch->nudged = true; /* once until it was tried: frequent news must not put it off for ever */
    loop_timer_arm(&watch->reconnect, NUDGE_MS);
}

void agent_watch_free(struct agent_watch *watch)
{
    if (!watch)
        return;
    if (watch->request)
        http_request_cancel(watch->request);
    loop_timer_release(&watch->reconnect);
    order_sender_free(watch->orders);
    mycnf_sender_free(watch->mycnf);
    mycnf_sender_free(watch->preview);
    backup_sender_free(watch->backup);
    backup_sender_free(watch->restore);
    task_sender_free(watch->archive);
    task_sender_free(watch->check);
    task_sender_free(watch->purge);
    strbuf_release(&watch->line);
    agent_target_release(&watch->target);
    free(watch->status);
    free(watch);
}

bool agent_watch_read_status(const struct agent_watch *watch, struct position_pool *positions, struct agent_status *ret)
{
    struct error err = ERROR_INIT; /* it was decoded before */
    if (!watch->status || agent_status_decode(watch->status, watch->status_len, positions, ret, &err) < 0)
        return false;
    ret->binlogs_from_ms = MIN_OF(ret->binlogs_from_ms, watch->binlogs_heard_ms);
    return true;
}

bool agent_watch_connected(const struct agent_watch *watch)
{
    return watch->spoke;
}

bool agent_watch_tried(const struct agent_watch *watch)
{
    return watch->tried;
}

int64_t agent_watch_age_ms(const struct agent_watch *watch)
{
    return loop_now_ms(watch->loop) - watch->last_word_ms;
}

const char *agent_watch_error(const struct agent_watch *watch)
{
    return watch->spoke ? "" : watch->failure.message;
}

bool agent_watch_has_address(const struct agent_watch *watch, const char *address)
{
    return str_eq(watch->target.address, address);
}

bool agent_watch_is_for(const struct agent_watch *watch, const char *uid)
{
    return str_eq(watch->target.uid, uid);
}

bool agent_watch_same_target(const struct agent_watch *watch, const struct agent_target *target)
{
    return agent_target_same(&watch->target, target);
}

void agent_watch_order(struct agent_watch *watch, const struct agent_order *order)
{
    order_sender_want(watch->orders, order);
}

void agent_watch_repeat_order(struct agent_watch *watch, bool repeat)
{
    order_sender_repeat(watch->orders, repeat);
}

const char *agent_watch_order_error(const struct agent_watch *watch)
{
    return order_sender_error(watch->orders);
}

bool agent_watch_order_refused(const struct agent_watch *watch, uint64_t *ret_epoch)
{
    return order_sender_refused(watch->orders, ret_epoch);
}

void agent_watch_mycnf(struct agent_watch *watch, const char *hash, const char *text)
{
    mycnf_sender_want(watch->mycnf, hash, text);
}

enum mycnf_verdict agent_watch_mycnf_verdict(const struct agent_watch *watch, const char *hash, const char **ret_text)
{
    return mycnf_sender_verdict(watch->mycnf, hash, ret_text);
}

void agent_watch_preview(struct agent_watch *watch, const char *hash, const char *text)
{
    mycnf_sender_want(watch->preview, hash, text);
}

enum mycnf_verdict agent_watch_preview_verdict(const struct agent_watch *watch, const char *hash)
{
    const char *unused;
    return mycnf_sender_verdict(watch->preview, hash, &unused);
}

struct backup_sender *agent_watch_backup(const struct agent_watch *watch)
{
    return watch->backup;
}

struct backup_sender *agent_watch_restore(const struct agent_watch *watch)
{
    return watch->restore;
}

struct task_sender *agent_watch_check(const struct agent_watch *watch)
{
    return watch->check;
}

struct task_sender *agent_watch_purge(const struct agent_watch *watch)
{
    return watch->purge;
}

struct task_sender *agent_watch_archive(const struct agent_watch *watch)
{
    return watch->archive;
}
