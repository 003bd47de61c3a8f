/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/cluster_roles.h"

/* Claim templates are immutable: an existing set keeps the size that it was made with, its claims are grown one by one
 * (cluster_volumes), and a claim made later for a new member is grown right after it appears. */
static json_t *claim_storage(const struct cluster_snapshot *snapshot)
{
    json_t *resources = json_deep_copy(snapshot->cluster.storage.resources);
    int64_t made_with = snapshot->stateful_set ? snapshot->stateful_set->claim_bytes : 0;
    if (made_with > 0 && made_with != snapshot->cluster.storage.size_bytes) {
        json_t *requests = json_object_get(resources, "requests");
        json_object_set_new(requests, "storage", json_sprintf("%lld", (long long)made_with));
    }
    return resources;
}

static json_t *claim_template(const struct cluster_snapshot *snapshot)
{
    json_t *spec = json_build("{s:[s], s:s, s:o}", "accessModes", "ReadWriteOnce", "volumeMode", "Filesystem",
        "resources", claim_storage(snapshot));
    json_put_str(spec, "storageClassName", snapshot->cluster.storage.storage_class_name);
    json_t *labels = cluster_labels(snapshot->name);
    json_object_update_new(labels, cluster_selector_labels(snapshot->name));
    return json_build("{s:s, s:s, s:{s:s, s:o}, s:o}", "apiVersion", "v1", "kind", "PersistentVolumeClaim", "metadata",
        "name", VOLUME_DATA, "labels", labels, "spec", spec);
}

static bool is_in_the_way(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    return member->pod && member->pod->object.deleting && member->ordinal < cluster_wanted_pods(snapshot) &&
        !(set && kube_uid_eq(member->pod->object.owner, set->object.uid));
}

static void put_awaited_pods(const struct cluster_snapshot *snapshot, json_t *annotations)
{
    _cleanup_(strbuf_release) struct strbuf names;
    strbuf_init(&names, ARRAY_LEN(snapshot->members) * DERIVED_NAME_SIZE);
    for (int i = 0; i < snapshot->member_count; i++) {
        if (is_in_the_way(snapshot, &snapshot->members[i]))
            strbuf_addf(&names, "%s%s", names.len > 0 ? "," : "", snapshot->members[i].name);
    }
    if (names.len > 0)
        json_put_str(annotations, ANNOTATION_AWAITED_PODS, names.buf);
}

/* What it was begun for stays there, as long as nothing comes on top of it. */
static void put_turn(const struct cluster_snapshot *snapshot, json_t *annotations)
{
    const struct cluster_turn *turn = &snapshot->turn;
    _cleanup_(freep) char *config = xasprintf("MysqlConfig %s", str_or_empty(snapshot->cluster.config_name));
    const char *text = snapshot->stateful_set ? snapshot->stateful_set->turn : "";
    if (turn->cause == CLUSTER_TURN_AGENT)
        text = snapshot->default_agent_image;
    else if (turn->cause == CLUSTER_TURN_CONFIG)
        text = config;
    else if (turn->cause == CLUSTER_TURN_OPERATOR)
        text = "operator";
    if (turn->marked)
        json_put_str(annotations, ANNOTATION_AGENT_TURN, text);
}

json_t *desired_stateful_set(const struct cluster_snapshot *snapshot)
{
    char runtime[17], template[17];
    desired_runtime_hash(snapshot, runtime);
    desired_template_hash(snapshot, template);
    json_t *set = desired_object(snapshot, "apps/v1", "StatefulSet", snapshot->names.stateful_set);
    json_t *annotations =
        json_build("{s:s, s:s}", ANNOTATION_APPLIED_HASH, runtime, ANNOTATION_APPLIED_TEMPLATE, template);
    put_turn(snapshot, annotations);
    put_awaited_pods(snapshot, annotations);
    json_put(json_object_get(set, "metadata"), "annotations", annotations);
    json_t *spec = json_build("{s:i, s:s, s:s, s:{s:s}, s:i, s:{s:o}, s:o}", "replicas", cluster_wanted_pods(snapshot),
        "serviceName", snapshot->names.service, "podManagementPolicy", "Parallel", "updateStrategy", "type", "OnDelete",
        "revisionHistoryLimit", 3, "selector", "matchLabels", cluster_selector_labels(snapshot->name), "template",
        desired_pod_template(snapshot));
    if (!snapshot->cluster.storage.volume_source)
        json_put(spec, "volumeClaimTemplates", json_build("[o]", claim_template(snapshot)));
    json_put(set, "spec", spec);
    return set;
}
