/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow place between simulation and product: cluster_gather.c without informers. Everything that the decisions
 * look at is put in here. */
#include "common/base.h"

#include "e2e/simulation/operator.h"
#include "operator/cluster/reconcile/cluster_notes.h"

static const char *const revisions[] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"};
static const char *const nodes[] = {"node-0", "node-1", "node-2", "node-3", "node-4", "node-5"};

static void init_spec(struct sim *sim, struct cluster_snapshot *snapshot)
{
    snapshot->cluster.replication.max_lag_seconds = CLUSTER_MAX_LAG_SECONDS_DEFAULT;
    snapshot->cluster.replication.drain_seconds = CLUSTER_DRAIN_SECONDS_DEFAULT;
    snapshot->cluster.replication.primary = CLUSTER_PRIMARY_ANY;
    snapshot->cluster.replication.semi_sync = sim->api.semi_sync;
    snapshot->cluster.failover = (struct cluster_failover_spec){.enabled = true,
        .allow_data_loss = sim->api.allow_loss,
        .silence_ms = CLUSTER_SILENCE_MS_DEFAULT,
        .hung_ms = CLUSTER_HUNG_MS_DEFAULT,
        .writes_blocked_ms = CLUSTER_WRITES_BLOCKED_MS_DEFAULT,
        .stalled_ms = CLUSTER_STALLED_MS_DEFAULT,
        .start_ms = CLUSTER_START_MS_DEFAULT,
        .self_fence_ms = CLUSTER_SELF_FENCE_MS_DEFAULT,
        .reseed = true};
}

void snapshot_init(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_snapshot *snapshot = &o->snapshot;
    cluster_status_release(&snapshot->last);
    memset(snapshot, 0, sizeof(*snapshot));
    static char ns[] = "ns", name[] = "db", uid[] = "u", empty[] = "";
    snapshot->ns = ns;
    snapshot->name = name;
    snapshot->uid = uid;
    snapshot->version = snapshot->config_version = empty;
    snapshot->usable = true;
    snapshot->default_agent_image = "agent:1";
    snprintf(snapshot->names.service, sizeof(snapshot->names.service), "db-mysql");
    snapshot->final.make_error = "";
    init_spec(sim, snapshot);
}

void snapshot_take_status(struct sim *sim, int op, const struct cluster_status *status)
{
    struct cluster_snapshot *snapshot = &sim->operators[op].snapshot;
    cluster_status_release(&snapshot->last);
    cluster_status_copy(status, &snapshot->last);
    int replicas = sim->api.paused ? sim->api.paused_replicas : sim->api.replicas; /* cluster_scale.c */
    snapshot->switchover_to = sim->api.switchover_to;
    snapshot->confirmed_lost = sim->api.confirmed_lost;
    snapshot->scale = (struct cluster_scale){replicas, replicas};
    snapshot->cluster.replication.semi_sync = sim->api.semi_sync;
    snapshot->cluster.failover.allow_data_loss = sim->api.allow_loss;
    snapshot->cluster.failover.enabled = !sim->api.failover_off;
    snapshot->cluster.replication.primary = sim->api.primary_wish;
    snapshot->cluster.paused = sim->api.paused;
    snapshot->usable = !sim->api.spec_refused;
}

static const struct pod_object *pod_of(struct sim_operator *o, int i)
{
    const struct sim_seen *seen = &o->seen[i];
    if (!seen->is_there)
        return NULL;
    o->pods[i] = (struct pod_object){.name = sim_member_name(i),
        .ns = "ns",
        .uid = "",
        .ordinal = i,
        .phase = seen->initialized ? POD_PHASE_RUNNING : POD_PHASE_PENDING,
        .scheduled = seen->scheduled,
        .initialized = seen->initialized,
        .ready = seen->ready,
        .mysql_running = seen->initialized,
        .pod_ip = seen->scheduled ? seen->ip : "",
        .node_name = nodes[i],
        .revision = revisions[seen->revision % 8],
        .role = "",
        .cluster = "db",
        .terminal = "",
        .problem_container = "",
        .problem_reason = "",
        .problem_message = ""};
    o->pods[i].object.deleting = seen->deleting;
    return &o->pods[i];
}

static const struct pvc_object *claim_of(struct sim_operator *o, int i)
{
    if (!o->seen[i].claim)
        return NULL;
    o->claims[i] = (struct pvc_object){.name = "claim",
        .ns = "ns",
        .uid = "",
        .ordinal = i,
        .cluster = "db",
        .is_bound = o->seen[i].bound,
        .storage_class = "",
        .volume_name = "",
        .message = ""};
    return &o->claims[i];
}

/* cluster_gather.c: judge_departed */
static void fill_departed(const struct sim *sim, const struct sim_stream *stream, struct cluster_member *member)
{
    bool speaks = stream->connected && sim->now_ms - stream->last_word_ms <= CLUSTER_DEPARTED_SILENCE_MS;
    member->agent = stream->has_status ? &stream->status : NULL;
    member->agent_connected = speaks;
    member->agent_awaited = false;
    member->silent_ms = speaks ? sim->now_ms - stream->last_word_ms : INT64_MAX;
    if (speaks)
        member->pod = NULL;
}

static void fill_member(struct sim *sim, int op, int i)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_member *member = &o->snapshot.members[i];
    const struct sim_stream *stream = &o->streams[i];
    bool has_agent = o->seen[i].is_there && o->seen[i].scheduled;
    bool watched = has_agent && stream->uid == o->seen[i].uid;
    *member = (struct cluster_member){.ordinal = i,
        .pod = pod_of(o, i),
        .claim = claim_of(o, i),
        .agent = watched && stream->has_status ? &stream->status : NULL,
        .agent_connected = watched && stream->connected,
        .silent_ms = watched ? sim->now_ms - stream->last_word_ms : INT64_MAX,
        .agent_awaited = has_agent && !(watched && stream->tried),
        .agent_error = watched && stream->connected ? "" : "it does not answer",
        .mycnf_text = ""};
    snprintf(member->name, sizeof(member->name), "%s", sim_member_name(i));
    member->departed = stream_has_departed(sim, op, i);
    if (member->departed)
        fill_departed(sim, stream, member);
    if (stream->refused)
        snprintf(member->order_error, sizeof(member->order_error), "the order was refused");
}

void snapshot_update(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_snapshot *snapshot = &o->snapshot;
    int primary = sim_member_of_host(snapshot->last.roles.current_primary);
    snapshot->now_ms = sim_wall_ms(sim);
    snapshot->member_count = 0;
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        fill_member(sim, op, i);
        if (i < snapshot->scale.effective || i == primary || snapshot->members[i].pod || snapshot->members[i].claim)
            snapshot->member_count = i + 1;
    }
    bool has_set = sim->api.set_replicas >= 0;
    o->set = (struct stateful_set_object){.uid = "",
        .replicas = sim->api.set_replicas,
        .current_revision = revisions[sim->api.revision % 8],
        .update_revision = revisions[sim->api.revision % 8],
        .applied_hash = ""};
    snapshot->stateful_set = has_set ? &o->set : NULL;
    snapshot->children[CHILD_STATEFUL_SET] = has_set ? &o->set.object : NULL;
    cluster_notes_show(&o->memory, sim->now_ms, snapshot);
}
