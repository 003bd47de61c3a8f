/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/desired/cluster_volumes.h"

#include "common/json.h"
#include "operator/cluster/deletion/volume_owner.h"
#include "operator/cluster/desired/desired.h"

/* Only bound claims can grow: the API server refuses to change any other. */
static bool wants_growth(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return !snapshot->final.deleting && member->claim && member->claim->capacity_bytes > 0 &&
        member->ordinal < snapshot->scale.effective &&
        snapshot->cluster.storage.size_bytes > member->claim->requested_bytes;
}

static void put_growth(const struct cluster_snapshot *snapshot, json_t *patch)
{
    const char *size = json_path_str(snapshot->cluster.storage.resources, "requests.storage", NULL);
    json_t *value = size ? json_string(size) : json_sprintf("%lld", (long long)snapshot->cluster.storage.size_bytes);
    json_put(patch, "spec", json_build("{s:{s:{s:o}}}", "resources", "requests", "storage", value));
}

static void put_owner(const struct cluster_snapshot *snapshot, json_t *metadata, bool ours)
{
    if (!ours) {
        json_object_set_new(metadata, "ownerReferences", json_null());
        return;
    }
    json_t *child = desired_child_metadata(snapshot);
    json_object_set(metadata, "ownerReferences", json_object_get(child, "ownerReferences"));
    json_decref(child);
}

static void decide_claim(const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct plan *plan)
{
    const struct pvc_object *claim = member->claim;
    if (!claim || claim->object.deleting)
        return;
    bool owned = cluster_owns(snapshot, &claim->object), want_owned = volume_owner_is_wanted(snapshot, claim);
    bool grow = wants_growth(snapshot, member);
    if (volume_owner_is_foreign(snapshot, claim) || (!grow && owned == want_owned))
        return;
    json_t *metadata = json_build("{s:s}", "uid", claim->uid);
    if (owned != want_owned)
        put_owner(snapshot, metadata, want_owned);
    json_t *patch = json_build("{s:o}", "metadata", metadata);
    if (grow)
        put_growth(snapshot, patch);
    plan_add_patch(
        plan, PLAN_VOLUME_CLAIM, snapshot->ns, claim->name, claim->uid, patch, grow ? "grow the volume" : NULL);
}

void cluster_volumes_decide(const struct cluster_snapshot *snapshot, struct plan *plan)
{
    if (snapshot->cluster.storage.volume_source)
        return;
    for (int i = 0; i < snapshot->member_count; i++)
        decide_claim(snapshot, &snapshot->members[i], plan);
}

bool cluster_volumes_growing(const struct cluster_snapshot *snapshot, char *text, size_t size)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct pvc_object *claim = snapshot->members[i].claim;
        if (!claim || snapshot->members[i].ordinal >= snapshot->scale.effective)
            continue;
        bool smaller = claim->capacity_bytes > 0 && claim->capacity_bytes < snapshot->cluster.storage.size_bytes;
        if (!smaller && !claim->resizing && !claim->file_system_resize_pending)
            continue;
        if (text)
            snprintf(text, size, "%s is being grown%s%s", claim->name, str_empty(claim->message) ? "" : ": ",
                claim->message);
        return true;
    }
    return false;
}

bool cluster_terminal_is_as_wanted(const struct cluster_snapshot *snapshot)
{
    _cleanup_(json_decrefp) json_t *live = custom_object_spec(snapshot->terminal);
    const json_t *template = json_path(live, "podTemplate");
    const json_t *wanted = snapshot->cluster.terminal_pod_template;
    bool same_template = (!template && !wanted) || (template && wanted && json_equal(template, wanted));
    return same_template && str_eq(json_path_str(live, "cluster.name", NULL), snapshot->name);
}
