/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/plan/managed_fields.h"

#include "common/json.h"

static bool is_entry(const json_t *entry, const char *manager, const char *operation)
{
    return str_eq(json_path_str(entry, "manager", NULL), manager) &&
        str_eq(json_path_str(entry, "operation", NULL), operation) &&
        str_empty(json_path_str(entry, "subresource", NULL));
}

static json_t *find_entry(const json_t *entries, const char *manager, const char *operation)
{
    size_t i;
    json_t *entry;
    json_array_foreach(entries, i, entry)
        if (is_entry(entry, manager, operation))
            return entry;
    return NULL;
}

/* Fields are a tree of objects without values, so the union is a merge. Its depth is bounded by the parser's. */
static void add_fields(json_t *to, const json_t *from)
{
    const char *name;
    json_t *below;
    json_object_foreach((json_t *)(uintptr_t)from, name, below) {
        json_t *known = json_object_get(to, name);
        if (known)
            add_fields(known, below);
        else
            json_object_set(to, name, below);
    }
}

/* It becomes our applied one where there is none. */
static json_t *as_applied(json_t *entries, json_t *created)
{
    json_put_str(created, "operation", "Apply");
    return json_incref(entries);
}

/* All entries but the one that is adopted. */
static json_t *entries_without(const json_t *entries, const json_t *adopted)
{
    json_t *kept = json_array();
    size_t i;
    json_t *entry;
    json_array_foreach(entries, i, entry)
        if (entry != adopted)
            json_array_append(kept, entry);
    return kept;
}

json_t *managed_fields_adopt(const json_t *object, const char *manager)
{
    const char *version = json_path_str(object, "metadata.resourceVersion", NULL);
    json_t *entries = json_deep_copy(json_path(object, "metadata.managedFields"));
    json_t *created = find_entry(entries, manager, "Update");
    json_t *applied = find_entry(entries, manager, "Apply");
    json_t *patch = NULL;
    if (created && version) {
        if (applied)
            add_fields(json_object_get(applied, "fieldsV1"), json_object_get(created, "fieldsV1"));
        patch = json_build("[{s:s, s:s, s:s}, {s:s, s:s, s:o}]", "op", "replace", "path", "/metadata/resourceVersion",
            "value", version, "op", "replace", "path", "/metadata/managedFields", "value",
            applied ? entries_without(entries, created) : as_applied(entries, created));
    }
    json_decref(entries);
    return patch;
}
