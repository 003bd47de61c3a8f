/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_store_pod.h: the pod that serves a volume of backups to the members of a cluster and to the operator
 * (`kube-mysql-agent store`): its names and its manifest. Pure.
 *
 * It mounts the claim and the cluster's TLS Secret; whoever wants to speak with it shows a certificate of the cluster.
 * One for each cluster, claim and purpose: who made one removes it when nobody of its own needs it any more. That of a
 * restore mounts the volume read-only, so it serves beside one that writes: the archive of the same cluster, or of the
 * one that the backup is of. All of one claim prefer the same node.
 * https://POD.NAME-mysql.NAMESPACE.svc:AGENT_PORT_TLS/v1/...: that name is in no DNS, only in the certificate
 * (*.NAME-mysql.NAMESPACE.svc); it is reached by the pod's address.
 */
#ifndef KM_BACKUP_STORE_POD_H
#define KM_BACKUP_STORE_POD_H

#include "common/base.h"

#include <jansson.h>

#include "common/strbuf.h"
#include "operator/api/backup_destination.h"
#include "operator/api/mysql_config.h"
#include "operator/api/names.h"

#define BACKUP_STORE_BUCKET "backup" /* of tasks: agents of earlier versions want one named, and ask for it */
#define BACKUP_STORE_DIRECTORY "/backup"

/* What it is for; part of its name. */
#define BACKUP_STORE_FOR_BACKUPS "store"
#define BACKUP_STORE_FOR_RESTORE "rstore"

struct backup_store_pod {
    const char *ns, *cluster, *cluster_uid;
    const char *claim;
    const char *purpose;
    const struct mysql_config_spec *config; /* the cluster's, in force */
    const char *default_agent_image;        /* when the configuration names none, or one of an earlier version */
    bool agents_are_outdated;               /* a member says so: the configuration names an earlier version */
};

/* "CLUSTER-store-1a2b3c4d" */
void backup_store_pod_name(
    char out[static DERIVED_NAME_SIZE], const char *cluster, const char *claim, const char *purpose);
/* The name in its certificate. */
void backup_store_server_name(const char *ns, const char *cluster, const char *pod, struct strbuf *out);
/* Label kubemysql.dev/role is "store-vPROTOCOL-HASH", the hash of its own manifest: pods cannot be changed, a new
 * hash means a new pod. New document. */
json_t *backup_store_pod_manifest(const struct backup_store_pod *pod);
/* By that label: it speaks as we do (AGENT_VOLUME_PROTOCOL). Pods that an earlier version has made do not. */
bool backup_store_pod_is_understood(const char *role);
/* An agent of an earlier version does not understand the pod that we make. */
#define BACKUP_STORE_AGENT_OUTDATED "AgentOutdated" /* reason of conditions */
struct agent_status;
bool backup_store_agent_is_outdated(const struct agent_status *status);
void backup_store_say_outdated(const char *member, char *message, size_t size);

/* The claim of a destination that has a size, for what is made when there is none: without an owner and without the
 * labels by which we find what is ours, so nobody of us changes or deletes it. New document; NULL: none is to be
 * made. */
json_t *backup_claim_manifest(const char *ns, const char *cluster, const struct backup_destination *destination);

#endif
