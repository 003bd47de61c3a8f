/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/source_watch.h"

#include "agent/mysql/row_value.h"
#include "agent/role_decide.h"
#include "common/agent_api.h"
#include "common/agent_identity.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/gtid.h"
#include "common/http_client.h"
#include "common/strbuf.h"

#define ASK_TIMEOUT_MS 2000
/* Two of its beats have not been seen, and the source has something to send. */
#define RESTS_MS 2500
#define URL_MAX (size_t)(2 * KM_KIB)

struct source_watch {
    struct loop *loop;
    struct instance_state *state;
    void (*fn)(void *arg);
    void *arg;
    struct http_client *client;
    struct http_tls *tls;
    struct http_request *request;
    struct loop_timer timer;
    char host[AGENT_HOST_SIZE];
    char pod[AGENT_POD_NAME_SIZE]; /* of that name; "" the host is an address */
    uint32_t port;
    int64_t asked_us; /* by the wall clock */
    int64_t asked_ms;
    const char *own;                     /* executed here at own_ms; "" not known */
    struct position_pool *own_positions; /* holds it */
    int64_t own_ms;
};

void source_watch_errant(enum agent_flavour flavour, const char *own, const char *theirs, char *ret, size_t size)
{
    enum gtid_flavour kind = agent_gtid_flavour(flavour);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    ret[0] = '\0';
    _cleanup_(gtid_set_freep) struct gtid_set *a = position_parse(kind, own);
    _cleanup_(gtid_set_freep) struct gtid_set *b = position_parse(kind, theirs);
    if (!a || !b)
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *more = gtid_set_subtract(a, b);
    gtid_set_print(more, &text);
    row_value_copy(ret, size, text.buf);
}

bool source_watch_is_calm(const struct agent_status *theirs)
{
    if (theirs->looked_ms && theirs->clock_ms - theirs->looked_ms > SOURCE_LOOK_MS)
        return false;
    return theirs->phase == AGENT_PHASE_RUNNING && theirs->writes_blocked_ms == 0 && theirs->stalled_ms == 0;
}

/* An agent goes on answering while its server hangs: what counts is when that was asked. */
bool source_watch_proves(const struct agent_status *theirs, int64_t asked_ms, int64_t own_ms)
{
    return !str_empty(theirs->gtid_executed) && source_watch_is_calm(theirs) &&
        catch_up_read_ms(theirs, asked_ms) - own_ms >= SOURCE_JUDGE_MS;
}

static void forget_own(struct source_watch *watch)
{
    watch->own = "";
    position_pool_unref(steal_ptr(watch->own_positions));
}

bool source_watch_take(struct instance_state *state, const struct agent_status *theirs, struct position_pool *positions,
    const char *own, int64_t own_ms, int64_t asked_ms, int64_t offset_us)
{
    struct source_view *view = &state->source;

    catch_up_heard(&state->catch_up, theirs, positions, asked_ms);
    view->known = true;
    view->clock_ms = theirs->clock_ms;
    view->offset_us = offset_us;
    memcpy(view->accounts_hash, theirs->accounts_hash, sizeof(view->accounts_hash));
    view->epoch = theirs->epoch;
    view->is_primary = theirs->role == AGENT_ROLE_PRIMARY;
    view->is_open = view->is_primary && ((theirs->order_done && theirs->writable) || theirs->closed_for_room);
    view->takes_no_writes = theirs->closed_for_room && !theirs->open_for_root;
    view->others_have_room = !theirs->semi_sync || theirs->roomy_replicas >= MAX_OF(theirs->semi_sync_acks, 1U);
    /* One that has yet to be opened may still have to execute what we have. */
    if (!source_watch_is_calm(theirs) || role_awaits_source(state))
        return true; /* read anew */
    if (str_empty(own) || !source_watch_proves(theirs, asked_ms, own_ms))
        return false;
    source_watch_errant(state->observed.version.flavour, own, theirs->gtid_executed, view->errant, sizeof(view->errant));
    return true;
}

static void judge(struct source_watch *watch, const struct agent_status *theirs, struct position_pool *positions)
{
    int64_t middle_us = watch->asked_us + (clock_realtime_us() - watch->asked_us) / 2;

    if (source_watch_take(watch->state, theirs, positions, watch->own, watch->own_ms, watch->asked_ms,
            theirs->now_ms * 1000 - middle_us))
        forget_own(watch);
}

/* The next question looks the name up again. */
void source_watch_hear(struct source_watch *watch, const struct agent_status *theirs, struct position_pool *positions)
{
    if (agent_identity_is(watch->pod, NULL, theirs->instance, NULL)) {
        judge(watch, theirs, positions);
        return;
    }
    error_set(&watch->state->source.error, ERROR_CONFLICT, "where %s should be, the agent of %s answers", watch->pod,
        theirs->instance);
    http_client_drop_idle(watch->client);
}

int64_t source_watch_pause_ms(const struct instance_state *state)
{
    bool told = state->source.is_primary && state->source.epoch >= state->role.order.epoch;

    if (role_awaits_source(state))
        return told ? SOURCE_ASK_OPENING_MS : SOURCE_ASK_BEFORE_MS;
    bool is_low = volume_room_is_low(state->room.free_bytes, state->room.bytes, state->room.is_short);
    const struct stream_view *stream = &state->stream;
    bool rests = stream->even_ms && stream->observed_ms - stream->even_ms <= RESTS_MS;
    return state->catch_up.up && !is_low && !rests ? SOURCE_ASK_MS : SOURCE_ASK_SOON_MS;
}

bool source_watch_hears_beats(const struct replication_facts *facts)
{
    return facts->configured && facts->source_beat_ms == SOURCE_BEAT_MS && position_is_whole(facts->gtid_received);
}

static void rearm(struct source_watch *watch)
{
    if (str_empty(watch->own)) {
        forget_own(watch);
        watch->own = watch->state->replication.gtid_executed;
        watch->own_positions = position_pool_ref(watch->state->replication.positions);
        watch->own_ms = clock_monotonic_ms();
    }
    loop_timer_arm(&watch->timer, source_watch_pause_ms(watch->state));
}

static void on_answer(void *arg, const struct http_response *response, const struct error *err)
{
    struct source_watch *watch = arg;
    struct source_view *view = &watch->state->source;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
    struct agent_status status = {0};

    watch->request = NULL;
    error_clear(&view->error);
    if (err) {
        view->error = *err;
        http_client_drop_idle(watch->client);
    } else if (response->status != 200)
        error_set(&view->error, ERROR_UNAVAILABLE, "the source's agent answers %d", response->status);
    else if (agent_status_decode(response->body, response->body_len, positions, &status, &view->error) == 0)
        source_watch_hear(watch, &status, positions);
    rearm(watch);
    if (watch->fn)
        watch->fn(watch->arg);
}

static void on_timer(void *arg)
{
    struct source_watch *watch = arg;

    if (watch->request || !*watch->host)
        return;
    if (!watch->tls) {
        rearm(watch);
        return;
    }
    _cleanup_(strbuf_release) struct strbuf url;
    strbuf_init(&url, URL_MAX);
    strbuf_addf(&url, "https://%s:%u/v1/status?from=%s&asOf=%lld&room=%s%s&lag=%s&again=%lld", watch->host, watch->port,
        str_or_empty(watch->state->instance), (long long)watch->state->source.clock_ms,
        watch->state->room.is_short ? "short" : "enough", watch->state->room.is_last ? "&floor=last" : "",
        source_watch_hears_beats(&watch->state->replication) ? "stream" : "row",
        (long long)source_watch_pause_ms(watch->state));
    agent_identity_add(&url, watch->pod, NULL);
    struct http_request_options options = {
        .method = "GET",
        .url = url.buf,
        .tls = watch->tls,
        .timeout_ms = ASK_TIMEOUT_MS,
        .max_body = AGENT_STATUS_MAX + 1,
        .done = on_answer,
        .arg = watch,
    };
    watch->asked_us = clock_realtime_us();
    watch->asked_ms = clock_monotonic_ms();
    watch->request = http_client_start(watch->client, &options);
}

struct source_watch *source_watch_new(struct loop *loop, struct instance_state *state, void (*fn)(void *arg), void *arg)
{
    struct source_watch *watch = xnew(struct source_watch);

    watch->loop = loop;
    watch->state = state;
    watch->fn = fn;
    watch->arg = arg;
    watch->client = http_client_new(loop);
    loop_timer_init(&watch->timer, loop, on_timer, watch);
    return watch;
}

void source_watch_free(struct source_watch *watch)
{
    if (!watch)
        return;
    loop_timer_release(&watch->timer);
    http_client_free(watch->client);
    http_tls_unref(watch->tls);
    forget_own(watch);
    free(watch);
}

void source_watch_set_tls(struct source_watch *watch, const struct tls_keypair *pair, const char *ca_pem)
{
    struct http_tls_options options = {.ca_pem = ca_pem, .cert_pem = pair->cert_pem, .key_pem = pair->key_pem};

    http_tls_unref(watch->tls);
    watch->tls = http_tls_new(&options);
    http_client_drop_idle(watch->client);
}

void source_watch_forget(struct instance_state *state, bool nobody)
{
    struct source_view fresh = {0};

    if (nobody && state->role.order.role != AGENT_ROLE_PRIMARY)
        memcpy(fresh.errant, state->source.errant, sizeof(fresh.errant));
    state->source = fresh;
}

void source_watch_set(struct source_watch *watch, const char *host, uint32_t port)
{
    if (strcmp(watch->host, host) == 0 && watch->port == port)
        return;
    if (watch->request)
        http_request_cancel(steal_ptr(watch->request));
    snprintf(watch->host, sizeof(watch->host), "%s", host);
    agent_identity_of_host(host, watch->pod);
    watch->port = port;
    http_client_drop_idle(watch->client); /* an idle connection may lead to where that member was before */
    source_watch_forget(watch->state, *host == '\0');
    forget_own(watch);
    if (*host)
        catch_up_other_source(&watch->state->catch_up);
    loop_timer_arm(&watch->timer, 0);
}
