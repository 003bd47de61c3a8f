/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/app/app_controller.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/app_projections.h"
#include "operator/api/names.h"
#include "operator/api/projections.h"
#include "operator/app/app_desired.h"
#include "operator/kube/kube_condition.h"
#include "operator/plan/ownership.h"
#include "operator/runtime/reconcile_context.h"

/* All that matters is watched; this mends what a watch may have missed. */
#define APP_RECHECK_MS (5 * 60 * 1000)
/* Something of somebody else's must go first, and is not watched. */
#define APP_BLOCKED_RECHECK_MS 20000

struct app_controller {
    struct kube_client *client;
    struct app_controller_options options;
    const struct kube_resource *app_resource;
    struct informer *apps, *pods;
    struct {
        const struct kube_resource *resource;
        struct informer *informer;
    } children[APP_CHILD_COUNT];
};

/* One reconcile under way. */
struct visit {
    struct reconcile_context context;
    struct app_controller *controller;
    int64_t generation;
    struct app app;       /* borrows ns, name */
    json_t *last;         /* the status before; NULL: none */
    enum app_child child; /* the one that is looked after now */
    json_t *manifest;     /* its own; NULL: there is to be none */
    uint64_t digests[APP_CHILD_COUNT];
    bool is_done[APP_CHILD_COUNT]; /* it is as wanted */
    char reason[KUBE_CONDITION_REASON_MAX], message[KUBE_CONDITION_MESSAGE_MAX];
    bool is_stalled;
};

enum visit_phase {
    VISIT_DONE = RECONCILE_DONE,
    VISIT_CHILD, /* each in turn, then the status */
    VISIT_REPORT,
};

static void visit_free(void *work)
{
    struct visit *visit = work;
    app_release(&visit->app);
    json_decref(visit->last);
    json_decref(visit->manifest);
    reconcile_context_release(&visit->context);
    free(visit);
}

static void refuse(struct visit *visit, const char *reason, bool is_stalled, const char *message)
{
    if (*visit->reason)
        return; /* the first one counts */
    snprintf(visit->reason, sizeof(visit->reason), "%s", reason);
    snprintf(visit->message, sizeof(visit->message), "%s", message);
    visit->is_stalled = is_stalled;
}

/* ---- status ---- */

static const struct kube_object *find_child(const struct visit *visit, enum app_child child)
{
    const struct kube_object *object =
        store_get(informer_store(visit->controller->children[child].informer), visit->context.key);
    struct kube_uid ours = kube_uid_parse(visit->context.uid, strlen(visit->context.uid));
    return object && kube_uid_eq(object->owner, ours) ? object : NULL;
}

/* Why the youngest of its pods that have a problem does not run. */
static void say_trouble(const struct visit *visit, char *out, size_t size)
{
    size_t cursor = 0;
    const struct pod_object *worst = NULL;
    const struct store *pods = informer_store(visit->controller->pods);
    for (const struct kube_object *each; (each = store_next(pods, &cursor));) {
        const struct pod_object *pod = (const struct pod_object *)each;
        bool counts = str_eq(pod->app, visit->context.name) && str_eq(pod->ns, visit->context.ns) &&
            !pod->object.deleting && !pod->ready && !str_empty(pod->problem_reason);
        if (counts && (!worst || pod->created_ms > worst->created_ms))
            worst = pod;
    }
    *out = '\0';
    if (worst)
        snprintf(out, size, "%s: %s%s%.600s", worst->name, worst->problem_reason, *worst->problem_message ? ": " : "",
            worst->problem_message);
}

static json_t *make_status(const struct visit *visit)
{
    char trouble[KUBE_CONDITION_MESSAGE_MAX];
    char hash[APP_HASH_SIZE] = "";
    const struct kube_object *deployment = find_child(visit, APP_DEPLOYMENT);
    _cleanup_(json_decrefp) json_t *deployment_status =
        deployment ? app_projection_parse(((const struct deployment_object *)deployment)->status) : NULL;
    if (visit->is_done[APP_DEPLOYMENT] && visit->is_done[APP_SERVICE])
        app_applied_hash(&visit->app, visit->context.uid, visit->digests, hash);
    say_trouble(visit, trouble, sizeof(trouble));
    const struct app_view view = {
        .app = &visit->app,
        .generation = visit->generation,
        .deployment_status = deployment_status,
        .deployment_generation = deployment ? deployment->generation : 0,
        .applied_hash = hash,
        .trouble = trouble,
        .reason = *visit->reason ? visit->reason : NULL,
        .message = visit->message,
        .is_stalled = visit->is_stalled,
    };
    return app_status(&view, visit->last, clock_realtime_ms());
}

static int phase_report(void *work)
{
    struct visit *visit = work;
    struct app_controller *controller = visit->controller;
    int64_t blocked_ms =
        controller->options.blocked_recheck_ms ? controller->options.blocked_recheck_ms : APP_BLOCKED_RECHECK_MS;
    const struct reconcile_write write = {.informer = controller->apps, .next = VISIT_DONE};
    if (visit->context.error.kind == ERROR_CONFLICT) /* tried again at once, so nothing is said of it */
        return VISIT_DONE;
    reconcile_again_in(&visit->context, *visit->reason ? blocked_ms : APP_RECHECK_MS);
    json_t *status = make_status(visit);
    if (app_status_same(status, visit->last)) {
        json_decref(status);
        return VISIT_DONE;
    }
    reconcile_apply_status(&visit->context, controller->app_resource, status, NULL, &write);
    return PHASES_WAIT;
}

/* ---- children ---- */

static int child_failed(struct visit *visit, const struct error *err)
{
    struct error error = *err;
    error_prefix(&error, "%s %s", app_child_kind(visit->child), visit->context.name);
    if (err->kind == ERROR_EXISTS)
        refuse(visit, "ForeignObject", true, error.message);
    else if (err->kind == ERROR_INVALID || err->kind == ERROR_FORBIDDEN)
        refuse(visit, "Refused", true, error.message);
    else if (err->kind == ERROR_ENDING)
        refuse(visit, "NamespaceTerminating", false, error.message);
    else {
        refuse(visit, "Retrying", false, error.message);
        visit->context.error = error;
    }
    visit->child++;
    return VISIT_CHILD;
}

static int child_done(struct visit *visit, uint64_t digest)
{
    visit->digests[visit->child] = digest;
    visit->is_done[visit->child] = true;
    visit->child++;
    return VISIT_CHILD;
}

static void on_child_written(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = work;
    int next;
    if (err) {
        struct error again = *err;
        if (err->kind == ERROR_EXISTS || err->kind == ERROR_NOT_FOUND) /* made or removed since it was read */
            again.kind = ERROR_CONFLICT;
        next = child_failed(visit, &again);
    } else {
        informer_observe_write(visit->controller->children[visit->child].informer, answer);
        next = child_done(visit, kube_object_digest(answer->raw));
    }
    phases_go_on(&visit->context.phases, next);
}

static void write_child(struct visit *visit, const struct kube_answer *answer)
{
    const struct kube_resource *resource = visit->controller->children[visit->child].resource;
    json_t *next = app_next_state(answer->object, visit->manifest, visit->child);
    if (json_equal(next, answer->object))
        phases_go_on(&visit->context.phases, child_done(visit, kube_object_digest(answer->raw)));
    else
        kube_update(visit->context.client, resource, NULL, next, on_child_written, visit);
    json_decref(next);
}

static void on_child_read(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = work;
    const struct kube_resource *resource = visit->controller->children[visit->child].resource;
    struct error problem = ERROR_INIT;
    if (err && err->kind == ERROR_NOT_FOUND)
        kube_create(visit->context.client, resource, visit->context.ns, visit->manifest, on_child_written, visit);
    else if (err || ownership_check(answer->object, json_object_get(visit->manifest, "metadata"), &problem) < 0)
        phases_go_on(&visit->context.phases, child_failed(visit, err ? err : &problem));
    else
        write_child(visit, answer);
}

static void on_service_removed(void *work, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct visit *visit = work;
    bool failed = err && err->kind != ERROR_NOT_FOUND;
    phases_go_on(&visit->context.phases, failed ? child_failed(visit, err) : child_done(visit, 0));
}

static void remove_service(struct visit *visit, const struct kube_object *service)
{
    char uid[KUBE_UID_TEXT_SIZE];
    kube_uid_print(service->uid, uid);
    const struct kube_delete_options options = {.uid = uid, .grace_seconds = -1};
    kube_delete(visit->context.client, visit->controller->children[APP_SERVICE].resource, visit->context.ns,
        visit->context.name, &options, on_service_removed, visit);
}

static int phase_child(void *work)
{
    struct visit *visit = work;
    json_decref(visit->manifest);
    visit->manifest = NULL;
    if (visit->child == APP_CHILD_COUNT)
        return VISIT_REPORT;
    const struct kube_object *there = find_child(visit, visit->child);
    visit->manifest = app_manifest(&visit->app, visit->context.uid, visit->child);
    if (visit->manifest)
        kube_get(visit->context.client, visit->controller->children[visit->child].resource, visit->context.ns,
            visit->context.name, on_child_read, visit);
    else if (there && !there->deleting)
        remove_service(visit, there);
    else
        return child_done(visit, 0);
    return PHASES_WAIT;
}

static const phase_fn phases[] = {
    [VISIT_DONE] = reconcile_done,
    [VISIT_CHILD] = phase_child,
    [VISIT_REPORT] = phase_report,
};

/* ---- reconcile ---- */

/* Nobody has changed the children since they were as wanted, and the same is wanted. */
static bool is_as_applied(struct visit *visit)
{
    char hash[APP_HASH_SIZE];
    for (enum app_child child = 0; child < APP_CHILD_COUNT; child++) {
        const struct kube_object *there = find_child(visit, child);
        visit->digests[child] = there ? there->digest : 0;
    }
    app_applied_hash(&visit->app, visit->context.uid, visit->digests, hash);
    return str_eq(json_path_str(visit->last, "appliedHash", NULL), hash);
}

static struct visit *visit_new(struct app_controller *controller, const struct app_object *object, struct reconcile *run)
{
    struct visit *visit = xnew(struct visit);
    reconcile_context_init(visit, run, controller->client, object->ns, object->name, object->uid, visit_free);
    visit->controller = controller;
    visit->generation = object->object.generation;
    visit->last = app_projection_parse(object->status);
    return visit;
}

static bool visit_is_accepted(struct visit *visit, const struct app_object *object)
{
    struct api_problems problems = {.count = 0};
    _cleanup_(json_decrefp) json_t *spec = app_projection_parse(object->spec);
    if (app_parse(visit->context.ns, visit->context.name, spec, &visit->app, &problems) == 0)
        return true;
    struct strbuf text;
    strbuf_init(&text, KUBE_CONDITION_MESSAGE_MAX - 1);
    api_problems_text(&problems, &text);
    refuse(visit, "InvalidSpec", true, text.buf);
    strbuf_release(&text);
    return false;
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct app_controller *controller = arg;
    const struct app_object *object = (const struct app_object *)store_get(informer_store(controller->apps), key);
    if (!object || object->object.deleting || !namespace_is_watched(controller->options.watch_namespaces, object->ns)) {
        reconcile_finish(run, NULL, 0);
        return;
    }
    struct visit *visit = visit_new(controller, object, run);
    int first = VISIT_REPORT;
    if (visit_is_accepted(visit, object)) {
        bool as_applied = is_as_applied(visit);
        visit->is_done[APP_DEPLOYMENT] = visit->is_done[APP_SERVICE] = as_applied;
        first = as_applied ? VISIT_REPORT : VISIT_CHILD;
    }
    reconcile_context_start(&visit->context, phases, first);
}

static void map_pod(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct pod_object *pod = (const struct pod_object *)object;
    _cleanup_(freep) char *key = xasprintf("%s/%s", pod->ns, pod->app);
    emit(emit_arg, key);
}

/* ---- set-up ---- */

void app_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_app);
    manager_use_kind(manager, &kube_kind_deployment);
    manager_use_kind(manager, &kube_kind_service);
    manager_use_kind(manager, &kube_kind_pod);
}

static void app_controller_free(void *arg)
{
    free(arg);
}

void app_controller_setup(struct manager *manager, const struct app_controller_options *options)
{
    static const struct {
        const struct kube_kind *kind;
        const struct kube_projection *projection;
    } children[] = {[APP_DEPLOYMENT] = {&kube_kind_deployment, &projection_deployment},
        [APP_SERVICE] = {&kube_kind_service, &kube_projection_child}};
    const struct informer_options all = {.ns = NULL}, ours = {.label_selector = LABEL_APP};
    struct app_controller *controller = xnew(struct app_controller);
    controller->client = manager_client(manager);
    controller->options = *options;
    controller->app_resource = manager_use_kind(manager, &kube_kind_app);
    controller->apps = manager_informer(manager, controller->app_resource, &projection_app, &all);
    const struct reconciler reconciler = {"app", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 4};
    struct controller *runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(runtime, controller->apps, predicate_generation_or_digest_changed, controller_map_self, NULL);
    manager_let_wait(manager, runtime, controller->apps);
    for (enum app_child child = 0; child < APP_CHILD_COUNT; child++) {
        controller->children[child].resource = manager_use_kind(manager, children[child].kind);
        controller->children[child].informer =
            manager_informer(manager, controller->children[child].resource, children[child].projection, &ours);
        controller_watch(runtime, controller->children[child].informer, NULL, controller_map_owner, controller->apps);
        manager_let_wait(manager, runtime, controller->children[child].informer);
    }
    controller->pods = manager_informer(manager, manager_use_kind(manager, &kube_kind_pod), &projection_pod, &ours);
    controller_watch(runtime, controller->pods, NULL, map_pod, NULL);
    manager_let_wait(manager, runtime, controller->pods);
    manager_defer(manager, app_controller_free, controller);
}
