/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_client.h: one API server, asynchronous verbs.
 *
 * One HTTP/2 connection (http_client), bounded requests in flight (KUBE_INFLIGHT_MAX), a queue, a token bucket (`qps`,
 * `burst`). The one retry policy:
 *  - 429 and 503 with Retry-After: wait as told (at most a minute); other 5xx, lost or refused connection, time-out:
 *    back off from 100 ms to 5 s. Retried here for verbs that are safe to repeat: get, list, apply, status apply, and
 *    delete with a UID precondition;
 *    at most `max_attempts` in all, then the error goes to the caller. create, update and patch are repeated only when
 *    the request provably did not start (refused connection, 429).
 *  - 409 and everything else 4xx goes to the caller at once: only it knows what to read again.
 *  - 401: the token file is read again and the request is tried once more.
 * `done` runs on the loop exactly once unless cancelled; `object` is the parsed answer (borrowed; NULL on error or when
 * the answer was metav1.Status of a delete), `raw` the same bytes as text, so a caller can project without re-encoding.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
#ifndef KM_KUBE_CLIENT_H
#define KM_KUBE_CLIENT_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"
#include "common/http_client.h"
#include "common/json_scan.h"
#include "common/loop.h"
#include "common/metrics.h"
#include "operator/kube/kube_config.h"
#include "operator/kube/kube_resource.h"

struct kube_client;
struct kube_request;

struct kube_client_options {
    const char *field_manager; /* "kube-mysql" */
    const char *user_agent;
    double qps;         /* 0: 2000 a second */
    double burst;       /* 0: 4000 */
    int max_attempts;   /* 0: 5 */
    int64_t timeout_ms; /* of one attempt, 0: 30,000; watches have their own */
    /* Asked before each attempt of a request that is no GET; false ends it with ERROR_CANCELLED: who no longer leads
     * must not write. NULL: yes. */
    bool (*may_write)(void *arg);
    void *may_write_arg;
    struct metrics *metrics; /* requests by verb, resource and code, their time, in flight, warnings; may be NULL */
};

struct kube_client *kube_client_new(struct loop *loop, struct http_client *http, const struct kube_config *config,
    const struct kube_client_options *options, struct error *err);
/* Cancels everything (no callbacks). */
void kube_client_free(struct kube_client *client);
const char *kube_client_field_manager(const struct kube_client *client);

struct kube_answer {
    const json_t *object;  /* borrowed, NULL if none */
    struct json_slice raw; /* the same text */
    int status;            /* HTTP */
};
typedef void (*kube_done_fn)(void *arg, const struct kube_answer *answer, const struct error *err);

/* ns NULL for cluster scope. Bodies are borrowed during the call only. err is NULL on success. */
struct kube_request *kube_get(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, kube_done_fn done, void *arg);
struct kube_request *kube_create(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const json_t *object, kube_done_fn done, void *arg);
/* Likewise. A field that the server does not know is an error (Kubernetes 1.25 and later), rather than left out.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation */
struct kube_request *kube_create_strictly(struct kube_client *client, const struct kube_resource *resource,
    const char *ns, const json_t *object, kube_done_fn done, void *arg);
/* dryRun=All: whether it could be created so. Admission has its say, nothing is stored.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run */
struct kube_request *kube_try_create(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const json_t *object, kube_done_fn done, void *arg);
/* An object to try to create where there is no right to read namespaces: in a namespace that is being deleted the error
 * is ERROR_ENDING. Caller drops it. */
json_t *kube_namespace_probe(const char *ns);
/* Server-side apply, force=true, our field manager. object carries apiVersion, kind, metadata.name (and namespace). If
 * it carries metadata.uid or metadata.resourceVersion they act as preconditions (409 Conflict when they do not
 * match). */
struct kube_request *kube_apply(struct kube_client *client, const struct kube_resource *resource, const json_t *object,
    kube_done_fn done, void *arg);
/* Server-side apply to the status subresource. */
struct kube_request *kube_apply_status(struct kube_client *client, const struct kube_resource *resource,
    const json_t *object, kube_done_fn done, void *arg);
enum kube_patch_type { KUBE_PATCH_MERGE, KUBE_PATCH_JSON, KUBE_PATCH_STRATEGIC };
struct kube_request *kube_patch(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const char *subresource, enum kube_patch_type type, const json_t *patch, kube_done_fn done,
    void *arg);
/* PUT; object carries metadata.resourceVersion for optimistic locking. subresource may be NULL. */
struct kube_request *kube_update(struct kube_client *client, const struct kube_resource *resource,
    const char *subresource, const json_t *object, kube_done_fn done, void *arg);

struct kube_delete_options {
    const char *uid;              /* precondition, NULL: none */
    const char *resource_version; /* precondition, NULL: none */
    const char *propagation;      /* "Background", "Foreground", "Orphan"; NULL: Background */
    int64_t grace_seconds;        /* -1: the object's own */
};
/* NOT_FOUND is reported as an error; callers that only want it gone treat it as success. */
struct kube_request *kube_delete(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const struct kube_delete_options *options, kube_done_fn done, void *arg);
/* GET of a plain path ("/apis", "/version"). */
struct kube_request *kube_get_path(struct kube_client *client, const char *path, kube_done_fn done, void *arg);
/* No callback follows. */
void kube_request_cancel(struct kube_request *request);

/* Streams for the reflector: body chunks as they come, never parsed here, not retried, outside the token bucket.
 * path includes the query. idle_timeout_ms as in http_client. */
struct kube_stream_ops {
    int (*data)(void *arg, const char *data, size_t len); /* -1 ends it: done gets CANCELLED */
    void (*done)(void *arg, const struct error *err);     /* err NULL: complete 2xx body */
    size_t receive_buffer_bytes;                          /* as in http_client */
    const char *resource;                                 /* static, for metrics; NULL: none */
    bool is_watch;                                        /* likewise; else a list */
};
struct kube_request *kube_stream(struct kube_client *client, const char *path, int64_t idle_timeout_ms,
    const struct kube_stream_ops *ops, void *arg);

/* Maps an HTTP status and a metav1.Status body to *err (kind by code and reason; message from the body). Pure. Returns
 * -1. */
int kube_error_from_status(struct error *err, int http_status, const char *body, size_t len);
/* Finds the versions of `count` kinds: one GET /apis; retried by policy. Both arrays stay valid until done. */
void kube_discover(struct kube_client *client, const struct kube_kind *const *kinds, size_t count,
    struct kube_resource *ret_resources, void (*done)(void *arg, const struct error *err), void *arg);

#endif
