/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/plan/plan.h"

#include "common/alloc.h"
#include "common/json.h"

static const char *const kind_names[PLAN_KIND_COUNT] = {
    [PLAN_SERVICE_ACCOUNT] = "ServiceAccount",
    [PLAN_CONFIG_MAP] = "ConfigMap",
    [PLAN_SECRET] = "Secret",
    [PLAN_SERVICE] = "Service",
    [PLAN_ENDPOINT_SLICE] = "EndpointSlice",
    [PLAN_ENDPOINTS] = "Endpoints",
    [PLAN_POD_DISRUPTION_BUDGET] = "PodDisruptionBudget",
    [PLAN_STATEFUL_SET] = "StatefulSet",
    [PLAN_POD] = "Pod",
    [PLAN_VOLUME_CLAIM] = "PersistentVolumeClaim",
    [PLAN_TERMINAL] = "MysqlTerminal",
};

static const char *const verb_names[] = {
    [PLAN_APPLY] = "apply",
    [PLAN_PATCH] = "patch",
    [PLAN_DELETE] = "delete",
    [PLAN_CREATE] = "create",
    [PLAN_ADOPT] = "adopt",
};

const char *plan_kind_name(enum plan_kind kind)
{
    return kind < PLAN_KIND_COUNT ? kind_names[kind] : "?";
}

struct plan *plan_new(void)
{
    return xnew(struct plan);
}

static void action_release(struct plan_action *action)
{
    free(action->ns);
    free(action->name);
    free(action->uid);
    free(action->why);
    json_decref(action->body);
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; i < plan->count; i++)
        action_release(&plan->actions[i]);
    free(plan);
}

bool plan_is_empty(const struct plan *plan)
{
    return plan->count == 0;
}

bool plan_deletes(const struct plan *plan, enum plan_kind kind, const char *name)
{
    for (int i = 0; i < plan->count; i++) {
        const struct plan_action *action = &plan->actions[i];
        if (action->verb == PLAN_DELETE && action->kind == kind && str_eq(action->name, name))
            return true;
    }
    return false;
}

void plan_next_stage(struct plan *plan)
{
    if (plan->count > 0 && plan->stage_of[plan->count - 1] == plan->stage)
        plan->stage++;
}

static struct plan_action *plan_add(struct plan *plan, enum plan_verb verb, enum plan_kind kind, const char *ns,
    const char *name, const char *uid, const char *why)
{
    if (plan->count == PLAN_ACTIONS_MAX) {
        fprintf(stderr, "plan: more than %d actions\n", PLAN_ACTIONS_MAX);
        abort();
    }
    plan->stage_of[plan->count] = plan->stage;
    struct plan_action *action = &plan->actions[plan->count++];
    *action = (struct plan_action){
        .verb = verb,
        .kind = kind,
        .ns = xstrdup(ns),
        .name = xstrdup(name),
        .uid = xstrdup(uid),
        .why = xstrdup(why),
    };
    return action;
}

static void add_body(
    struct plan *plan, enum plan_verb verb, enum plan_kind kind, const char *uid, json_t *body, const char *why)
{
    plan_add(plan, verb, kind, json_path_str(body, "metadata.namespace", NULL),
        json_path_str(body, "metadata.name", ""), uid, why)
        ->body = body;
}

void plan_add_apply(struct plan *plan, enum plan_kind kind, const char *uid, json_t *body, const char *why)
{
    add_body(plan, PLAN_APPLY, kind, uid, body, why);
}

void plan_add_create(struct plan *plan, enum plan_kind kind, json_t *body, const char *why)
{
    add_body(plan, PLAN_CREATE, kind, NULL, body, why);
}

void plan_add_adopt(struct plan *plan, enum plan_kind kind, json_t *body, const char *why)
{
    add_body(plan, PLAN_ADOPT, kind, NULL, body, why);
}

void plan_add_patch(struct plan *plan, enum plan_kind kind, const char *ns, const char *name, const char *uid,
    json_t *body, const char *why)
{
    plan_add(plan, PLAN_PATCH, kind, ns, name, uid, why)->body = body;
}

void plan_add_delete(
    struct plan *plan, enum plan_kind kind, const char *ns, const char *name, const char *uid, const char *why)
{
    plan_add(plan, PLAN_DELETE, kind, ns, name, uid, why);
}

void plan_let_pass(struct plan *plan)
{
    plan->actions[plan->count - 1].lets_pass = true;
}

void plan_be_strict(struct plan *plan)
{
    plan->actions[plan->count - 1].is_strict = true;
}

static json_t *action_describe(const struct plan_action *action, bool with_bodies)
{
    json_t *out = json_object();
    json_put_str(out, "verb", verb_names[action->verb]);
    json_put_str(out, "kind", plan_kind_name(action->kind));
    json_put_str(out, "namespace", action->ns);
    json_put_str(out, "name", action->name);
    json_put_str(out, "uid", action->uid);
    json_put_str(out, "why", action->why);
    if (with_bodies && action->body && action->kind != PLAN_SECRET)
        json_put(out, "body", json_incref(action->body));
    return out;
}

json_t *plan_describe(const struct plan *plan, bool with_bodies)
{
    json_t *stages = json_array();
    json_t *stage = NULL;
    for (int i = 0; i < plan->count; i++) {
        if (i == 0 || plan->stage_of[i] != plan->stage_of[i - 1]) {
            stage = json_array();
            json_array_append_new(stages, stage);
        }
        json_array_append_new(stage, action_describe(&plan->actions[i], with_bodies));
    }
    return stages;
}
