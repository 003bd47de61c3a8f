/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_request.h: what all operations of object_store.h have in common. Private to object_*.c.
 */
#ifndef KM_COMMON_OBJECT_REQUEST_H
#define KM_COMMON_OBJECT_REQUEST_H

#include "common/base.h"

#include "common/object_call.h"

/* The first member of each operation's own struct. */
struct object_request {
    struct list_node node; /* in object_store.requests */
    struct object_store *store;
    struct object_call *call; /* the one under way; NULL between two */
    bool paused;
    void (*release)(struct object_request *request); /* what the operation holds beside this; may be NULL */
    object_done_fn done;
    void *arg;
};

/* ---- object_request.c: what each operation begins and ends with ---- */

/* request: zeroed memory of the operation. */
void object_request_begin(struct object_request *request, struct object_store *store, object_done_fn done, void *arg);
/* Starts its next call; `options.arg` must be the request. */
void object_request_call(struct object_request *request, const struct object_call_options *options);
/* As the first call: fails from the loop. done: as in object_call_options, with the request. */
void object_request_refuse(struct object_request *request, const struct error *err,
    void (*done)(void *arg, const struct object_answer *answer, const struct error *err));
/* To be called from a call's done only: frees the request, then tells. err may be NULL. */
void object_request_end(struct object_request *request, const struct error *err);

/* The same without telling, for an operation that tells in its own words. */
void object_request_free(struct object_request *request);

/* For a call's done when an error or success of it is the operation's: arg is the request. */
void object_request_settle(void *arg, const struct object_answer *answer, const struct error *err);

#endif
