/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json.h"
#include "operator/cluster/desired/desired.h"

/* Labels by which admission policies may tell a member's pod from others. */
static void put_pod_labels(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, json_t *metadata)
{
    char index[16];
    snprintf(index, sizeof(index), "%d", member->ordinal);
    json_t *labels = json_object_get(metadata, "labels");
    if (!labels) {
        labels = json_object();
        json_put(metadata, "labels", labels);
    }
    json_put_str(labels, "statefulset.kubernetes.io/pod-name", member->name);
    json_put_str(labels, "apps.kubernetes.io/pod-index", index);
    json_put_str(labels, "controller-revision-hash", snapshot->stateful_set->update_revision);
}

static void put_claim_volume(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, json_t *set_spec, json_t *pod_spec)
{
    char claim[DERIVED_NAME_SIZE];
    if (json_array_size(json_object_get(set_spec, "volumeClaimTemplates")) == 0)
        return;
    cluster_claim_name(claim, snapshot->name, member->ordinal);
    json_t *volumes = json_object_get(pod_spec, "volumes");
    if (!volumes) {
        volumes = json_array();
        json_put(pod_spec, "volumes", volumes);
    }
    json_array_append_new(
        volumes, json_build("{s:s, s:{s:s}}", "name", VOLUME_DATA, "persistentVolumeClaim", "claimName", claim));
}

json_t *desired_member_pod(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    _cleanup_(json_decrefp) json_t *set = desired_stateful_set(snapshot);
    json_t *set_spec = json_object_get(set, "spec");
    json_t *pod = json_deep_copy(json_object_get(set_spec, "template"));
    json_t *metadata = json_object_get(pod, "metadata"), *spec = json_object_get(pod, "spec");
    json_put_str(pod, "apiVersion", "v1");
    json_put_str(pod, "kind", "Pod");
    json_put_str(metadata, "name", member->name);
    json_put_str(metadata, "namespace", snapshot->ns);
    put_pod_labels(snapshot, member, metadata);
    json_put(metadata, "ownerReferences",
        json_build("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "apps/v1", "kind", "StatefulSet", "name",
            snapshot->names.stateful_set, "uid", snapshot->stateful_set->uid, "controller", 1));
    json_put_str(spec, "hostname", member->name);
    json_put_str(spec, "subdomain", snapshot->names.service);
    put_claim_volume(snapshot, member, set_spec, spec);
    return pod;
}

json_t *desired_member_claim(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    char name[DERIVED_NAME_SIZE];
    _cleanup_(json_decrefp) json_t *set = desired_stateful_set(snapshot);
    const json_t *made_of = json_array_get(json_path(set, "spec.volumeClaimTemplates"), 0);
    if (!made_of)
        return NULL;
    json_t *claim = json_deep_copy(made_of);
    json_t *metadata = json_object_get(claim, "metadata");
    cluster_claim_name(name, snapshot->name, member->ordinal);
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", snapshot->ns);
    return claim;
}
