/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_decide.h: what to do next about one MysqlBackup: pure.
 *
 * Whatever is done outside was written to the status before (I10): the controller writes `next` if it differs from what
 * was read, looks again and decides again; only a step that changes no status is acted on. So an attempt has its id and
 * its donor in the status before any agent hears of it, and one that failed stands there, with what is left of it,
 * before anything is removed.
 *
 *   Pending → Running → Completed
 *      ↑ back-off ↓  ↘ Failed (deadline, BACKUP_ATTEMPTS_MAX attempts, a spec that can never be)
 */
#ifndef KM_BACKUP_DECIDE_H
#define KM_BACKUP_DECIDE_H

#include "operator/backup/backup_snapshot.h"

/* A donor that is not heard may still send; after this time it is given up. */
#define BACKUP_SILENCE_MS 60000
/* A donor that is heard but does not take the task. */
#define BACKUP_UNTAKEN_MS 120000
#define BACKUP_RETRY_BASE_MS 10000
#define BACKUP_RETRY_MAX_MS 300000
/* A store that refuses: somebody must change something. Four times as long after each, up to the second; at once when a
 * Secret has changed. */
#define BACKUP_REFUSED_BASE_MS 60000
#define BACKUP_REFUSED_MAX_MS 3600000
/* Secrets have no watch. */
#define BACKUP_RECHECK_MS 15000
/* What could not be done in the store is tried again after this time. */
#define BACKUP_JOB_RETRY_MS 15000
/* What could be done, and is to be done once more. */
#define BACKUP_JOB_AGAIN_MS 1000
/* The folder of an attempt whose donor is not heard is removed again after this time: who is cut off from us may still
 * reach the store. */
#define BACKUP_SWEEP_MS (30 * 60 * 1000LL)
/* Leftovers of attempts are given up this long after the end, or after the deletion. */
#define BACKUP_CLEAN_MS (24 * 3600 * 1000LL)
#define BACKUP_CLEAN_DELETED_MS 60000

enum backup_act {
    BACKUP_ACT_NONE,
    BACKUP_ACT_HOLD,    /* add our finalizer */
    BACKUP_ACT_RELEASE, /* remove it */
    BACKUP_ACT_SEND,    /* last.donor should have the task of last.id */
    BACKUP_ACT_CHECK,   /* job */
    BACKUP_ACT_REMOVE,  /* job */
};

struct backup_step {
    struct backup_status next; /* owned */
    enum backup_act act;
    char id[BACKUP_ID_SIZE];           /* CHECK, REMOVE: of what */
    char end_donor[DERIVED_NAME_SIZE]; /* this member should end what it does for end_id; "" nobody */
    char end_id[BACKUP_ID_SIZE];
    bool asks_for_namespace; /* if the namespace is being deleted, something else is to be done */
    bool gives_up_data;      /* RELEASE: what is stored stays, and nobody will know of it */
    bool wants_store;        /* volumes: the pod in front of it should be there */
    bool wants_claim;        /* and its claim may be made, because something is about to be stored */
    int64_t again_ms;        /* the next reconcile comes after that time at the latest; 0: when something changes */
    const char *event;       /* of the change to `next`; NULL: none */
    bool warning;
    bool awaits_person; /* the deletion does not go on before somebody changes something */
};

void backup_decide(const struct backup_snapshot *snapshot, struct backup_step *ret);
void backup_step_release(struct backup_step *step);

#endif
