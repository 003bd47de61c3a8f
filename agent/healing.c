/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/healing.h"

#include "agent/bootstrap/start_mode.h"
#include "agent/put_back.h"
#include "agent/role_decide.h"
#include "agent/role_lane.h"
#include "agent/salvage.h"
#include "agent/set_aside.h"
#include "agent/set_aside_judge.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/worker.h"

struct healing {
    struct loop *loop;
    const struct agent_paths *paths;
    struct instance_state *state;
    void (*changed)(void *arg);
    void *arg;
    struct worker *files; /* small ones, and the look at what is there */
    struct worker *aside; /* copies that take seconds */
    struct http_tls *tls;
    struct set_aside_judge *judge;
    struct salvage_fetch *fetch;
    struct loop_timer reap; /* a fetch that is done is freed outside of its own callback */
    bool setting_aside;
    bool filing;     /* `files` writes the mark of a semi-sync primary */
    uint64_t marked; /* the epoch in it, 0: it is not there */
    char *fetched;   /* state->healing.fetched */
    bool look_again; /* at what is set aside: a server has started since */
    bool is_reseed;  /* what the mark on the volume was at the last turn */
};

static void on_change(struct healing *healing)
{
    if (healing->changed)
        healing->changed(healing->arg);
}

/* ---- set aside ---- */

struct aside {
    struct healing *healing;
    struct agent_order order;
    enum agent_flavour flavour;
    char errant[256];
    struct agent_set_asides sets;
    struct error error;
    void (*fn)(void *arg, const struct error *error);
    void *arg;
};

bool healing_must_set_aside(const struct healing *healing, const struct agent_order *order)
{
    const struct role_state *role = &healing->state->role;

    return order->mark == AGENT_MARK_RESEED && order->set_aside && role->mark != AGENT_MARK_RESEED &&
        order->epoch >= role->epoch;
}

static void run_aside(void *arg)
{
    struct aside *aside = arg;
    struct set_aside_wish wish = {
        .paths = aside->healing->paths,
        .flavour = aside->flavour,
        .epoch = aside->order.epoch,
        .errant = aside->errant,
        .reason = "the data is to be replaced by a copy of the primary's",
    };

    error_clear(&aside->error);
    if (set_aside_make(&wish, &aside->sets, &aside->error) < 0)
        error_prefix(&aside->error, "setting transactions aside");
}

static void finish_aside(void *arg)
{
    struct aside *aside = arg;
    struct healing *healing = aside->healing;
    struct healing_state *state = &healing->state->healing;

    healing->setting_aside = false;
    state->set_aside_error = aside->error;
    if (aside->error.kind == ERROR_NONE)
        state->set_aside = aside->sets;
    else
        log_warn("the data is kept: what it alone holds could not be set aside", LOG_ERR(&aside->error));
    aside->fn(aside->arg, &aside->error);
    free(aside);
    on_change(healing);
}

void healing_set_aside(struct healing *healing, const struct agent_order *order,
    void (*fn)(void *arg, const struct error *error), void *arg)
{
    struct instance_state *state = healing->state;
    struct error busy = ERROR_INIT;

    if (healing->setting_aside) {
        error_set(&busy, ERROR_UNAVAILABLE, "transactions are being set aside");
        fn(arg, &busy);
        return;
    }
    struct aside *aside = xnew(struct aside);
    struct worker_job job = {.run = run_aside, .done = finish_aside, .arg = aside};
    *aside = (struct aside){.healing = healing, .order = *order, .fn = fn, .arg = arg};
    aside->flavour = state->observed.version.flavour;
    replication_errant_position(&state->replication, aside->errant, sizeof(aside->errant));
    if (*state->source.errant)
        snprintf(aside->errant, sizeof(aside->errant), "%s", state->source.errant);
    if (*state->replication.self_written)
        snprintf(aside->errant, sizeof(aside->errant), "%s", state->replication.self_written);
    error_set(&aside->error, ERROR_CANCELLED, "the agent ends");
    healing->setting_aside = true;
    if (worker_submit(healing->aside, &job) < 0)
        abort(); /* one at a time */
}

/* ---- files: the mark of a semi-sync primary, the word for a start ---- */

struct filing {
    struct healing *healing;
    struct agent_order order;
    char beyond[START_MODE_BEYOND_SIZE]; /* of the order, whose own text may go before the job is done */
    bool decide;                         /* how the server is started */
    bool mark;                           /* write the mark */
    uint64_t epoch;
    struct error error;
    struct agent_set_asides set_aside;
    struct error put_back;
};

static void run_filing(void *arg)
{
    struct filing *filing = arg;
    const struct agent_paths *paths = filing->healing->paths;
    struct start_mode mode;

    error_clear(&filing->error);
    if (filing->mark)
        (void)(start_mode_mark_primary(paths, filing->epoch, &filing->error) == 0);
    if (filing->decide && start_mode_decide(&filing->order, start_mode_primary(paths), &mode))
        (void)(start_mode_write(paths, &mode, &filing->error) == 0);
    else if (filing->decide && start_mode_read(paths, &mode) && start_mode_is_withdrawn(&filing->order, &mode))
        start_mode_clear(paths);
    set_aside_list(paths, &filing->set_aside);
    put_back_failure(paths, &filing->put_back);
}

static void finish_filing(void *arg)
{
    struct filing *filing = arg;
    struct healing *healing = filing->healing;

    if (filing->mark) {
        healing->filing = false;
        if (filing->error.kind == ERROR_NONE)
            healing->marked = filing->epoch;
    }
    if (filing->error.kind != ERROR_CANCELLED)
        healing->state->healing.put_back_error = filing->put_back;
    if (filing->error.kind == ERROR_NONE)
        healing->state->healing.set_aside = filing->set_aside;
    else if (filing->error.kind != ERROR_CANCELLED)
        log_warn("how the server is to be started cannot be noted", LOG_ERR(&filing->error));
    free(filing);
    on_change(healing);
}

static void submit(struct healing *healing, const struct filing *what)
{
    struct filing *filing = xnew(struct filing);
    struct worker_job job = {.run = run_filing, .done = finish_filing, .arg = filing};

    *filing = *what;
    filing->healing = healing;
    filing->order.beyond = filing->beyond;
    error_set(&filing->error, ERROR_CANCELLED, "the agent ends");
    if (filing->mark)
        healing->filing = true;
    if (worker_submit(healing->files, &job) == 0)
        return;
    if (filing->mark)
        healing->filing = false; /* the next turn tries again */
    free(filing);
}

/* One acknowledged commit says that all before it are acknowledged too. */
static bool is_semi_sync_primary(const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    const struct replication_facts *facts = &state->replication;

    return state->observed.version.flavour == AGENT_FLAVOUR_MARIADB && role->has_order && role->opened &&
        role->order.role == AGENT_ROLE_PRIMARY && role->order.semi_sync && facts->seen && !facts->read_only &&
        facts->semi_sync_source && facts->acknowledged > 0;
}

static bool is_none(const struct instance_state *state)
{
    const struct role_state *role = &state->role;

    if (!role->has_order)
        return false;
    if (role->order.role == AGENT_ROLE_PRIMARY)
        return !role->order.semi_sync;
    return state->replication.seen && state->replication.read_only && !role->was_open;
}

bool healing_wants_mark(const struct instance_state *state, uint64_t marked, uint64_t *ret_epoch)
{
    *ret_epoch = 0;
    if (is_semi_sync_primary(state))
        *ret_epoch = state->role.order.epoch;
    else if (!is_none(state))
        return false;
    return *ret_epoch != marked;
}

static void keep_mark(struct healing *healing)
{
    struct filing filing = {.mark = true};

    if (!healing->filing && healing_wants_mark(healing->state, healing->marked, &filing.epoch))
        submit(healing, &filing);
}

/* ---- salvage ---- */

static void drop_fetch(struct healing *healing)
{
    salvage_fetch_free(steal_ptr(healing->fetch));
    loop_timer_cancel(&healing->reap);
}

static void on_reap(void *arg)
{
    drop_fetch(arg);
}

void healing_note_fetched(struct instance_state *state, const char *fetched, const struct error *err, int64_t now_ms)
{
    struct healing_state *healing = &state->healing;

    if (err) {
        healing->salvage_error = *err;
        healing->salvage = SALVAGE_ASK;
        state->role.retry_ms = now_ms + ROLE_RETRY_MS;
        return;
    }
    error_clear(&healing->salvage_error);
    healing->fetched = fetched;
    healing->salvage = SALVAGE_FETCHED;
}

static void on_fetched(void *arg, const char *gtids, const struct error *err)
{
    struct healing *healing = arg;

    loop_timer_arm(&healing->reap, 0);
    if (err)
        log_warn("what the dead primary has cannot be fetched", LOG_ERR(err));
    else
        str_replace(&healing->fetched, gtids);
    healing_note_fetched(healing->state, healing->fetched, err, clock_monotonic_ms());
    on_change(healing);
}

static void start_fetch(struct healing *healing, const char *after)
{
    const struct agent_order *order = &healing->state->role.order;
    struct salvage_fetch_options options = {
        .loop = healing->loop,
        .paths = healing->paths,
        .tls = healing->tls,
        .host = order->salvage_host,
        .port = order->salvage_agent_port,
        .after = after,
        .done = on_fetched,
        .arg = healing,
    };

    drop_fetch(healing);
    if (!healing->tls)
        return; /* asked again */
    healing->state->healing.salvage = SALVAGE_FETCHING;
    healing->fetch = salvage_fetch_start(&options);
}

bool healing_note_opened(struct instance_state *state, const struct role_result *result)
{
    struct healing_state *healing = &state->healing;

    if (healing->salvage == SALVAGE_FETCHED && result->salvage_applied) {
        healing->salvage = SALVAGE_DONE;
        json_copy_text(healing->salvaged, sizeof(healing->salvaged), str_or_empty(healing->fetched));
    } else if (healing->salvage == SALVAGE_FETCHED && result->error.kind != ERROR_NONE) {
        healing->salvage_error = result->error;
        healing->salvage = SALVAGE_ASK; /* some of it may be applied */
        return false;
    }
    return healing->salvage == SALVAGE_ASK && result->salvage_asked && result->error.kind == ERROR_NONE;
}

void healing_opened(struct healing *healing, const struct role_result *result)
{
    bool fetched = healing->state->healing.salvage == SALVAGE_FETCHED;

    if (healing_note_opened(healing->state, result))
        start_fetch(healing, result->salvage_after);
    if (fetched && healing->state->healing.salvage == SALVAGE_DONE)
        log_info("what only the dead primary had is taken over", LOG_STR("gtids", healing->state->healing.fetched));
}

bool healing_must_wait(const struct instance_state *state, uint64_t marked)
{
    if (state->role.order.role != AGENT_ROLE_PRIMARY)
        return false;
    if (!state->role.order.semi_sync && marked)
        return true;
    return state->healing.salvage == SALVAGE_FETCHING;
}

bool healing_holds(const struct healing *healing)
{
    return healing_must_wait(healing->state, healing->marked);
}

/* ---- what comes in ---- */

/* A server that was open under this epoch took over everything before it opened: when it is started again, the lost
 * primary may run and follow it, and has nothing left to read. */
static void wish_salvage(struct instance_state *state, const struct agent_order *order)
{
    struct healing_state *healing = &state->healing;
    bool was_open = order->epoch > 0 && state->role.opened_epoch == order->epoch;

    error_clear(&healing->salvage_error);
    healing->salvaged[0] = '\0';
    healing->salvage =
        order->role == AGENT_ROLE_PRIMARY && *order->salvage_host && !was_open ? SALVAGE_ASK : SALVAGE_NONE;
}

bool healing_note_ordered(struct instance_state *state, const struct agent_order *order, bool renewed)
{
    struct agent_order *known = &state->role.order;
    bool same_donor =
        str_eq(known->salvage_host, order->salvage_host) && known->salvage_agent_port == order->salvage_agent_port;
    bool other_donor = renewed && !same_donor && !state->role.opened;

    if (renewed && !other_donor)
        return false;
    if (other_donor) {
        memcpy(known->salvage_host, order->salvage_host, sizeof(known->salvage_host));
        known->salvage_agent_port = order->salvage_agent_port;
        state->role.retry_ms = 0;
    }
    wish_salvage(state, order);
    return true;
}

void healing_ordered(struct healing *healing, const struct agent_order *order, bool renewed)
{
    struct filing filing = {.order = *order, .decide = true};
    const char *beyond = str_or_empty(order->beyond);

    if (strlen(beyond) < sizeof(filing.beyond))
        snprintf(filing.beyond, sizeof(filing.beyond), "%s", beyond);
    if (healing_note_ordered(healing->state, order, renewed))
        drop_fetch(healing);
    if (!healing->state->server_there)
        submit(healing, &filing);
}

void healing_server_gone(struct healing *healing)
{
    healing->marked = 0; /* it is for the start that follows, which takes it away */
    healing->look_again = true;
}

void healing_turn(struct healing *healing)
{
    struct filing look = {.decide = false};
    bool is_reseed = healing->state->role.mark == AGENT_MARK_RESEED;

    healing->look_again = healing->look_again || (is_reseed && !healing->is_reseed); /* why: put_back.h */
    healing->is_reseed = is_reseed;
    keep_mark(healing);
    set_aside_judge_turn(healing->judge);
    if (!healing->look_again || !healing->state->replication.seen)
        return;
    healing->look_again = false;
    submit(healing, &look);
}

void healing_set_tls(struct healing *healing, const struct tls_keypair *pair, const char *ca_pem)
{
    struct http_tls_options options = {.ca_pem = ca_pem, .cert_pem = pair->cert_pem, .key_pem = pair->key_pem};

    http_tls_unref(healing->tls);
    healing->tls = http_tls_new(&options);
    set_aside_judge_set_tls(healing->judge, healing->tls);
}

static void on_judged(void *arg)
{
    on_change(arg);
}

/* ---- life ---- */

struct healing *healing_new(struct loop *loop, const struct agent_paths *paths, struct instance_state *state,
    void (*changed)(void *arg), void *arg)
{
    struct healing *healing = xnew(struct healing);

    *healing = (struct healing){.loop = loop, .paths = paths, .state = state, .changed = changed, .arg = arg};
    healing->files = worker_new(loop, "files");
    healing->aside = worker_new(loop, "aside");
    healing->marked = start_mode_primary(paths);
    loop_timer_init(&healing->reap, loop, on_reap, healing);
    set_aside_list(paths, &state->healing.set_aside);
    healing->judge = set_aside_judge_new(loop, paths, state, on_judged, healing);
    return healing;
}

void healing_free(struct healing *healing)
{
    if (!healing)
        return;
    healing->changed = NULL;
    set_aside_judge_free(healing->judge);
    worker_free(healing->aside);
    worker_free(healing->files);
    drop_fetch(healing);
    loop_timer_release(&healing->reap);
    http_tls_unref(healing->tls);
    healing->state->healing.fetched = NULL;
    free(healing->fetched);
    free(healing);
}

/* ---- status ---- */

void healing_fill_status(const struct instance_state *state, struct agent_status *ret)
{
    const struct healing_state *healing = &state->healing;

    ret->set_aside = healing->set_aside;
    json_copy_text(ret->salvaged, sizeof(ret->salvaged), healing->salvaged);
    if (healing->set_aside_error.kind != ERROR_NONE)
        agent_status_add_problem(ret, AGENT_PROBLEM_SET_ASIDE_FAILED, "%s", healing->set_aside_error.message);
    if (healing->put_back_error.kind != ERROR_NONE && state->role.mark == AGENT_MARK_RESEED)
        agent_status_add_problem(ret, AGENT_PROBLEM_PUT_BACK_FAILED, "%s", healing->put_back_error.message);
    if (healing->salvage_error.kind != ERROR_NONE)
        agent_status_add_problem(ret, AGENT_PROBLEM_SALVAGE_FAILED, "%s", healing->salvage_error.message);
}
