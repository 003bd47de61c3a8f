/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_map_sync.h: ConfigMapSync.spec, read and checked; its status; the consent of both sides. Pure.
 *
 * Same life cycle as mysql_cluster.h: pointers are owned by `document` (or borrowed from the caller: ns, name).
 *
 * Consent, where the operator asks for it: the source ConfigMap names the destination in ANNOTATION_SYNC_TO, and the
 * destination takes copies, because the ConfigMapSync lies in it, or because its Namespace names the source's namespace
 * in ANNOTATION_SYNC_FROM.
 */
#ifndef KM_CONFIG_MAP_SYNC_H
#define KM_CONFIG_MAP_SYNC_H

#include "common/base.h"

#include <jansson.h>

#include "common/clock.h"
#include "operator/api/api_problems.h"
#include "operator/kube/kube_condition.h"

/* Namespaces that get a copy by one ConfigMapSync, at most. */
#define SYNC_COPIES_MAX 1000
/* Namespaces of Kubernetes itself begin so.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#working-with-namespaces */
#define SYNC_SYSTEM_PREFIX "kube-"
/* A longer list of namespaces in an annotation is cut. */
#define SYNC_CONSENT_MAX 8192

struct config_map_sync {
    json_t *document;
    const char *ns, *name;
    const char *source_namespace, *config_map; /* never NULL after a successful parse */
    const char *destination;                   /* spec.destinationNamespace; NULL: none */
    const json_t *destinations;                /* array of names; NULL: none */
    const json_t *selector;                    /* NULL: none; {} selects all */
};

int config_map_sync_parse(
    const char *ns, const char *name, json_t *spec, struct config_map_sync *ret, struct api_problems *problems);
void config_map_sync_release(struct config_map_sync *sync);
/* Whether spec.destinationNamespace or spec.destinationNamespaces has it. */
bool config_map_sync_names(const struct config_map_sync *sync, const char *ns);

/* Whether labels (an object of texts; NULL: none) fit a LabelSelector that was checked.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors */
bool label_selector_fits(const json_t *selector, const json_t *labels);
/* Whether an annotation's text ("a, b" or "*") names the namespace. NULL and "" name none. */
bool namespaces_text_has(const char *text, const char *ns);

/* ---- status ---- */
struct config_map_sync_status {
    int64_t observed_generation;
    int64_t copies;                          /* equal ones */
    char last_sync_time[CLOCK_RFC3339_SIZE]; /* when a copy was last written or removed; "": never */
    struct kube_conditions conditions;       /* those of ready_conditions.h */
};
json_t *config_map_sync_status_encode(const struct config_map_sync_status *status);
/* Absent or malformed members get zero values. NULL is fine. */
void config_map_sync_status_decode(const json_t *json, struct config_map_sync_status *ret);
bool config_map_sync_status_same(const struct config_map_sync_status *a, const struct config_map_sync_status *b);

#endif
