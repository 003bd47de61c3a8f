/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_projections.h: what the caches keep for App (see kube_object.h for the rule). Strings point into the block of
 * their object and are never NULL ("" if absent).
 */
#ifndef KM_APP_PROJECTIONS_H
#define KM_APP_PROJECTIONS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/kube/kube_object.h"

struct app_object {
    struct kube_object object;
    const char *ns, *name, *uid;
    const char *spec, *status; /* JSON texts */
};

struct deployment_object {
    struct kube_object object;
    const char *status; /* JSON text */
};

/* The Deployment controller waits no longer for a roll, by the reason of the condition Progressing, which may be NULL:
 * https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#failed-deployment */
#define DEPLOYMENT_GAVE_UP "ProgressDeadlineExceeded"
bool deployment_gave_up(const json_t *progressing);

/* The text of an app_object or deployment_object as a new tree; NULL if it is "". */
json_t *app_projection_parse(const char *text);

extern const struct kube_projection projection_app, projection_deployment;

#endif
