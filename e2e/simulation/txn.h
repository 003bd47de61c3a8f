/* SPDX-License-Identifier: Apache-2.0 */
/*
 * txn.h: transactions and what servers hold of them.
 *
 * A transaction is a number that only the simulation knows; its GTID is what servers and decisions see. So two
 * transactions of one GTID are two here, as they are on disks.
 * MySQL: the numbers of one source are executed in their order, and nowhere is one left out
 * (replica_preserve_commit_order, one source at a time, and a source sends all that a replica lacks): a set is a
 * largest number for each source.
 * MariaDB: gtid_binlog_state, the largest number of each server id. Data that was initialised has the server id of its
 * ordinal (the source of that number), each copy one of its own (agent/bootstrap/server_id.h).
 */
#ifndef KM_SIMULATION_TXN_H
#define KM_SIMULATION_TXN_H

#include "common/base.h"

#include "common/agent_order.h"

#define TXNS_MAX 8192
#define TXN_SOURCES_MAX 96 /* UUIDs, or server ids of MariaDB */
#define TXN_SERVER_ID_BASE 1000
#define TXN_SERVERS_MAX 6 /* members */

enum txn_kind { TXN_CLIENT, TXN_BEAT, TXN_ERRANT, TXN_DDL_RECOVERY };

struct txn {
    enum txn_kind kind;
    uint8_t server; /* ordinal of the member that wrote it */
    uint8_t source; /* of its GTID: the UUID, or the server id of MariaDB */
    bool has_twin;  /* another one has the same GTID */
    uint32_t number;
    uint64_t epoch;
    int64_t made_ms;
    int64_t let_go_ms; /* it was committed without the acknowledgements that were ordered; 0: it was not */
};

struct txn_table {
    struct txn all[TXNS_MAX];
    int count;
    int sources;                       /* given so far */
    uint32_t highest[TXN_SOURCES_MAX]; /* number that each source has given */
};

struct txn_bits {
    uint64_t words[TXNS_MAX / 64];
};

static inline void txn_bits_add(struct txn_bits *bits, int txn)
{
    bits->words[txn / 64] |= UINT64_C(1) << (txn % 64);
}
static inline void txn_bits_drop(struct txn_bits *bits, int txn)
{
    bits->words[txn / 64] &= ~(UINT64_C(1) << (txn % 64));
}
static inline bool txn_bits_has(const struct txn_bits *bits, int txn)
{
    return bits->words[txn / 64] >> (txn % 64) & 1;
}
/* The first one of a that b lacks; -1: none. */
int txn_bits_missing(const struct txn_bits *a, const struct txn_bits *b, int count);

/* Per source the largest number. */
struct txn_set {
    uint32_t upto[TXN_SOURCES_MAX];
};

/* A binary log. What is committed in the engine is a prefix of it, and what the engine would still have after a crash a
 * prefix of that. */
struct txn_log {
    uint16_t entries[TXNS_MAX];
    int count, committed, durable;
    int64_t durable_ms;
    int base;                 /* what came with a copy lies in no file of it */
    struct txn_bits bits;     /* of all entries */
    struct txn_set all, done; /* of all, and of those that are committed */
};

/* Relay logs: from `at` on it waits to be applied. */
struct txn_queue {
    uint16_t entries[TXNS_MAX];
    int count, at;
    struct txn_set all; /* MySQL: of what was received since the logs were begun */
};

void txn_log_add(const struct txn_table *table, struct txn_log *log, int txn);
void txn_log_commit(const struct txn_table *table, struct txn_log *log, int count);
/* Cuts off what lies behind. */
void txn_log_cut(const struct txn_table *table, struct txn_log *log, int count);
void txn_log_clear(struct txn_log *log);
void txn_log_copy(const struct txn_table *table, const struct txn_log *from, int count, struct txn_log *to);
void txn_queue_clear(struct txn_queue *queue);
void txn_queue_add(const struct txn_table *table, struct txn_queue *queue, int txn);

/* The last one, -1: none. */
int txn_log_last(const struct txn_log *log);
bool txn_same_gtid(const struct txn *a, const struct txn *b);
void txn_gtid(const struct txn *txn, bool mariadb, char *out, size_t size);
void txn_set_print(const struct txn_set *a, const struct txn_set *b, int sources, char *out, size_t size);
/* The server id that belongs to it. */
uint32_t txn_server_id(int source);
void txn_uuid(int source, char out[static 37]);

#endif
