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

static json_t *entries_patch(const char *version, json_t *entries)
{
    return json_build("[{s:s, s:s, s:s}, {s:s, s:s, s:o}]", "op", "replace", "path", "/metadata/resourceVersion",
        "value", version, "op", "replace", "path", "/metadata/managedFields", "value", entries);
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
        patch = entries_patch(version, applied ? entries_without(entries, created) : as_applied(entries, created));
    }
    json_decref(entries);
    return patch;
}

/* ---- items that stand in the way ---- */

static const json_t *find_item(const json_t *list, json_t *key)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        bool same = true;
        const char *name;
        json_t *value;
        json_object_foreach(key, name, value)
            same = same && json_equal(json_object_get(item, name), value);
        if (same)
            return item;
    }
    return NULL;
}

/* Items have names that differ, and each has one where there are several: so says validation, whatever the key is. */
static bool is_in_the_way(const json_t *item, const json_t *wanted_list)
{
    const char *name = json_path_str(item, "name", NULL);
    size_t i;
    const json_t *wanted;
    json_array_foreach(wanted_list, i, wanted) {
        const char *wanted_name = json_path_str(wanted, "name", NULL);
        if (!str_empty(wanted_name) && (str_empty(name) || str_eq(name, wanted_name)))
            return true;
    }
    return false;
}

static json_t *take_fields(json_t *theirs, const json_t *wanted, const json_t *live);

/* key: "k:" and the members that tell the item from others, as JSON. */
static json_t *take_item(json_t *theirs, const char *key, const json_t *wanted_list, const json_t *live_list)
{
    struct error err = ERROR_INIT;
    _cleanup_(json_decrefp) json_t *members = json_parse(key + 2, strlen(key + 2), &err);
    if (!json_is_object(members) || !json_is_array(wanted_list))
        return NULL;
    const json_t *wanted = find_item(wanted_list, members), *live = find_item(live_list, members);
    if (wanted)
        return take_fields(theirs, wanted, live);
    if (!live || !is_in_the_way(live, wanted_list))
        return NULL;
    json_t *taken = json_deep_copy(theirs);
    json_object_clear(theirs);
    return taken;
}

/* Moves what is taken out of theirs; NULL: nothing was. Its depth is bounded by the parser's. */
static json_t *take_fields(json_t *theirs, const json_t *wanted, const json_t *live)
{
    json_t *taken = NULL, *below;
    const char *name;
    void *next;
    json_object_foreach_safe(theirs, next, name, below) {
        json_t *part = NULL;
        if (str_starts_with(name, "f:"))
            part = take_fields(below, json_object_get(wanted, name + 2), json_object_get(live, name + 2));
        else if (str_starts_with(name, "k:"))
            part = take_item(below, name, wanted, live);
        if (!part)
            continue;
        if (!taken)
            taken = json_object();
        json_object_set_new(taken, name, part);
        if (json_object_size(below) == 0)
            json_object_del(theirs, name);
    }
    return taken;
}

/* Paths of another version of the API need not be those of our entry. */
static bool is_others(const json_t *entry, const json_t *applied)
{
    return entry != applied && str_empty(json_path_str(entry, "subresource", NULL)) &&
        str_eq(json_path_str(entry, "apiVersion", NULL), json_path_str(applied, "apiVersion", NULL));
}

static bool take_entries(json_t *entries, json_t *applied, const json_t *object, const json_t *wanted)
{
    bool any = false;
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_array_get(entries, i);
        json_t *theirs = json_object_get(entry, "fieldsV1");
        json_t *taken = is_others(entry, applied) ? take_fields(theirs, wanted, object) : NULL;
        if (!taken)
            continue;
        any = true;
        add_fields(json_object_get(applied, "fieldsV1"), taken);
        json_decref(taken);
        if (json_object_size(theirs) == 0)
            json_array_remove(entries, i--);
    }
    return any;
}

json_t *managed_fields_take(const json_t *object, const char *manager, const json_t *wanted)
{
    const char *version = json_path_str(object, "metadata.resourceVersion", NULL);
    json_t *entries = json_deep_copy(json_path(object, "metadata.managedFields"));
    json_t *applied = find_entry(entries, manager, "Apply");
    json_t *patch = NULL;
    if (applied && version && take_entries(entries, applied, object, wanted))
        patch = entries_patch(version, json_incref(entries));
    json_decref(entries);
    return patch;
}
