/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_exchange.h: one request under way: what store_server.c, store_receive.c (bodies in) and store_send.c (bodies out) share. Private to them.
 */
#ifndef KM_AGENT_BACKUP_STORE_EXCHANGE_H
#define KM_AGENT_BACKUP_STORE_EXCHANGE_H

#include "common/base.h"

#include "agent/backup/store_server.h"
#include "agent/backup/store_upload.h"
#include "common/list.h"
#include "common/strbuf.h"

struct store_piece {
    char *data; /* STORE_PIECE_BYTES */
    size_t len;
};

struct store_exchange {
    struct list_node node;
    struct store_server *server;
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
    /* results */
    char id[STORE_ID_SIZE];
    char etag[STORE_ETAG_SIZE];
    struct strbuf answer;
    /* a body that arrives */
    struct store_draft draft;
    int64_t offset; /* of a part in place; -1: it is not */
    uint64_t body_bytes;
    struct store_piece filling;
    struct store_piece writing;
    bool whole;               /* all of it was handed over */
    bool failing;             /* nothing more is taken */
    enum store_code end_code; /* it is to end so when the job is done */
    const char *end_why;
    struct strbuf list; /* of parts, gathered */
    bool waiting;       /* to complete, for parts that are still on their way */
    /* an object that is sent */
    struct store_object object;
    uint64_t from;
    uint64_t left;
};

/* Runs work on a lane, then `then` on the loop. */
void store_exchange_run(struct store_exchange *exchange, void (*work)(struct store_exchange *exchange),
    void (*then)(struct store_exchange *exchange));
/* Answers with exchange->fault and frees it. */
void store_exchange_refuse(struct store_exchange *exchange);
/* 200 with exchange->answer (XML) or, if that is empty, with nothing, or status. Frees it. */
void store_exchange_answer(struct store_exchange *exchange, int status);
void store_exchange_free(struct store_exchange *exchange);

/* store_receive.c: PUT of an object or a part. exchange->offset is set. */
void store_receive(struct store_exchange *exchange);
/* Ends one that is under way; it is answered with the fault. */
void store_receive_end(struct store_exchange *exchange, enum store_code code, const char *why);
void store_receive_release(struct store_exchange *exchange);

/* store_send.c: GET and HEAD. */
void store_send(struct store_exchange *exchange);

#endif
