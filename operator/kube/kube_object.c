/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_object.h"

#include "common/alloc.h"
#include "common/hashmap.h"

/* Another start than hash64's own, so that the two halves of a hashed UID differ. */
#define UID_SECOND_HALF_INIT 0x9ae16a3b2f90404fULL

/* ---- UIDs ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Lower-case RFC 4122 text, as Kubernetes makes it. Upper case is hashed: it must not equal the lower-case form. */
static bool parse_uuid(const char *text, size_t len, struct kube_uid *ret)
{
    if (len != 36)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text[i++] != '-')
                return false;
            continue;
        }
        int high = hex_digit(text[i]);
        int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret->bytes[n++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    return true;
}

struct kube_uid kube_uid_parse(const char *text, size_t len)
{
    struct kube_uid uid = {{0}};
    if (!text || len == 0)
        return uid;
    struct kube_uid parsed = {{0}};
    if (parse_uuid(text, len, &parsed))
        return parsed;
    uint64_t halves[2] = {hash64(HASH64_INIT, text, len), hash64(UID_SECOND_HALF_INIT, text, len)};
    memcpy(uid.bytes, halves, sizeof(uid.bytes));
    return uid;
}

bool kube_uid_eq(struct kube_uid a, struct kube_uid b)
{
    return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

bool kube_uid_is_zero(struct kube_uid uid)
{
    static const struct kube_uid zero;
    return kube_uid_eq(uid, zero);
}

void kube_uid_print(struct kube_uid uid, char out[static KUBE_UID_TEXT_SIZE])
{
    const uint8_t *b = uid.bytes;
    out[0] = '\0';
    if (kube_uid_is_zero(uid))
        return;
    snprintf(out, KUBE_UID_TEXT_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
        b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* ---- metadata ---- */

/* What stands between the quotes. Names, UIDs and versions never hold escapes. */
static struct json_slice unquoted(struct json_slice string)
{
    if (!string.data || string.len < 2 || string.data[0] != '"')
        return (struct json_slice){.data = NULL};
    return (struct json_slice){.data = string.data + 1, .len = string.len - 2};
}

static struct json_slice controller_uid(struct json_slice references)
{
    struct json_slice reference;
    for (const char *cursor = NULL; json_slice_next_element(references, &cursor, &reference);) {
        if (json_slice_is_true(json_slice_member(reference, "controller")))
            return json_slice_member(reference, "uid");
    }
    return (struct json_slice){.data = NULL};
}

static bool key_is(struct json_slice key, const char *name)
{
    return key.len == strlen(name) && memcmp(key.data, name, key.len) == 0;
}

static const struct {
    const char *key;
    size_t offset;
} meta_fields[] = {
    {"namespace", offsetof(struct kube_meta, ns)},
    {"name", offsetof(struct kube_meta, name)},
    {"uid", offsetof(struct kube_meta, uid)},
    {"resourceVersion", offsetof(struct kube_meta, resource_version)},
    {"labels", offsetof(struct kube_meta, labels)},
    {"annotations", offsetof(struct kube_meta, annotations)},
    {"deletionTimestamp", offsetof(struct kube_meta, deletion_timestamp)},
};

static void meta_take(struct kube_meta *meta, struct json_slice key, struct json_slice value)
{
    if (value.len == 4 && memcmp(value.data, "null", 4) == 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(meta_fields); i++) {
        if (key_is(key, meta_fields[i].key)) {
            *(struct json_slice *)((char *)meta + meta_fields[i].offset) = value;
            return;
        }
    }
    if (key_is(key, "generation"))
        meta->generation = json_slice_int(value, 0);
    else if (key_is(key, "ownerReferences"))
        meta->owner_uid = controller_uid(value);
}

static int check_text(struct json_slice value, size_t max, const char *what, struct error *err)
{
    if (!value.data)
        return 0;
    struct json_slice text = unquoted(value);
    if (!text.data || memchr(text.data, '\\', text.len) || memchr(text.data, '\0', text.len))
        return error_set(err, ERROR_PROTOCOL, "metadata.%s is not a plain string", what);
    if (text.len > max)
        return error_set(
            err, ERROR_TOO_LARGE, "metadata.%s has %zu bytes, at most %zu are allowed", what, text.len, max);
    return 0;
}

int kube_meta_scan(struct json_slice object, struct kube_meta *ret, struct error *err)
{
    struct json_slice metadata = json_slice_member(object, "metadata");
    struct kube_meta meta = {.generation = 0};
    struct json_slice key;
    struct json_slice value;
    for (const char *cursor = NULL; json_slice_next_member(metadata, &cursor, &key, &value);)
        meta_take(&meta, key, value);
    if (unquoted(meta.name).len == 0)
        return error_set(err, ERROR_PROTOCOL, "an object without metadata.name");
    if (check_text(meta.ns, KUBE_LABEL_MAX, "namespace", err) < 0 ||
        check_text(meta.name, KUBE_NAME_MAX, "name", err) < 0 || check_text(meta.uid, KUBE_NAME_MAX, "uid", err) < 0 ||
        check_text(meta.resource_version, KUBE_NAME_MAX, "resourceVersion", err) < 0)
        return -1;
    *ret = meta;
    return 0;
}

/* ---- digest ---- */

static uint64_t hash_members(uint64_t state, struct json_slice object, bool (*wanted)(struct json_slice key))
{
    struct json_slice key;
    struct json_slice value;
    for (const char *cursor = NULL; json_slice_next_member(object, &cursor, &key, &value);) {
        if (!wanted(key))
            continue;
        state = hash64(state, key.data, key.len);
        state = hash64(state, "", 1);
        state = hash64(state, value.data, value.len);
    }
    return state;
}

static bool in_table(struct json_slice key, const char *const *table)
{
    for (; *table; table++) {
        if (key_is(key, *table))
            return true;
    }
    return false;
}

static bool is_content(struct json_slice key)
{
    static const char *const others[] = {"status", "metadata", "kind", "apiVersion", NULL};
    return !in_table(key, others);
}

static bool is_settable_metadata(struct json_slice key)
{
    static const char *const settable[] = {"labels", "annotations", "ownerReferences", "finalizers", NULL};
    return in_table(key, settable);
}

uint64_t kube_object_digest(struct json_slice object)
{
    uint64_t state = hash_members(HASH64_INIT, json_slice_member(object, "metadata"), is_settable_metadata);
    return hash_members(state, object, is_content);
}

/* ---- objects ---- */

static char *append(char *at, struct json_slice text)
{
    if (text.len > 0)
        memcpy(at, text.data, text.len);
    return at + text.len;
}

struct kube_object *kube_object_new(size_t size, const struct kube_meta *meta, size_t extra_bytes, char **ret_extra)
{
    struct json_slice ns = unquoted(meta->ns);
    struct json_slice name = unquoted(meta->name);
    struct json_slice version = unquoted(meta->resource_version);
    struct json_slice uid = unquoted(meta->uid);
    struct json_slice owner = unquoted(meta->owner_uid);
    size_t strings = ns.len + 1 + name.len + 1 + version.len + 1;
    struct kube_object *object = xcalloc(1, size + strings + extra_bytes);
    char *at = (char *)object + size;
    object->key = at;
    if (ns.len > 0) {
        at = append(at, ns);
        *at++ = '/';
    }
    at = append(at, name) + 1;
    object->resource_version = at;
    at = append(at, version) + 1;
    object->uid = kube_uid_parse(uid.data, uid.len);
    object->owner = kube_uid_parse(owner.data, owner.len);
    object->generation = meta->generation;
    object->deleting = meta->deletion_timestamp.data != NULL;
    if (ret_extra)
        *ret_extra = at;
    return object;
}

void kube_meta_key(const struct kube_meta *meta, char out[static KUBE_KEY_MAX])
{
    struct json_slice ns = unquoted(meta->ns);
    if (ns.len > 0) {
        out = append(out, ns);
        *out++ = '/';
    }
    *append(out, unquoted(meta->name)) = '\0';
}

static struct kube_object *project_child(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct kube_object *child = kube_object_new(sizeof(*child), &meta, 0, NULL);
    child->digest = kube_object_digest(object);
    return child;
}

const struct kube_projection kube_projection_child = {.project = project_child};

/* ---- keys ---- */

char *kube_key(const char *ns, const char *name)
{
    return str_empty(ns) ? xstrdup(name) : xasprintf("%s/%s", ns, name);
}

int kube_key_split(const char *key, char ns[static KUBE_LABEL_MAX + 1], char name[static KUBE_NAME_MAX + 1])
{
    const char *slash = strchr(key, '/');
    size_t ns_len = slash ? (size_t)(slash - key) : 0;
    const char *rest = slash ? slash + 1 : key;
    size_t name_len = strlen(rest);
    if ((slash && ns_len == 0) || ns_len > KUBE_LABEL_MAX || name_len == 0 || name_len > KUBE_NAME_MAX ||
        strchr(rest, '/'))
        return -1;
    memcpy(ns, key, ns_len);
    ns[ns_len] = '\0';
    memcpy(name, rest, name_len + 1);
    return 0;
}

bool kube_version_compare(const char *a, const char *b, int *ret)
{
    size_t a_len = strspn(a, "0123456789");
    size_t b_len = strspn(b, "0123456789");
    if (a_len == 0 || b_len == 0 || a[a_len] || b[b_len])
        return false;
    for (; *a == '0'; a_len--)
        a++;
    for (; *b == '0'; b_len--)
        b++;
    *ret = a_len != b_len ? (a_len > b_len ? 1 : -1) : strcmp(a, b);
    return true;
}
