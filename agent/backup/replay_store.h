/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_store.h: a store (object_store.h) for a process that does one thing after the other: each call runs the loop
 * until it has its answer.
 */
#ifndef KM_AGENT_BACKUP_REPLAY_STORE_H
#define KM_AGENT_BACKUP_REPLAY_STORE_H

#include "common/base.h"

#include "common/error.h"
#include "common/loop.h"
#include "common/object_store.h"
#include "common/strbuf.h"

struct replay_store {
    struct loop *loop;
    struct object_store *store;
};

/* each: -1 with *err ends it. */
int replay_store_list(const struct replay_store *store, const char *under,
    int (*each)(void *arg, const char *name, struct error *err), void *arg, struct error *err) KM_MUST_CHECK;
/* Appends; at most max bytes. */
int replay_store_get(const struct replay_store *store, const char *name, size_t max, struct strbuf *out,
    struct error *err) KM_MUST_CHECK;
int replay_store_read(const struct replay_store *store, const char *name,
    int (*data)(void *arg, const char *data, size_t len, struct error *err), void *arg, struct error *err) KM_MUST_CHECK;

#endif
