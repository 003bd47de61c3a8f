/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_condition.h: metav1.Condition lists as values.
 *
 * A fixed set of types per kind; lastTransitionTime moves only when the status does (Kubernetes API conventions).
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
 */
#ifndef KM_KUBE_CONDITION_H
#define KM_KUBE_CONDITION_H

#include "common/base.h"

#include <jansson.h>

#include "common/clock.h"

#define KUBE_CONDITIONS_MAX 23
#define KUBE_CONDITION_REASON_MAX 64
#define KUBE_CONDITION_MESSAGE_MAX 512

enum kube_condition_status { KUBE_CONDITION_UNKNOWN, KUBE_CONDITION_TRUE, KUBE_CONDITION_FALSE };

struct kube_condition {
    const char *type; /* static */
    enum kube_condition_status status;
    char reason[KUBE_CONDITION_REASON_MAX];   /* CamelCase, never empty once set */
    char message[KUBE_CONDITION_MESSAGE_MAX]; /* for people; cut with "..." */
    int64_t observed_generation;
    char last_transition_time[CLOCK_RFC3339_SIZE];
};

struct kube_conditions {
    struct kube_condition items[KUBE_CONDITIONS_MAX];
    int count;
};

/* Adds or replaces by type; the transition time becomes now_ms only if status differs from what was there. type is
 * static. */
void kube_conditions_set(struct kube_conditions *conditions, const char *type, enum kube_condition_status status,
    const char *reason, int64_t observed_generation, int64_t now_ms, const char *message_fmt, ...) KM_PRINTF(7, 8);
const struct kube_condition *kube_conditions_find(const struct kube_conditions *conditions, const char *type);
/* Both are there, and with the same status for the same reason: what is said now is no news. */
bool kube_condition_stays(const struct kube_condition *before, const struct kube_condition *now);
/* It is there, and says this and no more. */
bool kube_condition_says(const struct kube_condition *condition, const char *reason, const char *message);
bool kube_conditions_is_true(const struct kube_conditions *conditions, const char *type);
void kube_conditions_remove(struct kube_conditions *conditions, const char *type);
/* A JSON array. decode keeps only types in known_types (NULL-terminated), so that `type` can be static. */
json_t *kube_conditions_encode(const struct kube_conditions *conditions);
void kube_conditions_decode(const json_t *array, const char *const *known_types, struct kube_conditions *ret);

#endif
