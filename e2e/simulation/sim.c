/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/sim.h"

#include <sys/mman.h>

#include "common/hashmap.h"
#include "e2e/simulation/agent.h"
#include "e2e/simulation/check.h"
#include "e2e/simulation/clients.h"
#include "e2e/simulation/faults.h"
#include "e2e/simulation/kube.h"
#include "e2e/simulation/operator.h"
#include "e2e/simulation/run.h"
#include "e2e/simulation/server.h"

#define FIRST_OPENING_MAX_MS 120000
#define LARGE_PAGE_BYTES ((size_t)2 << 20)

/* ---- chance ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

uint64_t sim_random(const struct sim *sim, int who, int what)
{
    return mix(mix(sim->schedule->seed * 1000003 + (uint64_t)sim->now_ms) + (uint64_t)(what * 64 + who));
}

int64_t sim_between(const struct sim *sim, int who, int what, int64_t low, int64_t high)
{
    return low + (int64_t)(sim_random(sim, who, what) % (uint64_t)(high - low + 1));
}

bool sim_chance(const struct sim *sim, int who, int what, int percent)
{
    return sim_random(sim, who, what) % 100 < (uint64_t)percent;
}

uint64_t sim_new_id(struct sim *sim)
{
    return ++sim->next_id;
}

int64_t sim_wall_ms(const struct sim *sim)
{
    return SIM_WALL_MS + sim->now_ms;
}

/* ---- the story ---- */

void sim_note(struct sim *sim, enum sim_event event, int who, uint64_t what)
{
    uint64_t when = (uint64_t)sim->now_ms << 16 | (uint64_t)event << 8 | (uint64_t)who;
    sim->digest = mix(sim->digest ^ mix(when)) ^ mix(what);
}

void sim_tell(struct sim *sim, const char *fmt, ...)
{
    char text[1500];
    va_list ap;
    if (!sim->story && !sim->digests_story)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    sim_note(sim, SIM_EVENT_TOLD, 0, hash64(HASH64_INIT, text, strlen(text)));
    if (!sim->story)
        return;
    int64_t ms = sim->now_ms - SIM_BOOT_MS;
    fprintf(sim->story, "%4lld.%02lld  %s\n", (long long)(ms / 1000), (long long)(ms % 1000 / 10), text);
}

void sim_fail(struct sim *sim, enum violation kind, const char *fmt, ...)
{
    va_list ap;
    if (sim->verdict.kind != VIOLATION_NONE)
        return;
    sim->verdict.kind = kind;
    sim->verdict.at_ms = sim->now_ms - SIM_BOOT_MS;
    va_start(ap, fmt);
    vsnprintf(sim->verdict.text, sizeof(sim->verdict.text), fmt, ap);
    va_end(ap);
    sim_tell(sim, "VIOLATION (%s): %s", violation_names[kind], sim->verdict.text);
}

/* ---- places ---- */

bool sim_is_cut(const struct sim *sim, int from, int to)
{
    return sim->cut_until_ms[from][to] > sim->now_ms;
}

bool sim_is_linked(const struct sim *sim, int a, int b)
{
    return !sim_is_cut(sim, a, b) && !sim_is_cut(sim, b, a);
}

const char *sim_member_name(int member)
{
    static const char *const names[] = {
        "db-mysql-0", "db-mysql-1", "db-mysql-2", "db-mysql-3", "db-mysql-4", "db-mysql-5"};
    return member >= 0 && member < SIM_MEMBERS_MAX ? names[member] : "nobody";
}

int sim_member_of_host(const char *host)
{
    int member = str_starts_with(host, "db-mysql-") ? host[9] - '0' : -1;
    return member >= 0 && member < SIM_MEMBERS_MAX ? member : -1;
}

/* ---- a run ---- */

/* In one large page, where the kernel has one: each step looks at places all over it. */
struct sim *run_new_sim(void)
{
    size_t size = (sizeof(struct sim) + LARGE_PAGE_BYTES - 1) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
    struct sim *sim = aligned_alloc(LARGE_PAGE_BYTES, size);
    if (!sim)
        abort();
    (void)madvise(sim, size, MADV_HUGEPAGE);
    memset(sim, 0, sizeof(*sim));
    return sim;
}

static void step(struct sim *sim)
{
    sim->now_ms += SIM_TICK_MS;
    kube_step(sim);
    for (int i = 0; i < sim->member_count; i++)
        server_step(sim, i);
    servers_replicate(sim);
    int first = (int)(sim_random(sim, 0, 1) % SIM_MEMBERS_MAX);
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        int member = (first + i) % SIM_MEMBERS_MAX;
        if (member < sim->member_count)
            agent_step(sim, member);
    }
    orders_step(sim);
    for (int i = 0; i < SIM_OPERATORS; i++)
        operator_step(sim, i);
    clients_step(sim);
    check_step(sim);
}

static void begin(struct sim *sim, const struct schedule *schedule, FILE *story)
{
    bool digests_story = sim->digests_story;
    memset(sim, 0, sizeof(*sim));
    sim->digests_story = digests_story;
    sim->schedule = schedule;
    sim->positions = position_pool_new((size_t)(64 * KM_MIB));
    sim->mariadb = schedule->mariadb;
    sim->txns.sources = sim->mariadb ? SIM_MEMBERS_MAX : 0; /* those of ordinals */
    sim->now_ms = SIM_BOOT_MS;
    sim->story = story;
    sim->api.exists = true;
    sim->api.version = sim->api.cluster_uid = 1;
    sim->api.replicas = schedule->members;
    sim->api.semi_sync = schedule->semi_sync;
    sim->api.primary_wish = CLUSTER_PRIMARY_ANY;
    sim->api.set_replicas = -1;
    sim->api.lease_holder = sim->opened_last = -1;
    sim->api.lease_ms = -100000;
    sim->api.route = sim->api.route_before = -1;
    for (int i = 0; i < SIM_CLIENTS; i++)
        sim->clients[i] = (struct sim_client){.member = -1, .txn = -1};
    for (int i = 0; i < SIM_OPERATORS; i++)
        operator_start(sim, i);
}

static bool all_follow(const struct sim *sim)
{
    const struct cluster_status *status = &sim->api.status;
    if (!status->roles.initialized || cluster_transition_is_set(&status->roles.transition))
        return false;
    if (sim->schedule->semi_sync && sim->schedule->members > 1 && !status->roles.confirmed.semi_sync)
        return false;
    for (int i = 0; i < sim->schedule->members; i++) {
        if (!sim->members[i].pod.ready)
            return false;
    }
    return true;
}

static void to_first_opening(struct sim *sim)
{
    while (!all_follow(sim) && sim->verdict.kind == VIOLATION_NONE) {
        step(sim);
        if (sim->now_ms - SIM_BOOT_MS > FIRST_OPENING_MAX_MS)
            sim_fail(sim, VIOLATION_STUCK, "a new cluster does not open");
    }
}

void run_release(struct sim *sim)
{
    cluster_status_release(&sim->api.status);
    kube_forget_past(sim);
    for (int i = 0; i < SIM_MEMBERS_MAX; i++)
        catch_up_gap(&sim->members[i].agent.state.catch_up, 0);
    position_pool_unref(sim->positions);
    for (int i = 0; i < SIM_OPERATORS; i++)
        operator_release(&sim->operators[i]);
}

void run_schedule(struct sim *sim, const struct schedule *schedule, FILE *story, struct run_result *ret)
{
    begin(sim, schedule, story);
    to_first_opening(sim);
    int64_t begun_ms = sim->now_ms;
    while (sim->verdict.kind == VIOLATION_NONE) {
        if (!sim->calm && faults_step(sim, begun_ms)) {
            faults_heal(sim);
            sim->calm = true;
            sim->calm_ms = sim->now_ms;
            sim_tell(sim, "no fault comes any more");
        }
        step(sim);
        if (sim->calm && sim->now_ms % 500 == 0 && check_settled(sim))
            break;
    }
    *ret = (struct run_result){.kind = sim->verdict.kind,
        .virtual_ms = sim->now_ms - SIM_BOOT_MS,
        .acked = sim->acked_count,
        .epoch = sim->api.status.roles.epoch,
        .digest = sim->digest,
        .beyond = sim->verdict.kind == VIOLATION_NONE && !check_somebody_has_all(sim)};
    snprintf(ret->text, sizeof(ret->text), "%s", sim->verdict.text);
    run_release(sim);
}
