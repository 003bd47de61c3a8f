/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/terminal/terminal_controller.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/tls.h"
#include "operator/api/api_kinds.h"
#include "operator/api/cluster_status.h"
#include "operator/api/condition_reason.h"
#include "operator/api/pod_answer.h"
#include "operator/api/projections.h"
#include "operator/api/ready_conditions.h"
#include "operator/plan/ownership.h"
#include "operator/plan/plan_executor.h"
#include "operator/runtime/reconcile_context.h"
#include "operator/terminal/terminal_desired.h"

/* Passwords may change without an event that we see. */
#define TERMINAL_RECHECK_MS (5 * 60 * 1000)
/* Something of somebody else's must change first, a quota for instance. */
#define TERMINAL_BLOCKED_RECHECK_MS 20000

struct terminal_controller {
    struct manager *manager;
    struct kube_client *client;
    struct terminal_controller_options options;
    const struct kube_resource *terminal_resource;
    struct plan_targets targets;
    struct controller *runtime;
};

/* One reconcile under way. */
struct visit {
    struct reconcile_context context; /* terminal borrows its ns and name */
    struct terminal_controller *controller;
    int64_t generation;
    struct terminal_status last;
    struct mysql_terminal terminal;
    struct mysql_config_spec config;
    int port;                     /* of the cluster's Services */
    char *secret_uid;             /* of the live Secret; NULL: absent */
    char *new_version;            /* resourceVersion of the Secret, if it was changed by this visit; else NULL */
    char *password;               /* root's */
    char *encoded_ca;             /* ca.crt of the cluster's certificates, base64; NULL: there is none yet */
    bool has_members;             /* so it will tell what its server is, if it has not */
    bool knows_server;            /* tls is what that one needs */
    struct terminal_tls tls;      /* terminal_desired.h */
    enum condition_reason reason; /* why it is not served; REASON_OTHER: it is */
    char message[KUBE_CONDITION_MESSAGE_MAX];
    /* What the API server says against the pod, and what to do; "": nothing. */
    char refusal[KUBE_CONDITION_MESSAGE_MAX];
    bool refusal_stays; /* until somebody changes something */
    bool keeps_pod;     /* that of before the change: its successor is refused */
};

enum visit_phase {
    VISIT_DONE = RECONCILE_DONE,
    VISIT_ACCOUNTS, /* root's password is read */
    VISIT_CA,       /* what clients of the cluster verify its servers with is read */
    VISIT_SECRET,   /* of the terminal: read, and written if it is to change */
    VISIT_POD,
    VISIT_WITHDRAW, /* neither pod nor Secret, for a terminal that may not enter */
    VISIT_REPORT,
};

static const struct kube_resource *resource_of(const struct visit *visit, enum plan_kind kind)
{
    return visit->controller->targets.kinds[kind].resource;
}

static struct terminal_view view_of(const struct visit *visit)
{
    struct terminal_view view = {
        .uid = visit->context.uid, .terminal = &visit->terminal, .config = &visit->config, .port = visit->port};
    terminal_names_init(&view.names, visit->context.name);
    return view;
}

/* ---- the end ---- */

static void visit_free(void *work)
{
    struct visit *visit = work;
    mysql_terminal_release(&visit->terminal);
    mysql_config_spec_release(&visit->config);
    secret_free(visit->password);
    free(visit->encoded_ca);
    free(visit->secret_uid);
    free(visit->new_version);
    reconcile_context_release(&visit->context);
    free(visit);
}

static void KM_PRINTF(3, 4) refuse(struct visit *visit, enum condition_reason reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(visit->message, sizeof(visit->message), fmt, ap);
    va_end(ap);
    visit->reason = reason;
}

static bool is_served(const struct visit *visit)
{
    return visit->reason == REASON_OTHER;
}

/* An error of the API ends the visit; a foreign object is a state to report. */
static void visit_fail(struct visit *visit, const struct error *err)
{
    if (err->kind == ERROR_EXISTS)
        refuse(visit, REASON_FOREIGN_OBJECT, "%s", err->message);
    else
        reconcile_fail(&visit->context, err, NULL);
    phases_go_on(&visit->context.phases, VISIT_REPORT);
}

/* What to do is told also where the API server says more than there is room for. */
static void note_refusal(struct visit *visit, const struct error *err, bool stays)
{
    char remedy[256];
    const char *what = pod_refusal_remedy(err->message, visit->context.ns, "the terminal", remedy, sizeof(remedy));
    size_t room = sizeof(visit->refusal) - strlen(what) - strlen("...; ") - 1;
    bool is_cut = strlen(err->message) > room;
    snprintf(visit->refusal, sizeof(visit->refusal), "%.*s%s; %s", (int)room, err->message, is_cut ? "..." : "", what);
    visit->refusal_stays = stays;
}

static void set_available(
    struct kube_conditions *conditions, const struct visit *visit, const struct pod_object *pod, bool is_ready)
{
    const char *reason = "PodNotReady", *message = "the pod is not ready";
    if (is_ready) { /* also one that stays, as its successor is refused */
        reason = "PodReady";
        message = "kubectl exec -it into the pod and type mysql or mariadb";
    } else if (!str_empty(visit->refusal)) {
        reason = reason_name(REASON_POD_REFUSED);
        message = visit->refusal;
    } else if (pod && !str_empty(pod->problem_reason)) {
        reason = pod->problem_reason;
        message = pod->problem_message;
    }
    kube_conditions_set(conditions, CONDITION_AVAILABLE, is_ready ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE, reason,
        visit->generation, clock_realtime_ms(), "%s", message);
}

static void set_accepted(struct kube_conditions *conditions, const struct visit *visit)
{
    const char *reason = "Accepted", *message = "the terminal is served";
    if (!is_served(visit)) {
        reason = reason_name(visit->reason);
        message = visit->message;
    } else if (visit->keeps_pod) {
        reason = reason_name(REASON_POD_REFUSED);
        message = visit->refusal;
    }
    bool is_accepted = is_served(visit) && !visit->keeps_pod;
    kube_conditions_set(conditions, CONDITION_ACCEPTED, is_accepted ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE,
        reason, visit->generation, clock_realtime_ms(), "%s", message);
}

static void set_conditions(const struct visit *visit, const struct pod_object *pod, struct terminal_status *status)
{
    set_accepted(&status->conditions, visit);
    set_available(&status->conditions, visit, pod, status->ready);
}

/* The cluster may come with the same apply, or have just been made. */
static bool waits_for_cluster(enum condition_reason reason)
{
    return reason == REASON_CLUSTER_NOT_FOUND || reason == REASON_WAITING_FOR_CLUSTER;
}

static void set_ready_conditions(const struct visit *visit, struct terminal_status *status)
{
    const struct kube_conditions others = status->conditions; /* setting some moves the others */
    const struct ready_reason none = {false, "", ""};
    struct ready_reason accepted = ready_reason_of(&others, CONDITION_ACCEPTED, none);
    struct ready_reason available = ready_reason_of(&others, CONDITION_AVAILABLE, none);
    struct ready_view view = {.ready = accepted.holds ? available : accepted,
        .reconciling = {false, reason_name(REASON_SETTLED), "nothing is being changed"},
        .stalled = {false, "NotStalled", "nothing has to be changed by hand"}};
    bool waits = accepted.holds ? !available.holds && !visit->refusal_stays : waits_for_cluster(visit->reason);
    if (waits)
        view.reconciling = (struct ready_reason){true, view.ready.reason, view.ready.message};
    else if (!view.ready.holds)
        view.stalled = (struct ready_reason){true, view.ready.reason, view.ready.message};
    ready_conditions_set(&status->conditions, &view, visit->generation, clock_realtime_ms());
}

static const struct pod_object *find_pod(const struct visit *visit, const char *name)
{
    _cleanup_(freep) char *key = kube_key(visit->context.ns, name);
    return (const struct pod_object *)store_get(informer_store(visit->controller->options.pods), key);
}

static void read_pod(const struct visit *visit, const struct pod_object *pod, struct terminal_status *status)
{
    struct terminal_view view = view_of(visit);
    status->ready = pod && pod->ready && !pod->object.deleting && is_served(visit);
    if (pod)
        snprintf(status->pod, sizeof(status->pod), "%s", view.names.pod);
    if (visit->secret_uid)
        snprintf(status->secret, sizeof(status->secret), "%s", view.names.secret);
    if (visit->terminal.cluster_name) {
        struct strbuf host;
        strbuf_init(&host, sizeof(status->service) - 1);
        terminal_host(&visit->terminal, &host);
        snprintf(status->service, sizeof(status->service), "%s", host.buf);
        strbuf_release(&host);
    }
}

/* Told once, however often it is tried. */
static void tell_refusal(const struct visit *visit)
{
    const struct kube_condition *last =
        kube_conditions_find(&visit->last.conditions, visit->keeps_pod ? CONDITION_ACCEPTED : CONDITION_AVAILABLE);
    const char *reason = reason_name(REASON_POD_REFUSED);
    if (!str_empty(visit->refusal) && !kube_condition_says(last, reason, visit->refusal))
        reconcile_tell(&visit->context, manager_events(visit->controller->manager),
            visit->controller->terminal_resource, EVENT_WARNING, reason, "%s", visit->refusal);
}

static int phase_report(void *work)
{
    struct visit *visit = work;
    const struct terminal_controller *controller = visit->controller;
    const struct reconcile_write write = {.informer = controller->options.terminals, .next = VISIT_DONE};
    struct terminal_view view = view_of(visit);
    const struct pod_object *pod = find_pod(visit, view.names.pod);
    struct terminal_status status = {.observed_generation = visit->generation, .conditions = visit->last.conditions};
    bool waits = visit->has_members && !visit->knows_server && !visit->tls.verify_option;
    bool is_blocked = !is_served(visit) || !str_empty(visit->refusal);
    int64_t blocked_ms =
        controller->options.blocked_recheck_ms ? controller->options.blocked_recheck_ms : TERMINAL_BLOCKED_RECHECK_MS;
    reconcile_again_in(&visit->context, is_blocked || waits ? blocked_ms : TERMINAL_RECHECK_MS);
    read_pod(visit, pod, &status);
    set_conditions(visit, pod, &status);
    set_ready_conditions(visit, &status);
    tell_refusal(visit);
    if (terminal_status_same(&visit->last, &status))
        return VISIT_DONE;
    reconcile_apply_status(
        &visit->context, controller->terminal_resource, terminal_status_encode(&status), NULL, &write);
    return PHASES_WAIT;
}

/* ---- the pod ---- */

static void on_plan_done(void *work, const struct plan *plan, const struct error *err)
{
    struct visit *visit = work;
    enum pod_answer answer = pod_answer_of(err);
    bool is_refused = answer == POD_ANSWER_REFUSED || answer == POD_ANSWER_OVER_QUOTA;
    if (is_refused && plan->actions[0].verb == PLAN_APPLY) /* the pod is to be made */
        note_refusal(visit, err, answer == POD_ANSWER_REFUSED);
    if (err && str_empty(visit->refusal))
        visit_fail(visit, err);
    else
        phases_go_on(&visit->context.phases, VISIT_REPORT);
}

/* It was deleted, or made again, while we read its Secrets: nothing is made for it any more. */
static bool visit_is_stale(const struct visit *visit)
{
    const struct custom_object *now = (const struct custom_object *)store_get(
        informer_store(visit->controller->options.terminals), visit->context.key);
    return !now || now->object.deleting || !str_eq(now->uid, visit->context.uid);
}

static int visit_execute(struct visit *visit, struct plan *plan)
{
    if (plan_is_empty(plan)) {
        plan_free(plan);
        return VISIT_REPORT;
    }
    plan_execute(manager_loop(visit->controller->manager), &visit->controller->targets, plan, NULL, on_plan_done, visit);
    return PHASES_WAIT;
}

/* The kubelet brings a changed Secret at once to a pod that has changed itself, and else within a minute and a half. */
static json_t *mounts_patch(const struct visit *visit, const struct pod_object *pod)
{
    return json_build("{s:{s:s, s:s, s:{s:s}}}", "metadata", "uid", pod->uid, "resourceVersion",
        pod->object.resource_version, "annotations", ANNOTATION_MOUNTS_CHANGED, visit->new_version);
}

/* Its deletion brings us back to make the new one. */
static int make_room(struct visit *visit)
{
    struct terminal_view view = view_of(visit);
    const struct pod_object *pod = find_pod(visit, view.names.pod);
    struct plan *plan = plan_new();
    if (pod && !pod->object.deleting && str_eq(pod->terminal, visit->context.name))
        plan_add_delete(plan, PLAN_POD, visit->context.ns, view.names.pod, pod->uid, NULL);
    return visit_execute(visit, plan);
}

/* A quota may have room once the pod is gone. An answer of others, as of a webhook that takes part in no trial, decides
 * nothing. */
static void on_successor_tried(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = arg;
    struct terminal_view view = view_of(visit);
    UNUSED(answer);
    if (pod_answer_of(err) != POD_ANSWER_REFUSED) {
        int next = visit_is_stale(visit) ? VISIT_DONE : make_room(visit);
        if (next != PHASES_WAIT)
            phases_go_on(&visit->context.phases, next);
        return;
    }
    struct error named = *err;
    error_prefix(&named, "Pod %s", view.names.pod);
    note_refusal(visit, &named, true);
    visit->keeps_pod = true;
    phases_go_on(&visit->context.phases, VISIT_REPORT);
}

/* A pod whose manifest changed stays until the API server would take its successor; one that has ended makes room. */
static int phase_pod(void *work)
{
    struct visit *visit = work;
    if (visit_is_stale(visit))
        return VISIT_DONE;
    struct terminal_view view = view_of(visit);
    const struct pod_object *pod = find_pod(visit, view.names.pod);
    _cleanup_(json_decrefp) json_t *wanted = terminal_pod(&view);
    const char *role = json_path_str(wanted, "metadata.labels[\"" LABEL_ROLE "\"]", "");
    bool ended = pod && (pod->phase == POD_PHASE_SUCCEEDED || pod->phase == POD_PHASE_FAILED);
    bool outdated = pod && (ended || !str_eq(pod->role, role));
    bool is_ours = pod && !pod->object.deleting && str_eq(pod->terminal, visit->context.name);
    if (is_ours && ended)
        return make_room(visit);
    if (is_ours && outdated) {
        kube_try_create(
            visit->context.client, resource_of(visit, PLAN_POD), visit->context.ns, wanted, on_successor_tried, visit);
        return PHASES_WAIT;
    }
    struct plan *plan = plan_new();
    if (!pod) {
        plan_add_apply(plan, PLAN_POD, NULL, json_incref(wanted), NULL);
        plan_be_strict(plan);
    } else if (is_ours && visit->new_version)
        plan_add_patch(plan, PLAN_POD, visit->context.ns, view.names.pod, pod->uid, mounts_patch(visit, pod), NULL);
    return visit_execute(visit, plan);
}

/* ---- the Secret ---- */

static void on_secret_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = arg;
    if (err) {
        visit_fail(visit, err);
        return;
    }
    str_replace(&visit->secret_uid, json_path_str(answer->object, "metadata.uid", NULL));
    str_replace(&visit->new_version, json_path_str(answer->object, "metadata.resourceVersion", NULL));
    phases_go_on(&visit->context.phases, VISIT_POD);
}

static char *encoded_my_cnf(const struct visit *visit)
{
    struct strbuf text;
    strbuf_init(&text, 8 * KM_KIB);
    const struct terminal_tls none = {0};
    terminal_my_cnf(&visit->terminal, visit->port, visit->password, visit->encoded_ca ? &visit->tls : &none, &text);
    char *encoded = tls_base64_encode(text.buf, text.len);
    strbuf_release_secret(&text);
    return encoded;
}

/* `data` of the terminal's Secret; new object. */
static json_t *wanted_data(const struct visit *visit)
{
    _cleanup_(secret_freep) char *my_cnf = encoded_my_cnf(visit);
    json_t *data = json_build("{s:s}", "my.cnf", my_cnf);
    if (visit->encoded_ca)
        json_put_str(data, "ca.crt", visit->encoded_ca);
    return data;
}

static void write_secret(struct visit *visit, const json_t *data)
{
    if (visit_is_stale(visit)) {
        phases_go_on(&visit->context.phases, VISIT_DONE);
        return;
    }
    struct terminal_view view = view_of(visit);
    struct kube_client *client = visit->context.client;
    if (visit->secret_uid) {
        json_t *patch = json_build("{s:{s:s}, s:O}", "metadata", "uid", visit->secret_uid, "data", data);
        kube_patch(client, resource_of(visit, PLAN_SECRET), visit->context.ns, view.names.secret, NULL,
            KUBE_PATCH_MERGE, patch, on_secret_written, visit);
        json_decref(patch);
        return;
    }
    json_t *metadata = terminal_child_metadata(&view);
    json_put_str(metadata, "name", view.names.secret);
    json_put_str(metadata, "namespace", visit->context.ns);
    json_t *secret = json_build("{s:s, s:s, s:s, s:o, s:O}", "apiVersion", "v1", "kind", "Secret", "type", "Opaque",
        "metadata", metadata, "data", data);
    kube_create(client, resource_of(visit, PLAN_SECRET), visit->context.ns, secret, on_secret_written, visit);
    json_decref(secret);
}

static struct terminal_tls held_tls(const json_t *data)
{
    const char *encoded = json_string_value(json_object_get(data, "my.cnf"));
    _cleanup_(secret_freep) char *my_cnf = encoded ? tls_base64_decode(encoded, strlen(encoded), NULL, NULL) : NULL;
    return terminal_tls_of(str_or_empty(my_cnf));
}

static bool holds_all(const json_t *data, json_t *wanted)
{
    const char *key;
    json_t *value;
    json_object_foreach(wanted, key, value) {
        if (!json_equal(json_object_get(data, key), value))
            return false;
    }
    return true;
}

static void on_secret_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = arg;
    if (err && err->kind != ERROR_NOT_FOUND) {
        visit_fail(visit, err);
        return;
    }
    if (!err && !visit->knows_server) /* nobody speaks at the moment: it stays as it was */
        visit->tls = held_tls(json_path(answer->object, "data"));
    _cleanup_(json_decrefp) json_t *wanted = wanted_data(visit);
    if (err) {
        write_secret(visit, wanted);
        return;
    }
    struct terminal_view view = view_of(visit);
    _cleanup_(json_decrefp) json_t *metadata = terminal_child_metadata(&view);
    struct error foreign = ERROR_INIT;
    if (ownership_check(answer->object, metadata, &foreign) < 0) {
        error_prefix(&foreign, "Secret %s", view.names.secret);
        visit_fail(visit, &foreign);
        return;
    }
    visit->secret_uid = xstrdup(json_path_str(answer->object, "metadata.uid", NULL));
    if (holds_all(json_path(answer->object, "data"), wanted))
        phases_go_on(&visit->context.phases, VISIT_POD);
    else
        write_secret(visit, wanted);
}

static int phase_secret(void *work)
{
    struct visit *visit = work;
    struct terminal_view view = view_of(visit);
    kube_get(visit->context.client, resource_of(visit, PLAN_SECRET), visit->context.ns, view.names.secret,
        on_secret_read, visit);
    return PHASES_WAIT;
}

static void on_ca_read(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = work;
    if (err && err->kind != ERROR_NOT_FOUND) {
        visit_fail(visit, err);
        return;
    }
    const json_t *data = err ? NULL : json_path(answer->object, "data");
    str_replace(&visit->encoded_ca, json_string_value(json_object_get(data, "ca.crt")));
    phases_go_on(&visit->context.phases, VISIT_SECRET);
}

static int phase_ca(void *work)
{
    struct visit *visit = work;
    struct cluster_names names;
    cluster_names_init(&names, visit->terminal.cluster_name);
    kube_get(visit->context.client, resource_of(visit, PLAN_SECRET), visit->terminal.cluster_namespace, names.tls,
        on_ca_read, visit);
    return PHASES_WAIT;
}

static void on_accounts_read(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = work;
    const char *encoded = err ? NULL : json_path_str(answer->object, "data.root", NULL);
    if (err && err->kind != ERROR_NOT_FOUND) {
        visit_fail(visit, err);
        return;
    }
    visit->password = encoded ? tls_base64_decode(encoded, strlen(encoded), NULL, NULL) : NULL;
    if (!visit->password)
        refuse(visit, REASON_WAITING_FOR_CLUSTER, "spec.cluster: the accounts of MysqlCluster %s are not made yet",
            visit->terminal.cluster_name);
    phases_go_on(&visit->context.phases, visit->password ? VISIT_CA : VISIT_REPORT);
}

static int phase_accounts(void *work)
{
    struct visit *visit = work;
    struct cluster_names names;
    cluster_names_init(&names, visit->terminal.cluster_name);
    kube_get(visit->context.client, resource_of(visit, PLAN_SECRET), visit->terminal.cluster_namespace, names.accounts,
        on_accounts_read, visit);
    return PHASES_WAIT;
}

/* ---- consent taken back ---- */

/* A terminal that may not enter (any more) holds neither a client nor a password. */
static void on_withdrawn_secret_read(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct visit *visit = work;
    if (err && err->kind != ERROR_NOT_FOUND) {
        visit_fail(visit, err);
        return;
    }
    struct terminal_view view = view_of(visit);
    const struct pod_object *pod = find_pod(visit, view.names.pod);
    struct plan *plan = plan_new();
    if (!err && str_eq(json_path_str(answer->object, "metadata.ownerReferences[0].uid", NULL), visit->context.uid))
        plan_add_delete(plan, PLAN_SECRET, visit->context.ns, view.names.secret,
            json_path_str(answer->object, "metadata.uid", NULL), "the cluster does not let the terminal in");
    if (pod && !pod->object.deleting && str_eq(pod->terminal, visit->context.name))
        plan_add_delete(
            plan, PLAN_POD, visit->context.ns, view.names.pod, pod->uid, "the cluster does not let the terminal in");
    int next = visit_execute(visit, plan);
    if (next != PHASES_WAIT)
        phases_go_on(&visit->context.phases, next);
}

static int phase_withdraw(void *work)
{
    struct visit *visit = work;
    struct terminal_view view = view_of(visit);
    kube_get(visit->context.client, resource_of(visit, PLAN_SECRET), visit->context.ns, view.names.secret,
        on_withdrawn_secret_read, visit);
    return PHASES_WAIT;
}

static const phase_fn phases[] = {
    [VISIT_DONE] = reconcile_done,
    [VISIT_ACCOUNTS] = phase_accounts,
    [VISIT_CA] = phase_ca,
    [VISIT_SECRET] = phase_secret,
    [VISIT_POD] = phase_pod,
    [VISIT_WITHDRAW] = phase_withdraw,
    [VISIT_REPORT] = phase_report,
};

/* ---- acceptance ---- */

static bool namespace_is_allowed(const struct custom_object *cluster, const char *ns)
{
    if (str_eq(cluster->ns, ns))
        return true;
    _cleanup_(json_decrefp) json_t *spec = custom_object_spec(cluster);
    size_t i;
    const json_t *allowed;
    json_array_foreach(json_path(spec, "terminalNamespaces"), i, allowed)
        if (str_eq(json_string_value(allowed), ns) || str_eq(json_string_value(allowed), "*"))
            return true;
    return false;
}

static const struct custom_object *find_cluster(const struct visit *visit)
{
    _cleanup_(freep) char *key = kube_key(visit->terminal.cluster_namespace, visit->terminal.cluster_name);
    return (const struct custom_object *)store_get(informer_store(visit->controller->options.clusters), key);
}

static void read_server(struct visit *visit, const json_t *instances)
{
    size_t i;
    const json_t *instance;
    visit->has_members = json_array_size(instances) > 0;
    json_array_foreach(instances, i, instance) {
        const struct terminal_server server = {
            json_path_str(instance, "flavour", ""), json_path_str(instance, "version", "")};
        if (*server.flavour && !visit->knows_server) {
            visit->knows_server = true;
            visit->tls = terminal_tls_for(&server);
        }
    }
    if (!visit->knows_server)
        visit->tls = terminal_tls_for(&(const struct terminal_server){"", ""});
}

static bool read_config(struct visit *visit, const struct custom_object *cluster)
{
    _cleanup_(json_decrefp) json_t *status = custom_object_status(cluster);
    const json_t *config = json_path(status, "configSpec");
    if (!json_is_object(config))
        return false;
    json_t *document = json_deep_copy(config);
    mysql_config_spec_read(document, &visit->config);
    json_decref(document);
    visit->port = (int)json_path_int(status, "port", MYSQL_PORT); /* an earlier version has not told it */
    read_server(visit, json_path(status, "instances"));
    return visit->config.image_mysql != NULL;
}

static bool visit_is_accepted(struct visit *visit, const struct custom_object *object)
{
    struct api_problems problems = {0};
    _cleanup_(json_decrefp) json_t *spec = custom_object_spec(object);
    if (mysql_terminal_parse(visit->context.ns, visit->context.name, spec, &visit->terminal, &problems) < 0) {
        struct strbuf text;
        strbuf_init(&text, KUBE_CONDITION_MESSAGE_MAX - 1);
        api_problems_text(&problems, &text);
        refuse(visit, REASON_INVALID_SPEC, "%s", text.buf);
        strbuf_release(&text);
        return false;
    }
    const struct custom_object *cluster = find_cluster(visit);
    const char *name = visit->terminal.cluster_name, *ns = visit->terminal.cluster_namespace;
    if (!cluster)
        refuse(visit, REASON_CLUSTER_NOT_FOUND, "spec.cluster.name: there is no MysqlCluster %s in namespace %s", name,
            ns);
    else if (!namespace_is_allowed(cluster, visit->context.ns))
        refuse(visit, REASON_NOT_ALLOWED,
            "spec.cluster.namespace: MysqlCluster %s/%s does not list namespace %s in its spec.terminalNamespaces", ns,
            name, visit->context.ns);
    else if (!read_config(visit, cluster))
        refuse(visit, REASON_WAITING_FOR_CLUSTER, "spec.cluster: MysqlCluster %s/%s is not accepted yet", ns, name);
    return is_served(visit);
}

/* ---- reconcile ---- */

static struct visit *visit_new(
    struct terminal_controller *controller, const struct custom_object *object, struct reconcile *run)
{
    struct visit *visit = xnew(struct visit);
    reconcile_context_init(visit, run, controller->client, object->ns, object->name, object->uid, visit_free);
    visit->controller = controller;
    visit->generation = object->object.generation;
    _cleanup_(json_decrefp) json_t *status = custom_object_status(object);
    terminal_status_decode(status, &visit->last);
    return visit;
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct terminal_controller *controller = arg;
    const struct custom_object *object =
        (const struct custom_object *)store_get(informer_store(controller->options.terminals), key);
    if (!object || object->object.deleting || !namespace_is_watched(controller->options.watch_namespaces, object->ns)) {
        reconcile_finish(run, NULL, 0);
        return;
    }
    struct visit *visit = visit_new(controller, object, run);
    int first = VISIT_ACCOUNTS;
    if (!visit_is_accepted(visit, object))
        first = visit->reason == REASON_NOT_ALLOWED ? VISIT_WITHDRAW : VISIT_REPORT;
    reconcile_context_start(&visit->context, phases, first);
}

/* ---- watches and set-up ---- */

static void map_pod(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct pod_object *pod = (const struct pod_object *)object;
    _cleanup_(freep) char *key = str_empty(pod->terminal) ? NULL : kube_key(pod->ns, pod->terminal);
    if (key)
        emit(emit_arg, key);
}

/* A cluster wakes the terminals that name it: its image, its port, its existence, its permission may have changed. */
static void map_cluster(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct terminal_controller *controller = arg;
    const struct custom_object *cluster = (const struct custom_object *)object;
    const struct store *terminals = informer_store(controller->options.terminals);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(terminals, &cursor));) {
        const struct custom_object *terminal = (const struct custom_object *)each;
        const char *ns = str_empty(terminal->cluster_namespace) ? terminal->ns : terminal->cluster_namespace;
        if (str_eq(terminal->cluster_name, cluster->name) && str_eq(ns, cluster->ns))
            emit(emit_arg, each->key);
    }
}

/* What a terminal takes from a cluster: that it is there, its consent, its image, its port. The rest of a busy
 * status is no news. */
static bool cluster_matters(const struct kube_object *old_object, const struct kube_object *new_object)
{
    if (!old_object || !new_object || predicate_generation_or_digest_changed(old_object, new_object))
        return true;
    const struct custom_object *before = (const struct custom_object *)old_object;
    return before->config_digest != ((const struct custom_object *)new_object)->config_digest;
}

void terminal_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_mysql_terminal);
    manager_use_kind(manager, &kube_kind_secret);
    manager_use_kind(manager, &kube_kind_pod);
}

static void terminal_controller_free(void *arg)
{
    free(arg);
}

void terminal_controller_setup(struct manager *manager, const struct terminal_controller_options *options)
{
    struct terminal_controller *controller = xnew(struct terminal_controller);
    controller->manager = manager;
    controller->client = manager_client(manager);
    controller->options = *options;
    controller->terminal_resource = manager_use_kind(manager, &kube_kind_mysql_terminal);
    controller->targets.client = controller->client;
    controller->targets.kinds[PLAN_POD].resource = manager_use_kind(manager, &kube_kind_pod);
    controller->targets.kinds[PLAN_POD].informer = options->pods;
    controller->targets.kinds[PLAN_SECRET].resource = manager_use_kind(manager, &kube_kind_secret);
    const struct reconciler reconciler = {"mysqlterminal", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 4};
    controller->runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(
        controller->runtime, options->terminals, predicate_generation_or_digest_changed, controller_map_self, NULL);
    controller_watch(controller->runtime, options->pods, NULL, map_pod, NULL);
    controller_watch(controller->runtime, options->clusters, cluster_matters, map_cluster, controller);
    manager_defer(manager, terminal_controller_free, controller);
}
