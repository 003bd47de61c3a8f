/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/desired/cluster_volumes.h"

#include "common/json.h"
#include "operator/api/pod_answer.h"
#include "operator/api/quantity.h"
#include "operator/cluster/deletion/volume_owner.h"
#include "operator/cluster/desired/desired.h"

/* Only bound claims can grow: the API server refuses to change any other. */
static bool wants_growth(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return !snapshot->final.deleting && member->claim && member->claim->capacity_bytes > 0 &&
        member->ordinal < snapshot->scale.effective &&
        snapshot->cluster.storage.size_bytes > member->claim->requested_bytes;
}

static void wanted_size(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const char *text = json_path_str(snapshot->cluster.storage.resources, "requests.storage", NULL);
    char printed[QUANTITY_TEXT_SIZE];
    quantity_print(snapshot->cluster.storage.size_bytes, printed);
    snprintf(out, size, "%s", text ? text : printed);
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

static const struct cluster_member *first_to_grow(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (wants_growth(snapshot, &snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

bool cluster_volumes_are_refused(const struct cluster_snapshot *snapshot, const struct error *error)
{
    return first_to_grow(snapshot) && pod_answer_of(error) == POD_ANSWER_REFUSED;
}

/* The size that all members' claims have, and none that a member has left behind is beyond it; 0: there is none, so that
 * no size would do without a growth. */
static int64_t common_size(const struct cluster_snapshot *snapshot)
{
    int64_t common = 0, largest = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        int64_t asked = member->claim ? pvc_asked_bytes(member->claim) : 0;
        largest = MAX_OF(largest, asked);
        if (asked == 0 || member->ordinal >= snapshot->scale.effective)
            continue;
        if (common > 0 && asked != common)
            return 0;
        common = asked;
    }
    return largest > common ? 0 : common;
}

static void say_other_way(const struct pvc_object *claim, const struct error *error, char *out, size_t size)
{
    if (!pod_answer_blames_class(error))
        snprintf(out, size, "change what the API server names");
    else if (str_empty(claim->storage_class))
        snprintf(out, size, "restore a backup into another cluster, of that size");
    else
        snprintf(out, size, "let StorageClass %s expand volumes (allowVolumeExpansion: true)", claim->storage_class);
}

bool cluster_volumes_remedy(const struct cluster_snapshot *snapshot, const struct error *error, char *out, size_t size)
{
    char wanted[64], back[QUANTITY_TEXT_SIZE], way[512];
    int64_t common = common_size(snapshot);
    const struct cluster_member *member = first_to_grow(snapshot);
    if (!member)
        return false;
    wanted_size(snapshot, wanted, sizeof(wanted));
    say_other_way(member->claim, error, way, sizeof(way));
    quantity_print(common, back);
    if (common > 0)
        snprintf(out, size, "set " CLUSTER_STORAGE_SIZE_FIELD " back to %s (now %s), or %s: %s", back, wanted, way,
            error->message);
    else
        snprintf(out, size, "%s, as " CLUSTER_STORAGE_SIZE_FIELD " is %s: %s", way, wanted, error->message);
    return true;
}

bool cluster_terminal_is_as_wanted(const struct cluster_snapshot *snapshot)
{
    _cleanup_(json_decrefp) json_t *live = custom_object_spec(snapshot->terminal);
    const json_t *template = json_path(live, "podTemplate");
    const json_t *wanted = snapshot->cluster.terminal_pod_template;
    bool same_template = (!template && !wanted) || (template && wanted && json_equal(template, wanted));
    return same_template && str_eq(json_path_str(live, "cluster.name", NULL), snapshot->name);
}
