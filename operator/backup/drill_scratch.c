/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/drill_scratch.h"

#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/names.h"
#include "operator/api/restore_spec.h"

/* A volume of a pod's own; any other may be the very one that the cluster lives on. */
const char *drill_scratch_problem(const json_t *spec)
{
    const json_t *source = json_path(spec, "storage.volumeSource");
    bool own = !json_is_object(source) || json_object_get(source, "emptyDir") || json_object_get(source, "ephemeral");
    return own
        ? NULL
        : "spec.backup.drill: needs a volume of its own: spec.storage.volumeSource must be emptyDir or ephemeral, or not given";
}

static void copy_member(const json_t *spec, const char *key, json_t *ret)
{
    const json_t *value = json_object_get(spec, key);
    if (value && !json_is_null(value))
        json_put(ret, key, json_deep_copy(value));
}

static json_t *mycnf_of(const json_t *spec)
{
    const json_t *mycnf = json_object_get(spec, "mycnf");
    json_t *ret = json_object();
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)mycnf, key, value) {
        bool is_ours = str_eq(key, "event_scheduler") || str_eq(key, "event-scheduler");
        if (!is_ours)
            json_put(ret, key, json_deep_copy(value));
    }
    json_put_str(ret, "event_scheduler", "OFF");
    return ret;
}

static void put_pod_template(const json_t *spec, json_t *ret)
{
    copy_member(spec, "podTemplate", ret);
    json_t *metadata = json_object_get(json_object_get(ret, "podTemplate"), "metadata");
    if (json_is_object(metadata))
        json_object_del(metadata, "labels");
}

static json_t *restore_of(const struct drill_summary *summary)
{
    json_t *ret = json_build("{s:{s:s}}", "backup", "name", summary->backup);
    if (summary->replays)
        json_put_str(ret, "pointInTime", RESTORE_POINT_LATEST_WORD);
    return ret;
}

static json_t *spec_of(const json_t *spec, const struct drill_summary *summary)
{
    json_t *ret = json_object();
    copy_member(spec, "config", ret);
    copy_member(spec, "storage", ret);
    put_pod_template(spec, ret);
    json_put(ret, "mycnf", mycnf_of(spec));
    json_put_int(ret, "replicas", 1);
    json_put(ret, "restoreFrom", restore_of(summary));
    json_put(ret, "deletion", json_build("{s:s}", "volumes", "Delete"));
    return ret;
}

json_t *drill_scratch_object(
    const char *ns, const char *name, const char *uid, const json_t *spec, const struct drill_summary *summary)
{
    json_t *owner = json_build("{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion", KM_API_GROUP_VERSION, "kind",
        kube_kind_mysql_cluster.kind, "name", name, "uid", uid, "controller", 1, "blockOwnerDeletion", 1);
    json_t *metadata = json_build("{s:s, s:s, s:{s:s, s:s}, s:[o]}", "name", summary->cluster, "namespace", ns,
        "labels", LABEL_DRILL, name, LABEL_MANAGED_BY, LABEL_MANAGED_BY_US, "ownerReferences", owner);
    return json_build("{s:s, s:s, s:o, s:o}", "apiVersion", KM_API_GROUP_VERSION, "kind", kube_kind_mysql_cluster.kind,
        "metadata", metadata, "spec", spec_of(spec, summary));
}
