/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_object.h: what the caches keep of an object: a projection, never its JSON.
 *
 * 10,000 Pods kept as jansson trees cost 1,242 MB; projected, a few hundred bytes each. A kind derives its struct from
 * kube_object (first member) and allocates header, fields and strings as ONE block (kube_object_new), so freeing is one
 * free().
 *
 * `digest` is how drift is seen without keeping what we applied: hash64 over the raw bytes of everything people or
 * controllers may set that is not status: all top-level members but `status`, `metadata`, `kind`, `apiVersion`, and of
 * metadata labels, annotations, ownerReferences, finalizers. Any edit changes it; status updates do not. An API server
 * prints the same stored object with the same bytes, in lists, watches and answers to writes alike.
 */
#ifndef KM_KUBE_OBJECT_H
#define KM_KUBE_OBJECT_H

#include "common/base.h"

#include "common/error.h"
#include "common/json_scan.h"

/* A UID in 16 bytes: the UUID itself, or a hash of any other text. All zero: none. */
struct kube_uid {
    uint8_t bytes[16];
};
struct kube_uid kube_uid_parse(const char *text, size_t len);
bool kube_uid_eq(struct kube_uid a, struct kube_uid b);
bool kube_uid_is_zero(struct kube_uid uid);
/* A UUID as the API server writes it; "" of none. Of another text nothing that it would know. */
#define KUBE_UID_TEXT_SIZE 37
void kube_uid_print(struct kube_uid uid, char out[static KUBE_UID_TEXT_SIZE]);

struct kube_object {
    const char *key;              /* "namespace/name", or "name" for cluster scope; inside this block */
    const char *resource_version; /* inside this block */
    struct kube_uid uid;
    struct kube_uid owner;    /* uid of the owner reference with controller: true */
    struct kube_object *next; /* informer's: behind it in the list in progress */
    int64_t generation;
    uint64_t digest;
    bool deleting;     /* metadata.deletionTimestamp is set */
    uint8_t list_mark; /* informer's: what the list in progress knows of it */
};

/* The metadata that every projection needs, as slices of the source text. */
struct kube_meta {
    struct json_slice ns, name, uid, resource_version, owner_uid, labels, annotations, deletion_timestamp;
    int64_t generation;
};
int kube_meta_scan(struct json_slice object, struct kube_meta *ret, struct error *err) KM_MUST_CHECK;
uint64_t kube_object_digest(struct json_slice object);

/* "namespace/name" or "name". */
void kube_meta_key(const struct kube_meta *meta, char out[static KUBE_KEY_MAX]);

/* One zeroed block of `size` (>= sizeof(struct kube_object)) plus room for the key, the resourceVersion and extra_bytes
 * of further strings, header filled from meta (digest is 0 unless the caller sets it). *ret_extra points at the extra
 * room. */
struct kube_object *kube_object_new(size_t size, const struct kube_meta *meta, size_t extra_bytes, char **ret_extra);

/* How a kind is projected. A projection may refuse an object (return NULL with err): it is logged and skipped, the
 * watch goes on. */
struct kube_projection {
    struct kube_object *(*project)(struct json_slice object, struct error *err);
    void (*free_object)(struct kube_object *object); /* NULL: free() */
};
/* Header and digest only: enough for children that we own (Services, ConfigMaps, ...). */
extern const struct kube_projection kube_projection_child;

/* Compares two resourceVersions as numbers of any length: *ret is <0, 0 or >0. False (incomparable) unless both are
 * numbers. https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions (KEP-5504 made the order
 * official, etcd always had it) */
bool kube_version_compare(const char *a, const char *b, int *ret);

/* "ns/name" or "name" (ns NULL or ""). Appended; caller frees the strdup form. */
char *kube_key(const char *ns, const char *name);
/* Splits in place copies: ns is "" for cluster scope. Buffers hold KUBE_LABEL_MAX+1 and KUBE_NAME_MAX+1 bytes. -1 if
 * malformed or too long. */
int kube_key_split(const char *key, char ns[static KUBE_LABEL_MAX + 1], char name[static KUBE_NAME_MAX + 1]);

#endif
