/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h: one cluster, its servers, agents, operators, API server, network and clients as one value in virtual time.
 *
 * Everything advances in steps of SIM_TICK_MS (sim_step). What is random is a function of the seed, of the time and of
 * who asks (sim_random): so a schedule from which a fault was taken away goes the same way up to that fault.
 * The decisions are the product's own functions; what lies around them is modelled here (docs/simulation.md).
 */
#ifndef KM_SIMULATION_SIM_H
#define KM_SIMULATION_SIM_H

#include "common/base.h"

#include "agent/beat_rest.h"
#include "agent/bootstrap/start_mode.h"
#include "agent/catch_up_note.h"
#include "agent/instance_state.h"
#include "agent/pre_stop.h"
#include "agent/role_notes.h"
#include "common/agent_api.h"
#include "e2e/simulation/schedule.h"
#include "e2e/simulation/txn.h"
#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/cluster/state/cluster_roles.h"

_Static_assert(SIM_MEMBERS_MAX <= TXN_SERVERS_MAX, "each member writes");
#define SIM_TICK_MS 10
#define SIM_OPERATORS 2
#define SIM_CLIENTS 3
#define SIM_API (SIM_MEMBERS_MAX + SIM_OPERATORS) /* its place in the network, behind members and operators */
#define SIM_PLACES (SIM_API + 1)
#define SIM_ORDERS_MAX 24           /* on their way at once */
#define SIM_WALL_MS 1770000000000LL /* the wall clock when the virtual one shows 0 */
#define SIM_BOOT_MS 100000          /* the virtual clock's first value: agents take 0 for "never" */

/* ---- a server ---- */

/* What lies on a volume. */
struct sim_disk {
    bool bound; /* a claim of it exists and was on a node */
    bool has_data;
    int own_source; /* txn.h: of what this server writes */
    struct txn_log log;
    struct txn_queue relay;
    bool configured; /* a source is known */
    int source;
    uint64_t relay_pod; /* relay_keep.h: the pod that it was served from last; 0: its node has ended since */
    uint64_t epoch;
    enum agent_mark mark;
    uint64_t opened_epoch; /* epoch_file.h: opened_file_read */
    int64_t opened_ms;     /* when it was written */
    uint64_t noted_since;  /* epoch_file.h: noted_since_begin; of this boot of its node, and of this pod */
    uint64_t noted_pod;
    int noted_boots;
    uint64_t semi_primary; /* start_mode.h: it ended as semi-sync primary of that epoch */
    bool ddl;              /* a DDL statement was under way when the server died */
    bool cut;              /* start_mode.h: a start that cuts off has begun, and nobody has connected since */
    bool self_written; /* start_domain.h: DDL recovery after a start that cut off the tail, in a domain of its own */
};

enum server_phase { SERVER_OFF, SERVER_WAITS, SERVER_STARTS, SERVER_RUNS };

struct sim_server {
    enum server_phase phase;
    uint64_t run;                   /* another one for each process */
    char run_text[SERVER_RUN_SIZE]; /* server_exec.h: server_run_id */
    int64_t began_ms;               /* the one before it had ended by then */
    int64_t frozen_until_ms, due_ms, again_ms;
    int crashes;
    bool relay_kept; /* --relay-log-recovery=OFF */
    bool in_domain;  /* MariaDB: what its start logs by itself is in a domain of its own (start_domain.h) */
    bool read_only;
    bool closing;          /* nobody can begin to write */
    uint64_t opened_epoch; /* this process was opened in it last; 0: never */
    int64_t opened_ms;     /* when; 0: never */
    bool given_up;         /* another one was opened with what the status says may be lost */
    bool semi_source, semi_replica;
    int semi_acks;
    /* By order; by somebody with all rights: a time-out (0: none), which has been reached; commits that wait are
     * killed. */
    int ordered_acks;
    int64_t semi_timeout_ms;
    bool semi_gave_up;
    int64_t kill_until_ms;
    bool kill_softly;                       /* KILL QUERY */
    int64_t locked_until_ms, long_until_ms; /* a lock on all tables; a transaction of a client's that is open */
    uint64_t acknowledged, unacknowledged;
    /* As a replica. */
    enum agent_thread receiver, applier;
    uint32_t receiver_errno, applier_errno;
    char receiver_error[128], applier_error[128];
    bool gives; /* its connection acknowledges */
    int stream_at;
    uint64_t source_run;
    int64_t connect_ms, heard_ms;
    uint64_t signature, beats; /* beats of its source */
    int64_t applier_stuck_until_ms;
    /* As a source: of its log, how far each member has said that it has received. */
    int said[SIM_MEMBERS_MAX], heard[SIM_MEMBERS_MAX];
    int64_t said_ms[SIM_MEMBERS_MAX];
};

/* ---- an agent ---- */

struct sim_job {
    enum role_action action;
    struct agent_order order;
    bool reconfigure, restart, drain, stays_closed;
    enum relay_step relay;
    enum salvage_step salvage;
    struct role_begun begun;
    uint64_t run;
    int64_t began_ms, due_ms;
    int stage;
    bool superseded;
};

/* agent/source_watch.c */
struct sim_watch {
    int member; /* -1: nobody is asked */
    int64_t due_ms, own_ms;
    const char *own;
};

/* `init`: agent/seed.c */
struct sim_seed {
    bool has_order;
    struct agent_order order, works_on;
    enum agent_seed_step step;
    int64_t end_ms; /* of what goes on; 0: nothing does */
    int64_t retry_ms;
    /* A copy as statements (donor.h): they hold what was committed when it began, and end with the donor's server. */
    bool statements;
    int held;
    uint64_t donor_run;
    bool done;
};

struct sim_agent {
    bool alive;
    bool in_init;
    int64_t frozen_until_ms, again_ms;
    int crashes;
    uint64_t boot; /* boot_id as a number */
    char boot_id[40];
    struct instance_state state;
    struct agent_status status;
    uint64_t digest;
    bool dirty;
    int64_t turn_ms, probe_ms, publish_ms;
    struct sim_job job;
    int64_t accepted_ms, beat_ms;
    int beat_txn; /* being written; -1: none */
    bool beat_hangs, beat_may_rest;
    uint64_t beat_epoch;
    struct beat_rest beat_rest;
    struct beat_look beat_look; /* before the one that is being written */
    struct catch_up_note note;
    struct sim_watch watch;
    uint64_t marked;
    int fetched[64], fetched_count; /* salvage: transactions */
    struct sim_seed seed;
};

/* The pod's own folder, which ends with the pod. */
struct sim_run_dir {
    bool has_mode, leaving, stopping;
    struct start_mode mode;
    struct self_fence fence;
    bool has_note; /* catch_up_note.h */
    struct caught_up note;
};

/* ---- a pod ---- */

enum pod_step { POD_NONE, POD_PENDING, POD_INIT, POD_RUNS };

struct sim_pod {
    enum pod_step step;
    uint64_t uid;
    char ip[16];
    bool deleting;
    int64_t since_ms, deleted_ms, again_ms;
    int64_t forced_ms; /* deleted by force then: the API server has forgotten it, its processes live on; 0: never */
    int revision;
    bool ready;
    struct pre_stop pre_stop;
};

struct sim_member {
    struct sim_pod pod;
    struct sim_disk disk;
    struct sim_run_dir run_dir;
    struct sim_server server;
    struct sim_agent agent;
    int64_t node_down_until_ms;
    int boots;             /* of its node */
    bool claim_gone;       /* deleted; the next pod gets an empty volume */
    int64_t full_until_ms; /* its volume */
    int64_t short_until_ms; /* its volume has too little room, and is not full */
    bool full_of_tables;   /* then: not even tables that are there can be written */
};

/* ---- the operator ---- */

/* One agent's stream and the order that it should have: operator/instance/agent_watch.c, order_sender.c */
struct sim_stream {
    uint64_t uid;        /* of the pod; 0: there is no watch */
    int64_t departed_ms; /* since when it is kept although that pod is gone (agent_fleet.h); 0: it is not */
    bool connected, tried, has_status, on_the_way;
    struct agent_status status, coming;
    int64_t last_word_ms, coming_ms, open_ms, clock_ms;
    int attempts;
    uint64_t digest;
    bool wants;
    struct agent_order wanted;
    char wanted_hash[17], heard_hash[17], boot_id[40];
    uint64_t boot; /* boot_id as a number */
    bool is_heard; /* the agent's status shows the hash of what is wanted */
    unsigned wanted_asides, told_asides, shown_asides; /* order_sender.c */
    bool told;
    bool repeat, due_again, refused, sending;
    int64_t repeat_ms, pause_ms, sent_ms;
};

/* What the caches hold of a pod. */
struct sim_seen {
    bool is_there, bound, claim, deleting, ready, initialized, scheduled;
    uint64_t uid;
    char ip[16];
    int revision;
};

struct sim_operator {
    bool alive;
    int64_t frozen_until_ms, again_ms;
    bool leads;
    int64_t renewed_ms, renew_ms;
    /* Caches. */
    uint64_t version; /* of the cluster's object in the cache */
    int64_t cache_lag_ms, cache_lag_until_ms;
    struct sim_seen seen[SIM_MEMBERS_MAX];
    int64_t seen_ms;
    struct cluster_snapshot snapshot;
    struct pod_object pods[SIM_MEMBERS_MAX];
    struct pvc_object claims[SIM_MEMBERS_MAX];
    struct stateful_set_object set;
    struct sim_stream streams[SIM_MEMBERS_MAX];
    struct cluster_memory memory;
    /* The round. */
    bool woken;
    int64_t round_ms;
    int intents;
    /* A write of the status on its way. */
    bool writing, landed, failed;
    int64_t land_ms, answer_ms;
    uint64_t write_version;
    /* Of each member: of when its word on its commits is with which it was decided; 0: it was decided without. */
    int64_t write_looked_ms[SIM_MEMBERS_MAX];
    struct cluster_status *write;
    char said[512]; /* its next action, as told last */
    /* Of the round that goes on: they are large, and a round comes every 0.3 s. */
    struct cluster_orders orders;
    bool primary_obeys; /* by those */
    struct cluster_status report;
};

struct sim_order {
    bool used;
    int from, to;
    uint64_t uid;
    char boot_id[40]; /* of the agent that it is for */
    int64_t due_ms, end_ms, as_of_ms;
    struct agent_order order;
};

/* ---- the API server ---- */

#define SIM_PAST_MAX 4

struct sim_api {
    int64_t away_until_ms, slow_until_ms;
    bool exists; /* the MysqlCluster */
    uint64_t cluster_uid;
    uint64_t version;
    struct cluster_status status;
    struct cluster_status past[SIM_PAST_MAX]; /* as it was under the epochs before, the newest first */
    int past_count;
    int replicas;
    bool allow_loss, semi_sync, paused, failover_off, spec_refused;
    int paused_replicas; /* as of when it was paused */
    int primary_wish; /* spec.replication.primary */
    char switchover_to[16], confirmed_lost[32];
    int set_replicas; /* -1: there is no StatefulSet */
    int revision;
    int lease_holder;
    int64_t lease_ms;
    int route; /* -1: nobody */
    int64_t route_ms;
    int route_before;
    int64_t recreate_ms; /* the cluster is applied again then; 0: it is there */
    int recreate_replicas;
};

struct sim_client {
    int member; /* -1: not connected */
    uint64_t run;
    int txn;          /* waits for its answer; -1: none */
    int64_t since_ms; /* it was sent */
    int64_t due_ms;
};

/* ---- all of it ---- */

/* What goes into the digest of a run. */
enum sim_event {
    SIM_EVENT_TOLD,
    SIM_EVENT_ADDED,        /* a transaction to a log: written, received or applied */
    SIM_EVENT_ACKNOWLEDGED, /* a client was told */
    SIM_EVENT_PUBLISHED,    /* a status by an agent */
    SIM_EVENT_HEARD,        /* that by an operator */
    SIM_EVENT_ROUND,
    SIM_EVENT_LANDED, /* a write of the status */
    SIM_EVENT_ORDERED,
    SIM_EVENT_BEGUN, /* what an agent does to its server */
    SIM_EVENT_DONE,
};

struct sim_verdict {
    enum violation kind;
    int64_t at_ms;
    char text[512];
};

/* Of a position that a model of a server says. */
#define SIM_POSITION_SIZE 2048

struct sim {
    const struct schedule *schedule;
    struct position_pool *positions; /* all that agents and orders have said, until the end */
    bool mariadb;
    int64_t now_ms; /* the monotonic clock of all */
    struct sim_member members[SIM_MEMBERS_MAX];
    int member_count; /* those behind have never had a pod: nothing happens there */
    struct sim_operator operators[SIM_OPERATORS];
    struct sim_order orders[SIM_ORDERS_MAX];
    int order_count; /* that are on their way */
    struct sim_api api;
    struct sim_client clients[SIM_CLIENTS];
    int64_t cut_until_ms[SIM_PLACES][SIM_PLACES]; /* from, to */
    struct txn_table txns;
    struct txn_bits acked;     /* a client was told, and nothing allowed its loss since */
    struct txn_bits unguarded; /* a client was told of what was let go, and no operator need know of that yet */
    struct txn_bits forgiven;  /* not told yet, and lost with a failover that says so: its primary may tell late */
    int acked_count;
    struct agent_status news; /* what a digest is made of */
    uint64_t next_id;
    int64_t due_ms[SCHEDULE_FAULTS_MAX], fired_ms[SCHEDULE_FAULTS_MAX]; /* 0: not yet */
    bool ended[SCHEDULE_FAULTS_MAX];
    int64_t let_go_ms;         /* when a commit was let go last by somebody with all rights; 0: never */
    /* A person stops threads of a server, once the agents have heard that they are to be left alone; 0: nobody does. */
    int64_t stop_threads_ms;
    int stop_threads_of, stop_threads;
    int64_t wished_ms[SIM_MEMBERS_MAX]; /* when somebody named it in spec.replication.primary last; 0: never */
    int64_t confirmed_lost_ms; /* when somebody said last that a primary is gone for good; 0: never */
    int64_t opened_ms;         /* when a server was opened last */
    int opened_last;           /* which one, under the epoch of the status then; -1: none */
    uint64_t opened_epoch;
    bool calm;        /* no fault comes any more */
    bool volume_lost; /* one that held data, at some time */
    bool status_past; /* the status was one of the past, at some time */
    uint64_t forked_epoch; /* the latest epoch, of which nobody who was heard knew when an earlier primary went on; 0 */
    bool recreated;   /* the cluster was deleted and applied again, at some time */
    int64_t calm_ms;
    FILE *story; /* NULL: none is told */
    struct sim_verdict verdict;
    uint64_t digest; /* of all that happened (sim_note), and with digests_story of the story */
    bool digests_story;
};

/* ---- time, chance, story ---- */

/* 64 bits that depend on the seed, the time, `who` and `what`. */
uint64_t sim_random(const struct sim *sim, int who, int what);
/* From low up to high, both included. */
int64_t sim_between(const struct sim *sim, int who, int what, int64_t low, int64_t high);
bool sim_chance(const struct sim *sim, int who, int what, int percent);
void KM_PRINTF(2, 3) sim_tell(struct sim *sim, const char *fmt, ...);
/* Something happened now, and becomes a part of the digest. */
void sim_note(struct sim *sim, enum sim_event event, int who, uint64_t what);
/* The first one stands. */
void KM_PRINTF(3, 4) sim_fail(struct sim *sim, enum violation kind, const char *fmt, ...);
uint64_t sim_new_id(struct sim *sim);
int64_t sim_wall_ms(const struct sim *sim);
/* Nothing that is sent from one arrives at the other. */
bool sim_is_cut(const struct sim *sim, int from, int to);
bool sim_is_linked(const struct sim *sim, int a, int b); /* both ways */
static inline int sim_operator_place(int op)
{
    return SIM_MEMBERS_MAX + op;
}
const char *sim_member_name(int member);  /* "db-mysql-N" */
int sim_member_of_host(const char *host); /* -1: none */

#endif
