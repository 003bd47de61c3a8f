/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_executor.h: runs any plan against the API server.
 *
 * The actions of a stage are started together; when all have ended well, the next stage starts. The first error stops
 * further stages, but for a refusal of what lets them pass (plan_let_pass); actions already under way end on their own.
 * Answers to writes are put into the informers at once (read your writes).
 *
 * Ownership: an apply onto an object that is not in our caches is a POST, which the API server refuses if anything of
 * that name exists; only then it is read. If its controller is not the one that the manifest names, the action fails
 * with ERROR_EXISTS, naming it (ERROR_CONFLICT if it is left of a former owner, see ownership.h); nothing is written
 * (I11). So nothing foreign can be taken over even by a race, and what is absent costs one request. An apply onto a
 * known object carries its UID as precondition; the first one adopts what the POST wrote (managed_fields.h), which
 * costs two requests more, once in an object's life. An apply that is refused as invalid because of what somebody else
 * has written beside ours, as a port of the same name, takes that away and is tried again, once.
 *
 * An adoption is a GET and a patch under the version that was read: who has been faster, or has changed it meanwhile,
 * is met by the next plan. What is no orphan is answered as an apply onto it would be.
 *
 * A create is preceded by a GET: a quota refuses a POST before the API server finds out that the object exists. What it
 * makes does not go into the informer.
 */
#ifndef KM_PLAN_EXECUTOR_H
#define KM_PLAN_EXECUTOR_H

#include "common/base.h"

#include "common/error.h"
#include "operator/kube/informer.h"
#include "operator/kube/kube_client.h"
#include "operator/plan/plan.h"

struct plan_targets {
    struct kube_client *client;
    struct {
        const struct kube_resource *resource;
        struct informer *informer; /* NULL: not cached (Secrets) */
    } kinds[PLAN_KIND_COUNT];
};

/* One action ended (err NULL: well; then answer is what the server said). Before `done`; may be NULL. */
typedef void (*plan_action_fn)(
    void *arg, const struct plan_action *action, const struct kube_answer *answer, const struct error *err);
/* The plan ended; err NULL: all of it, else the first error. The plan is freed after this returns. */
typedef void (*plan_done_fn)(void *arg, const struct plan *plan, const struct error *err);

/* Takes the plan. targets is borrowed until done. An empty plan is done on the next turn of the loop. There is no
 * cancel: at the end of the process kube_client_free drops what is in flight. */
void plan_execute(struct loop *loop, const struct plan_targets *targets, struct plan *plan, plan_action_fn action_done,
    plan_done_fn done, void *arg);

#endif
