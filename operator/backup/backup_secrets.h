/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_secrets.h: what a backup's task needs of Secrets, read by name: the bucket's keys, a CA, the key that seals,
 * and for volumes the operator's own certificate of the cluster.
 *
 * A Secret or key that is missing, or not usable, is an answer (reason, message with the field's path), not an error;
 * only an API server that does not answer is one.
 */
#ifndef KM_BACKUP_SECRETS_H
#define KM_BACKUP_SECRETS_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/http_client.h"
#include "operator/api/mysql_backup.h"
#include "operator/kube/kube_client.h"

/* Secret: never logged, wiped on release. */
struct task_keys {
    char *access_key, *secret_key, *session_token; /* S3; token may be NULL */
    char *ca_pem;                                  /* S3: NULL: the system's; volume: the cluster's */
    bool sealed;
    unsigned char key[BACKUP_KEY_BYTES];
    char key_id[17];
    char version[BACKUP_SECRETS_VERSION_SIZE]; /* another one: a Secret was changed */
    struct http_tls *tls;                      /* volume: how the operator shows itself; a reference */
    char reason[KUBE_CONDITION_REASON_MAX];    /* why it cannot be; "": all is there */
    char message[KUBE_CONDITION_MESSAGE_MAX];
};
void task_keys_release(struct task_keys *keys);
/* Takes *from over in place of what *keys held; *from is zeroed. */
void task_keys_take(struct task_keys *keys, struct task_keys *from);

/* Which Secrets a spec means, by its destination and encryption (NULL is fine). Keys are good for what they were read
 * for, and for nothing else. */
uint64_t backup_secrets_meant(const json_t *spec);

/* keys: valid if err is NULL; who wants to keep them takes them (task_keys_take), else they are wiped afterwards. */
typedef void (*backup_secrets_done_fn)(void *arg, struct task_keys *keys, const struct error *err);
/* `backup` is borrowed until done; it has a destination. path: of what names the Secrets, in messages: "spec"; static.
 * There is no cancel: kube_client_free drops what is in flight. */
void backup_secrets_read(struct kube_client *client, const struct kube_resource *secret,
    const struct mysql_backup *backup, const char *path, backup_secrets_done_fn done, void *arg);

#endif
