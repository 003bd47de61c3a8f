/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_world.h: an operator_world with a cluster of two, a bucket, its keys, and agents that take backups; for
 * stories about one MysqlBackup, ns1/first.
 */
#ifndef KM_BACKUP_WORLD_H
#define KM_BACKUP_WORLD_H

#include "common/tls.h"
#include "operator/tests/bucket_double.h"
#include "operator/tests/operator_world.h"

#define PATH_BACKUP "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/first"
#define PATH_KEYS PATH_CORE "secrets/keys"
#define SECRET_KEY "very-secret-key"
#define SECRET_KEY_BASE64 "dmVyeS1zZWNyZXQta2V5"
#define FOLDER_OF_ALL "ns1/shop/backups/"

/* What the donor does with a task. */
enum donor_does {
    DONOR_COMPLETES,
    DONOR_HANGS,
    DONOR_LIES,
    DONOR_FAILS_FIRST,
    DONOR_DIES_FIRST,
    DONOR_IS_REFUSED_FIRST
};

struct backup_world {
    struct operator_world *world;
    struct bucket_double *s3;
    enum donor_does donor_does;
    const char *more;       /* of the backup's spec */
    struct tls_server *tls; /* of the pod in front of a volume */
    char address[32];
    int taken;
    char first_id[BACKUP_ID_SIZE];
};

/* more: members of the backup's spec. One at a time. */
struct backup_world *backup_world_new(enum donor_does donor_does, const char *more);
void backup_world_free(struct backup_world *world);
/* Steps get the operator_world only. */
struct backup_world *backup_world_the(void);

/* The MysqlBackup, now; more: members of its spec. */
void backup_world_put(const char *more);
/* A member of its status; "" if it is not there. */
const char *backup_world_status_of(const char *member);
/* The reason of a condition. */
const char *backup_world_condition_of(const char *type);
/* What a donor that is done leaves; one that lies leaves a piece out. */
void backup_world_store(struct agent_double *agent);

/* ---- steps ---- */

#define BACKUP_WORLD_BEGIN world_is_settled, backup_world_put_it

bool backup_world_put_it(struct operator_world *world);
bool backup_world_completed(struct operator_world *world);
bool backup_world_failed(struct operator_world *world);
/* A donor has it, and the status says so. */
bool backup_world_running(struct operator_world *world);
/* It has no finalizer. */
bool backup_world_released(struct operator_world *world);
bool backup_world_gone(struct operator_world *world);
bool backup_world_delete_it(struct operator_world *world);

#endif
