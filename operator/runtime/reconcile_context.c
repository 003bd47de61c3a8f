/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/reconcile_context.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "operator/kube/kube_condition.h"

#define API_VERSION_MAX 256

void reconcile_context_init(void *work, struct reconcile *run, struct kube_client *client, const char *ns,
    const char *name, const char *uid, void (*release)(void *work))
{
    struct reconcile_context *context = work;
    *context = (struct reconcile_context){
        .run = run,
        .client = client,
        .key = reconcile_key(run),
        .ns = xstrdup(ns),
        .name = xstrdup(name),
        .uid = xstrdup(uid),
        .release = release,
    };
}

void reconcile_context_release(struct reconcile_context *context)
{
    free(context->ns);
    free(context->name);
    free(context->uid);
}

void reconcile_context_start(struct reconcile_context *context, const phase_fn *phases, int first)
{
    phases_start(&context->phases, phases, context, first);
}

void reconcile_fail(struct reconcile_context *context, const struct error *err, const char *what)
{
    if (context->error.kind)
        return;
    context->error = *err;
    if (what)
        error_prefix(&context->error, "%s", what);
}

void reconcile_again_in(struct reconcile_context *context, int64_t ms)
{
    if (ms > 0)
        context->again_ms = context->again_ms > 0 ? MIN_OF(context->again_ms, ms) : ms;
}

struct event_target reconcile_target(const struct reconcile_context *context, const struct kube_resource *resource)
{
    return (struct event_target){.resource = resource, .ns = context->ns, .name = context->name, .uid = context->uid};
}

void reconcile_tell(const struct reconcile_context *context, struct event_recorder *recorder,
    const struct kube_resource *resource, enum event_type type, const char *reason, const char *fmt, ...)
{
    const struct event_target target = reconcile_target(context, resource);
    char text[KUBE_CONDITION_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    event_record(recorder, &target, type, reason, "%s", text);
}

int reconcile_done(void *work)
{
    struct reconcile_context *context = work;
    struct reconcile *run = context->run;
    struct error error = context->error;
    int64_t again_ms = error.kind ? 0 : context->again_ms;
    context->release(work);
    reconcile_finish(run, error.kind ? &error : NULL, again_ms);
    return PHASES_END;
}

/* ---- writes ---- */

void *reconcile_expect(struct reconcile_context *context, const struct reconcile_write *write)
{
    context->write = *write;
    context->written = false;
    return context;
}

void reconcile_on_written(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct reconcile_context *context = work;
    const struct reconcile_write *write = &context->write;
    if (err && err->kind != write->but) {
        reconcile_fail(context, err, write->what);
        phases_go_on(&context->phases, write->failed);
        return;
    }
    context->written = !err;
    if (!err && write->informer)
        informer_observe_write(write->informer, answer);
    phases_go_on(&context->phases, write->next);
}

/* An object that is gone is no error. */
static void on_object_written(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct reconcile_context *context = work;
    if (err && err->kind == ERROR_NOT_FOUND)
        phases_go_on(&context->phases, context->write.failed);
    else
        reconcile_on_written(work, answer, err);
}

void reconcile_apply_status(struct reconcile_context *context, const struct kube_resource *resource, json_t *status,
    const char *version, const struct reconcile_write *write)
{
    struct strbuf api_version;
    strbuf_init(&api_version, API_VERSION_MAX);
    kube_resource_api_version(resource, &api_version);
    json_t *body =
        json_build("{s:s, s:s, s:{s:s, s:s, s:s}, s:o}", "apiVersion", api_version.buf, "kind", resource->kind->kind,
            "metadata", "name", context->name, "namespace", context->ns, "uid", context->uid, "status", status);
    if (version)
        json_put_str(json_object_get(body, "metadata"), "resourceVersion", version);
    kube_apply_status(context->client, resource, body, on_object_written, reconcile_expect(context, write));
    json_decref(body);
    strbuf_release(&api_version);
}

void reconcile_patch_status(struct reconcile_context *context, const struct kube_resource *resource, json_t *status,
    const struct reconcile_write *write)
{
    json_t *patch = json_build("{s:{s:s}, s:o}", "metadata", "uid", context->uid, "status", status);
    kube_patch(context->client, resource, context->ns, context->name, "status", KUBE_PATCH_MERGE, patch,
        on_object_written, reconcile_expect(context, write));
    json_decref(patch);
}

/* ---- finalizers ---- */

/* NULL: nothing is to change. */
static json_t *changed_finalizers(const json_t *object, const struct reconcile_finalizer *finalizer)
{
    json_t *list = json_array();
    bool had = false;
    size_t i;
    json_t *each;
    json_array_foreach(json_path(object, "metadata.finalizers"), i, each) {
        bool ours = str_eq(json_string_value(each), finalizer->name);
        had = had || ours;
        if (!ours)
            json_array_append(list, each);
    }
    if (finalizer->wanted)
        json_array_append_new(list, json_string(finalizer->name));
    if (had != finalizer->wanted)
        return list;
    json_decref(list);
    return NULL;
}

static void on_finalizer_written(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct reconcile_context *context = work;
    if (err)
        on_object_written(work, answer, err);
    else if (json_path(answer->object, "metadata.deletionTimestamp"))
        phases_go_on(&context->phases, RECONCILE_DONE);
    else
        reconcile_on_written(work, answer, NULL);
}

static void write_finalizers(struct reconcile_context *context, const json_t *object)
{
    struct error conflict = ERROR_INIT;
    json_t *list = changed_finalizers(object, &context->finalizer);
    if (!list) {
        error_set(&conflict, ERROR_CONFLICT, "the finalizers have changed meanwhile");
        reconcile_fail(context, &conflict, NULL);
        phases_go_on(&context->phases, RECONCILE_DONE);
        return;
    }
    json_t *patch = json_build("{s:{s:s, s:o}}", "metadata", "resourceVersion",
        json_path_str(object, "metadata.resourceVersion", ""), "finalizers", list);
    kube_patch(context->client, context->finalizer.resource, context->ns, context->name, NULL, KUBE_PATCH_MERGE, patch,
        on_finalizer_written, context);
    json_decref(patch);
}

static void on_read_for_finalizer(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct reconcile_context *context = work;
    if (err) {
        on_object_written(work, answer, err);
        return;
    }
    bool is_deleting = json_path(answer->object, "metadata.deletionTimestamp") != NULL;
    bool is_same = str_eq(json_path_str(answer->object, "metadata.uid", NULL), context->uid);
    if (is_same && !(is_deleting && context->finalizer.wanted))
        write_finalizers(context, answer->object);
    else
        phases_go_on(&context->phases, RECONCILE_DONE);
}

void reconcile_write_finalizer(
    struct reconcile_context *context, const struct reconcile_finalizer *finalizer, const struct reconcile_write *write)
{
    context->finalizer = *finalizer;
    kube_get(context->client, finalizer->resource, context->ns, context->name, on_read_for_finalizer,
        reconcile_expect(context, write));
}
