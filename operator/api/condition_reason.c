/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/condition_reason.h"

static const char *const names[REASON_COUNT] = {
    [REASON_OTHER] = "",
    [REASON_NOT_ACCEPTED] = "NotAccepted",
    [REASON_INVALID_SPEC] = "InvalidSpec",
    [REASON_CONFIG_NOT_FOUND] = "ConfigNotFound",
    [REASON_SECRET_MISSING] = "SecretMissing",
    [REASON_CLUSTER_NOT_FOUND] = "ClusterNotFound",
    [REASON_WAITING_FOR_CLUSTER] = "WaitingForCluster",
    [REASON_NOT_ALLOWED] = "NotAllowed",
    [REASON_FOREIGN_OBJECT] = "ForeignObject",
    [REASON_POD_REFUSED] = "PodRefused",
    [REASON_STORAGE_CLASS_NOT_FOUND] = "StorageClassNotFound",
    [REASON_IMAGE_PULL_FAILED] = "ImagePullFailed",
    [REASON_IMAGE_REJECTED] = "ImageRejected",
    [REASON_MYCNF_REJECTED] = "MycnfRejected",
    [REASON_SERVER_NOT_STARTED] = "ServerNotStarted",
    [REASON_POD_NOT_STARTED] = "PodNotStarted",
    [REASON_UNSCHEDULABLE] = "Unschedulable",
    [REASON_TEMPLATE_REFUSED] = "TemplateRefused",
    [REASON_CHECK_POD_REFUSED] = "CheckPodRefused",
    [REASON_SERVICE_REFUSED] = "ServiceRefused",
    [REASON_RETRYING] = "Retrying",
    [REASON_APPLYING] = "Applying",
    [REASON_STARTING] = "Starting",
    [REASON_SETTLED] = "Settled",
    [REASON_DATA_LOST] = "DataLost",
    [REASON_ROLLED_BACK] = "RolledBack",
    [REASON_HIBERNATED] = "Hibernated",
    [REASON_NO_PRIMARY] = "NoPrimary",
    [REASON_PRIMARY_NOT_READY] = "PrimaryNotReady",
    [REASON_MEMBER_NOT_READY] = "MemberNotReady",
    [REASON_REPLICA_NOT_FOLLOWING] = "ReplicaNotFollowing",
    [REASON_GROWING] = "Growing",
    [REASON_REFUSED] = "Refused",
    [REASON_NOT_APPLIED_YET] = "NotAppliedYet",
    [REASON_LOCKED] = "Locked",
    [REASON_DATABASES_LEFT] = "DatabasesLeft",
};

const char *reason_name(enum condition_reason reason)
{
    return names[reason];
}

enum condition_reason reason_of_name(const char *name)
{
    for (int reason = REASON_OTHER + 1; reason < REASON_COUNT; reason++) {
        if (str_eq(name, names[reason]))
            return (enum condition_reason)reason;
    }
    return REASON_OTHER;
}

enum condition_reason reason_of(const struct kube_condition *condition)
{
    return condition ? reason_of_name(condition->reason) : REASON_OTHER;
}
