/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/projections.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/server_log.h"
#include "operator/api/condition_reason.h"
#include "operator/api/in_place_status.h"
#include "operator/api/names.h"
#include "operator/api/packed_text.h"
#include "operator/api/pod_reason.h"
#include "operator/api/quantity.h"
#include "operator/api/ready_conditions.h"

/* ---- strings of one block ---- */

#define TEXTS_MAX 28
#define TEXT_ALL SIZE_MAX

/* Which member of the struct gets which text; gathered first, because the block's size must be known. */
struct text {
    size_t offset; /* of a const char * */
    struct json_slice value;
    size_t max;
    bool raw; /* JSON text as it stands; the length goes into the size_t behind the pointer */
    bool log; /* of a server: only what went wrong */
};

struct texts {
    struct text items[TEXTS_MAX];
    int count;
};

static void texts_add(struct texts *texts, size_t offset, struct json_slice value, size_t max)
{
    texts->items[texts->count++] = (struct text){.offset = offset, .value = value, .max = max};
}

static void texts_add_raw(struct texts *texts, size_t offset, struct json_slice value)
{
    texts->items[texts->count++] = (struct text){.offset = offset, .value = value, .max = TEXT_ALL, .raw = true};
}

static void texts_add_log(struct texts *texts, size_t offset, struct json_slice value, size_t max)
{
    texts->items[texts->count++] = (struct text){.offset = offset, .value = value, .max = max, .log = true};
}

/* Copies one text, unescaped and cut at the maximum (not within a UTF-8 sequence). Returns the bytes used with the
 * NUL. */
static size_t text_copy(const struct text *text, struct strbuf *scratch, char *out)
{
    const char *data = text->value.data;
    size_t len = text->value.len;
    if (!text->raw) {
        strbuf_reset(scratch);
        if (json_slice_string(text->value, scratch) < 0)
            strbuf_reset(scratch);
        if (text->log)
            server_log_errors(scratch->buf);
        data = scratch->buf;
        len = strlen(data); /* an escaped NUL ends it */
    }
    if (len > text->max) {
        len = text->max - strlen("...");
        while (len > 0 && ((unsigned char)data[len] & 0xc0) == 0x80)
            len--;
        memcpy(out, data, len);
        memcpy(out + len, "...", sizeof("..."));
        return len + sizeof("...");
    }
    memcpy(out, data, len);
    out[len] = '\0';
    return len + 1;
}

/* At most this long when unescaped and without quotes. */
static size_t text_room(const struct text *text)
{
    size_t quotes = text->raw ? 0 : MIN_OF(text->value.len, (size_t)2);
    return text->value.data ? MIN_OF(text->value.len - quotes, text->max) + 1 : 0;
}

/* The name is a part of the key. */
static const char *key_name(const struct kube_object *object)
{
    const char *slash = strchr(object->key, '/');
    return slash ? slash + 1 : object->key;
}

static struct kube_object *texts_build(
    const struct texts *texts, size_t size, const struct kube_meta *meta, struct json_slice object)
{
    size_t extra_bytes = 0;
    char *extra;
    _cleanup_(strbuf_release) struct strbuf scratch;
    strbuf_init(&scratch, KUBE_OBJECT_MAX);
    for (int i = 0; i < texts->count; i++)
        extra_bytes += text_room(&texts->items[i]);
    struct kube_object *ret = kube_object_new(size, meta, extra_bytes, &extra);
    ret->digest = kube_object_digest(object);
    for (int i = 0; i < texts->count; i++) {
        const struct text *text = &texts->items[i];
        const char **member = (const char **)(void *)((char *)ret + text->offset);
        *member = "";
        if (!text->value.data)
            continue;
        *member = extra;
        size_t used = text_copy(text, &scratch, extra);
        if (text->raw)
            *(size_t *)(void *)(member + 1) = used - 1;
        extra += used;
    }
    return ret;
}

/* ---- our kinds ---- */

static void scan_finalizers(struct json_slice object, struct custom_object *ret)
{
    struct json_slice finalizer;
    struct json_slice finalizers = json_slice_get(object, "metadata", "finalizers", NULL);
    for (const char *cursor = NULL; json_slice_next_element(finalizers, &cursor, &finalizer);) {
        if (json_slice_str_eq(finalizer, FINALIZER_VOLUMES))
            ret->has_volumes_finalizer = true;
        else if (json_slice_str_eq(finalizer, FINALIZER_BACKUP))
            ret->has_backup_finalizer = true;
        else if (json_slice_str_eq(finalizer, FINALIZER_FINAL_BACKUP))
            ret->has_final_finalizer = true;
        else
            ret->has_other_finalizers = true;
        ret->is_foreground = ret->is_foreground || json_slice_str_eq(finalizer, FINALIZER_FOREGROUND);
        ret->is_orphan = ret->is_orphan || json_slice_str_eq(finalizer, FINALIZER_ORPHAN);
    }
}

static bool is_object_text(struct json_slice value)
{
    return value.len > 0 && value.data[0] == '{';
}

static struct json_slice object_or_absent(struct json_slice value)
{
    return is_object_text(value) ? value : (struct json_slice){.data = NULL};
}

static uint64_t words_digest(uint64_t before, struct json_slice object)
{
    struct json_slice reason = json_slice_member(object, "reason"), message = json_slice_member(object, "message");
    return hash64(hash64(before, reason.data, reason.len), message.data, message.len);
}

static uint64_t archive_digest(struct json_slice status)
{
    uint64_t ret = words_digest(HASH64_INIT, json_slice_get(status, "backup", "archive", NULL));
    struct json_slice problem = json_slice_get(status, "backup", "problem", NULL);
    ret = words_digest(ret, json_slice_get(status, "backup", "drill", NULL));
    return hash64(ret, problem.data, problem.len);
}

static bool drills(struct json_slice spec, struct json_slice status)
{
    return is_object_text(json_slice_get(spec, "backup", "drill", NULL)) ||
        is_object_text(json_slice_get(status, "backup", "drill", NULL));
}

static bool archives(struct json_slice spec, struct json_slice status)
{
    return json_slice_is_true(json_slice_get(spec, "backup", "binlogs", "enabled", NULL)) ||
        is_object_text(json_slice_get(status, "backup", "archive", NULL));
}

static void add_backup_texts(struct texts *texts, const struct kube_meta *meta, struct json_slice object)
{
    struct json_slice spec = json_slice_member(object, "spec"), status = json_slice_member(object, "status");
    struct json_slice claim = json_slice_get(status, "destination", "persistentVolumeClaim", "claimName", NULL);
    if (!claim.data)
        claim = json_slice_get(spec, "destination", "persistentVolumeClaim", "claimName", NULL);
    texts_add(texts, offsetof(struct custom_object, donor), json_slice_member(status, "donor"), KUBE_NAME_MAX);
    texts_add(texts, offsetof(struct custom_object, claim), claim, KUBE_NAME_MAX);
    texts_add(texts, offsetof(struct custom_object, skip_data_deletion),
        json_slice_member(meta->annotations, ANNOTATION_SKIP_DATA_DELETION), KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct custom_object, scheduled), json_slice_member(meta->labels, LABEL_SCHEDULED),
        KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct custom_object, final), json_slice_member(meta->labels, LABEL_FINAL_BACKUP),
        KUBE_LABEL_MAX);
    texts_add(
        texts, offsetof(struct custom_object, drill_of), json_slice_member(meta->labels, LABEL_DRILL), KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct custom_object, creation_timestamp),
        json_slice_get(object, "metadata", "creationTimestamp", NULL), KUBE_LABEL_MAX);
}

static struct json_slice find_condition(struct json_slice status, const char *type)
{
    struct json_slice condition;
    struct json_slice conditions = json_slice_member(status, "conditions");
    for (const char *cursor = NULL; json_slice_next_element(conditions, &cursor, &condition);) {
        if (json_slice_str_eq(json_slice_member(condition, "type"), type))
            return condition;
    }
    return (struct json_slice){.data = NULL};
}

static bool condition_is(struct json_slice status, const char *type, const char *wanted)
{
    return json_slice_str_eq(json_slice_member(find_condition(status, type), "status"), wanted);
}

/* What holds a terminal up until somebody changes something; of no other kind: those are read whole. */
static struct json_slice stalled_of(struct json_slice spec, struct json_slice status)
{
    bool is_terminal = is_object_text(json_slice_member(spec, "cluster"));
    return is_terminal && condition_is(status, CONDITION_STALLED, "True")
        ? json_slice_member(find_condition(status, CONDITION_STALLED), "message")
        : (struct json_slice){.data = NULL};
}

/* What the API server says to the pod that a backup waits for. */
static uint64_t refusal_digest(struct json_slice status)
{
    struct json_slice accepted = find_condition(status, CONDITION_BACKUP_ACCEPTED);
    struct json_slice message = json_slice_member(accepted, "message");
    if (!json_slice_str_eq(json_slice_member(accepted, "reason"), reason_name(REASON_POD_REFUSED)))
        return 0;
    return hash64(HASH64_INIT, message.data, message.len) | 1;
}

static enum backup_phase backup_phase_of(struct json_slice status)
{
    struct json_slice phase = json_slice_member(status, "phase");
    for (int i = BACKUP_PHASE_NONE + 1; i < BACKUP_PHASE_COUNT; i++) {
        if (json_slice_str_eq(phase, backup_phase_names[i]))
            return (enum backup_phase)i;
    }
    return BACKUP_PHASE_NONE;
}

/* A new block, to be freed after the object is built. */
static char *pack_both(struct json_slice spec, struct json_slice status, struct texts *texts)
{
    struct json_slice packed;
    _cleanup_(freep) char *both = xmalloc(spec.len + status.len + 1);
    if (spec.len > 0)
        memcpy(both, spec.data, spec.len);
    if (status.len > 0)
        memcpy(both + spec.len, status.data, status.len);
    char *ret = text_pack(both, spec.len + status.len, &packed.len);
    packed.data = ret;
    texts_add_raw(texts, offsetof(struct custom_object, packed), packed);
    return ret;
}

static struct kube_object *project_custom(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct texts texts = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct json_slice spec = object_or_absent(json_slice_member(object, "spec"));
    struct json_slice status = object_or_absent(json_slice_member(object, "status"));
    struct json_slice config = json_slice_member(status, "configSpec"), port = json_slice_member(status, "port");
    struct json_slice accounts = json_slice_member(status, "accounts");
    _cleanup_(freep) char *packed = pack_both(spec, status, &texts);
    UNUSED(packed); /* texts point into it */
    texts_add(&texts, offsetof(struct custom_object, uid), meta.uid, TEXT_ALL);
    texts_add(&texts, offsetof(struct custom_object, ns), meta.ns, TEXT_ALL);
    texts_add(&texts, offsetof(struct custom_object, deletion_timestamp), meta.deletion_timestamp, TEXT_ALL);
    texts_add(&texts, offsetof(struct custom_object, config_name), json_slice_get(spec, "config", "name", NULL),
        KUBE_NAME_MAX);
    struct json_slice cluster = json_slice_member(spec, "cluster");
    texts_add(&texts, offsetof(struct custom_object, cluster_name),
        is_object_text(cluster) ? json_slice_member(cluster, "name") : cluster, KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct custom_object, cluster_namespace),
        json_slice_get(spec, "cluster", "namespace", NULL), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct custom_object, stalled), stalled_of(spec, status), KUBE_CONDITION_MESSAGE_MAX);
    texts_add(&texts, offsetof(struct custom_object, password_secret),
        json_slice_get(spec, "passwordSecret", "name", NULL), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct custom_object, switchover_to),
        json_slice_member(meta.annotations, ANNOTATION_SWITCHOVER_TO), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct custom_object, set_aside_seen),
        json_slice_member(meta.annotations, ANNOTATION_SET_ASIDE_SEEN), SET_ASIDE_SEEN_MAX);
    texts_add(&texts, offsetof(struct custom_object, confirmed_lost),
        json_slice_member(meta.annotations, ANNOTATION_CONFIRMED_LOST), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct custom_object, stop_server),
        json_slice_member(meta.annotations, ANNOTATION_STOP_SERVER), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct custom_object, open_for_root_until),
        json_slice_member(meta.annotations, ANNOTATION_OPEN_FOR_ROOT_UNTIL), KUBE_LABEL_MAX);
    texts_add(&texts, offsetof(struct custom_object, lock_left),
        json_slice_member(meta.annotations, ANNOTATION_LOCK_LEFT_ACCOUNTS), KUBE_LABEL_MAX);
    texts_add(&texts, offsetof(struct custom_object, roll_again),
        json_slice_member(meta.annotations, ANNOTATION_ROLL_AGAIN), KUBE_LABEL_MAX);
    texts_add(&texts, offsetof(struct custom_object, restore_in_place),
        json_slice_member(meta.annotations, ANNOTATION_RESTORE_IN_PLACE), IN_PLACE_WISH_SIZE);
    texts_add(&texts, offsetof(struct custom_object, skip_final_backup),
        json_slice_member(meta.annotations, ANNOTATION_SKIP_FINAL_BACKUP), KUBE_LABEL_MAX);
    add_backup_texts(&texts, &meta, object);
    struct custom_object *ret = (struct custom_object *)texts_build(&texts, sizeof(*ret), &meta, object);
    ret->name = key_name(&ret->object);
    ret->spec_len = (uint32_t)spec.len;
    ret->status_len = (uint32_t)status.len;
    ret->config_digest = hash64(hash64(HASH64_INIT, config.data, config.len), port.data, port.len);
    ret->config_digest = hash64(ret->config_digest, accounts.data, accounts.len);
    ret->archive_digest = archive_digest(status);
    ret->archives = archives(spec, status);
    ret->is_managed = json_slice_str_eq(json_slice_member(meta.labels, LABEL_MANAGED_BY), LABEL_MANAGED_BY_US);
    ret->drills = drills(spec, status);
    ret->backup_phase = backup_phase_of(status);
    ret->refusal_digest = refusal_digest(status);
    scan_finalizers(object, ret);
    return &ret->object;
}

static json_t *parse_part(const struct custom_object *object, size_t from, size_t len)
{
    if (len == 0)
        return NULL;
    _cleanup_(freep) char *both =
        text_unpack(object->packed, object->packed_len, (size_t)object->spec_len + object->status_len);
    return both ? json_parse(both + from, len, NULL) : NULL;
}

json_t *custom_object_spec(const struct custom_object *object)
{
    return parse_part(object, 0, object->spec_len);
}

json_t *custom_object_status(const struct custom_object *object)
{
    return parse_part(object, object->spec_len, object->status_len);
}

bool custom_object_is_going(const struct custom_object *object)
{
    return object->object.deleting && !object->has_final_finalizer && !object->has_volumes_finalizer;
}

const struct kube_projection projection_mysql_cluster = {.project = project_custom};
const struct kube_projection projection_mysql_config = {.project = project_custom};
const struct kube_projection projection_mysql_terminal = {.project = project_custom};
const struct kube_projection projection_mysql_backup = {.project = project_custom};

/* ---- conditions ---- */

static int clamp_int(int64_t value)
{
    return value < 0 ? 0 : (int)MIN_OF(value, INT_MAX);
}

/* ---- pods ---- */

struct pod_problem {
    struct json_slice container, reason, message;
    int exit_code;
};

/* Reasons are words in CamelCase: nothing in them is escaped. */
static bool reason_is(struct json_slice reason, bool (*is)(const char *))
{
    char text[KUBE_LABEL_MAX + 1];
    if (reason.len < 2 || reason.len - 2 >= sizeof(text) || *reason.data != '"')
        return false;
    snprintf(text, sizeof(text), "%.*s", (int)reason.len - 2, reason.data + 1);
    return is(text);
}

/* The kernel has ended a program of the container's for want of memory: the kubelet says that of the first one alone,
 * `init` and `check` of those that they have started. */
static bool ended_for_memory(struct json_slice container, struct json_slice ended)
{
    struct json_slice name = json_slice_member(container, "name");
    bool is_told = json_slice_str_eq(name, CONTAINER_INIT) || json_slice_str_eq(name, CONTAINER_CHECK);
    int64_t code = json_slice_int(json_slice_member(ended, "exitCode"), 0);
    return is_told && code == agent_init_exit_code(AGENT_INIT_FAULT_MEMORY);
}

/* Why this container does not run. A crash loop is explained by the container's last words; of one that was ended for
 * want of memory by that, as the words are then those of a server that knew nothing of it. */
static bool container_problem(struct json_slice container, struct pod_problem *ret)
{
    static const char out_of_memory[] = "\"OOMKilled\"";
    struct json_slice waiting = json_slice_get(container, "state", "waiting", NULL);
    struct json_slice ended = json_slice_get(container, "state", "terminated", NULL);
    struct json_slice last = json_slice_get(container, "lastState", "terminated", NULL);
    struct json_slice reason = json_slice_member(waiting, "reason");
    struct json_slice message = json_slice_member(waiting, "message");
    if (reason.data && !reason_is(reason, pod_reason_is_beginning)) {
        struct json_slice words = json_slice_member(last, "message"), ended_for = json_slice_member(last, "reason");
        message = words.len > 2 ? words : message;
        if (reason_is(ended_for, pod_reason_is_memory) && reason_is(reason, pod_reason_is_loop))
            reason = ended_for;
    } else if (ended.data && json_slice_int(json_slice_member(ended, "exitCode"), 0) != 0) {
        reason = json_slice_member(ended, "reason");
        message = json_slice_member(ended, "message");
    } else if (last.data && !ended.data && !json_slice_is_true(json_slice_member(container, "ready")) &&
        json_slice_int(json_slice_member(last, "exitCode"), 0) != 0) {
        reason = json_slice_member(last, "reason");
        message = json_slice_member(last, "message");
    } else {
        return false;
    }
    if (reason_is(reason, pod_reason_is_memory))
        message = (struct json_slice){.data = NULL};
    else if (ended_for_memory(container, ended.data ? ended : last) &&
        (json_slice_str_eq(reason, "Error") || reason_is(reason, pod_reason_is_loop)))
        reason = (struct json_slice){out_of_memory, strlen(out_of_memory)};
    int64_t code = json_slice_int(json_slice_member(ended.data ? ended : last, "exitCode"), 0);
    *ret = (struct pod_problem){json_slice_member(container, "name"), reason, message, clamp_int(code)};
    return true;
}

/* A restart counts when the next one is made: until then the last end counts beside it. */
static int ends_of(struct json_slice container)
{
    int restarts = clamp_int(json_slice_int(json_slice_member(container, "restartCount"), 0));
    struct json_slice ended = json_slice_get(container, "state", "terminated", NULL);
    bool waits = is_object_text(json_slice_get(container, "state", "waiting", NULL)) &&
        is_object_text(json_slice_get(container, "lastState", "terminated", NULL));
    bool failed = is_object_text(ended) && json_slice_int(json_slice_member(ended, "exitCode"), 0) != 0;
    return restarts < INT_MAX && (waits || failed) ? restarts + 1 : restarts;
}

static void scan_containers(struct json_slice statuses, struct pod_object *ret, struct pod_problem *problem)
{
    struct json_slice container;
    int64_t restarts = ret->restart_count;
    for (const char *cursor = NULL; json_slice_next_element(statuses, &cursor, &container);) {
        restarts += clamp_int(json_slice_int(json_slice_member(container, "restartCount"), 0));
        ret->most_ends = MAX_OF(ret->most_ends, ends_of(container));
        if (!problem->reason.data)
            container_problem(container, problem);
        if (json_slice_str_eq(json_slice_member(container, "name"), CONTAINER_MYSQL))
            ret->mysql_running = is_object_text(json_slice_get(container, "state", "running", NULL));
    }
    ret->restart_count = clamp_int(restarts);
}

static struct pod_problem scan_problem(struct json_slice status, struct pod_object *facts)
{
    struct pod_problem problem = {.reason = {.data = NULL}};
    scan_containers(json_slice_member(status, "initContainerStatuses"), facts, &problem);
    scan_containers(json_slice_member(status, "containerStatuses"), facts, &problem);
    if (problem.reason.data)
        return problem;
    struct json_slice scheduled = find_condition(status, "PodScheduled");
    if (json_slice_str_eq(json_slice_member(scheduled, "status"), "False"))
        status = scheduled;
    /* Else the pod's own: Evicted, NodeLost. */
    return (struct pod_problem){
        {.data = NULL}, json_slice_member(status, "reason"), json_slice_member(status, "message"), 0};
}

static enum pod_phase phase_of(struct json_slice status)
{
    static const char *const names[] = {
        [POD_PHASE_PENDING] = "Pending",
        [POD_PHASE_RUNNING] = "Running",
        [POD_PHASE_SUCCEEDED] = "Succeeded",
        [POD_PHASE_FAILED] = "Failed",
    };
    struct json_slice phase = json_slice_member(status, "phase");
    for (size_t i = POD_PHASE_PENDING; i < ARRAY_LEN(names); i++) {
        if (json_slice_str_eq(phase, names[i]))
            return (enum pod_phase)i;
    }
    return POD_PHASE_UNKNOWN;
}

static struct json_slice check_words(struct json_slice status)
{
    struct json_slice container;
    struct json_slice statuses = json_slice_member(status, "containerStatuses");
    for (const char *cursor = NULL; json_slice_next_element(statuses, &cursor, &container);) {
        struct json_slice ended = json_slice_get(container, "state", "terminated", NULL);
        if (json_slice_str_eq(json_slice_member(container, "name"), CONTAINER_CHECK) &&
            json_slice_int(json_slice_member(ended, "exitCode"), -1) == 0)
            return json_slice_member(ended, "message");
    }
    return (struct json_slice){.data = NULL};
}

static void add_pod_texts(struct texts *texts, const struct kube_meta *meta, struct json_slice object)
{
    struct json_slice labels = meta->labels;
    texts_add(texts, offsetof(struct pod_object, ns), meta->ns, TEXT_ALL);
    texts_add(texts, offsetof(struct pod_object, uid), meta->uid, TEXT_ALL);
    texts_add(
        texts, offsetof(struct pod_object, pod_ip), json_slice_get(object, "status", "podIP", NULL), KUBE_LABEL_MAX);
    texts_add(
        texts, offsetof(struct pod_object, node_name), json_slice_get(object, "spec", "nodeName", NULL), KUBE_NAME_MAX);
    texts_add(texts, offsetof(struct pod_object, revision), json_slice_member(labels, "controller-revision-hash"),
        KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct pod_object, role), json_slice_member(labels, LABEL_ROLE), KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct pod_object, cluster), json_slice_member(labels, LABEL_CLUSTER), KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct pod_object, terminal), json_slice_member(labels, LABEL_TERMINAL), KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct pod_object, app), json_slice_member(labels, LABEL_APP), KUBE_LABEL_MAX);
    texts_add(texts, offsetof(struct pod_object, mounts_changed),
        json_slice_member(meta->annotations, ANNOTATION_MOUNTS_CHANGED), KUBE_LABEL_MAX);
}

/* spec: of a pod, or of a pod template. */
static struct json_slice init_container(struct json_slice spec, const char *name)
{
    struct json_slice container;
    struct json_slice containers = json_slice_member(spec, "initContainers");
    for (const char *cursor = NULL; json_slice_next_element(containers, &cursor, &container);) {
        if (json_slice_str_eq(json_slice_member(container, "name"), name))
            return container;
    }
    return (struct json_slice){.data = NULL};
}

static bool init_declares_port(struct json_slice spec)
{
    return json_slice_member(init_container(spec, CONTAINER_INIT), "ports").data != NULL;
}

static int64_t created_ms(struct json_slice object)
{
    char text[CLOCK_RFC3339_SIZE + 2]; /* with the quotes */
    int64_t ms = 0;
    struct json_slice time = json_slice_get(object, "metadata", "creationTimestamp", NULL);
    if (!time.data || time.len < 2 || time.len >= sizeof(text))
        return 0;
    snprintf(text, sizeof(text), "%.*s", (int)time.len - 2, time.data + 1);
    return clock_parse_rfc3339(text, &ms) == 0 ? ms : 0;
}

static struct kube_object *project_pod(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct texts texts = {.count = 0};
    struct pod_object facts = {.restart_count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct json_slice status = json_slice_member(object, "status");
    struct pod_problem problem = scan_problem(status, &facts);
    add_pod_texts(&texts, &meta, object);
    texts_add(&texts, offsetof(struct pod_object, check_words), check_words(status), PROJECTION_MESSAGE_MAX);
    texts_add(&texts, offsetof(struct pod_object, problem_container), problem.container, KUBE_LABEL_MAX);
    texts_add(&texts, offsetof(struct pod_object, problem_reason), problem.reason, KUBE_LABEL_MAX);
    bool is_server = json_slice_str_eq(problem.container, CONTAINER_MYSQL);
    (is_server ? texts_add_log : texts_add)(
        &texts, offsetof(struct pod_object, problem_message), problem.message, PROJECTION_MESSAGE_MAX);
    struct pod_object *ret = (struct pod_object *)texts_build(&texts, sizeof(*ret), &meta, object);
    ret->name = key_name(&ret->object);
    ret->ordinal = names_ordinal(ret->name);
    ret->problem_exit = problem.exit_code;
    ret->phase = phase_of(status);
    ret->scheduled = condition_is(status, "PodScheduled", "True");
    ret->initialized = condition_is(status, "Initialized", "True");
    ret->ready = condition_is(status, "Ready", "True");
    ret->mysql_running = facts.mysql_running;
    ret->restart_count = facts.restart_count;
    ret->most_ends = facts.most_ends;
    ret->created_ms = created_ms(object);
    ret->init_declares_port = init_declares_port(json_slice_member(object, "spec"));
    return &ret->object;
}

const struct kube_projection projection_pod = {.project = project_pod};

/* ---- claims ---- */

static int64_t quantity_at(struct json_slice value)
{
    int64_t bytes;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, 64);
    if (json_slice_string(value, &text) < 0 || text.overflowed || quantity_parse(text.buf, &bytes) < 0)
        return 0;
    return bytes;
}

static struct kube_object *project_pvc(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct texts texts = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct json_slice spec = json_slice_member(object, "spec");
    struct json_slice status = json_slice_member(object, "status");
    bool pending = condition_is(status, "FileSystemResizePending", "True");
    struct json_slice condition = find_condition(status, pending ? "FileSystemResizePending" : "Resizing");
    texts_add(&texts, offsetof(struct pvc_object, ns), meta.ns, TEXT_ALL);
    texts_add(&texts, offsetof(struct pvc_object, uid), meta.uid, TEXT_ALL);
    texts_add(
        &texts, offsetof(struct pvc_object, cluster), json_slice_member(meta.labels, LABEL_CLUSTER), KUBE_LABEL_MAX);
    texts_add(
        &texts, offsetof(struct pvc_object, storage_class), json_slice_member(spec, "storageClassName"), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct pvc_object, volume_name), json_slice_member(spec, "volumeName"), KUBE_NAME_MAX);
    texts_add(
        &texts, offsetof(struct pvc_object, message), json_slice_member(condition, "message"), PROJECTION_MESSAGE_MAX);
    struct pvc_object *ret = (struct pvc_object *)texts_build(&texts, sizeof(*ret), &meta, object);
    ret->name = key_name(&ret->object);
    ret->ordinal = names_ordinal(ret->name);
    ret->requested_bytes = quantity_at(json_slice_get(spec, "resources", "requests", "storage", NULL));
    ret->capacity_bytes = quantity_at(json_slice_get(status, "capacity", "storage", NULL));
    ret->is_bound = json_slice_str_eq(json_slice_member(status, "phase"), "Bound");
    ret->resizing = condition_is(status, "Resizing", "True");
    ret->file_system_resize_pending = pending;
    return &ret->object;
}

int64_t pvc_asked_bytes(const struct pvc_object *claim)
{
    return claim->requested_bytes > 0 ? claim->requested_bytes : claim->capacity_bytes;
}

const struct kube_projection projection_pvc = {.project = project_pvc};

/* ---- StatefulSets ---- */

static int64_t claim_template_bytes(struct json_slice spec)
{
    struct json_slice claim;
    struct json_slice claims = json_slice_member(spec, "volumeClaimTemplates");
    for (const char *cursor = NULL; json_slice_next_element(claims, &cursor, &claim);) {
        if (json_slice_str_eq(json_slice_get(claim, "metadata", "name", NULL), VOLUME_DATA))
            return quantity_at(json_slice_get(claim, "spec", "resources", "requests", "storage", NULL));
    }
    return 0;
}

static struct kube_object *project_stateful_set(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct texts texts = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct json_slice spec = json_slice_member(object, "spec");
    struct json_slice status = json_slice_member(object, "status");
    texts_add(&texts, offsetof(struct stateful_set_object, uid), meta.uid, TEXT_ALL);
    texts_add(&texts, offsetof(struct stateful_set_object, current_revision),
        json_slice_member(status, "currentRevision"), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct stateful_set_object, update_revision),
        json_slice_member(status, "updateRevision"), KUBE_NAME_MAX);
    texts_add(&texts, offsetof(struct stateful_set_object, applied_hash),
        json_slice_member(meta.annotations, ANNOTATION_APPLIED_HASH), KUBE_LABEL_MAX);
    struct json_slice pod = json_slice_get(spec, "template", "spec", NULL);
    texts_add(&texts, offsetof(struct stateful_set_object, agent_image),
        json_slice_member(init_container(pod, CONTAINER_INJECT), "image"), TEXT_ALL);
    texts_add(&texts, offsetof(struct stateful_set_object, turn),
        json_slice_member(meta.annotations, ANNOTATION_AGENT_TURN), TEXT_ALL);
    texts_add(&texts, offsetof(struct stateful_set_object, applied_template),
        json_slice_member(meta.annotations, ANNOTATION_APPLIED_TEMPLATE), KUBE_LABEL_MAX);
    struct stateful_set_object *ret = (struct stateful_set_object *)texts_build(&texts, sizeof(*ret), &meta, object);
    ret->replicas = clamp_int(json_slice_int(json_slice_member(spec, "replicas"), 1));
    ret->status_replicas = clamp_int(json_slice_int(json_slice_member(status, "replicas"), 0));
    ret->ready_replicas = clamp_int(json_slice_int(json_slice_member(status, "readyReplicas"), 0));
    ret->observed_generation = json_slice_int(json_slice_member(status, "observedGeneration"), 0);
    ret->claim_bytes = claim_template_bytes(spec);
    ret->init_declares_port = init_declares_port(pod);
    return &ret->object;
}

const struct kube_projection projection_stateful_set = {.project = project_stateful_set};

/* ---- Services and EndpointSlices ---- */

static bool has_members(struct json_slice object)
{
    struct json_slice key, value;
    const char *cursor = NULL;
    return is_object_text(object) && json_slice_next_member(object, &cursor, &key, &value);
}

static struct kube_object *project_service(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct service_object *ret = (struct service_object *)kube_object_new(sizeof(*ret), &meta, 0, NULL);
    ret->object.digest = kube_object_digest(object);
    ret->has_selector = has_members(json_slice_get(object, "spec", "selector", NULL));
    return &ret->object;
}

const struct kube_projection projection_service = {.project = project_service};

static struct kube_object *project_endpoint_slice(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct texts texts = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    texts_add(&texts, offsetof(struct endpoint_slice_object, ns), meta.ns, TEXT_ALL);
    texts_add(&texts, offsetof(struct endpoint_slice_object, service),
        json_slice_member(meta.labels, LABEL_SERVICE_NAME), KUBE_LABEL_MAX);
    texts_add(&texts, offsetof(struct endpoint_slice_object, cluster), json_slice_member(meta.labels, LABEL_CLUSTER),
        KUBE_LABEL_MAX);
    struct endpoint_slice_object *ret;
    ret = (struct endpoint_slice_object *)texts_build(&texts, sizeof(*ret), &meta, object);
    ret->name = key_name(&ret->object);
    return &ret->object;
}

const struct kube_projection projection_endpoint_slice = {.project = project_endpoint_slice};
