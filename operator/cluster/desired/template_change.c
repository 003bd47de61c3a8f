/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/desired/template_change.h"

#include "common/json.h"

#define CHANGES_MAX 16
#define PATH_MAX_SIZE 128
#define VALUE_SIZE 64
#define DEPTH_MAX 12

/* One difference, and the containers that have it. */
struct change {
    char what[PATH_MAX_SIZE + 2 * VALUE_SIZE + 8];
    char who[64];
};

struct changes {
    struct change list[CHANGES_MAX];
    int count, more; /* more: those without room */
};

/* Where a walk is. */
struct place {
    const char *container; /* "": outside of containers */
    char path[PATH_MAX_SIZE];
    bool is_secret; /* below an environment variable or the like */
    int depth;
};

/* ---- values ---- */

/* Fields whose text tells nothing that is not in the status anyway. */
static bool is_plain_field(const char *key)
{
    static const char *const known[] = {"image", "memory", "cpu", "ephemeral-storage", "imagePullPolicy",
        "priorityClassName", "serviceAccountName", "schedulerName", "runtimeClassName", "claimName", "secretName",
        "topologyKey", "sizeLimit", "medium", "type"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(key, known[i]))
            return true;
    }
    return false;
}

static bool show_value(const json_t *value, char out[static VALUE_SIZE])
{
    if (!value)
        snprintf(out, VALUE_SIZE, "unset");
    else if (json_is_string(value) && json_string_length(value) < VALUE_SIZE)
        snprintf(out, VALUE_SIZE, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(out, VALUE_SIZE, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        snprintf(out, VALUE_SIZE, "%s", json_is_true(value) ? "true" : "false");
    else
        return false;
    return true;
}

static bool has_text(const json_t *value)
{
    return json_is_string(value) || json_is_object(value) || json_is_array(value);
}

/* ---- the list ---- */

static void add_who(struct change *change, const char *container)
{
    size_t len = strlen(change->who);
    if (*container)
        snprintf(change->who + len, sizeof(change->who) - len, "%s%s", len ? ", " : "", container);
}

static void add(struct changes *changes, const char *what, const char *container)
{
    for (int i = 0; i < changes->count; i++) {
        if (str_eq(changes->list[i].what, what)) {
            add_who(&changes->list[i], container);
            return;
        }
    }
    if (changes->count == CHANGES_MAX) {
        changes->more++;
        return;
    }
    struct change *change = &changes->list[changes->count++];
    *change = (struct change){.what = ""};
    snprintf(change->what, sizeof(change->what), "%s", what);
    add_who(change, container);
}

static void add_values(
    struct changes *changes, const struct place *place, const char *key, const json_t *before, const json_t *now)
{
    char what[sizeof(changes->list[0].what)], old_text[VALUE_SIZE], new_text[VALUE_SIZE];
    bool may_show = !place->is_secret && (is_plain_field(key) || (!has_text(before) && !has_text(now)));
    if (may_show && show_value(before, old_text) && show_value(now, new_text))
        snprintf(what, sizeof(what), "%s %s -> %s", place->path, old_text, new_text);
    else
        snprintf(what, sizeof(what), "%s %s", place->path, !before ? "added" : !now ? "removed" : "changed");
    add(changes, what, place->container);
}

/* ---- the walk ---- */

static void walk(
    struct changes *changes, const struct place *place, const char *key, const json_t *before, const json_t *now);

static bool is_secret_key(const char *key)
{
    static const char *const keys[] = {"env", "args", "command", "annotations", "httpHeaders"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_eq(key, keys[i]))
            return true;
    }
    return false;
}

static bool holds_containers(const char *path)
{
    return str_eq(path, "containers") || str_eq(path, "initContainers");
}

/* A container's path begins anew: that it is one of the containers says `container`. */
static struct place below(const struct place *place, const char *key, bool is_element)
{
    struct place ret = *place;
    ret.depth++;
    ret.is_secret = place->is_secret || is_secret_key(key);
    if (is_element && holds_containers(place->path)) {
        ret.container = key;
        ret.path[0] = '\0';
    } else if (!str_eq(key, "spec") || *place->path)
        snprintf(ret.path, sizeof(ret.path), "%.90s%s%.32s", place->path, *place->path ? "." : "", key);
    return ret;
}

static void walk_member(struct changes *changes, const struct place *place, const char *key, bool is_element,
    const json_t *before, const json_t *now)
{
    struct place there = below(place, key, is_element);
    if (is_element && holds_containers(place->path) && (!before || !now)) {
        char what[96];
        snprintf(what, sizeof(what), "container %.40s %s", key, before ? "removed" : "added");
        add(changes, what, "");
    } else
        walk(changes, &there, key, before, now);
}

static void walk_objects(struct changes *changes, const struct place *place, const json_t *before, const json_t *now)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)before, key, value)
        walk_member(changes, place, key, false, value, json_object_get(now, key));
    json_object_foreach((json_t *)(uintptr_t)now, key, value)
        if (!json_object_get(before, key))
            walk_member(changes, place, key, false, NULL, value);
}

static const json_t *element_named(const json_t *array, const char *name)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        if (str_eq(json_string_value(json_object_get(element, "name")), name))
            return element;
    }
    return NULL;
}

static bool all_named(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (!json_is_string(json_object_get(json_array_get(array, i), "name")))
            return false;
    }
    return true;
}

static void walk_named(struct changes *changes, const struct place *place, const json_t *before, const json_t *now)
{
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *element = json_array_get(before, i);
        const char *name = json_string_value(json_object_get(element, "name"));
        walk_member(changes, place, name, true, element, element_named(now, name));
    }
    for (size_t i = 0; i < json_array_size(now); i++) {
        const json_t *element = json_array_get(now, i);
        const char *name = json_string_value(json_object_get(element, "name"));
        if (!element_named(before, name))
            walk_member(changes, place, name, true, NULL, element);
    }
}

static void walk(
    struct changes *changes, const struct place *place, const char *key, const json_t *before, const json_t *now)
{
    bool may_descend = place->depth < DEPTH_MAX;
    if (json_equal(before, now))
        return;
    if (may_descend && json_is_object(before ? before : now) && json_is_object(now ? now : before))
        walk_objects(changes, place, before, now);
    else if (may_descend && json_is_array(before) && json_is_array(now) && all_named(before) && all_named(now))
        walk_named(changes, place, before, now);
    else
        add_values(changes, place, key, before, now);
}

void template_change_text(const json_t *before, const json_t *now, char out[static TEMPLATE_CHANGE_SIZE])
{
    static const size_t rest = sizeof("; 99 more");
    struct changes changes = {.count = 0};
    const struct place root = {.container = ""};
    size_t len = 0;
    out[0] = '\0';
    if (!json_is_object(before) || !json_is_object(now))
        return;
    walk(&changes, &root, "", before, now);
    int shown = 0;
    for (; shown < changes.count; shown++) {
        const struct change *change = &changes.list[shown];
        size_t needed = strlen(change->what) + strlen(change->who) + sizeof("; () ");
        if (len + needed + rest > TEMPLATE_CHANGE_SIZE)
            break;
        len += (size_t)snprintf(out + len, TEMPLATE_CHANGE_SIZE - len, "%s%s%s%s%s", len ? "; " : "", change->what,
            *change->who ? " (" : "", change->who, *change->who ? ")" : "");
    }
    int more = changes.count - shown + changes.more;
    if (more > 0)
        snprintf(out + len, TEMPLATE_CHANGE_SIZE - len, "%s%d more", len ? "; " : "", MIN_OF(more, 99));
}
