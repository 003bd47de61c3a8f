/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/kube.h"

#include "agent/agent_server.h"
#include "e2e/simulation/agent.h"
#include "e2e/simulation/check.h"
#include "e2e/simulation/server.h"

#define NOTE_MS 5             /* until the disk has what it was handed */
#define POD_PATIENCE_MS 30000 /* the hook's, and the end of it */
/* kubelet gives a pod that was deleted by force a second for its hooks, and two more after SIGTERM. */
#define FORCED_TERM_MIN_MS 1000
#define FORCED_TERM_MAX_MS 1300
#define FORCED_KILL_MS 2000

static bool node_is_down(const struct sim *sim, int member)
{
    return sim->members[member].node_down_until_ms > sim->now_ms;
}

static void start_init(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    at->run_dir = (struct sim_run_dir){.has_mode = false};
    at->pod.step = POD_INIT;
    at->pod.ready = false;
    agent_start(sim, member, true);
}

void kube_init_done(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    at->pod.step = POD_RUNS;
    at->agent.alive = false;
    at->agent.crashes = at->server.crashes = 0;
    at->agent.again_ms = sim->now_ms + sim_between(sim, member, 51, 100, 400);
    at->server.again_ms = sim->now_ms + sim_between(sim, member, 52, 100, 400);
}

/* ---- the end of pods ---- */

static void end_processes(struct sim *sim, int member, bool power)
{
    struct sim_member *at = &sim->members[member];
    server_kill(sim, member, power);
    agent_kill(sim, member);
    at->server.crashes = at->agent.crashes = 0;
    at->pod.ready = false;
}

static void forget_pod(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    at->pod = (struct sim_pod){.step = POD_NONE, .since_ms = sim->now_ms};
    if (at->claim_gone) {
        disk_clear(sim, member);
        at->disk.bound = false;
        at->disk.epoch = 0;
        at->disk.mark = AGENT_MARK_NONE;
        at->claim_gone = false;
        at->full_until_ms = at->short_until_ms = 0;
    }
}

void kube_remove_pod(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    if (at->pod.step == POD_NONE)
        return;
    end_processes(sim, member, false);
    forget_pod(sim, member);
    sim_tell(sim, "the pod of %s is gone", sim_member_name(member));
}

void kube_delete_pod(struct sim *sim, int member)
{
    struct sim_pod *pod = &sim->members[member].pod;
    if (pod->step == POD_NONE || pod->deleting || pod->forced_ms > 0)
        return;
    pod->deleting = true;
    pod->deleted_ms = sim->now_ms;
    pod->pre_stop = (struct pre_stop){0};
    sim_tell(sim, "the pod of %s is deleted", sim_member_name(member));
}

void kube_force_pod(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_pod *pod = &at->pod;
    if (pod->step == POD_NONE || pod->forced_ms > 0)
        return;
    if (pod->step != POD_RUNS || node_is_down(sim, member)) {
        kube_remove_pod(sim, member);
        return;
    }
    at->run_dir.leaving = true;
    pod->forced_ms = sim->now_ms;
    pod->again_ms = sim->now_ms + sim_between(sim, member, 55, FORCED_TERM_MIN_MS, FORCED_TERM_MAX_MS);
    sim_tell(sim, "the pod of %s is deleted by force", sim_member_name(member));
}

/* SIGTERM to all; the agent ends after its server (agent.c: end_soon). */
static void tend_forced(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    if (node_is_down(sim, member)) {
        kube_remove_pod(sim, member);
        return;
    }
    if (sim->now_ms < at->pod.again_ms)
        return;
    bool is_over = sim->now_ms >= at->pod.again_ms + FORCED_KILL_MS;
    if (server_runs(&at->server) && at->server.frozen_until_ms <= sim->now_ms && !is_over)
        server_end_by_hand(sim, member);
    else if (is_over || (at->server.phase == SERVER_OFF && sim->now_ms >= at->pod.again_ms + 200))
        kube_remove_pod(sim, member);
    else if (at->server.phase != SERVER_OFF && !server_runs(&at->server))
        server_kill(sim, member, false);
}

void kube_lose_volume(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    sim->volume_lost |= at->disk.has_data;
    at->claim_gone = true;
    if (at->pod.step == POD_NONE)
        forget_pod(sim, member);
    else
        kube_remove_pod(sim, member);
    sim_tell(sim, "the volume of %s is lost", sim_member_name(member));
    /* What an asynchronous cluster has acknowledged may have been on this one alone, and no status says so. */
    if (sim->recreated && !sim->schedule->semi_sync && sim->opened_ms < sim->api.recreate_ms)
        check_applied_again(sim);
}

void kube_lose_node(struct sim *sim, int member, int64_t for_ms)
{
    struct sim_member *at = &sim->members[member];
    end_processes(sim, member, true);
    at->disk.relay_pod = 0;
    at->boots++;
    if (sim->now_ms - at->disk.opened_ms < NOTE_MS)
        at->disk.opened_epoch = 0; /* the disk does not have it yet (epoch_file.h) */
    at->node_down_until_ms = sim->now_ms + for_ms;
}

static bool operator_listens(const struct sim *sim, int member)
{
    for (int i = 0; i < SIM_OPERATORS; i++) {
        const struct sim_stream *stream = &sim->operators[i].streams[member];
        if (sim->operators[i].alive && stream->connected && stream->uid == sim->members[member].pod.uid)
            return true;
    }
    return false;
}

/* agent/pre_stop.c: wait_for_handover, close_primary, close_server; then SIGTERM. */
static void tend_deleted(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_pod *pod = &at->pod;
    char role[AGENT_SERVER_ROLE_WORD_SIZE] = "";
    int64_t age_ms = sim->now_ms - pod->deleted_ms;
    /* What the agent had sent to a server that stood still comes before what the hook finds out then. */
    if (node_is_down(sim, member) || at->server.frozen_until_ms + PRE_STOP_POLL_MS > sim->now_ms ||
        sim->now_ms % PRE_STOP_POLL_MS != 0)
        return;
    if (pod->step != POD_RUNS || !server_runs(&at->server)) {
        kube_remove_pod(sim, member);
        return;
    }
    at->run_dir.leaving = true;
    struct pre_stop_answer answer = {.answered = agent_answers(sim, member), .live = true, .role = role};
    at->agent.state.role.leaving = true; /* role_keeper_look_at_hooks */
    if (answer.answered)
        agent_server_role_word(&at->agent.state, &at->agent.status, !operator_listens(sim, member), role, sizeof(role));
    bool may_go = at->run_dir.stopping || pre_stop_may_go(&pod->pre_stop, &answer, sim->now_ms);
    if (!may_go && age_ms < POD_PATIENCE_MS)
        return;
    if ((!*role || str_starts_with(role, "primary")) && !at->run_dir.stopping) {
        at->run_dir.stopping = true;
        pod->again_ms = sim->now_ms + PRE_STOP_CLOSE_MS;
        at->agent.dirty = true;
    }
    if (*role && str_starts_with(role, "primary") && !strstr(role, "closed") && sim->now_ms < pod->again_ms)
        return;
    agent_hook_close(sim, member); /* it answers, as it is not frozen */
    server_end(sim, member);
    kube_remove_pod(sim, member);
}

/* ---- a running pod ---- */

static void tend_containers(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    if (!at->agent.alive && sim->now_ms >= at->agent.again_ms)
        agent_start(sim, member, at->pod.step == POD_INIT);
    if (at->pod.step == POD_RUNS && at->server.phase == SERVER_OFF && sim->now_ms >= at->server.again_ms)
        server_launch(sim, member);
}

static void tend_pod(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_pod *pod = &at->pod;
    if (pod->step == POD_NONE)
        return;
    if (pod->forced_ms > 0) {
        tend_forced(sim, member);
        return;
    }
    if (pod->deleting)
        tend_deleted(sim, member);
    if (pod->step == POD_NONE || node_is_down(sim, member))
        return;
    if (at->node_down_until_ms) { /* back: all containers begin anew, `init` first */
        at->node_down_until_ms = 0;
        start_init(sim, member);
    }
    if (pod->step == POD_PENDING && sim->now_ms >= pod->again_ms && !sim_is_cut(sim, SIM_API, member)) {
        at->disk.bound = true;
        start_init(sim, member);
    }
    if (pod->step != POD_PENDING)
        tend_containers(sim, member);
}

static void make_pod(struct sim *sim, int member)
{
    struct sim_pod *pod = &sim->members[member].pod;
    uint64_t uid = sim_new_id(sim);
    sim->member_count = MAX_OF(sim->member_count, member + 1);
    *pod = (struct sim_pod){.step = POD_PENDING,
        .uid = uid,
        .since_ms = sim->now_ms,
        .again_ms = sim->now_ms + sim_between(sim, member, 53, 200, 1200),
        .revision = sim->api.revision};
    snprintf(pod->ip, sizeof(pod->ip), "10.%u.%u.%u", (unsigned)(uid >> 16 & 255), (unsigned)(uid >> 8 & 255),
        (unsigned)(uid & 255));
}

/* OnDelete, Parallel. */
static void tend_set(struct sim *sim)
{
    if (sim->now_ms % 100 != 0 || sim->api.away_until_ms > sim->now_ms)
        return;
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        struct sim_pod *pod = &sim->members[i].pod;
        bool wanted = i < sim->api.set_replicas;
        if (wanted && pod->step == POD_NONE && sim->now_ms - pod->since_ms >= 200)
            make_pod(sim, i);
        else if (!wanted && pod->step != POD_NONE && !pod->deleting &&
            (i + 1 == SIM_MEMBERS_MAX || sim->members[i + 1].pod.step == POD_NONE || sim->api.set_replicas <= 0))
            kube_delete_pod(sim, i);
    }
}

/* ---- the cluster itself ---- */

void kube_keep_past(struct sim *sim)
{
    struct sim_api *api = &sim->api;
    if (api->past_count == SIM_PAST_MAX)
        cluster_status_release(&api->past[--api->past_count]);
    memmove(&api->past[1], &api->past[0], (size_t)api->past_count * sizeof(api->past[0]));
    cluster_status_copy(&api->status, &api->past[0]);
    api->past_count++;
}

void kube_forget_past(struct sim *sim)
{
    while (sim->api.past_count > 0)
        cluster_status_release(&sim->api.past[--sim->api.past_count]);
}

void kube_restore_past(struct sim *sim, int epochs)
{
    struct sim_api *api = &sim->api;
    if (!api->exists || api->past_count == 0)
        return;
    cluster_status_release(&api->status);
    cluster_status_copy(&api->past[MIN_OF(MAX_OF(epochs, 1), api->past_count) - 1], &api->status);
    api->version++;
    sim->status_past = true;
    sim_tell(sim, "the status is that of epoch %lld again, primary %s", (long long)api->status.roles.epoch,
        api->status.roles.current_primary);
}

void kube_recreate(struct sim *sim, int replicas)
{
    if (!sim->api.exists)
        return;
    sim->api.exists = false;
    sim->api.set_replicas = -1;
    sim->api.route = -1;
    sim->api.recreate_ms = sim->now_ms + sim_between(sim, 0, 54, 500, 6000);
    sim->api.recreate_replicas = replicas;
    sim->api.version++;
}

static void tend_cluster(struct sim *sim)
{
    struct sim_api *api = &sim->api;
    bool any = false;
    if (api->exists || sim->now_ms < api->recreate_ms)
        return;
    for (int i = 0; i < SIM_MEMBERS_MAX; i++)
        any |= sim->members[i].pod.step != POD_NONE;
    if (any)
        return;
    cluster_status_release(&api->status);
    memset(&api->status, 0, sizeof(api->status));
    kube_forget_past(sim);
    api->exists = true;
    api->cluster_uid = sim_new_id(sim);
    api->replicas = api->recreate_replicas;
    api->switchover_to[0] = api->confirmed_lost[0] = '\0';
    api->version++;
    sim_tell(sim, "the cluster is applied again, with %d members", api->replicas);
    check_applied_again(sim);
}

void kube_step(struct sim *sim)
{
    tend_cluster(sim);
    tend_set(sim);
    for (int i = 0; i < sim->member_count; i++)
        tend_pod(sim, i);
}
