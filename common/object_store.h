/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_store.h: objects by name: what backups are written to and read from. On the loop.
 *
 * Two kinds of servers, chosen by the target: S3 and what calls itself so (s3_store.h; requests signed with
 * Signature Version 4, payload hash included), and our own service in front of a volume (volume_store.h;
 * `kube-mysql-agent store`), which knows who asks by mutual TLS. Callers do not know which.
 *
 * Names of objects are relative to the target's prefix; they hold letters, digits and "-_./" only. Every request is
 * repeated by itself with back-off as long as that is safe and promising (no answer, 500, 502, 503, 504, 429,
 * RequestTimeout), at most OBJECT_TRIES_MAX times. `done` callbacks come once, from the loop, never inside the call
 * that started them, never after a cancel. Errors:
 *   NOT_FOUND                no such bucket, object or upload
 *   UNAUTHORIZED, FORBIDDEN  wrong key, no right (with the server's own code and message)
 *   CONFLICT                 PreconditionFailed
 *   INVALID                  the target is not usable (its field is named), or its certificate is not trusted: one try,
 *                            as whoever reads the error must do something
 *   PROTOCOL                 no answer of such a server, or damaged
 *   UNAVAILABLE, TIMEOUT     after all tries
 *   TOO_LARGE                more than was allowed
 * Keys are never in an error's text.
 */
#ifndef KM_COMMON_OBJECT_STORE_H
#define KM_COMMON_OBJECT_STORE_H

#include "common/base.h"

#include "common/error.h"
#include "common/http_client.h"
#include "common/loop.h"

#define OBJECT_NAME_SIZE 512  /* with its NUL; the target's prefix is not part of it */
#define OBJECT_PREFIX_MAX 400 /* S3 takes keys of 1,024 bytes */
#define OBJECT_TRIES_MAX 6
/* S3's own limits, kept on volumes, too: all parts but the last have at least 5 MiB, at most 10,000 of them. */
#define OBJECT_PART_MIN (5 * KM_MIB)
#define OBJECT_PARTS_MAX 10000

/* Where. All texts are copied by object_store_new; those that may be absent are NULL or "". */
struct object_target {
    bool is_volume; /* the service in front of one: endpoint, connect_to, prefix, tls and times are all that counts */
    const char *endpoint; /* "https://s3.example.com:9000"; "": AWS's own of the region */
    const char *region;   /* "": us-east-1 */
    const char *bucket;
    const char *prefix;                                  /* without slashes at its ends; "": none */
    bool path_style;                                     /* https://host/bucket/…, not https://bucket.host/… */
    const char *access_key, *secret_key, *session_token; /* access_key "": nothing is signed */
    const char *connect_to;                              /* "IP:port" to dial instead */
    struct http_tls *tls;    /* a reference is taken; NULL: the system's certificates (ca_bundle.h) */
    int64_t idle_timeout_ms; /* no byte comes or goes; 0: 60 s. Completing an upload gets five times as long */
    /* keys that have worked and are refused now: so long new ones are waited for (object_store_set_keys); 0: not at
     * all */
    int64_t keys_grace_ms;
    uint32_t retry_base_ms; /* first pause between tries, doubled each time up to 15 s; 0: 500 ms */
};

struct object_store;
struct object_request; /* one operation under way */
struct object_upload;  /* one object that arrives in parts */

/* NULL with ERROR_INVALID. */
struct object_store *object_store_new(struct loop *loop, const struct object_target *target, struct error *err);
/* Cancels what is under way (no callbacks); uploads that were not completed stay on the server until somebody aborts
 * them. NULL is fine. */
void object_store_free(struct object_store *store);
/* Credentials were rotated: from the next request (or try) on, those included that were refused and wait
 * (keys_grace_ms). Keys that hold what keys do not have (a blank, a line break) are not taken; the log says so. */
void object_store_set_keys(
    struct object_store *store, const char *access_key, const char *secret_key, const char *session_token);

typedef void (*object_done_fn)(void *arg, const struct error *err); /* err NULL: it is so */
void object_request_cancel(struct object_request *request);

/* ---- whole small objects ---- */

/* Requests: the pointer is good until done is called, or cancel. A cancel is fine from callbacks of others and from
 * `data` and `each` of its own. */

/* The body is copied; at most OBJECT_PART_MIN bytes. Takes effect whole or not at all. */
struct object_request *object_put(
    struct object_store *store, const char *name, const void *body, size_t len, object_done_fn done, void *arg);
struct object_got {
    const char *body; /* valid during the call, NUL-terminated */
    size_t len;
};
typedef void (*object_got_fn)(void *arg, const struct object_got *got, const struct error *err);
struct object_request *object_get(
    struct object_store *store, const char *name, size_t max, object_got_fn done, void *arg);

/* ---- streams ---- */

/* From byte `offset` on (at the end: no byte comes, which is no error). A connection that breaks in the middle is
 * continued behind the last byte that `data` took (Range, If-Match with the first answer's ETag). data: return -1 to
 * end it (done gets CANCELLED). */
struct object_request *object_read(struct object_store *store, const char *name, uint64_t offset,
    int (*data)(void *arg, const char *data, size_t len), object_done_fn done, void *arg);
void object_request_pause(struct object_request *request);
void object_request_resume(struct object_request *request);

/* Begins an object that arrives in parts; started is called when parts may be given. One part is under way at a time
 * or several: as many as the caller gives. */
struct object_upload *object_upload_begin(
    struct object_store *store, const char *name, object_done_fn started, void *arg);
/* number: 1 to OBJECT_PARTS_MAX, given in that order. data is NOT copied: it must stay until done. sha256: of data,
 * 32 bytes (signed as the payload's hash). */
void object_upload_part(struct object_upload *upload, int number, const void *data, size_t len,
    const unsigned char sha256[static 32], object_done_fn done, void *arg);
/* All parts are done, and there is at least one. The object exists when done came without an error, whole and once,
 * also when answers were lost. Frees nothing: call object_upload_free, which is fine from inside any of its
 * callbacks. */
void object_upload_complete(struct object_upload *upload, object_done_fn done, void *arg);
/* What is under way ends without a callback; the server forgets the parts, also those that were on their way. */
void object_upload_abort(struct object_upload *upload, object_done_fn done, void *arg);
/* Cancels what is under way without callbacks. NULL is fine. */
void object_upload_free(struct object_upload *upload);

/* ---- keeping house ---- */

struct object_entry {
    const char *name; /* relative to the target's prefix; valid during the call; a common prefix ends in "/" */
    uint64_t bytes;
    int64_t modified_ms; /* 0: a common prefix */
};
/* All whose name begins with `under`, in the order of their names, over as many pages as it takes; delimiter: '/'
 * groups what lies deeper, 0: none. each: return -1 to end it (done gets CANCELLED). With a delimiter objects come in
 * order, and so do common prefixes, but not the two together: AWS tells the objects of a page first. */
struct object_request *object_list(struct object_store *store, const char *under, char delimiter,
    int (*each)(void *arg, const struct object_entry *entry), object_done_fn done, void *arg);
/* One that is not there counts as deleted. */
struct object_request *object_delete(struct object_store *store, const char *name, object_done_fn done, void *arg);
/* Ends uploads that somebody left below `under`. Not in a folder that another process still writes to. */
struct object_request *object_abort_uploads(
    struct object_store *store, const char *under, object_done_fn done, void *arg);
/* Deletes everything in the folder `under` (not ""; with or without a slash at its end, "a" is not "ab"), aborts the
 * uploads that were left there, and looks again: done without an error when nothing is left. first: the object that
 * goes before all others (a backup's manifest); NULL: none. */
struct object_request *object_delete_tree(
    struct object_store *store, const char *under, const char *first, object_done_fn done, void *arg);

#endif
