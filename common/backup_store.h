/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_store.h: where objects are, as a task says it (backup_task.h, archive_task.h): a bucket, or the door in front
 * of a volume.
 *
 * Secrets are in it: wiped on release, never logged (I9).
 */
#ifndef KM_COMMON_BACKUP_STORE_H
#define KM_COMMON_BACKUP_STORE_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"

struct http_tls;
struct loop;
struct object_store;

/* As object_target, with its own memory. */
struct backup_store {
    char *endpoint, *region, *bucket, *prefix;     /* volume: endpoint and prefix count */
    char *access_key, *secret_key, *session_token; /* secret */
    char *ca_pem;                                  /* NULL: the system's certificates */
    char *connect_to,
        *server_name; /* door of a volume: "IP:port", name in its certificate (mutual TLS with the member's own) */
    bool path_style;
    bool is_volume;
};
void backup_store_release(struct backup_store *store); /* wipes secrets */
/* Puts the keys of `from` (another word of the same task) into `to`. */
void backup_store_take_keys(struct backup_store *to, const struct backup_store *from);

json_t *backup_store_encode(const struct backup_store *store);
/* The member "store" of a task. *store must be released in any case. ERROR_INVALID names the member that is wrong,
 * never its value. */
int backup_store_decode(const json_t *document, struct backup_store *store, struct error *err) KM_MUST_CHECK;

/* A client of it (object_store.h); tls and keys_grace_ms as in object_target. NULL with ERROR_INVALID. */
struct object_store *backup_store_open(struct loop *loop, const struct backup_store *store, struct http_tls *tls,
    int64_t keys_grace_ms, struct error *err) KM_MUST_CHECK;

#endif
