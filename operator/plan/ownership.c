/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/plan/ownership.h"

#include "common/json.h"

static const json_t *controller_reference(const json_t *metadata)
{
    size_t i;
    const json_t *reference;
    json_array_foreach(json_path(metadata, "ownerReferences"), i, reference)
        if (json_path_bool(reference, "controller", false))
            return reference;
    return NULL;
}

static bool same_member(const json_t *a, const json_t *b, const char *key)
{
    return str_eq(json_path_str(a, key, NULL), json_path_str(b, key, NULL));
}

enum ownership ownership_of(const json_t *live, const json_t *metadata)
{
    const json_t *theirs = controller_reference(json_path(live, "metadata"));
    const json_t *ours = controller_reference(metadata);
    if (!theirs || !ours)
        return OWNERSHIP_FOREIGN;
    if (same_member(theirs, ours, "uid"))
        return OWNERSHIP_OURS;
    return same_member(theirs, ours, "kind") && same_member(theirs, ours, "name") ? OWNERSHIP_PREDECESSOR
                                                                                  : OWNERSHIP_FOREIGN;
}

static bool has_labels(const json_t *live, const json_t *metadata)
{
    const json_t *wanted = json_object_get(metadata, "labels"), *labels = json_path(live, "metadata.labels");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)wanted, name, value) {
        if (!json_equal(json_object_get(labels, name), value))
            return false;
    }
    return json_object_size(wanted) > 0;
}

static bool is_written_by(const json_t *live, const char *manager)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(json_path(live, "metadata.managedFields"), i, entry) {
        if (str_eq(json_path_str(entry, "manager", ""), manager))
            return true;
    }
    return false;
}

bool ownership_is_orphan(const json_t *live, const json_t *metadata, const char *manager)
{
    bool is_free = json_array_size(json_path(live, "metadata.ownerReferences")) == 0 &&
        !json_path(live, "metadata.deletionTimestamp");
    return is_free && has_labels(live, metadata) && is_written_by(live, manager);
}

json_t *ownership_adoption(const json_t *live, const json_t *metadata)
{
    return json_build("{s:s, s:s, s:O}", "uid", json_path_str(live, "metadata.uid", ""), "resourceVersion",
        json_path_str(live, "metadata.resourceVersion", ""), "ownerReferences",
        json_object_get(metadata, "ownerReferences"));
}

int ownership_check(const json_t *live, const json_t *metadata, struct error *err)
{
    switch (ownership_of(live, metadata)) {
    case OWNERSHIP_OURS:
        return 0;
    case OWNERSHIP_PREDECESSOR:
        return error_set(
            err, ERROR_CONFLICT, "it belongs to a former owner of the same name and is about to be removed");
    case OWNERSHIP_FOREIGN:
        break;
    }
    return error_set(
        err, ERROR_EXISTS, "an object of this name exists and is not ours; it is left alone. Rename or remove it");
}
