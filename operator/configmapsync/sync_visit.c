/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/configmapsync/sync_visit.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/api_kinds.h"
#include "operator/api/names.h"

/* All that matters is watched; this mends what a watch may have missed. */
#define SYNC_RECHECK_MS (5 * 60 * 1000)
/* Something of somebody else's must go first, and is not watched. */
#define SYNC_BLOCKED_RECHECK_MS 20000

/* One reconcile under way. */
struct visit {
    struct sync_controller *controller;
    struct reconcile *run;
    char *key, *ns, *name, *uid;
    bool has_finalizer;
    struct config_map_sync sync; /* borrows ns, name */
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
    struct error error; /* of a step or the status */
};

static void visit_report(struct visit *visit);

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

static void visit_free(struct visit *visit)
{
    free_seen(visit);
    sync_decision_release(&visit->decision);
    config_map_sync_release(&visit->sync);
    json_decref(visit->source);
    free(visit->sync_to);
    free(visit->key);
    free(visit->ns);
    free(visit->name);
    free(visit->uid);
    free(visit);
}

static void visit_finish(struct visit *visit)
{
    const struct sync_controller_options *options = &visit->controller->options;
    struct reconcile *run = visit->run;
    struct error error = visit->error;
    bool is_blocked = *visit->decision.problems.reason != '\0';
    int64_t blocked_ms = options->blocked_recheck_ms ? options->blocked_recheck_ms : SYNC_BLOCKED_RECHECK_MS;
    visit_free(visit);
    reconcile_finish(run, error.kind ? &error : NULL, is_blocked ? blocked_ms : SYNC_RECHECK_MS);
}

static void visit_fail(struct visit *visit, const struct error *err)
{
    if (err->kind != ERROR_NOT_FOUND)
        visit->error = *err;
    visit_finish(visit);
}

/* ---- status ---- */

static void on_status_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = arg;
    if (!err)
        informer_observe_write(visit->controller->syncs, answer);
    else if (err->kind != ERROR_NOT_FOUND && !visit->error.kind)
        visit->error = *err;
    visit_finish(visit);
}

static void write_status(struct visit *visit, const struct config_map_sync_status *status)
{
    if (config_map_sync_status_same(&visit->last, status)) {
        visit_finish(visit);
        return;
    }
    json_t *body = json_build("{s:s, s:s, s:{s:s, s:s, s:s}, s:o}", "apiVersion", KM_API_GROUP_VERSION, "kind",
        kube_kind_config_map_sync.kind, "metadata", "name", visit->name, "namespace", visit->ns, "uid", visit->uid,
        "status", config_map_sync_status_encode(status));
    kube_apply_status(visit->controller->client, visit->controller->sync_resource, body, on_status_written, visit);
    json_decref(body);
}

static void visit_report(struct visit *visit)
{
    struct config_map_sync_status status;
    sync_report(&visit->snapshot, &visit->decision, &visit->outcome, clock_realtime_ms(), &visit->last, &status);
    write_status(visit, &status);
}

static void report_invalid(struct visit *visit, const struct api_problems *problems)
{
    struct config_map_sync_status status;
    struct strbuf text;
    strbuf_init(&text, KUBE_CONDITION_MESSAGE_MAX - 1);
    api_problems_text(problems, &text);
    sync_report_invalid(visit->snapshot.generation, text.buf, clock_realtime_ms(), &visit->last, &status);
    strbuf_release(&text);
    write_status(visit, &status);
}

/* ---- finalizer ---- */

static void visit_read_source(struct visit *visit);

static void on_finalizer_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = arg;
    if (err) {
        visit_fail(visit, err);
        return;
    }
    /* One that is being deleted may be gone with its last finalizer: then the watch has the last word. */
    if (visit->snapshot.is_deleting) {
        visit_finish(visit);
        return;
    }
    informer_observe_write(visit->controller->syncs, answer);
    visit_read_source(visit);
}

/* The others' stay as they are. */
static json_t *changed_finalizers(const json_t *object, bool wanted)
{
    json_t *list = json_array();
    size_t i;
    json_t *each;
    json_array_foreach(json_path(object, "metadata.finalizers"), i, each)
        if (!str_eq(json_string_value(each), FINALIZER_SYNC))
            json_array_append(list, each);
    if (wanted)
        json_array_append_new(list, json_string(FINALIZER_SYNC));
    return list;
}

/* A list cannot be changed by halves: it is read, and written under the version that was read. */
static void on_read_for_finalizer(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = arg;
    if (err || !str_eq(json_path_str(answer->object, "metadata.uid", NULL), visit->uid)) {
        struct error gone = {.kind = ERROR_NOT_FOUND};
        visit_fail(visit, err ? err : &gone);
        return;
    }
    bool wanted = !json_path(answer->object, "metadata.deletionTimestamp");
    if (wanted != !visit->snapshot.is_deleting) { /* the watch brings it */
        visit_finish(visit);
        return;
    }
    json_t *patch = json_build("{s:{s:s, s:o}}", "metadata", "resourceVersion",
        json_path_str(answer->object, "metadata.resourceVersion", ""), "finalizers",
        changed_finalizers(answer->object, wanted));
    kube_patch(visit->controller->client, visit->controller->sync_resource, visit->ns, visit->name, NULL,
        KUBE_PATCH_MERGE, patch, on_finalizer_written, visit);
    json_decref(patch);
}

static void visit_write_finalizer(struct visit *visit)
{
    kube_get(visit->controller->client, visit->controller->sync_resource, visit->ns, visit->name, on_read_for_finalizer,
        visit);
}

/* ---- steps ---- */

struct step_run {
    struct visit *visit;
    const struct sync_step *step;
};

static void run_steps(struct visit *visit);

static void step_end(struct step_run *run)
{
    struct visit *visit = run->visit;
    free(run);
    visit->steps_under_way--;
    run_steps(visit);
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
        visit->error = *err;
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
    kube_create(visit->controller->client, visit->controller->map_resource, run->step->ns, copy, on_copy_written, run);
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
    kube_patch(visit->controller->client, visit->controller->map_resource, run->step->ns, run->step->name, NULL,
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

/* All copies are gone, as far as we know: nothing holds the ConfigMapSync any more. */
static void end_deletion(struct visit *visit)
{
    const struct store *copies = informer_store(visit->controller->copies);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(copies, &cursor));)
        if (str_eq(((const struct config_map_object *)each)->sync_of, visit->key)) {
            visit_finish(visit); /* the last one's end brings us back */
            return;
        }
    visit_write_finalizer(visit);
}

static void run_steps(struct visit *visit)
{
    while (visit->next_step < visit->decision.step_count && visit->steps_under_way < SYNC_STEPS_AT_ONCE)
        step_begin(visit, &visit->decision.steps[visit->next_step++]);
    if (visit->steps_under_way > 0)
        return;
    if (visit->error.kind == ERROR_CONFLICT || (visit->error.kind && visit->snapshot.is_deleting))
        visit_finish(visit); /* to be tried again at once, so nothing is said of it */
    else if (!visit->snapshot.is_deleting)
        visit_report(visit);
    else
        end_deletion(visit);
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
        if (str_eq(copy->sync_of, visit->key))
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

static void visit_decide(struct visit *visit)
{
    if (!visit->snapshot.is_deleting)
        see_namespaces(visit);
    see_copies(visit);
    sync_decide(&visit->snapshot, &visit->decision);
    run_steps(visit);
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
    visit_decide(visit);
}

static void visit_read_source(struct visit *visit)
{
    kube_get(visit->controller->client, visit->controller->map_resource, visit->sync.source_namespace,
        visit->sync.config_map, on_source_read, visit);
}

/* ---- the beginning ---- */

static struct visit *visit_new(
    struct sync_controller *controller, const struct sync_object *object, struct reconcile *run)
{
    struct visit *visit = xnew(struct visit);
    visit->controller = controller;
    visit->run = run;
    visit->key = xstrdup(object->object.key);
    visit->ns = xstrdup(object->ns);
    visit->name = xstrdup(object->name);
    visit->uid = xstrdup(object->uid);
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
    int rc = config_map_sync_parse(visit->ns, visit->name, spec, &visit->sync, &problems);
    if (visit->snapshot.is_deleting) /* whatever the spec says: copies are known by their annotation */
        visit_decide(visit);
    else if (rc < 0)
        report_invalid(visit, &problems);
    else if (!visit->has_finalizer)
        visit_write_finalizer(visit);
    else
        visit_read_source(visit);
}
