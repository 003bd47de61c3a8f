/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_api_double.h: an API server inside the test: HTTP on a port of loopback, objects in memory, faults by script.
 *
 * Speaks get, paged list (limit, continue, snapshots), watch (resume from a resourceVersion, bookmarks, selectors,
 * timeoutSeconds), create, update, apply, merge patch, status subresource, delete with preconditions, /apis and
 * /version. See kube_api_store.h for the rules it keeps. Runs on the same loop as what is tested, so a test is
 * deterministic but for the kernel's sockets.
 *
 * A request is matched against the faults in the order in which they were added; the first that fits and is due is
 * used. What no fault catches is answered normally.
 */
#ifndef KM_KUBE_API_DOUBLE_H
#define KM_KUBE_API_DOUBLE_H

#include "common/base.h"

#include <jansson.h>

#include "common/loop.h"
#include "operator/kube/kube_config.h"

struct kube_api_double;

struct kube_api_double *kube_api_double_new(struct loop *loop);
/* After (or before) the clients; open watches are cut. */
void kube_api_double_free(struct kube_api_double *api);
/* For kube_client_new; kube_config_release it. */
void kube_api_double_config(const struct kube_api_double *api, struct kube_config *ret);

/* ---- the world ---- */

/* path: "/api/v1/namespaces/NS/pods/NAME". Writes as another client would: status is taken from the object, watches are
 * told. metadata.generation grows only where the object names a larger one. */
void kube_api_double_put(struct kube_api_double *api, const char *path, const json_t *object);
/* creationTimestamp of new objects from now on; the text is borrowed. */
void kube_api_double_created(struct kube_api_double *api, const char *time);
/* Merges `changes` into the object there (which must exist), status included. */
void kube_api_double_edit(struct kube_api_double *api, const char *path, const json_t *changes);
/* As DELETE by another client. False if it is not there. */
bool kube_api_double_remove(struct kube_api_double *api, const char *path);
/* Borrowed until the next write; NULL if it is not there. */
const json_t *kube_api_double_get(const struct kube_api_double *api, const char *path);
/* Objects of a collection "/api/v1/configmaps"; NULL: all. */
size_t kube_api_double_count(const struct kube_api_double *api, const char *collection);
/* The whole world as canonical text without what differs from run to run (uid, resourceVersion, generation): to compare
 * two ends. Caller frees. */
char *kube_api_double_dump(const struct kube_api_double *api);

/* Nothing is created any more, as in a namespace that is being deleted: 403, cause NamespaceTerminating. */
void kube_api_double_end_namespace(struct kube_api_double *api);
/* A Warning header on every answer from now on; the text is borrowed. NULL: none. */
void kube_api_double_warn(struct kube_api_double *api, const char *warning);

/* ---- what was asked ---- */

/* Requests so far. method as in a fault; NULL: any. path_prefix NULL: any. */
size_t kube_api_double_requests(const struct kube_api_double *api, const char *method, const char *path_prefix);
/* POST, PUT, PATCH and DELETE so far, refused ones included. */
size_t kube_api_double_writes(const struct kube_api_double *api);
size_t kube_api_double_watches(const struct kube_api_double *api); /* open now */

/* Runs at the end of every write that a client makes and that is carried out, Events aside. */
void kube_api_double_on_write(struct kube_api_double *api, void (*fn)(void *arg), void *arg);

/* ---- faults ---- */

enum kube_api_fault_kind {
    KUBE_API_FAULT_STATUS,  /* answer `status` with a metav1.Status */
    KUBE_API_FAULT_CUT,     /* the normal answer, cut in the middle of its body */
    KUBE_API_FAULT_RESET,   /* the connection ends without an answer */
    KUBE_API_FAULT_SILENCE, /* no answer at all */
    KUBE_API_FAULT_GARBAGE, /* 200 with something that is no JSON */
};

struct kube_api_fault {
    const char *method;      /* "GET", "LIST", "WATCH" (GETs told apart), "POST", ...; NULL: any */
    const char *path_prefix; /* NULL: any */
    const char *query;       /* name of a query parameter that must be there ("continue"); NULL: any */
    int nth;                 /* the first to fail, counted from now over matching requests; 0 and 1: the next */
    int times;               /* how many in a row; 0: one; -1: for ever */
    enum kube_api_fault_kind kind;
    int status;          /* for STATUS */
    const char *reason;  /* NULL: by status */
    const char *message; /* NULL: some */
    int retry_after_s;   /* -1: no header */
    bool carried_out;    /* the request takes effect, only its answer is lost or replaced */
};
/* Strings are static or outlive the double. */
void kube_api_double_fault(struct kube_api_double *api, const struct kube_api_fault *fault);
void kube_api_double_clear_faults(struct kube_api_double *api);

/* ---- watches ---- */

enum kube_api_break {
    KUBE_API_BREAK_END,     /* as when timeoutSeconds is over */
    KUBE_API_BREAK_CUT,     /* in the middle of an event */
    KUBE_API_BREAK_EXPIRED, /* ERROR event, code 410, then the end */
    KUBE_API_BREAK_ERROR,   /* ERROR event, code 500 */
};
void kube_api_double_break_watches(struct kube_api_double *api, enum kube_api_break how);
/* While muted, open watches get nothing; what they miss comes when unmuted. */
void kube_api_double_mute_watches(struct kube_api_double *api, bool muted);
void kube_api_double_bookmark(struct kube_api_double *api);
/* Continue tokens and resumed watches from before now get 410. */
void kube_api_double_compact(struct kube_api_double *api);

#endif
