/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_order.h: what the operator tells an agent to be. The body of PUT /v1/role on the TLS door, for the operator's
 * certificate only.
 *
 * An order is a wish for a state, not a command: it is sent until the agent's status shows its hash, and an agent goes
 * on making it true for as long as it lives (a replication thread that stopped is started again). A later order
 * replaces it. After a restart an agent has none: a server that starts is read-only with replication stopped until the
 * agent is told again (I1), one that it finds running stays as it is. When a primary's server ends, its order is
 * dropped: the operator must send it again, knowing of that.
 *
 * Answers: 200 {"epoch":N} taken up (the status tells how it goes); 409 {"epoch":N} the order's epoch is smaller than
 * N, which this member has seen before (kept on its volume, I2); 421 another pod's order (agent_identity.h); 400 not an
 * order. Two orders of one epoch never name different primaries.
 *
 * `seed` is for `kube-mysql-agent init`, which has no server yet; `mark` is for a member that is about to leave.
 */
#ifndef KM_COMMON_AGENT_ORDER_H
#define KM_COMMON_AGENT_ORDER_H

#include "common/base.h"

#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

/* The longest position and all that is beside it. */
#define AGENT_ORDER_MAX (192 * KM_KIB)
#define AGENT_ORDER_POSITIONS_MAX (2 * POSITION_TEXT_MAX)
#define AGENT_HOST_SIZE 320
#define AGENT_RESTORE_ID_SIZE 128
#define AGENT_ROOT_MAX_MS (10 * 60 * 1000)
#define AGENT_ROOT_FLOOR_BYTES (32ULL * KM_MIB) /* with less free than that nobody is let in, root neither */

enum agent_role {
    AGENT_ROLE_NONE,    /* read-only, replication stopped, clients disconnected: fenced */
    AGENT_ROLE_PRIMARY, /* open for writes, once wait_for is executed */
    AGENT_ROLE_REPLICA, /* read-only, follows the source */
    AGENT_ROLE_COUNT,
};

enum agent_seed {
    AGENT_SEED_NONE,       /* wait */
    AGENT_SEED_KEEP,       /* the data that is there is this cluster's: start with it */
    AGENT_SEED_INITIALISE, /* make a new database; an error if data is there */
    AGENT_SEED_CLONE,      /* copy it from the donor; an error if data is there, unless `replace` */
    /* make it of a stored backup: the task of PUT /v1/restore with restore_id (backup_task.h); likewise */
    AGENT_SEED_RESTORE,
    /* The same, but beside the data that is there, which stays as it is: in data.restored, under restore_number
     * (agent/bootstrap/datadir_beside.h). Then it waits: the status shows the number as besideNumber. */
    AGENT_SEED_RESTORE_BESIDE,
    /* what waits beside it under restore_number becomes the data; the old is kept as data.before */
    AGENT_SEED_TAKE_RESTORED,
    AGENT_SEED_COUNT,
};

/* Written to the volume: whoever starts there next must not trust the data without asking. */
enum agent_mark {
    AGENT_MARK_NONE,   /* leave what is there */
    AGENT_MARK_LEFT,   /* the member leaves the cluster (scale in) */
    AGENT_MARK_RESEED, /* the data is to be replaced: the operator deletes the pod when the status shows the mark */
    AGENT_MARK_COUNT,
};

struct agent_order {
    uint64_t epoch;
    enum agent_role role;

    /* role replica: whom to follow. Names, as in the certificates; addresses in tests. "": nobody. Then it receives no
     * more, and so gives no more acknowledgements (that is the fence of a failover); what it has received it keeps and
     * goes on applying. Done when gtid_received is final. So does a replica whose source is ordered to be primary under
     * a larger epoch than this order's, until it is ordered anew: nobody would count its acknowledgements. Before it
     * turns to another source it applies, for at most ten seconds, what it has received, which that would drop. */
    char source_host[AGENT_HOST_SIZE]; /* "c1-mysql-0.c1-mysql.ns.svc" */
    uint32_t source_port;              /* its server */
    uint32_t source_agent_port;        /* its agent's TLS door */
    /* The source is about to become primary: all is made ready to follow it, but nothing is received from anybody
     * before its agent says that it is open, under this order's epoch or a later one. Until then it has yet to get what
     * this member may have already. What was received is applied first, however long that takes. */
    bool await_source;
    /* It is about to be told to become primary: its binary log begins a new file, once in an epoch. Those who will
     * follow it have all that is in the files before, so it need not read them through for each of them while commits
     * wait. */
    bool rotate;

    /* role primary */
    const char *wait_for; /* GTID set that must be executed before it is opened; "" nothing */
    bool heartbeat;       /* write the heartbeat that replicas measure their lag by */
    /* The dead primary's agent, whose server's binary logs may hold transactions that nobody else has: they are taken
     * over before this one is opened (GET /v1/binlogs/tail). "" nobody. */
    char salvage_host[AGENT_HOST_SIZE];
    uint32_t salvage_agent_port;

    bool semi_sync;           /* primary: wait for acknowledgements, for ever; replica: give them */
    uint32_t acks;            /* primary: how many, where the server can count them */
    uint32_t max_lag_seconds; /* replica: not ready when it lags more; 0: no limit */
    uint32_t hung_ms;         /* a server that answers no probe for so long is Hung; 0: the agent's own default */
    uint32_t silence_ms;      /* replica: a source that has not been heard of for so long is lost; 0: likewise */
    /* primary: closes itself (I6) when for so long neither the operator has been heard nor
     * self_fence_members others; 0: never. The operator is heard by any
     * request of its own; a stream that it only listens to proves nothing. An agent that is started anew beside a
     * server that is open keeps the promise of the one before, and waits two seconds at most for a first word. */
    uint32_t self_fence_ms;
    /* How many other members must be heard for that to be no reason to close. All of them where somebody else may be
     * opened once this time has passed (no acknowledgements that fence): then one that has been told to follow nobody
     * is enough to make this one close. 0 counts as 1. */
    uint32_t self_fence_members;
    uint32_t drain_ms; /* on the way from primary: how long running transactions may go on before they are killed */

    /* for init */
    enum agent_seed seed;
    bool replace; /* clone, restore: what is there was proven to be of no more use */
    /* With `replace`: what the data has beyond this is set aside on the volume before it goes (I7). The primary's
     * gtid_state or gtid_executed, or the donor's; "" or too long: not known, the newest transactions are set aside.
     * With `truncate`: what the primary had when it was chosen; a server that has nothing beyond it is started plainly.
     * "" or too long: not known. */
    const char *beyond;
    char donor_host[AGENT_HOST_SIZE]; /* clone: a member's name, as source_host */
    uint32_t donor_port;
    uint32_t donor_agent_port;
    /* restore, restoreBeside: of the backup, and of the task that says how to get it */
    char restore_id[AGENT_RESTORE_ID_SIZE];
    uint64_t restore_number; /* restoreBeside, takeRestored: which one of this cluster's, from 1 */

    enum agent_mark mark;
    /* With mark reseed: first the binary logs that hold what the source has not, and a list of it, are set aside on the
     * volume (I7); the mark is written after that. */
    bool set_aside;
    /* Replica: there is a primary that has all that was ever acknowledged, so a server that ended as a semi-sync
     * primary may be started such that it cuts off what nobody acknowledged (MariaDB), once that is set aside; but for
     * one that has nothing beyond `beyond`. */
    bool truncate;
    bool drop_before; /* data.before, from before the last restore in place, is of no more use */
    /* No member stays that could take over, as the namespace is deleted, or what the members hold is to be replaced
     * (a restore in place): one whose pod is to end need not wait for a hand-over (agent/pre_stop.h). Says nothing of
     * what to be, so it is no part of the order's hash. Earlier versions do not know it. */
    bool nobody_stays;
    /* Primary: it has been closed for a copy not long ago, by this agent or another one, and is not closed for one now
     * (agent_api.h: stays_open). No part of the order's hash either. Earlier versions do not know it. */
    bool stays_open;

    /* What follows is of people. It says nothing of what to be either, so it is no part of the order's hash; a status
     * shows it (agent_api.h: leaves_threads, keeps_stopped). Agents of earlier versions do not know it. */
    /* Replica: a replication thread that somebody stops by hand stays stopped, as long as the source is the same. */
    bool leave_threads;
    /* A member that is ordered to be nothing, and is: its server is stopped, and stays so until an order comes without
     * this, also over restarts of the container and of the pod. Means nothing beside role primary. */
    bool keep_stopped;
    /* Role primary: accounts that were made for spec.username, and which it no longer names, are locked
     * (agent/mysql/accounts_left.h). Nothing unlocks them but their being named again. */
    bool lock_left;
    /* Role primary: while it is closed for writes for want of room (agent/volume_room.h), root may write, to make some.
     * root_until_ms: until when, by the operator's wall clock, which also tells one wish from another; 0: there is
     * none. root_ms: what is left of that, AGENT_ROOT_MAX_MS at most: whoever hears of a wish counts from then on, and
     * the same one said again never lasts longer for it. */
    uint64_t root_until_ms;
    uint32_t root_ms;
};

/* By enum, for tables of json_fields.h. */
extern const char *const agent_role_names[AGENT_ROLE_COUNT];
extern const char *const agent_mark_names[AGENT_MARK_COUNT];
const char *agent_role_name(enum agent_role role); /* "", "primary", "replica" */
void agent_order_encode(const struct agent_order *order, struct strbuf *out);
/* ERROR_INVALID names the member that is wrong. Positions are taken into the pool. */
int agent_order_decode(const char *text, size_t len, struct position_pool *positions, struct agent_order *ret,
    struct error *err) KM_MUST_CHECK;
/* Identifies an order in a status: hex of a digest of its encoding without wait_for and salvage, which matter only
 * until the server is open, without `beyond`, which earlier versions do not know, and without asides. */
void agent_order_hash(const struct agent_order *order, char out[static 17]);

/* What is told along with an order and is no part of its hash, as flags. */
#define AGENT_ASIDE_NOBODY_STAYS 1U
#define AGENT_ASIDE_LEAVE_THREADS 2U
#define AGENT_ASIDE_KEEP_STOPPED 4U
#define AGENT_ASIDE_LOCK_LEFT 8U
#define AGENT_ASIDE_STAYS_OPEN 16U
/* From this bit on: of root_until_ms, so that another wish is told as well. */
#define AGENT_ASIDE_ROOT_SHIFT 5
unsigned agent_order_asides(const struct agent_order *order);
unsigned agent_aside_of_root(uint64_t root_until_ms);

#endif
