/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_desired.h: what an App is made of, and what its status says: pure.
 *
 * Deployment and Service have the App's name. One that is there is written as a whole (PUT) with what the spec says
 * laid into it: replicas, pod template, ports, selector and type come from the spec alone, so nothing that somebody
 * adds to them stays; what is the API server's or other people's (clusterIP, strategy, labels and annotations of their
 * own) does.
 *
 * Whether somebody has changed them is told without a copy: status.appliedHash is a hash of the manifests and of the
 * digests (kube_object.h) that they had when we last wrote or compared them.
 */
#ifndef KM_APP_DESIRED_H
#define KM_APP_DESIRED_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/app.h"

enum app_child { APP_DEPLOYMENT, APP_SERVICE, APP_CHILD_COUNT };
const char *app_child_kind(enum app_child child); /* "Deployment" */

#define APP_CONTAINER "app"
#define APP_HASH_SIZE 17

/* The manifest of a child; NULL: there is to be none (a Service without ports). uid: the App's. */
json_t *app_manifest(const struct app *app, const char *uid, enum app_child child);
/* The live object with the manifest laid into it; equal to it if nothing is to be written. */
json_t *app_next_state(const json_t *live, const json_t *manifest, enum app_child child);

/* digests: of the children, 0 where there is none. */
void app_applied_hash(const struct app *app, const char *uid, const uint64_t digests[static APP_CHILD_COUNT],
    char out[static APP_HASH_SIZE]);

/* What the status is made of. */
struct app_view {
    const struct app *app;
    int64_t generation;
    const json_t *deployment_status; /* NULL: there is none */
    int64_t deployment_generation;   /* the status is old while its observedGeneration is smaller */
    const char *applied_hash;        /* "": not all is as wanted */
    const char *trouble;             /* why one of its pods does not run, for people; "": nothing is known */
    /* Something is in the way; reason NULL: nothing is. */
    const char *reason, *message;
    bool is_stalled; /* somebody has to change something */
};
/* last: the status before, NULL: none. New tree. */
json_t *app_status(const struct app_view *view, const json_t *last, int64_t now_ms);

/* Whatever the order of conditions; NULL is no status. */
bool app_status_same(const json_t *a, const json_t *b);

#endif
