/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/operator.h"

#define LEASE_MS 6000
#define RENEW_MS 1500
#define LEAD_MS 5000 /* nothing is told or written later than this after the last renewal (lease_guard.h) */

void operator_release(struct sim_operator *o)
{
    cluster_memory_note_awaited(&o->memory, NULL);
    cluster_status_release(&o->snapshot.last);
    if (o->write) {
        cluster_status_release(o->write);
        free(steal_ptr(o->write));
    }
}

void operator_start(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    operator_release(o);
    memset(o, 0, sizeof(*o));
    o->alive = true;
    o->renew_ms = sim->now_ms + sim_between(sim, op, 81, 100, 900);
    snapshot_init(sim, op);
}

/* A write that it has sent still lands. */
void operator_kill(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    if (!o->alive)
        return;
    o->alive = o->leads = false;
    o->frozen_until_ms = 0;
    o->again_ms = sim->now_ms + sim_between(sim, op, 82, 800, 3000);
    for (int i = 0; i < SIM_MEMBERS_MAX; i++)
        o->streams[i].connected = false;
}

static bool reaches_api(const struct sim *sim, int op)
{
    return sim->api.away_until_ms <= sim->now_ms && sim_is_linked(sim, sim_operator_place(op), SIM_API);
}

static void begin_to_lead(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    o->leads = true;
    o->version = 0;
    o->woken = false;
    o->seen_ms = sim->now_ms + sim_between(sim, op, 83, 20, 200);
    sim_tell(sim, "operator-%d leads", op);
}

static void tend_lease(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct sim_api *api = &sim->api;
    if (sim->now_ms >= o->renew_ms && reaches_api(sim, op)) {
        o->renew_ms = sim->now_ms + RENEW_MS;
        if (api->lease_holder == op || sim->now_ms - api->lease_ms >= LEASE_MS) {
            api->lease_holder = op;
            api->lease_ms = o->renewed_ms = sim->now_ms;
        }
    }
    if (!o->leads && api->lease_holder == op && o->renewed_ms == api->lease_ms && o->renewed_ms > 0 &&
        sim->now_ms - o->renewed_ms < LEAD_MS)
        begin_to_lead(sim, op);
    else if (o->leads && sim->now_ms - o->renewed_ms >= LEAD_MS) {
        sim_tell(sim, "operator-%d ends: its lease may be lost", op);
        operator_kill(sim, op);
    }
}

/* ---- caches ---- */

static bool look_at_pods(struct sim *sim, struct sim_operator *o)
{
    struct sim_seen now[SIM_MEMBERS_MAX];
    memset(now, 0, sizeof(now)); /* compared below, padding included */
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        const struct sim_member *at = &sim->members[i];
        bool is_there = at->pod.step != POD_NONE && at->pod.forced_ms == 0;
        now[i].is_there = is_there;
        now[i].claim = (is_there || at->disk.bound) && !at->claim_gone;
        now[i].bound = at->disk.bound && !at->claim_gone;
        if (!is_there)
            continue;
        now[i].deleting = at->pod.deleting;
        now[i].ready = at->pod.ready;
        now[i].initialized = at->pod.step == POD_RUNS;
        now[i].scheduled = at->pod.step != POD_PENDING;
        now[i].uid = at->pod.uid;
        now[i].revision = at->pod.revision;
        memcpy(now[i].ip, at->pod.ip, sizeof(now[i].ip));
    }
    if (memcmp(now, o->seen, sizeof(now)) == 0) /* NOLINT(bugprone-suspicious-memory-comparison): zeroed above */
        return false;
    memcpy(o->seen, now, sizeof(now));
    return true;
}

static void look_at_caches(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    if (sim->now_ms < o->seen_ms || !reaches_api(sim, op) || o->cache_lag_until_ms > sim->now_ms)
        return;
    o->seen_ms = sim->now_ms + sim_between(sim, op, 84, 20, 60);
    if (look_at_pods(sim, o))
        o->woken = true;
    if (o->version != sim->api.version && !o->writing && sim->api.exists) {
        snapshot_take_status(sim, op, &sim->api.status);
        o->version = sim->api.version;
        o->woken = true;
    }
}

static void forget_cluster(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    bool leads = o->leads;
    int64_t renewed_ms = o->renewed_ms, renew_ms = o->renew_ms;
    if (o->version == 0)
        return;
    operator_start(sim, op); /* cluster_memories_forget, and no agents */
    o->leads = leads;
    o->renewed_ms = renewed_ms;
    o->renew_ms = renew_ms;
}

void operator_step(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    if (!o->alive) {
        round_write_step(sim, op);
        if (sim->now_ms >= o->again_ms && !(o->writing && !o->landed))
            operator_start(sim, op);
        return;
    }
    if (o->frozen_until_ms > sim->now_ms)
        return;
    round_write_step(sim, op);
    tend_lease(sim, op);
    if (!o->alive || !o->leads)
        return;
    if (!sim->api.exists) {
        if (!o->writing)
            forget_cluster(sim, op);
        return;
    }
    look_at_caches(sim, op);
    if (o->version == 0)
        return;
    streams_step(sim, op);
    if (!o->writing && (o->woken || sim->now_ms >= o->round_ms))
        round_run(sim, op);
}
