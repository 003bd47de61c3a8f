/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_gather.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "common/tls.h"
#include "operator/api/backup_spec.h"
#include "operator/api/condition_reason.h"
#include "operator/api/memory_fit.h"
#include "operator/api/mycnf.h"
#include "operator/api/pod_answer.h"
#include "operator/api/ready_conditions.h"
#include "operator/cluster/reconcile/cluster_notes.h"
#include "operator/cluster/restore/restore_store.h"
#include "operator/cluster/rollout/cluster_scale.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/state/cluster_turn.h"
#include "operator/cluster/state/final_backup_state.h"
#include "operator/cluster/state/storage_class.h"

static void *find(const struct informer *informer, const char *ns, const char *name)
{
    char key[KUBE_KEY_MAX + 1];
    snprintf(key, sizeof(key), "%s/%s", ns, name);
    return store_get(informer_store(informer), key);
}

/* ---- acceptance ---- */

static void not_accepted(struct cluster_snapshot *snapshot, const char *reason, const char *fmt, ...) KM_PRINTF(3, 4);
static void not_accepted(struct cluster_snapshot *snapshot, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(snapshot->message, sizeof(snapshot->message), fmt, ap);
    va_end(ap);
    snprintf(snapshot->reason, sizeof(snapshot->reason), "%s", reason);
}

static void not_accepted_problems(
    struct cluster_snapshot *snapshot, const char *reason, const struct api_problems *problems)
{
    struct strbuf text;
    strbuf_init(&text, 4 * KM_KIB);
    api_problems_text(problems, &text);
    not_accepted(snapshot, reason, "%s", text.buf);
    strbuf_release(&text);
}

/* Of the claims that the cluster has, those of members that were scaled away included. NULL: there is none. */
static const struct pvc_object *largest_claim(
    const struct cluster_sources *sources, const struct cluster_snapshot *snapshot)
{
    const struct pvc_object *largest = NULL;
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        char name[DERIVED_NAME_SIZE];
        cluster_claim_name(name, snapshot->name, ordinal);
        const struct pvc_object *claim = find(sources->claims, snapshot->ns, name);
        if (claim && (!largest || pvc_asked_bytes(claim) > pvc_asked_bytes(largest)))
            largest = claim;
    }
    return largest;
}

/* What has claims, whoever has kept the status, has a size. */
static bool takes_new_storage(const struct cluster_sources *sources, struct cluster_snapshot *snapshot)
{
    struct api_problems problems = {0};
    if (snapshot->last.roles.initialized || largest_claim(sources, snapshot) ||
        mysql_cluster_check_new_size(&snapshot->cluster, &problems) == 0)
        return true;
    not_accepted_problems(snapshot, "InvalidSpec", &problems);
    return false;
}

/* A refused change of storage keeps the storage in force, and everything else goes on. */
static bool keep_storage_in_force(const struct cluster_sources *sources, struct cluster_snapshot *snapshot)
{
    struct api_problems problems = {0};
    if (!snapshot->last.storage)
        return takes_new_storage(sources, snapshot);
    const struct pvc_object *claim = largest_claim(sources, snapshot);
    mysql_cluster_check_change(&snapshot->cluster, snapshot->last.storage, &problems);
    mysql_cluster_check_size(&snapshot->cluster, snapshot->last.storage, claim ? claim->name : NULL,
        claim ? pvc_asked_bytes(claim) : 0, &problems);
    if (problems.count == 0)
        return true;
    not_accepted_problems(snapshot, "StorageChangeRefused", &problems);
    json_t *spec = json_copy(snapshot->cluster.document);
    json_object_set(spec, "storage", snapshot->last.storage);
    mysql_cluster_release(&snapshot->cluster);
    struct api_problems ignored = {0};
    int rc = mysql_cluster_parse(snapshot->ns, snapshot->name, spec, &snapshot->cluster, &ignored);
    json_decref(spec);
    return rc == 0;
}

/* By what its data came to be is done: another wish changes nothing, and everything else goes on. */
static void check_origin(struct cluster_snapshot *snapshot)
{
    struct api_problems problems = {0};
    bool refused = snapshot->last.roles.initialized &&
        restore_spec_check_change(&snapshot->cluster.restore, snapshot->last.restore.from, &problems) < 0;
    if (refused && str_empty(snapshot->reason))
        not_accepted_problems(snapshot, "RestoreChangeRefused", &problems);
}

static const struct kube_object *find_config(const struct cluster_sources *sources, const char *name)
{
    return name ? store_get(informer_store(sources->configs), name) : NULL;
}

static bool resolve_config(const struct cluster_sources *sources, struct cluster_snapshot *snapshot)
{
    _cleanup_(json_decrefp) json_t *named = NULL;
    const char *name = snapshot->cluster.config_name;
    if (name) {
        const struct kube_object *object = find_config(sources, name);
        if (!object) {
            not_accepted(
                snapshot, reason_name(REASON_CONFIG_NOT_FOUND), "spec.config.name: there is no MysqlConfig %s", name);
            return false;
        }
        named = custom_object_spec((const struct custom_object *)object);
    }
    struct api_problems problems = {0};
    if (mysql_cluster_resolve(&snapshot->cluster, named, &snapshot->config, &problems) < 0) {
        not_accepted_problems(snapshot, "InvalidConfig", &problems);
        return false;
    }
    if (memory_fit_check(&snapshot->cluster, named, &snapshot->config, snapshot->last.config_spec, &problems) < 0) {
        not_accepted_problems(snapshot, "InvalidConfig", &problems);
        mysql_config_spec_release(&snapshot->config);
        return false;
    }
    return true;
}

static void render_mycnf(struct cluster_snapshot *snapshot)
{
    struct strbuf text;
    strbuf_init(&text, MYCNF_TEXT_MAX);
    const struct mycnf_terms terms = {
        .memory_limit_bytes = snapshot->config.memory_limit_bytes,
        .require_tls = snapshot->cluster.require_tls,
        .binlog_max_bytes = snapshot->cluster.binlog_max_bytes,
    };
    mycnf_render(snapshot->config.mycnf, &terms, &text);
    tls_sha256_hex(text.buf, text.len, snapshot->mycnf_hash);
    snapshot->mycnf = strbuf_detach(&text, NULL);
}

static bool read_spec(
    const struct cluster_sources *sources, const struct custom_object *object, struct cluster_snapshot *snapshot)
{
    struct api_problems problems = {0}, name_problems = {0};
    _cleanup_(json_decrefp) json_t *spec = custom_object_spec(object);
    mysql_cluster_fill_storage(spec, snapshot->last.storage);
    if (mysql_cluster_parse(snapshot->ns, snapshot->name, spec, &snapshot->cluster, &problems) < 0) {
        bool bad_name = cluster_name_check(snapshot->name, &name_problems) < 0;
        not_accepted_problems(snapshot, bad_name ? "InvalidName" : "InvalidSpec", &problems);
        return false;
    }
    if (!keep_storage_in_force(sources, snapshot) || !resolve_config(sources, snapshot))
        return false;
    if (!snapshot->config.image_agent && str_empty(snapshot->default_agent_image)) {
        not_accepted(
            snapshot, "InvalidConfig", "spec.config.spec.images.agent: is required, the operator has no default");
        return false;
    }
    check_origin(snapshot);
    render_mycnf(snapshot);
    return true;
}

/* ---- what members are made of ---- */

static void take_back_mycnf(struct cluster_snapshot *snapshot)
{
    snapshot->before = NULL;
    if (!snapshot->wanted_mycnf)
        return;
    free(snapshot->mycnf);
    snapshot->mycnf = steal_ptr(snapshot->wanted_mycnf);
    memcpy(snapshot->mycnf_hash, snapshot->wanted_mycnf_hash, sizeof(snapshot->mycnf_hash));
}

static void put_mycnf_before(struct cluster_snapshot *snapshot)
{
    snapshot->wanted_mycnf = steal_ptr(snapshot->mycnf);
    memcpy(snapshot->wanted_mycnf_hash, snapshot->mycnf_hash, sizeof(snapshot->wanted_mycnf_hash));
    snapshot->mycnf = xstrdup(snapshot->before->mycnf);
    memcpy(snapshot->mycnf_hash, snapshot->before->mycnf_hash, sizeof(snapshot->mycnf_hash));
}

/* Before all that looks at the template or my.cnf, and after the StatefulSet was found. */
static void gather_roll(const struct cluster_memory *memory, struct cluster_snapshot *snapshot)
{
    char runtime[17], template[17];
    take_back_mycnf(snapshot);
    snapshot->before_kept = memory ? memory->before : NULL;
    snapshot->before_known = memory && *memory->before_of && str_eq(memory->before_of, snapshot->last.roll.proven);
    snapshot->before_error = memory ? memory->before_error : NULL;
    snapshot->before_held = false;
    *snapshot->roll_wanted = '\0';
    if (!snapshot->usable)
        return;
    desired_runtime_hash(snapshot, runtime);
    desired_note_template_hash(snapshot);
    desired_template_hash(snapshot, template);
    roll_hash(runtime, template, snapshot->roll_wanted);
    enum roll_target target = roll_target(snapshot);
    snapshot->before_held = target == ROLL_TARGET_HELD;
    if (target == ROLL_TARGET_BEFORE) {
        snapshot->before = snapshot->before_kept;
        put_mycnf_before(snapshot);
    }
}

/* ---- the world ---- */

static void gather_children(
    const struct cluster_sources *sources, const struct cluster_memory *memory, struct cluster_snapshot *snapshot)
{
    memset(snapshot->children, 0, sizeof(snapshot->children));
    memset(snapshot->orphans, 0, sizeof(snapshot->orphans));
    for (int child = 0; child < CHILD_COUNT; child++) {
        const char *name = desired_child_name(&snapshot->names, (enum cluster_child)child);
        const struct kube_object *live = find(sources->children[child], snapshot->ns, name);
        if (live && cluster_owns(snapshot, live)) /* somebody else's is as good as none here: applying it will say so */
            snapshot->children[child] = live;
        else if (live && kube_uid_is_zero(live->owner) && !live->deleting)
            snapshot->orphans[child] = live;
        if (memory)
            snapshot->memory[child] = memory->children[child];
    }
    snapshot->stateful_set = (const struct stateful_set_object *)snapshot->children[CHILD_STATEFUL_SET];
}

/* Hardly ever is any there: their informer keeps those of primary Services, which have no selector. */
static void gather_foreign_slices(const struct cluster_sources *sources, struct cluster_snapshot *snapshot)
{
    const struct store *slices = sources->foreign_slices ? informer_store(sources->foreign_slices) : NULL;
    size_t cursor = 0;
    snapshot->foreign_slice_count = 0;
    for (const struct kube_object *object; slices && (object = store_next(slices, &cursor));) {
        const struct endpoint_slice_object *slice = (const struct endpoint_slice_object *)object;
        if (str_eq(slice->ns, snapshot->ns) && str_eq(slice->service, snapshot->names.service_primary) &&
            !object->deleting && snapshot->foreign_slice_count < CLUSTER_FOREIGN_SLICES_MAX)
            snapshot->foreign_slices[snapshot->foreign_slice_count++] = slice;
    }
}

/* The primary, or the one before it until the change is over, of a cluster that has somebody to take over: else nobody
 * has to be heard once its pod is gone. */
static bool may_hand_over(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_role_status *roles = &snapshot->last.roles;
    if (!roles->initialized || !snapshot->stateful_set || snapshot->stateful_set->replicas <= 1)
        return false;
    return str_eq(member->name, roles->current_primary) || str_eq(member->name, roles->transition.from);
}

/* The stream is not to the pod that has this name now, if any. The fleet knows of that from its next sync on. */
static bool has_departed(const struct cluster_sources *sources, const char *key, const struct cluster_member *member,
    const struct agent_watch *watch)
{
    char uid[KUBE_UID_TEXT_SIZE] = "";
    int64_t kept_ms = agent_fleet_departed_ms(sources->fleet, key, member->name);
    if (member->pod)
        kube_uid_print(member->pod->object.uid, uid);
    bool is_kept = kept_ms >= 0 ? kept_ms < AGENT_FLEET_DEPARTED_MS : agent_watch_connected(watch);
    return is_kept && !agent_watch_is_for(watch, uid);
}

/* The fleet follows the pods only after this look: what a pod said that is no more is not the word of the one that has
 * its name now. */
static const struct agent_watch *find_watch(const struct cluster_sources *sources, const char *key,
    const struct cluster_snapshot *snapshot, struct cluster_member *member)
{
    const struct agent_watch *watch = sources->fleet ? agent_fleet_get(sources->fleet, key, member->name) : NULL;
    if (!watch)
        return NULL;
    member->departed = may_hand_over(snapshot, member) && has_departed(sources, key, member, watch);
    if (member->departed)
        return watch;
    return cluster_member_has_agent(member) && agent_watch_has_address(watch, member->pod->pod_ip) ? watch : NULL;
}

/* Who is to hand over has no time: one that is silent, as if stopped, is lost. */
static void judge_departed(struct cluster_member *member)
{
    if (member->agent_connected && member->silent_ms <= CLUSTER_DEPARTED_SILENCE_MS) {
        member->pod = NULL;
        return;
    }
    member->agent_connected = false;
    member->silent_ms = INT64_MAX;
}

static void gather_member(const struct cluster_sources *sources, const char *key, struct cluster_snapshot *snapshot,
    int ordinal, struct cluster_member *member)
{
    char claim[DERIVED_NAME_SIZE];
    *member = (struct cluster_member){.ordinal = ordinal, .agent_error = "", .mycnf_text = ""};
    cluster_pod_name(member->name, snapshot->name, ordinal);
    cluster_claim_name(claim, snapshot->name, ordinal);
    member->pod = find(sources->pods, snapshot->ns, member->name);
    member->claim = find(sources->claims, snapshot->ns, claim);
    const struct agent_watch *watch = find_watch(sources, key, snapshot, member);
    member->agent_awaited = sources->fleet && cluster_member_has_agent(member) && !(watch && agent_watch_tried(watch));
    member->silent_ms = watch ? agent_watch_age_ms(watch) : INT64_MAX;
    if (!watch)
        return;
    member->agent = agent_fleet_status(sources->fleet, key, member->name);
    member->agent_connected = agent_watch_connected(watch);
    if (member->departed)
        judge_departed(member);
    member->agent_error = agent_watch_error(watch);
    snprintf(member->order_error, sizeof(member->order_error), "%s", agent_watch_order_error(watch));
    member->mycnf_preview = agent_watch_preview_verdict(watch, snapshot->mycnf_hash);
    member->mycnf_verdict = agent_watch_mycnf_verdict(watch, snapshot->mycnf_hash, &member->mycnf_text);
}

static void gather_turn(const struct cluster_sources *sources, struct cluster_snapshot *snapshot)
{
    char first[CLUSTER_TURN_KEY_SIZE];
    const char *set = snapshot->stateful_set ? snapshot->stateful_set->object.key : "";
    bool waits = false;
    if (sources->turns && cluster_turn_cause(snapshot) != CLUSTER_TURN_NONE)
        waits = !cluster_turns_take(
            sources->turns, sources->children[CHILD_STATEFUL_SET], set, clock_monotonic_ms(), first);
    else if (sources->turns && *set)
        cluster_turns_forget(sources->turns, set);
    cluster_turn_decide(snapshot, waits ? first : NULL);
}

/* The scale looks at all pods, and who counts as a member follows from the scale. */
static void gather_members(const struct cluster_sources *sources, const char *key, struct cluster_snapshot *snapshot)
{
    int primary = names_ordinal(snapshot->last.roles.current_primary);
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++)
        gather_member(sources, key, snapshot, ordinal, &snapshot->members[ordinal]);
    snapshot->scale = cluster_scale(snapshot);
    snapshot->member_count = 0;
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        const struct cluster_member *member = &snapshot->members[ordinal];
        if (ordinal < snapshot->scale.effective || ordinal == primary || member->pod || member->claim)
            snapshot->member_count = ordinal + 1;
    }
    char name[DERIVED_NAME_SIZE];
    desired_check_pod_name(snapshot, name);
    snapshot->check_pod = find(sources->pods, snapshot->ns, name);
    snapshot->restore_store = restore_store_name(snapshot, name) ? find(sources->pods, snapshot->ns, name) : NULL;
    snapshot->terminal = find(sources->terminals, snapshot->ns, snapshot->names.terminal);
}

/* ---- the last backup ---- */

/* Only what says no plainly is a no, as long as the finalizer is there. */
static bool wants_final_backup(const struct cluster_snapshot *snapshot)
{
    const json_t *value = json_path(snapshot->cluster.document, "deletion.finalBackup");
    return !json_is_object(snapshot->cluster.document) || (value && !json_is_false(value) && !json_is_null(value));
}

/* The rest of the spec need not be good for it. */
static void check_final_backup(struct cluster_snapshot *snapshot)
{
    struct backup_spec spec;
    struct api_problems problems = {0};
    struct strbuf text;
    const json_t *backup = json_object_get(snapshot->cluster.document, "backup");
    int rc = backup_spec_parse(backup, &spec, &problems);
    if (rc == 0 && spec.destination.kind == BACKUP_DESTINATION_NONE)
        api_problems_add(&problems, "spec.backup.destination", "is missing");
    strbuf_init(&text, sizeof(snapshot->final.problem) - 1);
    api_problems_text(&problems, &text);
    snprintf(snapshot->final.problem, sizeof(snapshot->final.problem), "%s", text.buf);
    snapshot->final.onto_volume = rc == 0 && spec.destination.kind == BACKUP_DESTINATION_VOLUME;
    strbuf_release(&text);
}

static void read_deletion(const struct custom_object *object, struct cluster_snapshot *ret)
{
    ret->final = (struct final_backup_facts){
        .deleting = object->object.deleting,
        .has_finalizer = object->has_final_finalizer,
        .holds_volumes = object->has_volumes_finalizer,
        .skip = str_eq(object->skip_final_backup, "true"),
        .foreground = object->is_foreground,
        .orphan = object->is_orphan,
        .make_error = "",
    };
    if (!ret->final.deleting)
        return;
    ret->final.wanted = wants_final_backup(ret);
    check_final_backup(ret);
}

static void gather_final_backup(const struct cluster_sources *sources, struct cluster_snapshot *snapshot)
{
    struct final_backup_facts *final = &snapshot->final;
    const char *name = snapshot->last.roles.final_backup.backup;
    const struct custom_object *backup =
        sources->backups && final->deleting && !str_empty(name) ? find(sources->backups, snapshot->ns, name) : NULL;
    final->is_there = backup != NULL;
    final->phase = BACKUP_PHASE_NONE;
    if (!backup)
        return;
    struct backup_status *status = xnew(struct backup_status);
    _cleanup_(json_decrefp) json_t *json = custom_object_status(backup);
    backup_status_decode(json, status);
    final->is_ours = str_eq(backup->cluster_name, snapshot->name) && str_eq(backup->final, "true") &&
        (str_empty(status->cluster_uid) || str_eq(status->cluster_uid, snapshot->uid));
    final->phase = status->phase;
    final->start_ms = status->start_ms;
    snprintf(final->donor, sizeof(final->donor), "%s", status->donor);
    snprintf(final->cluster_uid, sizeof(final->cluster_uid), "%s", status->cluster_uid);
    snprintf(final->message, sizeof(final->message), "%.*s", (int)sizeof(final->message) - 1, status->message);
    backup_status_release(status);
    free(status);
}

/* An operator that has just begun to lead has asked the API server nothing yet: until it has an answer, the one in the
 * status holds. */
static void carry_refusals(struct cluster_snapshot *snapshot)
{
    const struct kube_condition *stalled = kube_conditions_find(&snapshot->last.conditions, CONDITION_STALLED);
    for (int i = 0; i < snapshot->last.instance_count; i++) {
        const struct cluster_instance *last = &snapshot->last.instances[i];
        for (int k = 0; k < snapshot->member_count; k++) {
            struct cluster_member *member = &snapshot->members[k];
            if (member->pod || !str_eq(member->name, last->name))
                continue;
            member->refused = pod_refusal_told(last->message);
            member->refusal_stays = member->refused && reason_of(stalled) == REASON_POD_REFUSED;
        }
    }
}

/* It holds no longer than the pod is missing. */
static void gather_refusal(const struct cluster_memory *memory, struct cluster_snapshot *snapshot)
{
    const struct pod_question_memory *question = &memory->pod_question;
    if (!question->is_answered) {
        carry_refusals(snapshot);
        return;
    }
    for (int i = 0; i < snapshot->member_count && question->since_ms; i++) {
        struct cluster_member *member = &snapshot->members[i];
        if (member->ordinal != question->ordinal || member->pod)
            continue;
        member->refused = question->refusal;
        member->refusal_stays = question->refusal && question->stays;
    }
}

/* ---- the cluster that a new one is made of ---- */

static const struct custom_object *find_cluster(const struct cluster_sources *sources, const char *key)
{
    return (const struct custom_object *)store_get(informer_store(sources->clusters), key);
}

/* Of "NAMESPACE/CLUSTER/binlogs/HISTORY" the first two are its key in the store. */
static void gather_restore_source(const struct cluster_sources *sources, struct cluster_snapshot *snapshot)
{
    const struct cluster_restore *restore = &snapshot->last.restore;
    struct archive_origin *ret = &snapshot->restore_source;
    const char *name = strchr(restore->binlogs, '/'), *end = name ? strchr(name + 1, '/') : NULL;
    const char *history = strrchr(restore->binlogs, '/');
    if (restore->phase != RESTORE_PHASE_RESTORING || !end)
        return;
    _cleanup_(freep) char *key = xasprintf("%.*s", (int)(end - restore->binlogs), restore->binlogs);
    const struct custom_object *source = find_cluster(sources, key);
    if (!source || source->object.deleting || str_eq(source->uid, snapshot->uid))
        return;
    _cleanup_(json_decrefp) json_t *status = custom_object_status(source);
    cluster_history_name(
        source->uid, json_path_int(status, "restoreInPlace.taken", 0), ret->history, sizeof(ret->history));
    ret->is_anew = !str_starts_with(history + 1, source->uid);
    if (!str_eq(ret->history, history + 1))
        snprintf(ret->cluster, sizeof(ret->cluster), "%s", key);
}

static void gather_world(
    const struct cluster_sources *sources, const struct cluster_memory *memory, struct cluster_snapshot *snapshot)
{
    _cleanup_(freep) char *key = kube_key(snapshot->ns, snapshot->name);
    gather_children(sources, memory, snapshot);
    gather_foreign_slices(sources, snapshot);
    gather_roll(memory, snapshot);
    gather_final_backup(sources, snapshot);
    gather_restore_source(sources, snapshot);
    gather_members(sources, key, snapshot);
    gather_turn(sources, snapshot);
    if (!memory)
        return;
    snapshot->secrets = memory->secrets;
    memcpy(snapshot->applied_accounts, memory->applied_accounts, sizeof(snapshot->applied_accounts));
    snapshot->template_answer = memory->template_answer;
    memcpy(snapshot->started, *memory->started ? memory->started : snapshot->last.roll.tried, sizeof(snapshot->started));
    snapshot->binding = memory->binding;
    cluster_notes_show(memory, clock_monotonic_ms(), snapshot);
    snapshot->restore_answer = memory->restore ? restore_lookup_answer(memory->restore) : NULL;
    snapshot->restore_task_error = memory->restore ? restore_lookup_error(memory->restore) : NULL;
    snapshot->final.make_error = str_or_empty(memory->final_error);
    snapshot->namespace_ends = memory->namespace_ends;
    gather_refusal(memory, snapshot);
    storage_class_note(snapshot, memory->storage_class.is_missing ? memory->storage_class.name : NULL);
    snapshot->template_change = memory->template_change;
    snapshot->template_from = memory->template_from;
}

/* ---- the snapshot ---- */

void cluster_snapshot_drop_world(struct cluster_snapshot *snapshot)
{
    memset(snapshot->children, 0, sizeof(snapshot->children));
    memset(snapshot->orphans, 0, sizeof(snapshot->orphans));
    snapshot->foreign_slice_count = 0;
    snapshot->member_count = 0;
    snapshot->stateful_set = NULL;
    snapshot->check_pod = NULL;
    snapshot->restore_store = NULL;
    snapshot->terminal = NULL;
    snapshot->secrets.client_tls = NULL;
    snapshot->awaited_hash = snapshot->awaited_position = snapshot->awaited_boot_id = NULL;
    snapshot->apply_position = NULL;
    snapshot->restore_answer = NULL;
    snapshot->template_change = snapshot->template_from = NULL;
    snapshot->restore_task_error = NULL;
    snapshot->before = snapshot->before_kept = NULL;
    snapshot->before_error = NULL;
    snapshot->final.make_error = "";
}

static const char *config_version(const struct cluster_sources *sources, const struct custom_object *object)
{
    const struct kube_object *config = find_config(sources, str_empty(object->config_name) ? NULL : object->config_name);
    return config ? config->resource_version : "";
}

bool cluster_gather(const struct cluster_sources *sources, const struct cluster_memory *memory, const char *key,
    int64_t now_ms, struct cluster_snapshot *ret)
{
    const struct custom_object *object = find_cluster(sources, key);
    *ret = (struct cluster_snapshot){.ns = NULL};
    if (!object)
        return false;
    *ret = (struct cluster_snapshot){
        .ns = xstrdup(object->ns),
        .name = xstrdup(object->name),
        .uid = xstrdup(object->uid),
        .version = xstrdup(object->object.resource_version),
        .config_version = xstrdup(config_version(sources, object)),
        .generation = object->object.generation,
        .now_ms = now_ms,
        .default_agent_image = sources->default_agent_image,
        .operator_version = sources->operator_version,
        .ipv6 = sources->ipv6,
        .switchover_to = xstrdup(object->switchover_to),
        .confirmed_lost = xstrdup(object->confirmed_lost),
        .set_aside_seen = xstrdup(object->set_aside_seen),
        .stop_server = xstrdup(object->stop_server),
        .lock_left = str_eq(object->lock_left, "true"),
        .open_for_root_until = xstrdup(object->open_for_root_until),
        .roll_again = xstrdup(object->roll_again),
    };
    in_place_wish_read(object->restore_in_place, &ret->in_place_wish);
    _cleanup_(json_decrefp) json_t *status = custom_object_status(object);
    cluster_status_decode(status, &ret->last);
    cluster_names_init(&ret->names, ret->name);
    ret->usable = read_spec(sources, object, ret);
    if (!ret->usable) /* roles and orders do not wait for a spec that is accepted */
        mysql_cluster_keep_roles(&ret->cluster, ret->last.accepted_spec);
    else if (ret->cluster.paused && ret->last.accepted_spec)
        mysql_cluster_keep_replication(&ret->cluster, ret->last.accepted_spec);
    read_deletion(object, ret);
    gather_world(sources, memory, ret);
    return true;
}

bool cluster_gather_again(const struct cluster_sources *sources, const struct cluster_memory *memory, const char *key,
    int64_t now_ms, struct cluster_snapshot *snapshot)
{
    const struct custom_object *object = find_cluster(sources, key);
    if (!object || custom_object_is_going(object) || !str_eq(object->uid, snapshot->uid))
        return false;
    if (str_eq(object->object.resource_version, snapshot->version) &&
        str_eq(config_version(sources, object), snapshot->config_version)) {
        snapshot->now_ms = now_ms;
        gather_world(sources, memory, snapshot);
        return true;
    }
    bool secrets_failed = snapshot->secrets_failed;
    cluster_snapshot_release(snapshot);
    cluster_gather(sources, memory, key, now_ms, snapshot);
    snapshot->secrets_failed = secrets_failed;
    return true;
}
