/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/plan/plan_executor.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/plan/managed_fields.h"
#include "operator/plan/ownership.h"

/* One run of a plan. Freed when its last stage has ended. */
struct run {
    const struct plan_targets *targets;
    struct plan *plan;
    plan_action_fn action_done;
    plan_done_fn done;
    void *arg;
    struct loop_timer kick;
    int next;    /* first action that was not started */
    int pending; /* actions under way */
    bool is_stopped;
    struct error first_error;
};

/* One action under way. */
struct step {
    struct run *run;
    const struct plan_action *action;
    bool adopted, taken;  /* managed_fields.h: each is done once */
    struct error refusal; /* of the apply before that */
};

static void run_stage(void *arg);

static void tell(const struct plan_action *action)
{
    if (action->why)
        log_info(action->why, LOG_STR("kind", plan_kind_name(action->kind)), LOG_STR("namespace", action->ns),
            LOG_STR("name", action->name));
}

static void run_end(struct run *run)
{
    run->done(run->arg, run->plan, run->first_error.kind ? &run->first_error : NULL);
    loop_timer_release(&run->kick);
    plan_free(run->plan);
    free(run);
}

/* A no to this object alone: the others may fare better. */
static bool is_refusal(const struct error *err)
{
    return err->kind == ERROR_INVALID || err->kind == ERROR_FORBIDDEN || err->kind == ERROR_EXISTS ||
        err->kind == ERROR_CONFLICT || err->kind == ERROR_TOO_LARGE;
}

static void step_end(struct step *step, const struct kube_answer *answer, const struct error *err)
{
    struct run *run = step->run;
    const struct plan_action *action = step->action;
    free(step);
    if (err && !run->first_error.kind)
        run->first_error = *err;
    if (err && !(action->lets_pass && is_refusal(err)))
        run->is_stopped = true;
    if (run->action_done)
        run->action_done(run->arg, action, answer, err);
    if (--run->pending == 0)
        run_stage(run);
}

static void step_fail(struct step *step, const struct error *err)
{
    struct error copy = *err;
    const struct plan_action *action = step->action;
    error_prefix(&copy, "%s %s", plan_kind_name(action->kind), action->name);
    step_end(step, NULL, &copy);
}

static void on_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    struct informer *informer = step->run->targets->kinds[step->action->kind].informer;
    if (err) {
        step_fail(step, err);
        return;
    }
    if (informer)
        informer_observe_write(informer, answer);
    step_end(step, answer, NULL);
}

/* A pod that takes its time to end is known as leaving at once: the next decision must not take it for serving. */
static void on_deleted(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    struct informer *informer = step->run->targets->kinds[step->action->kind].informer;
    if (err && err->kind != ERROR_NOT_FOUND) {
        step_fail(step, err);
        return;
    }
    if (!err && informer && json_path(answer->object, "metadata.deletionTimestamp"))
        informer_observe_write(informer, answer);
    step_end(step, answer, NULL);
}

static void apply_start(struct step *step);

static void on_adopted(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct step *step = arg;
    if (err)
        step_fail(step, err);
    else
        apply_start(step);
}

static void patch_ownership(struct step *step, json_t *patch)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    kube_patch(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, NULL, KUBE_PATCH_JSON,
        patch, on_adopted, step);
}

static json_t *adopt(struct step *step, const json_t *object)
{
    if (step->adopted)
        return NULL;
    json_t *patch = managed_fields_adopt(object, kube_client_field_manager(step->run->targets->client));
    step->adopted = patch != NULL;
    return patch;
}

static json_t *take(struct step *step, const json_t *object)
{
    const struct plan_action *action = step->action;
    if (step->taken)
        return NULL;
    json_t *patch = managed_fields_take(object, kube_client_field_manager(step->run->targets->client), action->body);
    step->taken = patch != NULL;
    if (patch)
        log_info("remove what was changed by hand and stands in the way", LOG_STR("kind", plan_kind_name(action->kind)),
            LOG_STR("namespace", action->ns), LOG_STR("name", action->name), LOG_STR("refusal", step->refusal.message));
    return patch;
}

static void on_refused_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    _cleanup_(json_decrefp) json_t *patch = err ? NULL : adopt(step, answer->object);
    if (!err && !patch)
        patch = take(step, answer->object);
    if (patch)
        patch_ownership(step, patch);
    else
        step_fail(step, &step->refusal);
}

/* An item that the apply does not name stays beside its successor while it is the creation's or somebody else's, and
 * both together may not be valid: two ports of one name. */
static void on_refused(struct step *step, const struct error *err)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    step->refusal = *err;
    kube_get(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, on_refused_read, step);
}

/* The first apply onto what we created: the fields of the creation become applied ones, then it is applied again. */
static void on_applied(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    _cleanup_(json_decrefp) json_t *patch = err ? NULL : adopt(step, answer->object);
    if (patch)
        patch_ownership(step, patch);
    else if (err && err->kind == ERROR_INVALID && !step->taken)
        on_refused(step, err);
    else
        on_written(step, answer, err);
}

static void apply_start(struct step *step)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    kube_apply(targets->client, targets->kinds[action->kind].resource, action->body, on_applied, step);
}

/* Something of this name is there that is not in our caches: somebody else's, ours with its labels torn off, or ours
 * from a creation whose answer was lost. */
static void on_looked(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    struct error problem = ERROR_INIT;
    if (err && err->kind == ERROR_NOT_FOUND) {
        error_set(&problem, ERROR_CONFLICT, "it was there and is gone again");
        err = &problem;
    }
    json_t *metadata = json_object_get(step->action->body, "metadata");
    if (!err && ownership_check(answer->object, metadata, &problem) < 0)
        err = &problem;
    if (err) {
        step_fail(step, err);
        return;
    }
    json_put_str(metadata, "uid", json_path_str(answer->object, "metadata.uid", NULL));
    apply_start(step);
}

static void on_created(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    const struct plan_action *action = step->action;
    const struct plan_targets *targets = step->run->targets;
    if (err && err->kind == ERROR_EXISTS)
        kube_get(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, on_looked, step);
    else
        on_written(step, answer, err);
}

static void apply_begin(struct step *step)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    if (action->uid) {
        json_put_str(json_object_get(action->body, "metadata"), "uid", action->uid);
        apply_start(step);
        return;
    }
    (action->is_strict ? kube_create_strictly : kube_create)(
        targets->client, targets->kinds[action->kind].resource, action->ns, action->body, on_created, step);
}

static void on_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    if (err)
        step_fail(arg, err);
    else
        step_end(arg, answer, NULL);
}

/* Somebody may have been faster. */
static void on_made(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    const struct plan_action *action = step->action;
    const struct plan_targets *targets = step->run->targets;
    if (err && err->kind == ERROR_EXISTS)
        kube_get(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, on_read, step);
    else
        on_read(step, answer, err);
}

static void on_sought(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    const struct plan_action *action = step->action;
    const struct plan_targets *targets = step->run->targets;
    if (!err)
        step_end(step, answer, NULL);
    else if (err->kind != ERROR_NOT_FOUND)
        step_fail(step, err);
    else {
        tell(action);
        kube_create(targets->client, targets->kinds[action->kind].resource, action->ns, action->body, on_made, step);
    }
}

static void create_begin(struct step *step)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    kube_get(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, on_sought, step);
}

static void on_orphan_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step *step = arg;
    const struct plan_action *action = step->action;
    const struct plan_targets *targets = step->run->targets;
    const json_t *metadata = json_object_get(action->body, "metadata");
    struct error problem = ERROR_INIT;
    if (err && err->kind == ERROR_NOT_FOUND) {
        error_set(&problem, ERROR_CONFLICT, "it was there and is gone");
        step_fail(step, &problem);
    } else if (err)
        step_fail(step, err);
    else if (ownership_is_orphan(answer->object, metadata, kube_client_field_manager(targets->client))) {
        _cleanup_(json_decrefp) json_t *patch =
            json_build("{s:o}", "metadata", ownership_adoption(answer->object, metadata));
        tell(action);
        kube_patch(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, NULL,
            KUBE_PATCH_MERGE, patch, on_written, step);
    } else if (ownership_check(answer->object, metadata, &problem) < 0)
        step_fail(step, &problem);
    else
        on_written(step, answer, NULL);
}

static void adopt_begin(struct step *step)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    kube_get(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, on_orphan_read, step);
}

static void patch_begin(struct step *step)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    kube_patch(targets->client, targets->kinds[action->kind].resource, action->ns, action->name, NULL, KUBE_PATCH_MERGE,
        action->body, on_written, step);
}

static void delete_begin(struct step *step)
{
    const struct plan_targets *targets = step->run->targets;
    const struct plan_action *action = step->action;
    const struct kube_delete_options options = {.uid = action->uid, .grace_seconds = -1};
    kube_delete(
        targets->client, targets->kinds[action->kind].resource, action->ns, action->name, &options, on_deleted, step);
}

static void (*const begin_verb[])(struct step *) = {
    [PLAN_APPLY] = apply_begin,
    [PLAN_PATCH] = patch_begin,
    [PLAN_DELETE] = delete_begin,
    [PLAN_CREATE] = create_begin,
    [PLAN_ADOPT] = adopt_begin,
};

static void action_begin(struct run *run, const struct plan_action *action)
{
    struct step *step = xnew(struct step);
    step->run = run;
    step->action = action;
    if (action->verb != PLAN_CREATE && action->verb != PLAN_ADOPT)
        tell(action);
    begin_verb[action->verb](step);
}

static void run_stage(void *arg)
{
    struct run *run = arg;
    if (run->is_stopped || run->next == run->plan->count) {
        run_end(run);
        return;
    }
    int stage = run->plan->stage_of[run->next];
    int first = run->next;
    while (run->next < run->plan->count && run->plan->stage_of[run->next] == stage)
        run->next++;
    run->pending = run->next - first;
    int last = run->next;
    for (int i = first; i < last; i++)
        action_begin(run, &run->plan->actions[i]);
}

void plan_execute(struct loop *loop, const struct plan_targets *targets, struct plan *plan, plan_action_fn action_done,
    plan_done_fn done, void *arg)
{
    struct run *run = xnew(struct run);
    run->targets = targets;
    run->plan = plan;
    run->action_done = action_done;
    run->done = done;
    run->arg = arg;
    loop_timer_init(&run->kick, loop, run_stage, run);
    loop_timer_arm(&run->kick, 0);
}
