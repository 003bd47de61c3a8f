/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: what to write next, as data.
 *
 * A decision is pure: it looks at a snapshot and returns a plan. A plan is a short list of stages; the actions of one
 * stage are independent of each other, a stage starts when all actions before it succeeded that it waits for. Nothing
 * in a plan waits for the world: what needs waiting is a further reconcile, which looks again. So a crash between any
 * two actions is harmless (I10).
 *
 * Orphans (ownership.h) are adopted, by PLAN_ADOPT, where the plan says so, and nowhere else. They keep what they hold;
 * what is to be changed in them is a later apply's matter, with all that stands before it. That somebody may have
 * planted them is the plan's to judge: those of a cluster are taken over together with an orphaned StatefulSet, or not
 * at all (cluster_decide.h).
 */
#ifndef KM_PLAN_H
#define KM_PLAN_H

#include "common/base.h"

#include <jansson.h>

#include "common/strbuf.h"

#define PLAN_ACTIONS_MAX 64

/* What plans write. plan_executor is given resource and informer for each. */
enum plan_kind {
    PLAN_SERVICE_ACCOUNT,
    PLAN_CONFIG_MAP,
    PLAN_SECRET,
    PLAN_SERVICE,
    PLAN_ENDPOINT_SLICE,
    PLAN_ENDPOINTS, /* only deleted */
    PLAN_POD_DISRUPTION_BUDGET,
    PLAN_STATEFUL_SET,
    PLAN_POD,
    PLAN_VOLUME_CLAIM,
    PLAN_TERMINAL,
    PLAN_KIND_COUNT,
};
const char *plan_kind_name(enum plan_kind kind); /* "StatefulSet" */

enum plan_verb {
    PLAN_APPLY,  /* server-side apply of body; never onto an object of another owner */
    PLAN_PATCH,  /* merge patch of what an apply does not reach (volume claims, a field of somebody else) */
    PLAN_DELETE, /* with a UID precondition */
    PLAN_CREATE, /* of body, unless something of its name is there: whatever that is, it is left as it is */
    PLAN_ADOPT,  /* an orphan gets body's ownerReferences, and nothing else; body: metadata with labels and those */
};

struct plan_action {
    enum plan_verb verb;
    enum plan_kind kind;
    char *ns;
    char *name;
    /* of the live object as last seen; NULL: believed absent (then it is created, never applied, so that nobody's
     * object is taken over) */
    char *uid;
    json_t *body;   /* apply, patch, create; NULL for delete */
    bool lets_pass; /* plan_let_pass */
    bool is_strict; /* plan_be_strict */
    char *why;      /* for log and events: "roll NAME-mysql-2: my.cnf changed" */
};

struct plan {
    struct plan_action actions[PLAN_ACTIONS_MAX];
    int stage_of[PLAN_ACTIONS_MAX]; /* ascending */
    int count;
    int stage; /* stage that plan_add puts into */
};

struct plan *plan_new(void);
void plan_free(struct plan *plan);
static inline void plan_freep(struct plan **p)
{
    plan_free(*p);
}
bool plan_is_empty(const struct plan *plan);
/* Whether it deletes this object. */
bool plan_deletes(const struct plan *plan, enum plan_kind kind, const char *name);
/* Later additions start only when everything so far has succeeded. An empty stage is not counted. */
void plan_next_stage(struct plan *plan);

/* uid, why may be NULL. body is stolen. More than PLAN_ACTIONS_MAX is a bug and aborts. */
void plan_add_apply(struct plan *plan, enum plan_kind kind, const char *uid, json_t *body, const char *why);
void plan_add_create(struct plan *plan, enum plan_kind kind, json_t *body, const char *why);
void plan_add_adopt(struct plan *plan, enum plan_kind kind, json_t *body, const char *why);
void plan_add_patch(struct plan *plan, enum plan_kind kind, const char *ns, const char *name, const char *uid,
    json_t *body, const char *why);
void plan_add_delete(
    struct plan *plan, enum plan_kind kind, const char *ns, const char *name, const char *uid, const char *why);

/* What was added last is nothing that later stages need: they start also when the API server refuses it. */
void plan_let_pass(struct plan *plan);
/* What was added last, an apply, is refused when it is created with a field that the API server does not know, rather
 * than made without that: somebody else has written parts of it. */
void plan_be_strict(struct plan *plan);

/* For goldens and debug logs: stages, verbs, names; bodies only if asked. Secret data is never in a plan's text. */
json_t *plan_describe(const struct plan *plan, bool with_bodies);

#endif
