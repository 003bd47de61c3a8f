/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/configmapsync/sync_visit.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/api_kinds.h"
#include "operator/api/names.h"
#include "operator/runtime/reconcile_context.h"

/* All that matters is watched; this mends what a watch may have missed. */
#define SYNC_RECHECK_MS (5 * 60 * 1000)
/* Something of somebody else's must go first, and is not watched. */
#define SYNC_BLOCKED_RECHECK_MS 20000

/* One reconcile under way. */
struct visit {
    struct reconcile_context context; /* sync borrows its ns and name */
    struct sync_controller *controller;
    bool has_finalizer;
    struct config_map_sync sync;
    struct config_map_sync_status last;
    struct sync_snapshot snapshot;
    /* What the snapshot borrows. */
    struct sync_namespace *namespaces;
    struct sync_copy *copies;
    char *sync_to;
    json_t *source; /* the ConfigMap as it was read; NULL: it is not there */
    struct sync_decision decision;
    struct sync_outcome outcome;
    size_t next_step, steps_under_way;
    struct config_map_sync_status status; /* to be written */
};

enum visit_phase {
    VISIT_DONE = RECONCILE_DONE,
    VISIT_FINALIZER, /* read, and written under the version that was read: a list cannot be changed by halves */
    VISIT_SOURCE,
    VISIT_STEPS, /* decided, and run */
    VISIT_REPORT,
    VISIT_STATUS,
};

/* ---- the end ---- */

static void free_seen(struct visit *visit)
{
    for (size_t i = 0; i < visit->snapshot.namespace_count; i++) {
        free((char *)(uintptr_t)visit->namespaces[i].name);
        free((char *)(uintptr_t)visit->namespaces[i].sync_from);
        free((char *)(uintptr_t)visit->namespaces[i].labels);
    }
    for (size_t i = 0; i < visit->snapshot.copy_count; i++) {
        free((char *)(uintptr_t)visit->copies[i].ns);
        free((char *)(uintptr_t)visit->copies[i].name);
        free((char *)(uintptr_t)visit->copies[i].uid);
    }
    free(visit->namespaces);
    free(visit->copies);
}

static void visit_free(void *work)
{
    struct visit *visit = work;
    free_seen(visit);
    sync_decision_release(&visit->decision);
    config_map_sync_release(&visit->sync);
    json_decref(visit->source);
    free(visit->sync_to);
    reconcile_context_release(&visit->context);
    free(visit);
}

/* An object that is gone is no error: nobody misses what would have been done for it. */
static void visit_fail(struct visit *visit, const struct error *err)
{
    if (err->kind != ERROR_NOT_FOUND)
        reconcile_fail(&visit->context, err, NULL);
    phases_go_on(&visit->context.phases, VISIT_DONE);
}

/* ---- status ---- */

static int phase_status(void *work)
{
    struct visit *visit = work;
    const struct sync_controller *controller = visit->controller;
    const struct reconcile_write write = {.informer = controller->syncs, .next = VISIT_DONE};
    if (config_map_sync_status_same(&visit->last, &visit->status))
        return VISIT_DONE;
    reconcile_apply_status(
        &visit->context, controller->sync_resource, config_map_sync_status_encode(&visit->status), NULL, &write);
    return PHASES_WAIT;
}

static int phase_report(void *work)
{
    struct visit *visit = work;
    const struct sync_controller_options *options = &visit->controller->options;
    if (*visit->decision.problems.reason)
        reconcile_again_in(
            &visit->context, options->blocked_recheck_ms ? options->blocked_recheck_ms : SYNC_BLOCKED_RECHECK_MS);
    sync_report(&visit->snapshot, &visit->decision, &visit->outcome, clock_realtime_ms(), &visit->last, &visit->status);
    return VISIT_STATUS;
}

static void report_invalid(struct visit *visit, const struct api_problems *problems)
{
    struct strbuf text;
    strbuf_init(&text, KUBE_CONDITION_MESSAGE_MAX - 1);
    api_problems_text(problems, &text);
    sync_report_invalid(visit->snapshot.generation, text.buf, clock_realtime_ms(), &visit->last, &visit->status);
    strbuf_release(&text);
}

/* ---- finalizer ---- */

static int phase_finalizer(void *work)
{
    struct visit *visit = work;
    const struct sync_controller *controller = visit->controller;
    const struct reconcile_finalizer finalizer = {
        controller->sync_resource, FINALIZER_SYNC, !visit->snapshot.is_deleting};
    const struct reconcile_write write = {.informer = controller->syncs, .next = VISIT_SOURCE};
    reconcile_write_finalizer(&visit->context, &finalizer, &write);
    return PHASES_WAIT;
}

/* ---- steps ---- */

struct step_run {
    struct visit *visit;
    const struct sync_step *step;
};

static void begin_steps(struct visit *visit);
static int after_steps(const struct visit *visit);

static void step_end(struct step_run *run)
{
    struct visit *visit = run->visit;
    free(run);
    visit->steps_under_way--;
    begin_steps(visit);
    if (visit->steps_under_way == 0)
        phases_go_on(&visit->context.phases, after_steps(visit));
}

static void step_fail(struct step_run *run, const struct error *err)
{
    struct visit *visit = run->visit;
    if (err->kind == ERROR_ENDING)
        sync_problem(
            &visit->decision.problems, "NamespaceNotFound", false, "namespace %s is being deleted", run->step->ns);
    else if (err->kind == ERROR_INVALID || err->kind == ERROR_FORBIDDEN || err->kind == ERROR_TOO_LARGE)
        sync_problem(&visit->decision.problems, "CopyRefused", true, "ConfigMap %s/%s: %s", run->step->ns,
            run->step->name, err->message);
    else {
        visit->outcome.has_failed = true;
        snprintf(visit->outcome.message, sizeof(visit->outcome.message), "ConfigMap %s/%s: %.300s", run->step->ns,
            run->step->name, err->message);
        reconcile_fail(&visit->context, err, NULL);
    }
    step_end(run);
}

static void on_copy_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step_run *run = arg;
    if (err) {
        struct error again = *err;
        if (err->kind == ERROR_EXISTS || err->kind == ERROR_NOT_FOUND) /* made or removed since it was read */
            again.kind = ERROR_CONFLICT;
        step_fail(run, &again);
        return;
    }
    informer_observe_write(run->visit->controller->copies, answer);
    run->visit->outcome.has_written = true;
    run->visit->outcome.equal++;
    step_end(run);
}

static void create_copy(struct step_run *run)
{
    const struct visit *visit = run->visit;
    json_t *copy = sync_copy_manifest(&visit->sync, run->step->ns, visit->source);
    kube_create(visit->context.client, visit->controller->map_resource, run->step->ns, copy, on_copy_written, run);
    json_decref(copy);
}

static void note_foreign(struct step_run *run, const json_t *live)
{
    const char *of = json_path_str(live, "metadata.annotations[\"" ANNOTATION_SYNC_OF "\"]", NULL);
    sync_problem(&run->visit->decision.problems, "ForeignObject", true, "ConfigMap %s/%s is %s%s and is left alone",
        run->step->ns, run->step->name, of ? "a copy of ConfigMapSync " : "somebody else's", str_or_empty(of));
    step_end(run);
}

static void on_copy_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step_run *run = arg;
    struct visit *visit = run->visit;
    if (err && err->kind == ERROR_NOT_FOUND) {
        create_copy(run);
        return;
    }
    if (err) {
        step_fail(run, err);
        return;
    }
    if (!sync_copy_is_ours(&visit->sync, answer->object)) {
        note_foreign(run, answer->object);
        return;
    }
    json_t *patch = sync_copy_patch(answer->object, visit->source);
    if (!patch) {
        informer_observe_write(visit->controller->copies, answer);
        visit->outcome.equal++;
        step_end(run);
        return;
    }
    kube_patch(visit->context.client, visit->controller->map_resource, run->step->ns, run->step->name, NULL,
        KUBE_PATCH_MERGE, patch, on_copy_written, run);
    json_decref(patch);
}

static void on_copy_removed(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct step_run *run = arg;
    struct informer *copies = run->visit->controller->copies;
    if (err && err->kind != ERROR_NOT_FOUND) {
        step_fail(run, err);
        return;
    }
    _cleanup_(freep) char *key = kube_key(run->step->ns, run->step->name);
    if (!err && json_path(answer->object, "metadata.deletionTimestamp"))
        informer_observe_write(copies, answer);
    else
        informer_observe_delete(copies, key);
    run->visit->outcome.has_written = run->visit->outcome.has_written || !err;
    step_end(run);
}

static void step_begin(struct visit *visit, const struct sync_step *step)
{
    struct sync_controller *controller = visit->controller;
    struct step_run *run = xnew(struct step_run);
    *run = (struct step_run){.visit = visit, .step = step};
    visit->steps_under_way++;
    if (step->verb == SYNC_ENSURE) {
        kube_get(controller->client, controller->map_resource, step->ns, step->name, on_copy_read, run);
        return;
    }
    const struct kube_delete_options options = {.uid = step->uid, .grace_seconds = -1};
    kube_delete(controller->client, controller->map_resource, step->ns, step->name, &options, on_copy_removed, run);
}

static void begin_steps(struct visit *visit)
{
    while (visit->next_step < visit->decision.step_count && visit->steps_under_way < SYNC_STEPS_AT_ONCE)
        step_begin(visit, &visit->decision.steps[visit->next_step++]);
}

static bool has_copies(const struct visit *visit)
{
    const struct store *copies = informer_store(visit->controller->copies);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(copies, &cursor));)
        if (str_eq(((const struct config_map_object *)each)->sync_of, visit->context.key))
            return true;
    return false;
}

static int after_steps(const struct visit *visit)
{
    bool is_deleting = visit->snapshot.is_deleting;
    enum error_kind failed = visit->context.error.kind;
    if (failed == ERROR_CONFLICT || (failed && is_deleting))
        return VISIT_DONE; /* to be tried again at once, so nothing is said of it */
    if (!is_deleting)
        return VISIT_REPORT;
    /* Once all copies are gone nothing holds the ConfigMapSync any more. The last one's end brings us back. */
    return has_copies(visit) ? VISIT_DONE : VISIT_FINALIZER;
}

/* ---- what is seen ---- */

static int by_namespace(const void *a, const void *b)
{
    return strcmp(((const struct sync_namespace *)a)->name, ((const struct sync_namespace *)b)->name);
}

static int by_copy(const void *a, const void *b)
{
    const struct sync_copy *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);
    return order ? order : strcmp(x->name, y->name);
}

/* Copies of texts: stores change while steps are under way. */
static void see_namespaces(struct visit *visit)
{
    const struct store *store = informer_store(visit->controller->namespaces);
    size_t n = 0, cursor = 0;
    visit->namespaces = xnew_array(struct sync_namespace, store_count(store) + 1);
    for (const struct kube_object *each; (each = store_next(store, &cursor));) {
        const struct namespace_object *ns = (const struct namespace_object *)each;
        visit->namespaces[n++] = (struct sync_namespace){.name = xstrdup(ns->name),
            .sync_from = xstrdup(ns->sync_from),
            .labels = xstrdup(visit->sync.selector ? ns->labels : ""),
            .is_ending = each->deleting};
    }
    qsort(visit->namespaces, n, sizeof(*visit->namespaces), by_namespace);
    visit->snapshot.namespaces = visit->namespaces;
    visit->snapshot.namespace_count = n;
}

static void see_copies(struct visit *visit)
{
    const struct store *store = informer_store(visit->controller->copies);
    size_t n = 0, cursor = 0;
    visit->copies = xnew_array(struct sync_copy, store_count(store) + 1);
    for (const struct kube_object *each; (each = store_next(store, &cursor));) {
        const struct config_map_object *copy = (const struct config_map_object *)each;
        if (str_eq(copy->sync_of, visit->context.key))
            visit->copies[n++] = (struct sync_copy){.ns = xstrdup(copy->ns),
                .name = xstrdup(copy->name),
                .uid = xstrdup(copy->uid),
                .digest = each->digest,
                .is_ending = each->deleting};
    }
    qsort(visit->copies, n, sizeof(*visit->copies), by_copy);
    visit->snapshot.copies = visit->copies;
    visit->snapshot.copy_count = n;
}

static int phase_steps(void *work)
{
    struct visit *visit = work;
    if (!visit->snapshot.is_deleting)
        see_namespaces(visit);
    see_copies(visit);
    sync_decide(&visit->snapshot, &visit->decision);
    begin_steps(visit);
    return visit->steps_under_way > 0 ? PHASES_WAIT : after_steps(visit);
}

static void on_source_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = arg;
    if (err && err->kind != ERROR_NOT_FOUND) {
        visit_fail(visit, err);
        return;
    }
    if (!err) {
        visit->source = json_incref((json_t *)(uintptr_t)answer->object);
        visit->sync_to = xstrdup(json_path_str(answer->object, "metadata.annotations[\"" ANNOTATION_SYNC_TO "\"]", ""));
        visit->snapshot.source_is_there = true;
        visit->snapshot.source_digest = config_map_content_digest(answer->raw);
        visit->snapshot.sync_to = visit->sync_to;
    }
    phases_go_on(&visit->context.phases, VISIT_STEPS);
}

static int phase_source(void *work)
{
    struct visit *visit = work;
    kube_get(visit->context.client, visit->controller->map_resource, visit->sync.source_namespace,
        visit->sync.config_map, on_source_read, visit);
    return PHASES_WAIT;
}

static const phase_fn phases[] = {
    [VISIT_DONE] = reconcile_done,
    [VISIT_FINALIZER] = phase_finalizer,
    [VISIT_SOURCE] = phase_source,
    [VISIT_STEPS] = phase_steps,
    [VISIT_REPORT] = phase_report,
    [VISIT_STATUS] = phase_status,
};

/* ---- the beginning ---- */

static struct visit *visit_new(
    struct sync_controller *controller, const struct sync_object *object, struct reconcile *run)
{
    struct visit *visit = xnew(struct visit);
    reconcile_context_init(visit, run, controller->client, object->ns, object->name, object->uid, visit_free);
    visit->controller = controller;
    visit->has_finalizer = object->has_finalizer;
    visit->snapshot = (struct sync_snapshot){.sync = &visit->sync,
        .generation = object->object.generation,
        .is_deleting = object->object.deleting,
        .needs_consent = !controller->options.without_consent,
        .own_namespace = controller->options.own_namespace};
    _cleanup_(json_decrefp) json_t *status = sync_object_status(object);
    config_map_sync_status_decode(status, &visit->last);
    return visit;
}

void sync_visit_start(struct sync_controller *controller, const struct sync_object *object, struct reconcile *run)
{
    struct visit *visit = visit_new(controller, object, run);
    struct api_problems problems = {.count = 0};
    _cleanup_(json_decrefp) json_t *spec = sync_object_spec(object);
    int rc = config_map_sync_parse(visit->context.ns, visit->context.name, spec, &visit->sync, &problems);
    int first = visit->has_finalizer ? VISIT_SOURCE : VISIT_FINALIZER;
    reconcile_again_in(&visit->context, SYNC_RECHECK_MS);
    if (visit->snapshot.is_deleting) { /* whatever the spec says: copies are known by their annotation */
        first = VISIT_STEPS;
    } else if (rc < 0) {
        report_invalid(visit, &problems);
        first = VISIT_STATUS;
    }
    reconcile_context_start(&visit->context, phases, first);
}
