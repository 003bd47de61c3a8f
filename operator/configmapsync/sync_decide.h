/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_decide.h: what a ConfigMapSync needs now: pure.
 *
 * From what was seen (the source, namespaces, copies) follow steps, each of one copy, and what is in the way. Then the
 * status says both, and what became of the steps. Nothing is remembered between two rounds.
 *
 * A namespace that the spec names has to consent, else that is a problem; one that the selector finds is left out if it
 * does not. While the source is missing copies stay as they are; without its consent they go.
 */
#ifndef KM_SYNC_DECIDE_H
#define KM_SYNC_DECIDE_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/config_map_sync.h"

struct sync_namespace {
    const char *name;
    const char *sync_from; /* annotation ANNOTATION_SYNC_FROM */
    const char *labels;    /* JSON text; "": none */
    bool is_ending;
};

struct sync_copy {
    const char *ns, *name, *uid;
    uint64_t digest; /* config_map_content_digest */
    bool is_ending;
};

/* All borrowed. Namespaces and copies in the order of their names, so that equal worlds give equal decisions. */
struct sync_snapshot {
    const struct config_map_sync *sync;
    int64_t generation;
    bool is_deleting;
    bool needs_consent;
    const char *own_namespace; /* the operator's; NULL: unknown */
    bool source_is_there;
    uint64_t source_digest;
    const char *sync_to; /* of the source: annotation ANNOTATION_SYNC_TO */
    const struct sync_namespace *namespaces;
    size_t namespace_count;
    const struct sync_copy *copies; /* of this ConfigMapSync, whatever their namespace and name */
    size_t copy_count;
};

enum sync_verb {
    SYNC_ENSURE, /* made, or made equal, unless it is somebody else's */
    SYNC_REMOVE,
};
struct sync_step {
    enum sync_verb verb;
    const char *ns, *name; /* of the snapshot or the spec */
    const char *uid;       /* SYNC_REMOVE */
};

/* What is in the way. The reason is the first one's that needs somebody's hand, else the first one's. */
struct sync_problems {
    char reason[KUBE_CONDITION_REASON_MAX]; /* "": nothing is */
    char message[KUBE_CONDITION_MESSAGE_MAX];
    bool is_stalled; /* somebody has to change something */
};
void sync_problem(struct sync_problems *problems, const char *reason, bool is_stalled, const char *fmt, ...)
    KM_PRINTF(4, 5);

struct sync_decision {
    struct sync_step *steps; /* owned */
    size_t step_count;
    size_t equal;    /* copies that are as they should be */
    size_t left_out; /* namespaces that the selector finds and that get none, for lack of consent */
    struct sync_problems problems;
};
void sync_decide(const struct sync_snapshot *snapshot, struct sync_decision *ret);
void sync_decision_release(struct sync_decision *decision);

/* What became of the steps. */
struct sync_outcome {
    size_t equal;     /* SYNC_ENSUREs that ended well */
    bool has_written; /* something was made, changed or removed */
    bool has_failed;  /* a step ended with an error that goes away; the message says more */
    char message[KUBE_CONDITION_MESSAGE_MAX];
};
/* problems: the decision's, and what the steps have met. */
void sync_report(const struct sync_snapshot *snapshot, const struct sync_decision *decision,
    const struct sync_outcome *outcome, int64_t now_ms, const struct config_map_sync_status *last,
    struct config_map_sync_status *ret);
/* The status where the spec is wrong: `why` from api_problems_text. */
void sync_report_invalid(int64_t generation, const char *why, int64_t now_ms, const struct config_map_sync_status *last,
    struct config_map_sync_status *ret);

/* ---- objects ---- */

/* The manifest of a copy with the source's content. */
json_t *sync_copy_manifest(const struct config_map_sync *sync, const char *ns, const json_t *source);
/* Whether an object that stands there is a copy of this ConfigMapSync. */
bool sync_copy_is_ours(const struct config_map_sync *sync, const json_t *live);
/* A merge patch that gives the copy the source's content, for that version of it alone; NULL: it has it. */
json_t *sync_copy_patch(const json_t *live, const json_t *source);

#endif
