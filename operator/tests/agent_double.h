/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_double.h: the agents, servers and volumes of one cluster inside the test: what the operator's orders lead to,
 * without a server.
 *
 * An agent double is one member: a volume, which outlives its pods, and at most one pod's process on an address of
 * loopback of its own (127.X.Y.Z, port AGENT_PORT_TLS) with the certificate of Secret NAME-mysql-tls. It serves GET
 * /v1/status?watch=1 and PUT /v1/role by the rules of agent_order.h; POST /v1/mycnf/apply takes up any my.cnf; POST and
 * DELETE /v1/backups by those of backup_task.h, PUT and DELETE /v1/archive by those of archive_task.h. First the
 * process is `init`, which waits for an order with `seed`; then, under another boot id, the agent beside a server that
 * is read-only and follows nobody until it is told what to be.
 *
 * Data is a number: there is one history of transactions, and a member has executed the first N of them. Whoever was
 * opened last adds to it all the time. Transactions beside the history (`errant`) can be planted, or come about: a
 * commit that waited for acknowledgements when its server ended, or that was written on after another one was opened.
 * Who is opened decides what the history is: what others have beyond it is errant then.
 * A commit counts as acknowledged when as many members have received it as the primary was told to wait for; without
 * semi-sync at once, unless spec.failover.dataLoss is allow. Relay logs do not outlive a server, nor an order to be
 * nothing (the worst that MariaDB does).
 *
 * Rules that hold whatever happens; the first one that is broken is kept as `failure` and fails the test:
 *   - two members never take writes at the same time (I1): an old primary may still be open when another one is opened
 *     after a failover, but then no commit on it can ever be acknowledged again
 *   - an order of an epoch is given only after the status of the cluster says that epoch and that primary (I2)
 *   - orders of one epoch do not differ in whether commits wait, and for how many acknowledgements
 *   - who is opened has every transaction that was ever acknowledged, and none that is not of the history (I3, I4)
 *   - who is told to acknowledge stands among the status' acknowledgers
 *   - errant transactions are set aside on the volume before they are replaced (I7)
 *   - a backup is restored only when the status of the cluster names it, and by a task of the same id (I2)
 *   - a restore in place is taken only after the status says so, and nobody follows, or is opened with, a history from
 *     before it
 *   - a database is made only where there is none: neither in the status of the cluster nor on another volume (I8)
 *   - a copy comes from a running member with data, and replaces data only on a volume that is not the last with all
 *     transactions
 *   - nobody but the operator gives orders
 *   - to archive binary logs only the primary is told that the status of the cluster names
 *   - a task is given only after the status of a MysqlBackup names its id and this member (I10)
 */
#ifndef KM_AGENT_DOUBLE_H
#define KM_AGENT_DOUBLE_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/list.h"
#include "common/loop.h"
#include "operator/tests/kube_api_double.h"

#define AGENT_DOUBLES_MAX 10

struct agent_doubles;

struct agent_double {
    struct agent_doubles *all;
    int ordinal;
    char name[64];

    /* The volume. */
    bool has_data;
    uint64_t executed, received; /* of the history; received is never smaller */
    unsigned errant;             /* transactions that are not of the history */
    uint64_t purged;             /* binary logs below are gone: who needs them cannot follow */
    uint64_t epoch;
    enum agent_mark mark;
    unsigned set_aside; /* errant transactions that were saved before the mark */
    uint64_t line;      /* number of the restore in place that its history began with; 0: the first one */
    uint64_t data_number,
        beside_number; /* restores in place: by which one its data came, which one waits beside it; 0: none */
    bool has_before;

    bool nobody_stays; /* as the last order says */

    /* For tests to turn. Times in milliseconds. */
    bool silent;               /* the agent is not reachable, its server goes on */
    bool is_cut;               /* neither the agent nor the server is reachable from anywhere; both go on */
    bool hangs;                /* the server answers nothing and does nothing; nobody receives from it */
    bool is_slow;              /* receives nothing new as long as enough others do */
    bool applier_is_stuck;     /* receives, but does not execute */
    bool order_is_stuck;       /* takes orders up, but does not get them done */
    uint64_t stuck_epoch;      /* as that, with orders of this epoch and later ones; 0: none */
    bool clone_fails;          /* as giver: the stream breaks off */
    const char *restore_fails; /* reason of a restore that fails for good; NULL: it goes well */
    bool mycnf_needs_restart;  /* its server takes up no new my.cnf while it runs */
    int64_t lag_ms;            /* what it tells */
    unsigned long_transactions;
    int64_t clone_ms, order_ms;
    int64_t start_ms;   /* its server's start, after `init` */
    int64_t stalled_ms; /* what it tells of its volume */
    bool volume_is_full;
    bool is_outdated; /* of a version that speaks S3 with the pod in front of a volume */

    /* Backups: what this process was told last; its state is the test's to turn. */
    struct backup_task backup_task;
    struct backup_report backup;
    int backup_answer; /* to a new task; 0: it is taken */

    /* The archive of binary logs: what this process was told, and what it says (agent_archive_double.c). */
    struct {
        char task[17], folder[256], key[64], store[64]; /* digest; of the bucket's keys; where a volume is reached */
        uint32_t interval_s;
        struct archive_report report; /* the test's to turn: from_gtid, gap_ms, error_reason, message */
        bool is_stuck;                /* it gets no further */
        int answer;                   /* to a task; 0: it is taken */
    } archive;

    /* The process; at most one at a time. */
    bool is_up;
    char address[20];
    struct http_server *server;
    struct tls_server *tls;
    uint16_t lives;
    struct agent_status status; /* what does not follow from the rest */
    struct agent_order order;
    bool has_order;
    char restored[AGENT_RESTORE_ID_SIZE]; /* of which backup its data is; "" of none */
    char task_store[64];                  /* where a volume is reached, by that task */
    char task_key[64];                    /* access key of the last task of a restore */
    char task_binlogs[256];               /* what it replays: "" nothing */
    char task_until_gtid[POSITION_TOLD_SIZE];
    int64_t task_until_ms;
    int following; /* ordinal whose transactions it receives, -1: nobody's */
    bool opened;
    int64_t due_ms;     /* what is under way is done then */
    int64_t started_ms; /* its server runs from then on */
    uint64_t told;      /* digest of the last line */
    int64_t told_ms;
    bool blocked;               /* a commit waits for acknowledgements */
    int64_t blocked_ms;         /* since then */
    bool seen;                  /* it was connected to its source in this life of the server */
    int64_t connected_ms;       /* last */
    struct agent_order open_as; /* the order that it was opened by; a later one has no effect until it is carried out */
    int64_t closed_ms;
    int64_t heard_ms; /* primary: the operator or enough others */
    bool isolated;
    struct list_node streams;
    size_t stream_count;
};

/* api: where the status of the MysqlCluster of that name, in WORLD_NAMESPACE, and its Secret are looked up. */
struct agent_doubles *agent_doubles_new(struct loop *loop, struct kube_api_double *api, const char *cluster);
const char *agent_doubles_cluster(const struct agent_doubles *doubles); /* that name */
void agent_doubles_free(struct agent_doubles *doubles);
/* Time passes: to be called every few milliseconds. */
void agent_doubles_tick(struct agent_doubles *doubles);
struct agent_double *agent_doubles_get(struct agent_doubles *doubles, int ordinal);
/* "", or the first rule that was broken. */
const char *agent_doubles_failure(const struct agent_doubles *doubles);
uint64_t agent_doubles_history(const struct agent_doubles *doubles);      /* its length */
uint64_t agent_doubles_acknowledged(const struct agent_doubles *doubles); /* of it */
size_t agent_doubles_orders(const struct agent_doubles *doubles);         /* PUT /v1/role so far */
/* Runs at the end of every PUT /v1/role. */
void agent_doubles_on_order(struct agent_doubles *doubles, void (*fn)(void *arg), void *arg);

/* Runs when a member has taken a task (its report says Running). NULL: none. */
void agent_doubles_on_backup(
    struct agent_doubles *doubles, void (*fn)(void *arg, struct agent_double *agent), void *arg);
/* Tasks that were taken so far, and DELETEs that ended one. */
size_t agent_doubles_backups(const struct agent_doubles *doubles);
size_t agent_doubles_ended(const struct agent_doubles *doubles);
/* PUT /v1/archive that was taken so far, and DELETE. */
size_t agent_doubles_archive_tasks(const struct agent_doubles *doubles);
size_t agent_doubles_archive_ends(const struct agent_doubles *doubles);

/* Orders are answered 503 and not taken up: who gives them is dead. */
void agent_doubles_refuse(struct agent_doubles *doubles, bool refuse);

/* A pod's begin: `init` runs. False while the Secret is not there. The address is in double->address. */
bool agent_double_start(struct agent_double *agent);
/* A pod's end. The volume stays. */
void agent_double_stop(struct agent_double *agent);
/* The server ends, the pod and its agent do not. */
void agent_double_crash(struct agent_double *agent);
/* The server runs again, read-only and following nobody. Fine if it runs. */
void agent_double_recover(struct agent_double *agent);
/* The claim is deleted. */
void agent_double_wipe(struct agent_double *agent);
bool agent_double_is_past_init(const struct agent_double *agent);
bool agent_double_is_ready(const struct agent_double *agent);
/* What the preStop hook says: a primary that others could follow waits for its successor, as long as an operator
 * listens. */
bool agent_double_may_stop(const struct agent_double *agent);
bool agent_double_is_open(const struct agent_double *agent);

#endif
