/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_exchange.h: one HTTP request being served: its job on a worker thread and its response. Shared by
 * store_server.c, store_receive.c (request bodies) and store_send.c (response bodies); private to them.
 */
#ifndef KM_AGENT_BACKUP_STORE_EXCHANGE_H
#define KM_AGENT_BACKUP_STORE_EXCHANGE_H

#include "common/base.h"

#include "agent/backup/store_folder.h"
#include "agent/backup/store_request.h"
#include "common/http_server.h"
#include "common/list.h"
#include "common/strbuf.h"
#include "common/worker.h"

#define STORE_LANES 4
#define STORE_PIECE_BYTES ((size_t)(128 * KM_KIB))
/* Of a list: STORE_NAMES_MAX names. */
#define STORE_ANSWER_MAX ((size_t)(2 * KM_MIB))

/* All of a store, and the threads that work for them. */
struct store_exchanges {
    const struct store_folder *folder;
    struct worker *lanes[STORE_LANES]; /* NULL: it ends */
    struct list_node list;
    size_t count;
};

struct store_buffer {
    char *data; /* STORE_PIECE_BYTES */
    size_t len;
};

struct store_exchange {
    struct list_node node;
    struct store_exchanges *all;
    void *owner; /* the store_server */
    const struct store_folder *folder;
    struct http_exchange *http; /* NULL: a stream's peer is gone */
    bool is_head;
    struct store_request request;
    struct store_fault fault;
    /* The job that runs; nothing else touches the exchange's files meanwhile. */
    void (*work)(struct store_exchange *exchange);
    void (*then)(struct store_exchange *exchange);
    bool busy;
    bool ran;
    struct strbuf answer;
    /* a body that arrives */
    struct store_draft draft;
    uint64_t body_bytes;
    struct store_buffer filling;
    struct store_buffer writing;
    bool whole;               /* all of it was handed over */
    bool failing;             /* nothing more is taken */
    enum store_code end_code; /* it is to end so when the job is done */
    const char *end_why;
    /* an object that is sent */
    struct store_object object;
    uint64_t from;
    uint64_t left;
};

/* http may be answered with a fault without one. */
void store_refuse(struct http_exchange *http, const struct store_fault *fault);

struct store_exchange *store_exchange_new(
    struct store_exchanges *all, struct http_exchange *http, const struct store_request *request);
/* Runs work on a lane, then `then` on the loop. */
void store_exchange_run(struct store_exchange *exchange, void (*work)(struct store_exchange *exchange),
    void (*then)(struct store_exchange *exchange));
/* Answers with exchange->fault and frees it. */
void store_exchange_refuse(struct store_exchange *exchange);
/* Answers with the fault, if there is one, else 200 with exchange->answer, or 204 if that is empty. Frees it. */
void store_exchange_answer(struct store_exchange *exchange);
void store_exchange_free(struct store_exchange *exchange);

#endif
