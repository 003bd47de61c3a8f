/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/leader_elector.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "operator/kube/informer.h"
#include "operator/kube/lease.h"
#include "operator/kube/lease_guard.h"

#define RELEASE_RETRY_MS 100
/* Conflicts that are read and tried again at once; further ones wait for the retry period, whoever fights with us. */
#define CONFLICTS_AT_ONCE 3
/* Standbys that see a lease expire at the same moment spread over this part of the retry period. */
#define JITTER_PERCENT 20

enum state { STATE_NEW, STATE_STANDBY, STATE_LEADER, STATE_RELEASING, STATE_ENDED };

/* The lease as we last saw it, by whatever way. */
struct view {
    bool known; /* we have looked at least once */
    bool exists;
    char *resource_version;
    char *holder;
    int64_t promise_ms;
    int64_t transitions;
    uint64_t record;
    int64_t changed_ms; /* our monotonic clock when we saw the record change */
};

struct leader_elector {
    struct loop *loop;
    struct kube_client *client;
    struct kube_resource resource;
    struct leader_elector_options options;                         /* strings are ours */
    int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms; /* stretched */
    bool unanswered;  /* a request was given up since the last write that went through */
    int64_t quick_ms; /* since when the API server answers quickly; 0: it does not */
    char *field_selector;
    enum state state;
    struct view view;
    bool fresh; /* the view comes from an answer or event just now, not from memory */
    struct informer *informer;
    struct kube_request *request;
    int64_t request_started_ms;
    int64_t request_started_guard_ms; /* the same, by the guard's clock */
    int conflicts;
    int64_t deadline_ms; /* of our leadership, unless renewed */
    struct lease_guard *guard;
    uint64_t random_state;
    struct loop_timer step_timer;     /* next attempt */
    struct loop_timer request_timer;  /* gives up the request in flight */
    struct loop_timer deadline_timer; /* end of leadership, or of the release */
    void (*released)(void *arg);
    void *released_arg;
};

static void elector_step(struct leader_elector *elector);
static void elector_read(struct leader_elector *elector);

/* ---- how long ------------------------------------------------------------------------------------------------- */

static void take_durations(struct leader_elector *elector)
{
    const struct leader_elector_options *options = &elector->options;
    elector->lease_duration_ms = options->lease_duration_ms * options->stretch;
    elector->renew_deadline_ms = options->renew_deadline_ms * options->stretch;
    elector->retry_period_ms = options->retry_period_ms * options->stretch;
}

static void elector_stretch(struct leader_elector *elector, unsigned stretch)
{
    if (stretch < 1 || stretch > LEADER_STRETCH_MAX)
        return;
    bool longer = stretch > elector->options.stretch;
    elector->options.stretch = stretch;
    take_durations(elector);
    if (longer)
        log_warn("the API server answers too slowly for the lease: it is asked for longer from now on",
            LOG_STR("lease", elector->options.name), LOG_INT("leaseMs", elector->lease_duration_ms),
            LOG_STR("remedy", "raise --lease-duration, --renew-deadline and --retry-period if it stays so"));
    else
        log_info("the API server answers quickly again: the lease is asked for shorter from now on",
            LOG_STR("lease", elector->options.name), LOG_INT("leaseMs", elector->lease_duration_ms));
    if (elector->options.stretched)
        elector->options.stretched(elector->options.arg, stretch);
}

/* A renewal has gone through. */
static void elector_relax(struct leader_elector *elector, int64_t now_ms)
{
    elector->unanswered = false;
    if (now_ms - elector->request_started_ms >= elector->options.renew_deadline_ms / 4)
        elector->quick_ms = 0;
    else if (elector->quick_ms == 0)
        elector->quick_ms = now_ms;
    if (elector->options.stretch == 1 || elector->quick_ms == 0 || now_ms - elector->quick_ms < LEADER_RELAX_MS)
        return;
    elector->quick_ms = now_ms;
    elector_stretch(elector, elector->options.stretch / 2);
}

/* ---- the view ------------------------------------------------------------------------------------------------- */

static void view_gone(struct leader_elector *elector)
{
    elector->view.known = true;
    elector->view.exists = false;
    elector->fresh = true;
}

static void view_update(struct leader_elector *elector, const struct lease *lease)
{
    struct view *view = &elector->view;
    bool new_holder = !str_eq(str_or_empty(view->holder), lease->holder) && *lease->holder;
    if (!view->known || !view->exists || view->record != lease->record)
        view->changed_ms = clock_monotonic_ms();
    view->known = view->exists = true;
    view->record = lease->record;
    view->promise_ms = lease->duration_ms;
    view->transitions = lease->transitions;
    str_replace(&view->resource_version, lease->object.resource_version);
    str_replace(&view->holder, lease->holder);
    elector->fresh = true;
    if (new_holder && elector->options.new_leader)
        elector->options.new_leader(elector->options.arg, lease->holder);
}

static int view_update_from(struct leader_elector *elector, struct json_slice object)
{
    struct error err = ERROR_INIT;
    struct kube_object *base = lease_projection.project(object, &err);
    if (!base) {
        log_warn("lease is not readable", LOG_STR("lease", elector->options.name), LOG_ERR(&err));
        return -1;
    }
    view_update(elector, container_of(base, struct lease, object));
    free(base);
    return 0;
}

static bool view_is_ours(const struct leader_elector *elector)
{
    return elector->view.exists && str_eq(elector->view.holder, elector->options.identity);
}

/* When somebody else's lease is up by our clock: by the longer of what we were told and what the holder promised. */
static int64_t view_expires_ms(const struct leader_elector *elector)
{
    return elector->view.changed_ms + MAX_OF(elector->lease_duration_ms, elector->view.promise_ms);
}

static bool view_is_free(const struct leader_elector *elector)
{
    return !elector->view.exists || str_empty(elector->view.holder) || view_is_ours(elector);
}

/* ---- beginnings and ends -------------------------------------------------------------------------------------- */

static void elector_cancel_request(struct leader_elector *elector)
{
    loop_timer_cancel(&elector->request_timer);
    if (elector->request)
        kube_request_cancel(steal_ptr(elector->request));
}

static void elector_stop_all(struct leader_elector *elector)
{
    elector_cancel_request(elector);
    loop_timer_cancel(&elector->step_timer);
    loop_timer_cancel(&elector->deadline_timer);
    informer_free(steal_ptr(elector->informer));
}

/* The last thing done in any callback: the owner may free us inside. */
static void elector_lost(struct leader_elector *elector, const char *why)
{
    log_error("leadership lost", LOG_STR("lease", elector->options.name), LOG_STR("reason", why),
        LOG_STR("holder", elector->view.holder));
    elector_stop_all(elector);
    elector->state = STATE_ENDED;
    if (elector->unanswered)
        elector_stretch(elector, 2 * elector->options.stretch);
    elector->options.stopped_leading(elector->options.arg);
}

static void elector_released(struct leader_elector *elector)
{
    elector_stop_all(elector);
    elector->state = STATE_ENDED;
    elector->released(elector->released_arg);
}

static void elector_won(struct leader_elector *elector)
{
    log_info("leading", LOG_STR("lease", elector->options.name), LOG_STR("identity", elector->options.identity));
    elector->state = STATE_LEADER;
    informer_free(steal_ptr(elector->informer));
    elector->options.started_leading(elector->options.arg);
}

static void on_deadline(void *arg)
{
    struct leader_elector *elector = arg;
    if (elector->state == STATE_LEADER) {
        elector_lost(elector, "not renewed in time");
        return;
    }
    if (view_is_ours(elector))
        log_warn("lease could not be given back in time", LOG_STR("lease", elector->options.name));
    elector_released(elector);
}

/* ---- requests ------------------------------------------------------------------------------------------------- */

/* Later again. A leader hurries: its deadline is running. */
static void elector_retry(struct leader_elector *elector)
{
    int64_t period_ms = elector->retry_period_ms;
    int64_t delay_ms = period_ms / 2;
    if (elector->state == STATE_RELEASING)
        delay_ms = RELEASE_RETRY_MS;
    else if (elector->state == STATE_STANDBY)
        delay_ms =
            period_ms + (int64_t)(random_next(&elector->random_state) % (uint64_t)period_ms) * JITTER_PERCENT / 100;
    loop_timer_arm(&elector->step_timer, delay_ms);
}

static void on_request_slow(void *arg)
{
    struct leader_elector *elector = arg;
    log_warn("lease request gets no answer", LOG_STR("lease", elector->options.name));
    elector->unanswered = true;
    elector_cancel_request(elector);
    elector_retry(elector);
}

/* Before the request is made: time in which we may be stopped counts against us. */
static void elector_note_start(struct leader_elector *elector)
{
    elector->request_started_ms = clock_monotonic_ms();
    elector->request_started_guard_ms = lease_guard_now_ms();
}

static void elector_started_request(struct leader_elector *elector, struct kube_request *request)
{
    elector->request = request;
    loop_timer_cancel(&elector->step_timer);
    loop_timer_arm(&elector->request_timer, elector->renew_deadline_ms / 2);
}

static void elector_request_ended(struct leader_elector *elector)
{
    elector->request = NULL;
    loop_timer_cancel(&elector->request_timer);
}

static void elector_request_failed(struct leader_elector *elector, const struct error *err)
{
    log_warn("lease request failed", LOG_STR("lease", elector->options.name), LOG_ERR(err));
    elector->unanswered |= err->kind == ERROR_TIMEOUT;
    if (err->kind == ERROR_TIMEOUT && elector->state == STATE_LEADER)
        loop_timer_arm(&elector->step_timer, 0); /* waited long enough */
    else
        elector_retry(elector);
}

static void on_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct leader_elector *elector = arg;
    elector_request_ended(elector);
    if (err && err->kind != ERROR_NOT_FOUND) {
        elector_request_failed(elector, err);
        return;
    }
    if (err)
        view_gone(elector);
    else if (view_update_from(elector, answer->raw) < 0) {
        elector_retry(elector);
        return;
    }
    elector_step(elector);
}

static void elector_read(struct leader_elector *elector)
{
    elector_note_start(elector);
    elector_started_request(elector,
        kube_get(elector->client, &elector->resource, elector->options.ns, elector->options.name, on_read, elector));
}

/* In the middle between our own deadline, which leaves time for a decent end, and the moment from which others may
 * lead. */
static void elector_guard(struct leader_elector *elector)
{
    const struct leader_elector_options *options = &elector->options;
    if (!options->guard)
        return;
    if (!elector->guard)
        elector->guard = lease_guard_new(options->expired);
    if (elector->guard)
        lease_guard_set(elector->guard,
            elector->request_started_guard_ms + (elector->renew_deadline_ms + elector->lease_duration_ms) / 2);
}

/* The write went through: it counts from the moment we sent it, which is before anybody can have seen it. */
static void elector_written(struct leader_elector *elector)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t deadline_ms = elector->request_started_ms + elector->renew_deadline_ms;
    elector->conflicts = 0;
    if (elector->state == STATE_RELEASING) {
        elector_released(elector);
        return;
    }
    if (elector->state == STATE_LEADER && now_ms >= elector->deadline_ms) {
        elector_lost(elector, "renewed too late");
        return;
    }
    if (now_ms >= deadline_ms) { /* won, but so slowly that it is worth nothing */
        elector_stretch(elector, 2 * elector->options.stretch);
        elector_retry(elector);
        return;
    }
    elector->deadline_ms = deadline_ms;
    elector_guard(elector);
    loop_timer_arm(&elector->deadline_timer, deadline_ms - now_ms);
    int64_t next_ms = elector->request_started_ms + elector->retry_period_ms;
    loop_timer_arm(&elector->step_timer, MAX_OF(next_ms - now_ms, 0));
    elector_relax(elector, now_ms); /* from the next renewal on */
    if (elector->state == STATE_STANDBY)
        elector_won(elector);
}

static void on_write(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct leader_elector *elector = arg;
    elector_request_ended(elector);
    if (!err) {
        if (view_update_from(elector, answer->raw) < 0)
            elector_retry(elector);
        else
            elector_written(elector);
        return;
    }
    bool outdated = err->kind == ERROR_CONFLICT || err->kind == ERROR_EXISTS || err->kind == ERROR_NOT_FOUND;
    if (outdated && elector->conflicts++ < CONFLICTS_AT_ONCE) {
        elector_read(elector);
        return;
    }
    elector->conflicts = 0;
    elector->view.known = elector->view.known && !outdated;
    elector_request_failed(elector, err);
}

static void elector_write(struct leader_elector *elector)
{
    const struct view *view = &elector->view;
    bool release = elector->state == STATE_RELEASING;
    bool acquire = !view_is_ours(elector) && !release;
    const struct lease_write write = {
        .ns = elector->options.ns,
        .name = elector->options.name,
        .resource_version = view->exists ? view->resource_version : NULL,
        .holder = release ? "" : elector->options.identity,
        .duration_ms = release ? 1000 : elector->lease_duration_ms,
        .transitions = view->exists ? view->transitions + acquire : 0,
        .now_us = clock_realtime_us(),
        .acquired = acquire,
    };
    json_t *body = lease_encode(&write, &elector->resource);
    struct kube_request *request;
    elector_note_start(elector);
    if (view->exists)
        request = kube_patch(
            elector->client, &elector->resource, write.ns, write.name, NULL, KUBE_PATCH_MERGE, body, on_write, elector);
    else
        request = kube_create(elector->client, &elector->resource, write.ns, body, on_write, elector);
    json_decref(body);
    elector_started_request(elector, request);
}

/* ---- what to do now ------------------------------------------------------------------------------------------- */

static void elector_wait_for_expiry(struct leader_elector *elector)
{
    uint64_t spread_ms = (uint64_t)(elector->retry_period_ms * JITTER_PERCENT / 100) + 1;
    int64_t jitter_ms = (int64_t)(random_next(&elector->random_state) % spread_ms);
    int64_t wait_ms = view_expires_ms(elector) - clock_monotonic_ms();
    loop_timer_arm(&elector->step_timer, MAX_OF(wait_ms, 0) + jitter_ms);
}

static void standby_step(struct leader_elector *elector, bool fresh)
{
    bool expired = clock_monotonic_ms() >= view_expires_ms(elector);
    if (!elector->view.known)
        elector_read(elector);
    else if (view_is_free(elector))
        elector_write(elector);
    else if (!expired)
        elector_wait_for_expiry(elector);
    else if (!fresh) /* our watch may have missed a renewal: look before taking */
        elector_read(elector);
    else
        elector_write(elector);
}

static void leader_step(struct leader_elector *elector)
{
    if (clock_monotonic_ms() >= elector->deadline_ms)
        elector_lost(elector, "not renewed in time");
    else if (elector->view.exists && !view_is_ours(elector))
        elector_lost(elector, "somebody else holds the lease");
    else
        elector_write(elector);
}

static void releasing_step(struct leader_elector *elector, bool fresh)
{
    if (!fresh)
        elector_read(elector);
    else if (view_is_ours(elector))
        elector_write(elector);
    else
        elector_released(elector);
}

static void elector_step(struct leader_elector *elector)
{
    bool fresh = elector->fresh;
    elector->fresh = false;
    if (elector->request)
        return; /* its answer brings us here again */
    if (elector->state == STATE_STANDBY)
        standby_step(elector, fresh);
    else if (elector->state == STATE_LEADER)
        leader_step(elector);
    else if (elector->state == STATE_RELEASING)
        releasing_step(elector, fresh);
}

static void on_step_timer(void *arg)
{
    struct leader_elector *elector = arg;
    elector->fresh = false;
    elector_step(elector);
}

/* Never starts from inside the informer's call: winning frees it. */
static void on_lease_changed(void *arg, const struct kube_object *old_object, const struct kube_object *new_object)
{
    struct leader_elector *elector = arg;
    UNUSED(old_object);
    if (new_object)
        view_update(elector, container_of(new_object, const struct lease, object));
    else
        view_gone(elector);
    if (elector->state == STATE_STANDBY)
        elector_step(elector);
}

/* ---- public --------------------------------------------------------------------------------------------------- */

struct leader_elector *leader_elector_new(struct loop *loop, struct kube_client *client,
    const struct kube_resource *lease, const struct leader_elector_options *options)
{
    struct leader_elector *elector = xnew(struct leader_elector);
    elector->loop = loop;
    elector->client = client;
    elector->resource = *lease;
    elector->options = *options;
    elector->options.ns = xstrdup(options->ns);
    elector->options.name = xstrdup(options->name);
    elector->options.identity = xstrdup(options->identity);
    if (!options->lease_duration_ms)
        elector->options.lease_duration_ms = LEADER_LEASE_DURATION_MS;
    if (!options->renew_deadline_ms)
        elector->options.renew_deadline_ms = LEADER_RENEW_DEADLINE_MS;
    if (!options->retry_period_ms)
        elector->options.retry_period_ms = LEADER_RETRY_PERIOD_MS;
    elector->options.stretch = MIN_OF(MAX_OF(options->stretch, 1U), LEADER_STRETCH_MAX);
    take_durations(elector);
    elector->field_selector = xasprintf("metadata.name=%s", options->name);
    elector->random_state = random_seed();
    loop_timer_init(&elector->step_timer, loop, on_step_timer, elector);
    loop_timer_init(&elector->request_timer, loop, on_request_slow, elector);
    loop_timer_init(&elector->deadline_timer, loop, on_deadline, elector);
    return elector;
}

void leader_elector_start(struct leader_elector *elector)
{
    const struct informer_options options = {
        .field_selector = elector->field_selector,
        .ns = elector->options.ns,
    };
    elector->state = STATE_STANDBY;
    elector->informer = informer_new(elector->loop, elector->client, &elector->resource, &lease_projection, &options);
    informer_add_handler(elector->informer, on_lease_changed, elector);
    informer_start(elector->informer);
    elector_step(elector);
}

void leader_elector_release(struct leader_elector *elector, void (*done)(void *arg), void *arg)
{
    bool leader = elector->state == STATE_LEADER;
    bool unsure = elector->request != NULL; /* a write may or may not have arrived: only a look tells */
    elector->released = done;
    elector->released_arg = arg;
    elector_stop_all(elector);
    elector->state = STATE_RELEASING;
    if (!leader && !unsure) {
        loop_timer_arm(&elector->deadline_timer, 0);
        return;
    }
    loop_timer_arm(&elector->deadline_timer, elector->renew_deadline_ms);
    elector->fresh = !unsure;
    elector_step(elector);
}

bool leader_elector_is_leader(const struct leader_elector *elector)
{
    return elector && elector->state == STATE_LEADER && clock_monotonic_ms() < elector->deadline_ms;
}

void leader_elector_free(struct leader_elector *elector)
{
    if (!elector)
        return;
    elector_stop_all(elector);
    lease_guard_free(elector->guard);
    loop_timer_release(&elector->step_timer);
    loop_timer_release(&elector->request_timer);
    loop_timer_release(&elector->deadline_timer);
    free(elector->view.resource_version);
    free(elector->view.holder);
    free(elector->field_selector);
    free((char *)(uintptr_t)elector->options.ns);
    free((char *)(uintptr_t)elector->options.name);
    free((char *)(uintptr_t)elector->options.identity);
    free(elector);
}
