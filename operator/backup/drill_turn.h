/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drill_turn.h: one reconcile of one cluster under way, as the controller of drills sees it: what it looks at. Of
 * drill_controller.c only.
 */
#ifndef KM_DRILL_TURN_H
#define KM_DRILL_TURN_H

#include "operator/api/projections.h"
#include "operator/backup/drill_controller.h"
#include "operator/backup/drill_decide.h"
#include "operator/runtime/reconcile_context.h"

struct drill_controller;

/* Nothing in it points into the caches. */
struct drill_turn {
    struct reconcile_context context;
    struct drill_controller *controller;
    char history[64]; /* what its archive is filed under */
    json_t *document; /* the cluster's spec, which `spec` borrows */
    struct backup_spec spec;
    struct time_zone zone;
    bool has_zone;
    char problem[KM_KIB];
    bool paused, leaves;
    int64_t now_ms;
    char *candidate_name, *candidate_uid; /* NULL: none */
    int64_t candidate_ms;
    bool candidate_beside_archive;
    int64_t recoverable_from_ms, archived_until_ms;
    struct drill_summary written; /* the status as it is */
    struct drill_scratch scratch;
    char *scratch_key, *scratch_uid; /* NULL: it is not there */
    struct drill_member member;
    bool backup_is_told; /* of the last drill that ended; or it is not there */
    struct drill_decision decision;
};

/* Freed by reconcile_done, the last of its phases. */
struct drill_turn *drill_turn_new(const struct drill_controller_options *options, const struct custom_object *cluster,
    struct reconcile *run, struct kube_client *client, int64_t now_ms);
void drill_turn_decide(struct drill_turn *turn);

#endif
