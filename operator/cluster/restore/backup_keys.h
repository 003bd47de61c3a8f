/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_keys.h: what a destination and its encryption need out of Secrets, read by name: the keys of a bucket, a CA,
 * the key that seals. Asynchronous.
 *
 * The result holds secrets: it stays in memory, is wiped by backup_keys_release, and no message quotes it (I9).
 */
#ifndef KM_BACKUP_KEYS_H
#define KM_BACKUP_KEYS_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/error.h"
#include "operator/kube/kube_client.h"

struct backup_keys {
    struct backup_store store; /* of a bucket: complete. Of a volume: prefix and is_volume only */
    bool sealed;
    unsigned char key[BACKUP_KEY_BYTES];
};
void backup_keys_release(struct backup_keys *keys);

struct backup_keys_request {
    struct kube_client *client;
    const struct kube_resource *secrets;
    const char *ns;                         /* of the Secrets; copied, as the rest */
    const json_t *destination, *encryption; /* in the words of a spec; encryption NULL: none */
    const char *path;                       /* of both in messages: "spec.restoreFrom" */
    /* Once, from the loop. keys: to be taken over (by copying the struct and zeroing this one) or left; NULL with an
     * error: NOT_FOUND, FORBIDDEN or INVALID names field and Secret; others are the API server's. */
    void (*done)(void *arg, struct backup_keys *keys, const struct error *err);
    void *arg;
};
struct backup_keys_reading;
struct backup_keys_reading *backup_keys_read(struct loop *loop, const struct backup_keys_request *request);
void backup_keys_cancel(struct backup_keys_reading *reading); /* no callback follows; NULL is fine */

#endif
