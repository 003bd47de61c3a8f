/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/tests/golden_snapshot.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/pod_answer.h"
#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/member_view.h"

#define INFORMER_CLUSTERS PLAN_KIND_COUNT
#define INFORMER_CONFIGS (PLAN_KIND_COUNT + 1)
#define INFORMER_FOREIGN_SLICES (PLAN_KIND_COUNT + 2)
#define FOREIGN_UID "0f000000-0000-4000-8000-00000000000f"
#define GOLDEN_TEXT_MAX (4 * KM_MIB)
#define CHILD_SEED 10 /* of the children's UIDs */
#define FOREIGN_SLICE_SEED 400

/* ---- files ---- */

json_t *golden_read(const char *path)
{
    struct error err = ERROR_INIT;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, FS_READ_MAX);
    json_t *json = fs_read_file(path, &text, &err) < 0 ? NULL : json_parse(text.buf, text.len, &err);
    if (!json)
        fail_msg("%s: %s", path, err.message);
    return json;
}

bool golden_matches(const char *path, const json_t *value)
{
    struct error err = ERROR_INIT;
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_SORT_KEYS);
    _cleanup_(freep) char *wanted = xasprintf("%s\n", text);
    free(text);
    if (getenv("UPDATE_GOLDENS")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(wanted, file);
        fclose(file);
        return true;
    }
    _cleanup_(strbuf_release) struct strbuf held;
    strbuf_init(&held, FS_READ_MAX);
    if (fs_read_file(path, &held, &err) == 0 && str_eq(held.buf, wanted))
        return true;
    size_t line = 1, at = 0;
    for (; wanted[at] && wanted[at] == held.buf[at]; at++)
        line += wanted[at] == '\n';
    print_error("%s:%zu differs (UPDATE_GOLDENS=1 writes it anew): now %.200s\n", path, line, wanted + at);
    return false;
}

/* ---- objects ---- */

static void put_default(json_t *object, const char *key, json_t *value)
{
    if (!json_object_get(object, key))
        json_object_set(object, key, value);
    json_decref(value);
}

static void print_uid(unsigned seed, char out[static KUBE_UID_TEXT_SIZE])
{
    snprintf(out, KUBE_UID_TEXT_SIZE, "0b000000-0000-4000-8000-%012u", seed);
}

/* Into the store as if the watch had told of it. `seed` makes a UID of its own. */
static const struct kube_object *put_object(
    struct golden *golden, int informer, const struct kube_projection *projection, json_t *object, unsigned seed)
{
    char uid[KUBE_UID_TEXT_SIZE];
    struct error err = ERROR_INIT;
    json_t *metadata = json_object_get(object, "metadata");
    print_uid(seed, uid);
    put_default(metadata, "uid", json_string(uid));
    put_default(metadata, "resourceVersion", json_string("100"));
    put_default(metadata, "generation", json_integer(1));
    _cleanup_(freep) char *text = json_text(object);
    struct kube_object *projected = projection->project((struct json_slice){text, strlen(text)}, &err);
    if (!projected)
        fail_msg("%s", err.message);
    struct store *store = (struct store *)(uintptr_t)informer_store(golden->informers[informer]);
    store_free_object(store, store_put(store, projected));
    return projected;
}

static void put_cluster(struct golden *golden, const json_t *cluster, const json_t *spec)
{
    _cleanup_(json_decrefp) json_t *object = json_deep_copy(cluster);
    put_default(object, "metadata", json_object());
    json_t *metadata = json_object_get(object, "metadata");
    put_default(metadata, "name", json_string("shop"));
    put_default(metadata, "namespace", json_string("ns1"));
    put_default(metadata, "uid", json_string(GOLDEN_UID));
    if (spec)
        json_put(object, "spec", json_deep_copy(spec));
    put_object(golden, INFORMER_CLUSTERS, &projection_mysql_cluster, object, 1);
}

/* As the StatefulSet makes it. */
static json_t *make_pod(const char *name, const char *ip)
{
    char owner[KUBE_UID_TEXT_SIZE];
    print_uid(CHILD_SEED + CHILD_STATEFUL_SET, owner);
    json_t *pod = json_build(
        "{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s, s:s, s:s}}, s:{s:s}, s:{s:s, s:s, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}}",
        "apiVersion", "v1", "kind", "Pod", "metadata", "name", name, "namespace", "ns1", "labels", LABEL_MANAGED_BY,
        LABEL_MANAGED_BY_US, LABEL_CLUSTER, "shop", "controller-revision-hash", "r1", LABEL_ROLE,
        str_eq(name, "shop-mysql-0") ? LABEL_ROLE_PRIMARY : LABEL_ROLE_REPLICA, "spec", "nodeName", "node-1", "status",
        "phase", "Running", "podIP", ip, "conditions", "type", "PodScheduled", "status", "True", "type", "Initialized",
        "status", "True", "type", "Ready", "status", "True");
    json_put(json_object_get(pod, "metadata"), "ownerReferences",
        json_build("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "apps/v1", "kind", "StatefulSet", "name", "shop-mysql",
            "uid", owner, "controller", 1));
    return pod;
}

static void put_pods(struct golden *golden, const json_t *pods)
{
    const char *ordinal;
    json_t *patch;
    json_object_foreach((json_t *)(uintptr_t)pods, ordinal, patch) {
        _cleanup_(freep) char *name = xasprintf("shop-mysql-%s", ordinal);
        _cleanup_(freep) char *ip = xasprintf("10.0.0.%s", ordinal);
        _cleanup_(json_decrefp) json_t *pod = make_pod(name, ip);
        json_merge(pod, patch);
        put_object(golden, PLAN_POD, &projection_pod, pod, 100 + (unsigned)strtoul(ordinal, NULL, 10));
    }
}

static void put_claims(struct golden *golden, const json_t *claims)
{
    const char *ordinal;
    json_t *patch;
    json_object_foreach((json_t *)(uintptr_t)claims, ordinal, patch) {
        _cleanup_(freep) char *name = xasprintf("data-shop-mysql-%s", ordinal);
        _cleanup_(json_decrefp) json_t *claim =
            json_build("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}}, s:{s:{s:{s:s}}}, s:{s:s, s:{s:s}}}", "apiVersion", "v1",
                "kind", "PersistentVolumeClaim", "metadata", "name", name, "namespace", "ns1", "labels",
                LABEL_MANAGED_BY, LABEL_MANAGED_BY_US, LABEL_CLUSTER, "shop", "spec", "resources", "requests",
                "storage", "1Gi", "status", "phase", "Bound", "capacity", "storage", "1Gi");
        json_merge(claim, patch);
        put_object(golden, PLAN_VOLUME_CLAIM, &projection_pvc, claim, 200 + (unsigned)strtoul(ordinal, NULL, 10));
    }
}

/* ---- children ---- */

static const char *child_state(const json_t *children, enum cluster_child child, const struct cluster_names *names)
{
    char key[128];
    snprintf(key, sizeof(key), "%s/%s", plan_kind_name(desired_child_kind(child)), desired_child_name(names, child));
    const char *state = json_string_value(json_object_get(children, key));
    return state ? state : "settled";
}

static void put_set_status(const struct golden *golden, json_t *set, const json_t *patch)
{
    int replicas = golden->snapshot.scale.effective;
    json_put(set, "status",
        json_build("{s:i, s:s, s:s, s:i, s:i}", "observedGeneration", 1, "updateRevision", "r1", "currentRevision",
            "r1", "replicas", replicas, "readyReplicas", replicas));
    if (patch)
        json_merge(set, patch);
}

static void put_child(struct golden *golden, enum cluster_child child, const char *state, const json_t *observed)
{
    const struct kube_projection *projection = &kube_projection_child;
    if (desired_child_kind(child) == PLAN_SERVICE)
        projection = &projection_service;
    else if (child == CHILD_STATEFUL_SET)
        projection = &projection_stateful_set;
    _cleanup_(json_decrefp) json_t *object = desired_child(&golden->snapshot, child);
    if (child == CHILD_STATEFUL_SET) /* the pods are its own, those that are being deleted, too */
        json_object_del(json_object_get(json_object_get(object, "metadata"), "annotations"), ANNOTATION_AWAITED_PODS);
    struct cluster_child_memory memory = {.desired = json_hash(object)};
    if (child == CHILD_STATEFUL_SET)
        put_set_status(golden, object, json_object_get(observed, "statefulSet"));
    if (str_eq(state, "foreign"))
        json_put_str(json_array_get(json_object_get(json_object_get(object, "metadata"), "ownerReferences"), 0), "uid",
            FOREIGN_UID);
    if (str_eq(state, "orphan"))
        json_object_del(json_object_get(object, "metadata"), "ownerReferences");
    if (str_eq(state, "selector"))
        json_put(json_object_get(object, "spec"), "selector", json_build("{s:s}", "app", "x"));
    const struct kube_object *live =
        put_object(golden, desired_child_kind(child), projection, object, CHILD_SEED + (unsigned)child);
    memory.digest = live->digest + (str_eq(state, "drifted") || str_eq(state, "selector"));
    if (!str_eq(state, "unknown"))
        golden->memory.children[child] = memory;
    if (str_eq(state, "absent")) {
        struct store *store = (struct store *)(uintptr_t)informer_store(golden->informers[desired_child_kind(child)]);
        store_free_object(store, store_remove(store, live->key));
    }
}

static void look(struct golden *golden)
{
    cluster_snapshot_release(&golden->snapshot);
    assert_true(cluster_gather(&golden->sources, &golden->memory, "ns1/shop", GOLDEN_NOW_MS, &golden->snapshot));
}

/* What is in force, made from the spec that was applied. */
static void put_children(struct golden *golden, const json_t *cluster, const json_t *observed)
{
    const json_t *children = json_object_get(observed, "children");
    if (!children)
        return;
    put_cluster(golden, cluster, json_object_get(observed, "appliedSpec"));
    look(golden);
    if (!golden->snapshot.usable)
        fail_msg("the applied spec is not usable: %s", golden->snapshot.message);
    for (int child = 0; child < CHILD_COUNT; child++)
        put_child(golden, (enum cluster_child)child,
            child_state(children, (enum cluster_child)child, &golden->snapshot.names), observed);
    golden->memory.children_known = true;
}

/* {NAME: merge patch onto an EndpointSlice that Kubernetes has made for the primary Service} */
static void put_foreign_slices(struct golden *golden, const json_t *slices)
{
    const char *name;
    json_t *patch;
    unsigned seed = FOREIGN_SLICE_SEED;
    json_object_foreach((json_t *)(uintptr_t)slices, name, patch) {
        _cleanup_(json_decrefp) json_t *slice = json_build("{s:{s:s, s:s, s:{s:s, s:s}}}", "metadata", "namespace",
            "ns1", "name", name, "labels", LABEL_CLUSTER, "shop", LABEL_SERVICE_NAME, "shop-mysql-primary");
        json_merge(slice, patch);
        put_object(golden, INFORMER_FOREIGN_SLICES, &projection_endpoint_slice, slice, seed++);
    }
}

/* ---- what ran before ---- */

static struct roll_before *make_before(const struct cluster_snapshot *snapshot, const json_t *said)
{
    struct roll_before *before = xnew(struct roll_before);
    *before = (struct roll_before){.template = desired_pod_template(snapshot),
        .mycnf = xstrdup(snapshot->mycnf),
        .kept_ms = GOLDEN_NOW_MS - 3600000};
    desired_runtime_hash(snapshot, before->runtime);
    desired_template_hash(snapshot, before->template_hash);
    memcpy(before->hash, snapshot->roll_wanted, sizeof(before->hash));
    memcpy(before->mycnf_hash, snapshot->mycnf_hash, sizeof(before->mycnf_hash));
    snprintf(before->version, sizeof(before->version), "%s", json_path_str(said, "version", ""));
    return before;
}

/* Into the status go the hashes of that spec, and of the one that "wanted" stands for. */
static void put_before(struct golden *golden, json_t *cluster, const json_t *said)
{
    json_t *roll = json_object_get(json_object_get(cluster, "status"), "roll");
    if (!said)
        return;
    put_cluster(golden, cluster, json_object_get(said, "spec"));
    look(golden);
    struct roll_before *before = make_before(&golden->snapshot, said);
    put_cluster(golden, cluster, json_object_get(said, "refused"));
    look(golden);
    json_put_str(roll, "proven", before->hash);
    if (str_eq(json_path_str(roll, "refused", ""), "wanted"))
        json_put_str(roll, "refused", golden->snapshot.roll_wanted);
    if (json_path_bool(said, "stored", true)) {
        golden->memory.before = before;
        memcpy(golden->memory.before_of, before->hash, sizeof(before->hash));
    } else
        roll_before_free(before);
}

/* ---- the rest ---- */

/* "check": "look": it looks at the options only. */
static void put_check_pod(struct golden *golden, const json_t *observed)
{
    const json_t *patch = json_object_get(observed, "checkPod");
    bool looks = str_eq(json_path_str(observed, "check", ""), "look");
    if (!patch)
        return;
    _cleanup_(json_decrefp) json_t *pod = desired_check_pod(&golden->snapshot, looks ? CHECK_LOOK : CHECK_START);
    json_merge(pod, patch);
    put_object(golden, PLAN_POD, &projection_pod, pod, 300);
}

/* The API server takes what is wanted, unless it is said otherwise. */
static void put_template_answer(struct golden *golden, const json_t *said)
{
    static const char *const names[] = {[TEMPLATE_UNKNOWN] = "unknown",
        [TEMPLATE_TAKEN] = "taken",
        [TEMPLATE_OVER_QUOTA] = "overQuota",
        [TEMPLATE_REFUSED] = "refused"};
    struct template_answer *answer = &golden->snapshot.template_answer;
    if (!golden->snapshot.usable)
        return;
    desired_template_hash(&golden->snapshot, answer->hash);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(names[i], json_path_str(said, "verdict", "taken")))
            answer->verdict = (enum template_verdict)i;
    }
    snprintf(answer->message, sizeof(answer->message), "%s", json_path_str(said, "message", ""));
}

static void put_terminal(struct golden *golden, const json_t *patch)
{
    if (!patch)
        return;
    _cleanup_(json_decrefp) json_t *terminal = desired_terminal(&golden->snapshot);
    json_merge(terminal, patch);
    put_object(golden, PLAN_TERMINAL, &projection_mysql_terminal, terminal, 400);
}

static void put_source(const struct golden *golden, json_t *agent)
{
    char host[AGENT_HOST_SIZE];
    const struct cluster_member *primary = cluster_primary(&golden->snapshot);
    if (!primary)
        return;
    cluster_member_host(&golden->snapshot, primary, host);
    json_put_str(agent, "sourceHost", host);
}

/* What the agent of a member that is as it should be says. */
static json_t *healthy_agent(const struct golden *golden, const struct cluster_member *member)
{
    const struct cluster_status *last = &golden->snapshot.last;
    bool primary = str_eq(member->name, last->roles.current_primary);
    json_t *agent =
        json_build("{s:s, s:s, s:s, s:b, s:s, s:I, s:s, s:b, s:s, s:s}", "instance", member->name, "phase", "Running",
            "flavour", "mariadb", "ready", 1, "version", "10.11.6-MariaDB", "epoch", (json_int_t)last->roles.epoch,
            "role", primary ? "primary" : "replica", "orderDone", 1, "gtidExecuted", "0-1-100", "data", "Database");
    if (primary) {
        json_put_bool(agent, "writable", true);
    } else {
        json_put_bool(agent, "readOnly", true);
        json_put_str(agent, "receiver", "Running");
        json_put_str(agent, "applier", "Running");
        json_put_bool(agent, "sourceSeen", true);
        json_put_bool(agent, "caughtUp", true);
        json_put_int(agent, "appliedEpoch", last->roles.epoch);
        put_source(golden, agent);
    }
    return agent;
}

static void put_agent(struct golden *golden, int i, const json_t *patch)
{
    struct error err = ERROR_INIT;
    _cleanup_(json_decrefp) json_t *agent = healthy_agent(golden, &golden->snapshot.members[i]);
    if (patch)
        json_merge(agent, patch);
    if (str_eq(json_path_str(agent, "role", ""), "primary") && !json_object_get(agent, "semiSync"))
        json_put_bool(agent, "semiSync", golden->snapshot.last.roles.semi_sync);
    _cleanup_(freep) char *text = json_text(agent);
    if (agent_status_decode(text, strlen(text), golden->positions, &golden->agents[i], &err) < 0)
        fail_msg("agent %d: %s", i, err.message);
    golden->snapshot.members[i].agent = &golden->agents[i];
    golden->snapshot.members[i].agent_connected = true;
}

static void put_agents(struct golden *golden, const json_t *agents)
{
    for (int i = 0; i < golden->snapshot.member_count; i++) {
        char ordinal[16];
        snprintf(ordinal, sizeof(ordinal), "%d", i);
        const json_t *patch = json_object_get(agents, ordinal);
        bool silent = json_is_null(patch);
        const struct cluster_member *member = &golden->snapshot.members[i];
        if (!silent && (patch || (cluster_member_is_ready(member) && golden->snapshot.last.roles.epoch > 0)))
            put_agent(golden, i, patch);
    }
}

void golden_decide(const struct cluster_snapshot *snapshot, struct cluster_decision *ret)
{
    cluster_decide_roles(snapshot, ret);
    ret->primary_obeys = golden_primary_obeys(snapshot);
    cluster_decide_plan(snapshot, ret);
}

void golden_order(const struct cluster_snapshot *snapshot, struct cluster_orders *ret)
{
    struct cluster_intent *intent = xnew(struct cluster_intent);
    cluster_intend(snapshot, false, intent);
    cluster_order(snapshot, intent, ret);
    free(intent);
}

bool golden_primary_obeys(const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xnew(struct cluster_orders);
    golden_order(snapshot, orders);
    bool obeys = cluster_primary_obeys(snapshot, orders);
    free(orders);
    return obeys;
}

/* "orderHash": "now": it shows the order that it would be given; "mycnfHash": "wanted": its server has what is
 * wanted. */
static void put_hashes(struct golden *golden, const json_t *agents)
{
    struct cluster_orders *orders = xnew(struct cluster_orders);
    golden_order(&golden->snapshot, orders);
    for (int i = 0; i < golden->snapshot.member_count; i++) {
        char ordinal[16];
        snprintf(ordinal, sizeof(ordinal), "%d", i);
        if (str_eq(json_path_str(json_object_get(agents, ordinal), "orderHash", ""), "now"))
            agent_order_hash(&orders->orders[i], golden->agents[i].order_hash);
        if (str_eq(golden->agents[i].mycnf_hash, "wanted"))
            memcpy(golden->agents[i].mycnf_hash, golden->snapshot.mycnf_hash, sizeof(golden->agents[i].mycnf_hash));
    }
    free(orders);
}

static enum mycnf_verdict verdict_named(const char *name)
{
    static const char *const names[] = {[MYCNF_UNKNOWN] = "unknown",
        [MYCNF_PENDING] = "pending",
        [MYCNF_APPLIED] = "applied",
        [MYCNF_NEEDS_RESTART] = "needsRestart",
        [MYCNF_FAILED] = "failed"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(names[i], name))
            return (enum mycnf_verdict)i;
    }
    return MYCNF_UNKNOWN;
}

/* "preview": what every server says of another my.cnf; that it needs a restart, unless it is said otherwise.
 * "started": false: no check pod has started a server with it. */
static void put_trials(struct golden *golden, const json_t *observed)
{
    struct cluster_snapshot *snapshot = &golden->snapshot;
    for (int i = 0; i < snapshot->member_count; i++)
        snapshot->members[i].mycnf_preview = verdict_named(json_path_str(observed, "preview", "needsRestart"));
    if (snapshot->usable && json_path_bool(observed, "started", true))
        desired_runtime_hash(snapshot, snapshot->started);
}

static void put_verdicts(struct golden *golden, const json_t *verdicts)
{
    const char *ordinal;
    json_t *of;
    json_object_foreach((json_t *)(uintptr_t)verdicts, ordinal, of) {
        struct cluster_member *member = &golden->snapshot.members[strtoul(ordinal, NULL, 10)];
        member->mycnf_text = json_path_str(of, "text", "");
        member->mycnf_verdict = verdict_named(json_path_str(of, "verdict", ""));
    }
}

static void put_outage(struct golden *golden, const json_t *outage)
{
    int64_t last_ms = json_path_int(outage, "lastWriteMs", 0);
    if (!outage)
        return;
    golden->snapshot.outage = (struct outage_watch){.state = OUTAGE_GOES_ON,
        .noticed_ms = GOLDEN_NOW_MS - json_path_int(outage, "noticedMs", 0),
        .last_write = {last_ms > 0 ? GOLDEN_NOW_MS - last_ms : 0, json_path_int(outage, "lastWriteSpanMs", 0)}};
}

static void put_times(struct golden *golden, const json_t *observed)
{
    size_t i;
    json_t *ordinal;
    char path[32];
    int64_t drain_ms = json_path_int(observed, "since.drainMs", 0),
            fenced_ms = json_path_int(observed, "since.fencedMs", 0);
    int64_t lost_ms = json_path_int(observed, "since.lostMs", 0), held_ms = json_path_int(observed, "since.heldMs", 0);
    golden->snapshot.lost_since_ms = lost_ms > 0 ? GOLDEN_NOW_MS - lost_ms : 0;
    golden->snapshot.held_ms = held_ms;
    golden->snapshot.closing_epoch = json_path_int(observed, "closingEpoch", 0);
    golden->snapshot.heard_epoch = json_path_int(observed, "heardEpoch", 0);
    golden->snapshot.seen_epoch = json_path_int(observed, "seenEpoch", 0);
    int64_t chosen_ms = json_path_int(observed, "since.chosenMs", 0);
    golden->snapshot.failover_times.chosen_ms = chosen_ms > 0 ? GOLDEN_NOW_MS - chosen_ms : 0;
    put_outage(golden, json_object_get(observed, "outage"));
    for (int member = 0; member < golden->snapshot.member_count; member++) {
        snprintf(path, sizeof(path), "silentMs.%d", member);
        golden->snapshot.members[member].silent_ms = json_path_int(observed, path, 60000);
        snprintf(path, sizeof(path), "stoppedMs.%d", member);
        golden->snapshot.members[member].stopped_ms = json_path_int(observed, path, 60000);
        snprintf(path, sizeof(path), "gtidsLostMs.%d", member);
        golden->snapshot.members[member].gtids_lost_ms = json_path_int(observed, path, 0);
        snprintf(path, sizeof(path), "orderErrors.%d", member);
        char *order_error = golden->snapshot.members[member].order_error;
        snprintf(
            order_error, sizeof(golden->snapshot.members[member].order_error), "%s", json_path_str(observed, path, ""));
    }
    golden->snapshot.drain_since_ms = drain_ms > 0 ? GOLDEN_NOW_MS - drain_ms : 0;
    int64_t apply_ms = json_path_int(observed, "since.applyMs", 0);
    golden->snapshot.apply_since_ms = apply_ms > 0 ? GOLDEN_NOW_MS - apply_ms : 0;
    golden->snapshot.apply_position = json_string_value(json_object_get(observed, "applyPosition"));
    int64_t archive_ms = json_path_int(observed, "since.archiveMs", 0);
    golden->snapshot.archive_since_ms = archive_ms > 0 ? GOLDEN_NOW_MS - archive_ms : 0;
    int64_t unlock_ms = json_path_int(observed, "since.unlockMs", 0);
    if (unlock_ms != 0)
        golden->snapshot.last.roles.lock_awaited_ms = GOLDEN_NOW_MS - unlock_ms;
    golden->snapshot.fenced_since_ms = fenced_ms > 0 ? GOLDEN_NOW_MS - fenced_ms : 0;
    json_array_foreach(json_object_get(observed, "cutOff"), i, ordinal)
        golden->snapshot.members[json_integer_value(ordinal)].agent_connected = false;
    for (int member = 0; member < golden->snapshot.member_count; member++) {
        bool speaks = member_speaks(&golden->snapshot.members[member]);
        snprintf(path, sizeof(path), "unheardMs.%d", member);
        golden->snapshot.members[member].unheard_ms = json_path_int(observed, path, speaks ? 0 : 60000);
    }
    json_array_foreach(json_object_get(observed, "awaited"), i, ordinal)
        golden->snapshot.members[json_integer_value(ordinal)].agent_awaited = true;
    json_array_foreach(json_object_get(observed, "departed"), i, ordinal)
        golden->snapshot.members[json_integer_value(ordinal)].departed = true;
}

static json_t *all_but_primary(const json_t *status, int64_t replicas)
{
    json_t *ordinals = json_array();
    int primary = names_ordinal(json_path_str(status, "currentPrimary", ""));
    for (int64_t i = 0; i < replicas; i++) {
        if (i != primary)
            json_array_append_new(ordinals, json_integer(i));
    }
    return ordinals;
}

/* The primary goes by what it is told, unless the status says otherwise. */
static void put_confirmed(const json_t *cluster, json_t *status)
{
    int64_t replicas = json_path_int(cluster, "spec.replicas", 1);
    bool semi_sync = json_path_bool(status, "semiSync", false);
    bool has_lease = json_path_bool(status, "lossAllowed", false);
    if (json_path_int(status, "epoch", 0) == 0 || replicas < 2)
        return;
    if (!semi_sync && !has_lease)
        return;
    json_t *confirmed = json_build("{s:b, s:I, s:I}", "semiSync", semi_sync, "selfFenceMs",
        (json_int_t)json_path_int(cluster, "spec.failover.selfFenceMilliseconds", CLUSTER_SELF_FENCE_MS_DEFAULT),
        "selfFenceMembers", (json_int_t)(has_lease ? replicas - 1 : 1));
    if (semi_sync)
        json_put_int(confirmed, "acks", json_path_int(status, "acks", 1));
    put_default(status, "confirmed", confirmed);
}

/* Commits wait for half of the members, and all may acknowledge, unless the status says otherwise. */
static void put_acks(json_t *cluster)
{
    int64_t replicas = json_path_int(cluster, "spec.replicas", 1);
    json_t *status = json_object_get(cluster, "status");
    if (json_path_int(status, "epoch", 0) > 0 && replicas > 1)
        put_default(status, "acks", json_integer(MAX_OF(1, replicas / 2)));
    if (json_path_int(status, "acks", 0) > 0)
        put_default(status, "acknowledgers", all_but_primary(status, replicas));
    if (json_path_int(status, "epoch", 0) > 0)
        put_default(status, "dataVersion", json_string("10.11.6-MariaDB"));
    put_confirmed(cluster, status);
}

/* A cluster in force has a primary, unless its status says otherwise. */
static json_t *with_primary(const json_t *cluster, const json_t *observed)
{
    json_t *copy = json_deep_copy(cluster);
    put_acks(copy);
    if (!json_object_get(observed, "children") || json_path(copy, "status.epoch"))
        return copy;
    if (!json_object_get(copy, "status"))
        json_put(copy, "status", json_object());
    json_t *status = json_object_get(copy, "status");
    put_default(status, "epoch", json_integer(1));
    put_default(status, "initialized", json_true());
    put_default(status, "currentPrimary", json_string("shop-mysql-0"));
    put_default(status, "semiSync", json_boolean(json_path_int(copy, "spec.replicas", 1) > 1));
    put_acks(copy);
    return copy;
}

static void put_secrets(struct golden *golden, const json_t *secrets)
{
    const char *user = json_path_str(secrets, "userPassword", "");
    struct cluster_secrets_facts *facts = &golden->snapshot.secrets;
    facts->user_password = str_eq(user, "secretMissing") ? USER_PASSWORD_SECRET_MISSING
        : str_eq(user, "keyMissing")                     ? USER_PASSWORD_KEY_MISSING
        : str_eq(user, "empty")                          ? USER_PASSWORD_EMPTY
                                                         : USER_PASSWORD_OK;
    facts->certificate_not_after_ms =
        GOLDEN_NOW_MS + json_path_int(secrets, "certificateDays", 300) * 24 * 60 * 60 * 1000;
    facts->password_ends_line = json_path_bool(secrets, "passwordEndsLine", false);
    snprintf(facts->accounts_hash, sizeof(facts->accounts_hash), "%s", json_path_str(secrets, "accountsHash", ""));
    snprintf(facts->user_keys, sizeof(facts->user_keys), "%s", json_path_str(secrets, "userKeys", ""));
    golden->snapshot.secrets_failed = json_path_bool(secrets, "failed", false);
}

static void put_binding(struct golden *golden, const json_t *binding)
{
    struct cluster_binding_facts *facts = &golden->snapshot.binding;
    facts->known = json_is_object(binding);
    facts->has_secret = json_path_bool(binding, "secret", false);
    snprintf(facts->conflict, sizeof(facts->conflict), "%s", json_path_str(binding, "conflict", ""));
}

/* Of members without a pod, by ordinal. */
static void put_refusals(struct golden *golden, const json_t *refusals)
{
    const char *ordinal;
    json_t *words;
    json_object_foreach((json_t *)(uintptr_t)refusals, ordinal, words) {
        struct error err = ERROR_INIT;
        struct cluster_member *member = &golden->snapshot.members[strtoul(ordinal, NULL, 10)];
        error_set(&err, ERROR_FORBIDDEN, "%s", json_string_value(words));
        member->refused = json_string_value(words);
        member->refusal_stays = pod_answer_of(&err) == POD_ANSWER_REFUSED;
    }
}

static void put_error(struct golden *golden, const json_t *error)
{
    golden->error_kind = PLAN_KIND_COUNT;
    golden->error_child = CHILD_COUNT;
    if (!error)
        return;
    const char *kind = json_path_str(error, "kind", "");
    for (int i = 0; i < ERROR_KIND_COUNT; i++)
        if (str_eq(error_kind_name((enum error_kind)i), kind))
            error_set(&golden->error, (enum error_kind)i, "%s", json_path_str(error, "message", ""));
    for (int i = 0; i < PLAN_KIND_COUNT; i++)
        if (str_eq(plan_kind_name((enum plan_kind)i), json_path_str(error, "of", "")))
            golden->error_kind = (enum plan_kind)i;
    const char *name = json_path_str(error, "name", "");
    for (int i = 0; i < CHILD_COUNT; i++)
        if (golden->error_kind == desired_child_kind((enum cluster_child)i) &&
            str_eq(desired_child_name(&golden->snapshot.names, (enum cluster_child)i), name))
            golden->error_child = (enum cluster_child)i;
    if (!golden->error.kind)
        fail_msg("unknown kind of error: %s", kind);
}

static void make_informers(struct golden *golden)
{
    static const struct {
        int index;
        const struct kube_kind *kind;
        const struct kube_projection *projection;
    } kinds[] = {
        {PLAN_SERVICE_ACCOUNT, &kube_kind_service_account, &kube_projection_child},
        {PLAN_CONFIG_MAP, &kube_kind_config_map, &kube_projection_child},
        {PLAN_SERVICE, &kube_kind_service, &projection_service},
        {PLAN_ENDPOINT_SLICE, &kube_kind_endpoint_slice, &kube_projection_child},
        {PLAN_POD_DISRUPTION_BUDGET, &kube_kind_pod_disruption_budget, &kube_projection_child},
        {PLAN_STATEFUL_SET, &kube_kind_stateful_set, &projection_stateful_set},
        {PLAN_POD, &kube_kind_pod, &projection_pod},
        {PLAN_VOLUME_CLAIM, &kube_kind_persistent_volume_claim, &projection_pvc},
        {PLAN_TERMINAL, &kube_kind_mysql_terminal, &projection_mysql_terminal},
        {INFORMER_CLUSTERS, &kube_kind_mysql_cluster, &projection_mysql_cluster},
        {INFORMER_CONFIGS, &kube_kind_mysql_config, &projection_mysql_config},
        {INFORMER_FOREIGN_SLICES, &kube_kind_endpoint_slice, &projection_endpoint_slice},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct kube_resource *resource = &golden->resources[kinds[i].index];
        *resource = (struct kube_resource){kinds[i].kind, "v1"};
        golden->informers[kinds[i].index] =
            informer_new(golden->loop, golden->client, resource, kinds[i].projection, NULL);
    }
}

static void make_sources(struct golden *golden, const json_t *observed)
{
    struct cluster_sources *sources = &golden->sources;
    sources->clusters = golden->informers[INFORMER_CLUSTERS];
    sources->configs = golden->informers[INFORMER_CONFIGS];
    sources->foreign_slices = golden->informers[INFORMER_FOREIGN_SLICES];
    sources->terminals = golden->informers[PLAN_TERMINAL];
    sources->pods = golden->informers[PLAN_POD];
    sources->claims = golden->informers[PLAN_VOLUME_CLAIM];
    sources->default_agent_image = "agent:1";
    sources->operator_version = "1.2.3+build";
    sources->ipv6 = json_path_bool(observed, "ipv6", false);
    for (int child = 0; child < CHILD_COUNT; child++)
        sources->children[child] = golden->informers[desired_child_kind((enum cluster_child)child)];
}

struct golden *golden_new(const json_t *bare_cluster, const json_t *observed)
{
    struct golden *golden = xnew(struct golden);
    _cleanup_(json_decrefp) json_t *cluster = with_primary(bare_cluster, observed);
    struct error err = ERROR_INIT;
    const struct kube_config config = {.server = (char[]){"http://127.0.0.1:1"}};
    golden->loop = loop_new();
    golden->positions = position_pool_new((CLUSTER_REPLICAS_MAX + 1) * AGENT_STATUS_POSITIONS_MAX);
    golden->http = http_client_new(golden->loop);
    golden->client = kube_client_new(golden->loop, golden->http, &config, NULL, &err);
    make_informers(golden);
    make_sources(golden, observed);
    json_t *mysql_config = json_object_get(observed, "config");
    if (mysql_config)
        put_object(golden, INFORMER_CONFIGS, &projection_mysql_config, mysql_config, 2);
    put_pods(golden, json_object_get(observed, "pods"));
    put_claims(golden, json_object_get(observed, "claims"));
    put_children(golden, cluster, observed);
    put_foreign_slices(golden, json_object_get(observed, "foreignSlices"));
    put_before(golden, cluster, json_object_get(observed, "before"));
    put_cluster(golden, cluster, NULL);
    golden->memory.storage_class.name = (char *)(uintptr_t)json_path_str(observed, "missingStorageClass", NULL);
    golden->memory.storage_class.is_missing = golden->memory.storage_class.name;
    look(golden);
    put_check_pod(golden, observed);
    put_terminal(golden, json_object_get(observed, "terminal"));
    look(golden);
    put_template_answer(golden, json_object_get(observed, "template"));
    put_agents(golden, json_object_get(observed, "agents"));
    put_verdicts(golden, json_object_get(observed, "mycnf"));
    put_trials(golden, observed);
    put_times(golden, observed);
    put_hashes(golden, json_object_get(observed, "agents"));
    put_secrets(golden, json_object_get(observed, "secrets"));
    put_binding(golden, json_object_get(observed, "binding"));
    golden->snapshot.route_rest_ms = json_path_int(observed, "routeRestMs", 0);
    put_refusals(golden, json_object_get(observed, "refusals"));
    golden->snapshot.template_change = json_path_str(observed, "templateChange.text", NULL);
    golden->snapshot.template_from = json_path_str(observed, "templateChange.from", NULL);
    put_error(golden, json_object_get(observed, "error"));
    return golden;
}

void golden_free(struct golden *golden)
{
    cluster_snapshot_release(&golden->snapshot);
    roll_before_free(golden->memory.before);
    for (size_t i = 0; i < ARRAY_LEN(golden->informers); i++)
        informer_free(golden->informers[i]);
    kube_client_free(golden->client);
    http_client_free(golden->http);
    loop_free(golden->loop);
    position_pool_unref(golden->positions);
    free(golden);
}
