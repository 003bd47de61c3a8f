/*
 * agent_double.h: the agents, servers and volumes of one cluster inside the test: what the operator's orders lead to, without a server.
 *
 * An agent double is one member: a volume, which outlives its pods, and at most one pod's process on an address of loopback of its own
 * (127.X.Y.Z, port AGENT_PORT_TLS) with the certificate of Secret NAME-mysql-tls. It serves GET /v1/status?watch=1 and PUT /v1/role by the
 * rules of agent_order.h; POST /v1/mycnf/apply takes up any my.cnf. First the process is `init`, which waits for an order with `seed`; then, under another boot id, the agent beside a server
 * that is read-only and follows nobody until it is told what to be.
 *
 * Data is a number: there is one history of transactions, and a member has executed the first N of them. Whoever is open for writes adds to
 * it all the time. Transactions beside the history (`errant`) can be planted.
 *
 * Rules that hold whatever happens; the first one that is broken is kept as `failure` and fails the test:
 *   - two members never take writes at the same time (I1)
 *   - an order of an epoch is given only after the status of the cluster says that epoch and that primary (I2)
 *   - who is opened has every transaction that anybody executed while open
 *   - a database is made only where there is none: neither in the status of the cluster nor on another volume (I8)
 *   - a copy comes from a running member with data, and replaces data only on a volume that is not the last with all transactions
 *   - nobody but the operator gives orders
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

    /* For tests to turn. Times in milliseconds. */
    bool silent;              /* the agent is not reachable, its server goes on */
    bool applier_is_stuck;    /* receives, but does not execute */
    bool order_is_stuck;      /* takes orders up, but does not get them done */
    bool clone_fails;         /* as giver: the stream breaks off */
    bool mycnf_needs_restart; /* its server takes up no new my.cnf while it runs */
    int64_t lag_ms;           /* what it tells */
    unsigned long_transactions;
    int64_t clone_ms, order_ms;

    /* The process; at most one at a time. */
    bool is_up;
    char address[20];
    struct http_server *server;
    struct tls_server *tls;
    uint16_t lives;
    struct agent_status status; /* what does not follow from the rest */
    struct agent_order order;
    bool has_order;
    int following; /* ordinal whose transactions it receives, -1: nobody's */
    bool opened;
    int64_t due_ms; /* what is under way is done then */
    uint64_t told;  /* digest of the last line */
    int64_t told_ms;
    bool blocked; /* a commit waits for acknowledgements */
    struct list_node streams;
    size_t stream_count;
};

/* api: where the cluster's status and its Secret are looked up. */
struct agent_doubles *agent_doubles_new(struct loop *loop, struct kube_api_double *api);
void agent_doubles_free(struct agent_doubles *doubles);
/* Time passes: to be called every few milliseconds. */
void agent_doubles_tick(struct agent_doubles *doubles);
struct agent_double *agent_doubles_get(struct agent_doubles *doubles, int ordinal);
/* "", or the first rule that was broken. */
const char *agent_doubles_failure(const struct agent_doubles *doubles);
uint64_t agent_doubles_history(const struct agent_doubles *doubles); /* its length */
size_t agent_doubles_orders(const struct agent_doubles *doubles);    /* PUT /v1/role so far */
/* Runs at the end of every PUT /v1/role. */
void agent_doubles_on_order(struct agent_doubles *doubles, void (*fn)(void *arg), void *arg);

/* Orders are answered 503 and not taken up: who gives them is dead. */
void agent_doubles_refuse(struct agent_doubles *doubles, bool refuse);

/* A pod's begin: `init` runs. False while the Secret is not there. The address is in double->address. */
bool agent_double_start(struct agent_double *agent);
/* A pod's end. The volume stays. */
void agent_double_stop(struct agent_double *agent);
/* The claim is deleted. */
void agent_double_wipe(struct agent_double *agent);
bool agent_double_is_past_init(const struct agent_double *agent);
bool agent_double_is_ready(const struct agent_double *agent);
/* What the preStop hook says: a primary that others could follow waits for its successor, as long as an operator listens. */
bool agent_double_may_stop(const struct agent_double *agent);
bool agent_double_is_open(const struct agent_double *agent);

#endif
