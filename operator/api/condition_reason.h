/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition_reason.h: the reasons of conditions by which something is decided later, as values. Pure.
 *
 * A condition keeps its reason as text, since many reasons come from other programs (a problem that an agent reports,
 * the reason for which the kubelet lets a container wait, the name of an error), and nothing is decided by those.
 * Reasons of restores, final backups, archives and drills have tables of their own (restore_status.h, in_place_status.h,
 * final_backup_status.h, archive_status.h, drill_status.h).
 */
#ifndef KM_CONDITION_REASON_H
#define KM_CONDITION_REASON_H

#include "common/base.h"

#include "operator/kube/kube_condition.h"

enum condition_reason {
    REASON_OTHER, /* none of these; so is one that another version has written and this one does not know */
    REASON_NOT_ACCEPTED,
    REASON_INVALID_SPEC,
    REASON_CONFIG_NOT_FOUND,
    REASON_SECRET_MISSING,
    REASON_CLUSTER_NOT_FOUND,
    REASON_WAITING_FOR_CLUSTER,
    REASON_NOT_ALLOWED, /* by the owner of the cluster */
    REASON_FOREIGN_OBJECT,
    REASON_POD_REFUSED, /* by the API server (pod_answer.h) */
    REASON_STORAGE_CLASS_NOT_FOUND,
    REASON_IMAGE_PULL_FAILED,
    REASON_IMAGE_REJECTED,
    REASON_MYCNF_REJECTED,
    REASON_SERVER_NOT_STARTED,
    REASON_POD_NOT_STARTED,
    REASON_UNSCHEDULABLE,
    REASON_TEMPLATE_REFUSED,
    REASON_CHECK_POD_REFUSED,
    REASON_SERVICE_REFUSED,
    REASON_RETRYING,
    REASON_APPLYING,
    REASON_STARTING,
    REASON_SETTLED,
    REASON_DATA_LOST,
    REASON_ROLLED_BACK,
    REASON_HIBERNATED,
    REASON_NO_PRIMARY,
    REASON_PRIMARY_NOT_READY,
    REASON_MEMBER_NOT_READY,
    REASON_REPLICA_NOT_FOLLOWING,
    REASON_GROWING,
    REASON_REFUSED, /* a growth of volumes, for good */
    REASON_NOT_APPLIED_YET,
    REASON_LOCKED,
    REASON_DATABASES_LEFT,
    REASON_COUNT
};

/* As it stands in a condition: "NoPrimary". Static; "" of REASON_OTHER. */
const char *reason_name(enum condition_reason reason);
/* NULL and "" are REASON_OTHER. */
enum condition_reason reason_of_name(const char *name);
/* NULL: there is no such condition. */
enum condition_reason reason_of(const struct kube_condition *condition);

#endif
