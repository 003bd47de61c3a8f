/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconcile_context.h: what every reconcile under way holds: whose it is, its phases (phases.h), how it ends, and the
 * wait for a write.
 *
 *     struct visit {
 *         struct reconcile_context context;   first, so that a pointer to one is a pointer to the other
 *         …
 *     };
 *     enum visit_phase { VISIT_DONE = RECONCILE_DONE, VISIT_LOOK, VISIT_WRITE };
 *     static const phase_fn phases[] = {[VISIT_DONE] = reconcile_done, [VISIT_LOOK] = look, [VISIT_WRITE] = write_it};
 *
 *     static int write_it(void *arg)
 *     {
 *         struct visit *visit = arg;
 *         kube_delete(client, pods, …, reconcile_on_written, reconcile_expect(&visit->context,
 *             &(struct reconcile_write){.what = "the pod", .but = ERROR_NOT_FOUND, .next = VISIT_DONE}));
 *         return PHASES_WAIT;
 *     }
 *
 * Nothing in it points into caches: those change whenever something is waited for.
 */
#ifndef KM_RECONCILE_CONTEXT_H
#define KM_RECONCILE_CONTEXT_H

#include "common/base.h"

#include "common/error.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/informer.h"
#include "operator/kube/kube_client.h"
#include "operator/runtime/phases.h"
#include "operator/runtime/reconcile.h"

/* The index of the last phase in every table: reconcile_done. */
#define RECONCILE_DONE 0

/* A finalizer of ours on the object: it is to be there, or not. All static but wanted. */
struct reconcile_finalizer {
    const struct kube_resource *resource;
    const char *name;
    bool wanted;
};

/* What a phase expects of the one write that it begins. */
struct reconcile_write {
    struct informer *informer; /* gets the answer; NULL: none */
    const char *what;          /* stands before the message of an error; NULL: nothing does; static */
    enum error_kind but;       /* an error that is none; ERROR_NONE: each counts */
    int next;                  /* the phase after it */
    int failed;                /* the phase after an error; RECONCILE_DONE: the end */
};

struct reconcile_context {
    struct phases phases;
    struct reconcile *run;
    struct kube_client *client;   /* borrowed */
    const char *key;              /* of the object; borrowed from the run */
    char *ns, *name, *uid;        /* of the object; owned */
    void (*release)(void *work);  /* frees the work, this included after reconcile_context_release */
    struct error error;           /* the first one: the key comes again with back-off */
    int64_t again_ms;             /* without an error it comes again after that time; 0: when something changes */
    struct reconcile_write write; /* the last one that was begun */
    bool written;                 /* the server took it */
    struct reconcile_finalizer finalizer; /* the last one that was to be changed */
};

/* work: the struct that begins with a context, all else of it as the caller has set it. ns, name, uid: of the object,
 * copied. */
void reconcile_context_init(void *work, struct reconcile *run, struct kube_client *client, const char *ns,
    const char *name, const char *uid, void (*release)(void *work));
/* For release: what the context owns. */
void reconcile_context_release(struct reconcile_context *context);
/* Runs the work's phases. It may be gone afterwards. */
void reconcile_context_start(struct reconcile_context *context, const phase_fn *phases, int first);

/* The first error counts. what: stands before its message; NULL: nothing does. */
void reconcile_fail(struct reconcile_context *context, const struct error *err, const char *what);
/* The earliest of all counts; 0 or less is none. */
void reconcile_again_in(struct reconcile_context *context, int64_t ms);
/* Events about the object. Borrows from the context. */
struct event_target reconcile_target(const struct reconcile_context *context, const struct kube_resource *resource);
/* Records one. Its message is cut at KUBE_CONDITION_MESSAGE_MAX, as one of a condition is. */
void reconcile_tell(const struct reconcile_context *context, struct event_recorder *recorder,
    const struct kube_resource *resource, enum event_type type, const char *reason, const char *fmt, ...)
    KM_PRINTF(6, 7);

/* The last phase: releases the work and finishes the run. */
int reconcile_done(void *work);

/* Notes what is expected; returns the work, which is the `arg` of reconcile_on_written. */
void *reconcile_expect(struct reconcile_context *context, const struct reconcile_write *write);
/* A kube_done_fn: takes the answer as it is expected and goes on with the next phase. */
void reconcile_on_written(void *work, const struct kube_answer *answer, const struct error *err);

/* Writes the status of the object as it is expected, for a phase that waits then. An object that is gone, or another
 * one of its name, is no error: the failed phase comes next. status: stolen. version: NULL: whatever has changed
 * meanwhile, else the resourceVersion that was read: after a change it is a conflict. */
void reconcile_apply_status(struct reconcile_context *context, const struct kube_resource *resource, json_t *status,
    const char *version, const struct reconcile_write *write);
/* The same as a merge patch: of a part of the status of an object that is another controller's. */
void reconcile_patch_status(struct reconcile_context *context, const struct kube_resource *resource, json_t *status,
    const struct reconcile_write *write);

/* Adds or removes a finalizer, for a phase that waits then: the object is read, and its list written under the version
 * that was read, as a list cannot be changed by halves. Others' finalizers stay. A list that is already as wanted is a
 * conflict: our cache is behind. The end comes next where the object is gone or is being deleted: then nothing can be
 * added, and with its last finalizer it may be gone, so the watch has the last word. */
void reconcile_write_finalizer(struct reconcile_context *context, const struct reconcile_finalizer *finalizer,
    const struct reconcile_write *write);

#endif
