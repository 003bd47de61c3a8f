/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_model.h: what an agent double's order leads to: seeding, roles, the flow of transactions. For agent_double.c
 * only.
 */
#ifndef KM_AGENT_MODEL_H
#define KM_AGENT_MODEL_H

#include "common/base.h"

#include "operator/tests/agent_double.h"

#define HISTORY_MAX 100000

#define AGENT_IDENTITIES_MAX 16

struct agent_doubles {
    struct position_pool *positions; /* of all that they have said */
    struct loop *loop;
    struct kube_api_double *api;
    char cluster[32]; /* name, in WORLD_NAMESPACE */
    struct agent_double members[AGENT_DOUBLES_MAX];
    uint8_t writers[HISTORY_MAX]; /* ordinal of who wrote each transaction */
    uint64_t history;
    uint64_t acknowledged; /* the first of them */
    uint64_t line;         /* number of the restore in place that the history began with; 0: none */
    int writer;            /* ordinal of who was opened last, -1: nobody yet */
    uint64_t writer_epoch; /* by an order of this one: an older one that is carried out late opens nobody else */
    int64_t written_ms;
    unsigned address_base, addresses; /* every pod has one of its own */
    struct {
        char version[24];
        struct tls_server *tls;
    } identities[AGENT_IDENTITIES_MAX]; /* with which pods were started, by the version of their Secret */
    size_t identity_count;
    char failure[512];
    struct {
        uint64_t epoch;
        bool semi_sync;
        uint32_t acks;
    } told[AGENT_ROLE_COUNT]; /* by the largest epoch that somebody was told */
    size_t orders;
    size_t backups, ended, archive_tasks, archive_ends;
    void (*taken)(void *arg, struct agent_double *agent);
    void *taken_arg;
    bool refuses;
    void (*ordered)(void *arg);
    void *ordered_arg;
};

/* agent_archive_double.c */
void agent_archive_put(struct http_exchange *exchange, struct agent_double *agent);
void agent_archive_delete(struct http_exchange *exchange, struct agent_double *agent);
void agent_archive_forget(struct agent_double *agent);
void agent_archive_status(const struct agent_double *agent, struct agent_status *ret);

/* The MysqlCluster; NULL: it is gone. */
const json_t *agent_model_cluster(const struct agent_doubles *doubles);
/* Of its objects: "secrets", "-mysql-tls". */
const json_t *agent_model_object(const struct agent_doubles *doubles, const char *plural, const char *suffix);

/* `init` begins. */
void agent_model_begin(struct agent_double *agent);
/* The rules of agent_order.h: false if the epoch is smaller than one that was seen. */
bool agent_model_order(struct agent_double *agent, const struct agent_order *order);
/* What is due is done. True when `init` is through: the process ends and another one follows (agent_model_run). */
bool agent_model_turn(struct agent_double *agent, int64_t now_ms);
void agent_model_run(struct agent_double *agent);
void agent_model_end(struct agent_double *agent);
/* The server alone. */
void agent_model_crash(struct agent_double *agent);
void agent_model_recover(struct agent_double *agent);
/* Writes on who is open, and what replicas receive and apply. */
void agent_model_flow(struct agent_doubles *doubles, int64_t now_ms);
void agent_model_status(const struct agent_double *agent, struct agent_status *ret);
/* As its status says, which is too large to be made for each question. */
bool agent_model_is_ready(const struct agent_double *agent);
/* Its server answers. */
bool agent_model_server_runs(const struct agent_double *agent);
/* It follows a source, and gets what that writes. */
bool agent_model_receives(const struct agent_double *agent);
void agent_model_fail(struct agent_doubles *doubles, const char *fmt, ...) KM_PRINTF(2, 3);

#endif
