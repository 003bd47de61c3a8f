/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_visit.h: one reconcile of one MysqlBackup under way: what it looks at (backup_visit.c), the writes that it
 * makes (backup_writes.c) and its steps (backup_reconcile.c), each of which uses those before it. Of
 * backup_controller.c only.
 */
#ifndef KM_BACKUP_VISIT_H
#define KM_BACKUP_VISIT_H

#include "operator/backup/backup_controller.h"
#include "operator/backup/backup_decide.h"
#include "operator/backup/backup_gather.h"
#include "operator/plan/plan_executor.h"

struct backup_controller {
    struct manager *manager;
    struct loop *loop;
    struct kube_client *client;
    struct backup_controller_options options;
    const struct kube_resource *resource;
    struct plan_targets targets;
    struct controller *runtime;
    struct backup_sources sources;
    struct backup_memories memories;
    struct backup_metrics *metrics;
};

struct backup_visit {
    struct backup_controller *controller;
    struct reconcile *run;
    /* After a write: looks again, reads Secrets if they are due, and decides again. The end if the object is gone. */
    void (*go_on)(struct backup_visit *visit);
    char *key, *uid;
    struct backup_snapshot snapshot;
    bool looked;
    struct backup_step step;
    uint64_t keys_for; /* Secrets that are being read: backup_secrets_meant */
    int writes;        /* of the status, in this visit */
    int64_t again_ms;
    struct error error;
};

/* ---- backup_visit.c ---- */

/* NULL when it was forgotten meanwhile: the object is gone, or another one. */
struct backup_memory *backup_visit_memory(const struct backup_visit *visit);
/* Gathers and decides anew. False: the object is gone. */
bool backup_visit_look(struct backup_visit *visit);
/* Ends the visit; what err says comes again with back-off. NULL: well. */
void backup_visit_finish(struct backup_visit *visit, const struct error *err);

/* ---- backup_writes.c ---- */

/* Writes step.next under the version that was read; then go_on, or the end. */
void backup_visit_write_status(struct backup_visit *visit);
/* Adds or removes our finalizer; then likewise. */
void backup_visit_write_finalizer(struct backup_visit *visit, bool wanted);
/* Makes or removes the pod in front of the volume, then backup_visit_finish. False: there is nothing to do, and
 * nothing was done. */
bool backup_visit_tend_store(struct backup_visit *visit);

/* ---- backup_reconcile.c ---- */

/* Ends by reconcile_finish. The object is only looked at during the call. */
void backup_visit_start(struct backup_controller *controller, const struct custom_object *object, struct reconcile *run);

#endif
