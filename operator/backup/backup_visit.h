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
#include "operator/runtime/reconcile_context.h"

struct backup_controller {
    struct manager *manager;
    struct loop *loop;
    struct kube_client *client;
    struct backup_controller_options options;
    const struct kube_resource *resource, *config_maps;
    struct plan_targets targets;
    struct controller *runtime;
    struct backup_sources sources;
    struct backup_memories memories;
    struct backup_metrics *metrics;
};

struct backup_visit {
    struct reconcile_context context;
    struct backup_controller *controller;
    struct backup_snapshot snapshot;
    bool looked;
    struct backup_step step;
    uint64_t keys_for; /* Secrets that are being read: backup_secrets_meant */
    int writes;        /* of the object, in this visit */
};

enum backup_visit_phase {
    BACKUP_VISIT_DONE = RECONCILE_DONE,
    BACKUP_VISIT_LOOK,    /* at the object; Secrets are read if they are due */
    BACKUP_VISIT_DECIDE,  /* by another look, and acted upon; a write comes back to LOOK */
    BACKUP_VISIT_ASK,     /* whether the namespace is being deleted; comes back to DECIDE */
    BACKUP_VISIT_WRITTEN, /* the status: it is told */
    BACKUP_VISIT_RELEASE, /* our finalizer goes */
};

/* ---- backup_visit.c ---- */

/* NULL when it was forgotten meanwhile: the object is gone, or another one. */
struct backup_memory *backup_visit_memory(const struct backup_visit *visit);
/* Gathers and decides anew. False: the object is gone. */
bool backup_visit_look(struct backup_visit *visit);
/* Lets go of the look. */
void backup_visit_drop_look(struct backup_visit *visit);

/* ---- backup_writes.c: what a phase may return ---- */

/* Writes step.next under the version that was read. */
int backup_visit_write_status(struct backup_visit *visit);
/* Tells of the status that was written. */
int backup_visit_tell(void *work);
/* Adds or removes our finalizer. */
int backup_visit_write_finalizer(struct backup_visit *visit, bool wanted);
/* Makes or removes the pod in front of the volume, and ends the visit; where there is nothing to do `otherwise` comes
 * next. */
int backup_visit_tend_store(struct backup_visit *visit, int otherwise);

/* ---- backup_reconcile.c ---- */

/* Ends by reconcile_finish. The object is only looked at during the call. */
void backup_visit_start(struct backup_controller *controller, const struct custom_object *object, struct reconcile *run);

#endif
