/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/configmapsync/sync_decide.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/api/ready_conditions.h"

/* ---- problems ---- */

/* Appends, cut with "..." where it does not fit. */
static void append(char *out, size_t size, const char *text)
{
    size_t len = strlen(out);
    int n = snprintf(out + len, size - len, "%s%s", len ? "; " : "", text);
    if (n >= (int)(size - len))
        memcpy(out + size - sizeof("..."), "...", sizeof("..."));
}

void sync_problem(struct sync_problems *problems, const char *reason, bool is_stalled, const char *fmt, ...)
{
    char text[KUBE_CONDITION_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!*problems->reason || (is_stalled && !problems->is_stalled))
        snprintf(problems->reason, sizeof(problems->reason), "%s", reason);
    problems->is_stalled = problems->is_stalled || is_stalled;
    append(problems->message, sizeof(problems->message), text);
}

/* ---- decision ---- */

struct deciding {
    const struct sync_snapshot *snapshot;
    struct sync_decision *decision;
    const char **wanted; /* namespaces that are to have a copy */
    size_t wanted_count;
    bool are_too_many;
};

static const struct sync_copy *find_copy(const struct sync_snapshot *snapshot, const char *ns)
{
    for (size_t i = 0; i < snapshot->copy_count; i++) {
        const struct sync_copy *copy = &snapshot->copies[i];
        if (str_eq(copy->ns, ns) && str_eq(copy->name, snapshot->sync->config_map))
            return copy;
    }
    return NULL;
}

static const struct sync_namespace *find_namespace(const struct sync_snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->namespace_count; i++)
        if (str_eq(snapshot->namespaces[i].name, name))
            return &snapshot->namespaces[i];
    return NULL;
}

static void add_step(struct sync_decision *decision, struct sync_step step)
{
    decision->steps = xreallocarray(decision->steps, decision->step_count + 1, sizeof(*decision->steps));
    decision->steps[decision->step_count++] = step;
}

static bool is_of_the_system(const struct sync_snapshot *snapshot, const char *ns)
{
    return str_starts_with(ns, SYNC_SYSTEM_PREFIX) || str_eq(ns, snapshot->own_namespace);
}

static bool is_selected(const struct sync_snapshot *snapshot, const struct sync_namespace *ns)
{
    const struct config_map_sync *sync = snapshot->sync;
    if (!sync->selector || str_eq(ns->name, sync->source_namespace) || is_of_the_system(snapshot, ns->name))
        return false;
    _cleanup_(json_decrefp) json_t *labels = *ns->labels ? json_parse(ns->labels, strlen(ns->labels), NULL) : NULL;
    return label_selector_fits(sync->selector, labels) && !ns->is_ending;
}

static bool source_consents(const struct sync_snapshot *snapshot, const char *ns)
{
    return !snapshot->needs_consent || namespaces_text_has(snapshot->sync_to, ns);
}

static bool destination_consents(const struct sync_snapshot *snapshot, const struct sync_namespace *ns)
{
    const struct config_map_sync *sync = snapshot->sync;
    return !snapshot->needs_consent || str_eq(sync->ns, ns->name) ||
        namespaces_text_has(ns->sync_from, sync->source_namespace);
}

/* Whether a namespace that the spec names may get a copy; if not that is a problem. */
static bool is_allowed(const struct deciding *deciding, const struct sync_namespace *ns)
{
    const struct sync_snapshot *snapshot = deciding->snapshot;
    const struct config_map_sync *sync = snapshot->sync;
    struct sync_problems *problems = &deciding->decision->problems;
    if (is_of_the_system(snapshot, ns->name))
        sync_problem(
            problems, "SystemNamespace", true, "namespace %s belongs to the system and gets no copies", ns->name);
    else if (ns->is_ending)
        sync_problem(problems, "NamespaceNotFound", false, "namespace %s is being deleted", ns->name);
    else if (!source_consents(snapshot, ns->name))
        sync_problem(problems, "NotAllowed", true, "annotation %s of ConfigMap %s/%s does not name namespace %s",
            ANNOTATION_SYNC_TO, sync->source_namespace, sync->config_map, ns->name);
    else if (!destination_consents(snapshot, ns))
        sync_problem(problems, "NotAllowed", true, "annotation %s of namespace %s does not name namespace %s",
            ANNOTATION_SYNC_FROM, ns->name, sync->source_namespace);
    else
        return true;
    return false;
}

static void want_copy(struct deciding *deciding, const char *ns)
{
    const struct sync_snapshot *snapshot = deciding->snapshot;
    struct sync_decision *decision = deciding->decision;
    const struct sync_copy *copy = find_copy(snapshot, ns);
    if (deciding->wanted_count == SYNC_COPIES_MAX) {
        if (!deciding->are_too_many)
            sync_problem(&decision->problems, "TooManyNamespaces", true,
                "more than %d namespaces would get a copy; those from %s on get none", SYNC_COPIES_MAX, ns);
        deciding->are_too_many = true;
        return;
    }
    deciding->wanted[deciding->wanted_count++] = ns;
    if (copy && !copy->is_ending && copy->digest == snapshot->source_digest)
        decision->equal++;
    else
        add_step(decision, (struct sync_step){.verb = SYNC_ENSURE, .ns = ns, .name = snapshot->sync->config_map});
}

static void judge_namespace(struct deciding *deciding, const struct sync_namespace *ns)
{
    const struct sync_snapshot *snapshot = deciding->snapshot;
    if (config_map_sync_names(snapshot->sync, ns->name)) {
        if (is_allowed(deciding, ns))
            want_copy(deciding, ns->name);
        return;
    }
    if (!is_selected(snapshot, ns))
        return;
    if (source_consents(snapshot, ns->name) && destination_consents(snapshot, ns))
        want_copy(deciding, ns->name);
    else
        deciding->decision->left_out++;
}

static void judge_missing(const struct deciding *deciding, const char *ns)
{
    if (ns && !find_namespace(deciding->snapshot, ns))
        sync_problem(&deciding->decision->problems, "NamespaceNotFound", false, "there is no namespace %s", ns);
}

static bool is_wanted(const struct deciding *deciding, const struct sync_copy *copy)
{
    for (size_t i = 0; i < deciding->wanted_count; i++)
        if (str_eq(deciding->wanted[i], copy->ns))
            return str_eq(copy->name, deciding->snapshot->sync->config_map);
    return false;
}

static void remove_others(const struct deciding *deciding)
{
    for (size_t i = 0; i < deciding->snapshot->copy_count; i++) {
        const struct sync_copy *copy = &deciding->snapshot->copies[i];
        if (!copy->is_ending && !is_wanted(deciding, copy))
            add_step(deciding->decision,
                (struct sync_step){.verb = SYNC_REMOVE, .ns = copy->ns, .name = copy->name, .uid = copy->uid});
    }
}

static void judge_all(struct deciding *deciding)
{
    const struct config_map_sync *sync = deciding->snapshot->sync;
    size_t i;
    const json_t *each;
    for (i = 0; i < deciding->snapshot->namespace_count; i++)
        judge_namespace(deciding, &deciding->snapshot->namespaces[i]);
    judge_missing(deciding, sync->destination);
    json_array_foreach(sync->destinations, i, each)
        judge_missing(deciding, json_string_value(each));
}

void sync_decide(const struct sync_snapshot *snapshot, struct sync_decision *ret)
{
    *ret = (struct sync_decision){.steps = NULL};
    struct deciding deciding = {.snapshot = snapshot, .decision = ret};
    if (!snapshot->is_deleting && !snapshot->source_is_there) {
        sync_problem(&ret->problems, "SourceNotFound", false, "there is no ConfigMap %s in namespace %s",
            snapshot->sync->config_map, snapshot->sync->source_namespace);
        return;
    }
    deciding.wanted = xnew_array(const char *, SYNC_COPIES_MAX);
    if (!snapshot->is_deleting)
        judge_all(&deciding);
    remove_others(&deciding);
    free(deciding.wanted);
}

void sync_decision_release(struct sync_decision *decision)
{
    free(decision->steps);
    *decision = (struct sync_decision){.steps = NULL};
}

/* ---- report ---- */

static void set_conditions(struct config_map_sync_status *status, const struct sync_problems *problems,
    const char *well, int64_t generation, int64_t now_ms)
{
    bool ready = !*problems->reason;
    struct ready_view view = {
        .ready = {ready, ready ? "Synced" : problems->reason, ready ? well : problems->message},
        .reconciling = {false, "Settled", "nothing is being changed"},
        .stalled = {false, "NotStalled", "nothing has to be changed by hand"},
    };
    if (problems->is_stalled)
        view.stalled = (struct ready_reason){true, problems->reason, problems->message};
    else if (!ready)
        view.reconciling = (struct ready_reason){true, problems->reason, problems->message};
    ready_conditions_set(&status->conditions, &view, generation, now_ms);
}

void sync_report(const struct sync_snapshot *snapshot, const struct sync_decision *decision,
    const struct sync_outcome *outcome, int64_t now_ms, const struct config_map_sync_status *last,
    struct config_map_sync_status *ret)
{
    char well[KUBE_CONDITION_MESSAGE_MAX];
    struct sync_problems problems = decision->problems;
    *ret = (struct config_map_sync_status){.observed_generation = snapshot->generation, .conditions = last->conditions};
    /* Without a source nobody knows whether they are equal; they are there. */
    ret->copies = snapshot->source_is_there ? (int64_t)(decision->equal + outcome->equal) : last->copies;
    memcpy(ret->last_sync_time, last->last_sync_time, sizeof(ret->last_sync_time));
    if (outcome->has_written || (ret->copies > 0 && !*ret->last_sync_time))
        clock_format_rfc3339(now_ms, ret->last_sync_time);
    if (outcome->has_failed)
        sync_problem(&problems, "Syncing", false, "%s", outcome->message);
    int n = snprintf(well, sizeof(well), "copies that are equal to the source: %lld", (long long)ret->copies);
    if (decision->left_out > 0)
        snprintf(
            well + n, sizeof(well) - (size_t)n, "; namespaces left out for lack of consent: %zu", decision->left_out);
    set_conditions(ret, &problems, well, snapshot->generation, now_ms);
}

void sync_report_invalid(int64_t generation, const char *why, int64_t now_ms, const struct config_map_sync_status *last,
    struct config_map_sync_status *ret)
{
    struct sync_problems problems = {.reason = ""};
    *ret = *last;
    ret->observed_generation = generation;
    sync_problem(&problems, "InvalidSpec", true, "%s", why);
    set_conditions(ret, &problems, "", generation, now_ms);
}

/* ---- objects ---- */

static char *sync_key(const struct config_map_sync *sync)
{
    return xasprintf("%s/%s", sync->ns, sync->name);
}

static void put_content(json_t *object, const json_t *source, const char *key)
{
    json_t *content = json_object_get(source, key);
    if (json_object_size(content) > 0)
        json_put(object, key, json_incref(content));
}

json_t *sync_copy_manifest(const struct config_map_sync *sync, const char *ns, const json_t *source)
{
    _cleanup_(freep) char *key = sync_key(sync);
    json_t *manifest = json_build("{s:s, s:s, s:{s:s, s:s, s:{s:s}, s:{s:s}}}", "apiVersion", "v1", "kind", "ConfigMap",
        "metadata", "name", sync->config_map, "namespace", ns, "labels", LABEL_SYNC, sync->ns, "annotations",
        ANNOTATION_SYNC_OF, key);
    put_content(manifest, source, "data");
    put_content(manifest, source, "binaryData");
    return manifest;
}

bool sync_copy_is_ours(const struct config_map_sync *sync, const json_t *live)
{
    _cleanup_(freep) char *key = sync_key(sync);
    return json_path(live, "metadata.labels[\"" LABEL_SYNC "\"]") &&
        str_eq(json_path_str(live, "metadata.annotations[\"" ANNOTATION_SYNC_OF "\"]", NULL), key);
}

/* null removes a key; a map that is empty in the end is as none. */
static void put_difference(json_t *patch, const json_t *live, const json_t *source, const char *map)
{
    const char *key;
    json_t *value;
    json_t *changes = json_object();
    json_t *before = json_object_get(live, map), *wanted = json_object_get(source, map);
    json_object_foreach(before, key, value)
        if (!json_object_get(wanted, key))
            json_object_set_new(changes, key, json_null());
    json_object_foreach(wanted, key, value)
        if (!json_equal(value, json_object_get(before, key)))
            json_object_set(changes, key, value);
    if (json_object_size(changes) > 0)
        json_object_set(patch, map, changes);
    json_decref(changes);
}

json_t *sync_copy_patch(const json_t *live, const json_t *source)
{
    json_t *patch = json_object();
    put_difference(patch, live, source, "data");
    put_difference(patch, live, source, "binaryData");
    if (json_object_size(patch) == 0) {
        json_decref(patch);
        return NULL;
    }
    json_t *metadata = json_object();
    json_put_str(metadata, "uid", json_path_str(live, "metadata.uid", NULL));
    json_put_str(metadata, "resourceVersion", json_path_str(live, "metadata.resourceVersion", NULL));
    json_put(patch, "metadata", metadata);
    return patch;
}
