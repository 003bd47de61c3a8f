/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desired.h: the manifests of a cluster's children, as functions of the snapshot. Pure; goldens in tests/data.
 *
 * Every function returns a new document for server-side apply with exactly the fields that we own. Equal snapshots give
 * equal documents.
 */
#ifndef KM_DESIRED_H
#define KM_DESIRED_H

#include <jansson.h>

#include "operator/cluster/state/cluster_snapshot.h"

/* Our own controller name on EndpointSlices: the endpoint controllers of Kubernetes leave those alone. */
#define DESIRED_SLICE_MANAGER "kube-mysql.kubemysql.dev"

/* Labels and the controller reference that all children carry: {labels, ownerReferences}. */
json_t *desired_child_metadata(const struct cluster_snapshot *snapshot);
json_t *desired_child(const struct cluster_snapshot *snapshot, enum cluster_child child);
const char *desired_child_name(const struct cluster_names *names, enum cluster_child child);
enum plan_kind desired_child_kind(enum cluster_child child);

/* Identifies what a member runs: images, my.cnf, security context. Hex, 16 characters. A new value is tried by a check
 * pod before members are touched. */
void desired_runtime_hash(const struct cluster_snapshot *snapshot, char out[static 17]);
/* Likewise the whole template of the members' pods. */
void desired_template_hash(const struct cluster_snapshot *snapshot, char out[static 17]);
/* Works it out for the snapshot, unless that has it: building and hashing a template takes some hundred microseconds,
 * and the hash is asked for several times in each reconcile. Call it once the specs are read and the StatefulSet is
 * found, while the snapshot is not made of what ran before. Without it, or when the port of `init` has changed since,
 * desired_template_hash works the hash out each time. */
void desired_note_template_hash(struct cluster_snapshot *snapshot);
/* Anew, of the template that the snapshot is made of. */
void desired_spec_template_hash(const struct cluster_snapshot *snapshot, char out[static 17]);
/* `init` declares its port in the template: what was made by an early version does. */
bool desired_keeps_init_port(const struct cluster_snapshot *snapshot);
/* The StatefulSet was written with it. Of one that an earlier version wrote that is not known: it counts as such. */
bool desired_template_is_applied(const struct cluster_snapshot *snapshot);
/* What the check pod has to do with what is wanted. */
enum check_kind {
    CHECK_UNKNOWN, /* desired_check_asked is being asked */
    CHECK_LOOK,    /* servers take it up while they run: their program looks at the options, a matter of a second */
    CHECK_START,   /* pods are replaced for it, or servers restarted: the server is started, too, on scratch data */
};
enum check_kind desired_check_kind(const struct cluster_snapshot *snapshot);
/* Whose server is asked whether it can take up the wanted my.cnf while it runs; NULL: nobody's, it is not that alone
 * that has changed, or no server runs. */
const struct cluster_member *desired_check_asked(const struct cluster_snapshot *snapshot);
/* The pod that tries both: placed and pulled as a member's pod is, with small requests, and on its own empty volume. */
json_t *desired_check_pod(const struct cluster_snapshot *snapshot, enum check_kind kind);
void desired_check_pod_name(const struct cluster_snapshot *snapshot, char out[static DERIVED_NAME_SIZE]);
/* Label value kubemysql.dev/role of the check pod for what is wanted: "check-HASH". */
void desired_check_pod_role(
    const struct cluster_snapshot *snapshot, enum check_kind kind, char out[static CHECK_ROLE_SIZE]);
/* It tries what is wanted, and as much of it as it has to; a look stays good while it is asked again. */
bool desired_check_pod_fits(const struct cluster_snapshot *snapshot, const struct pod_object *pod, enum check_kind kind);
/* The first member's pod as the StatefulSet would make it: to be created by dry run only. */
json_t *desired_trial_pod(const struct cluster_snapshot *snapshot);
/* The MysqlTerminal of spec.terminal. */
json_t *desired_terminal(const struct cluster_snapshot *snapshot);

/* What the StatefulSet controller makes of a member that has no pod, as far as the API server judges it: the pod, and
 * the claim (NULL: the cluster has none). For dry runs, never to be applied. */
json_t *desired_member_pod(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
json_t *desired_member_claim(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

/* Pieces, for the above and for tests. */
json_t *desired_object(
    const struct cluster_snapshot *snapshot, const char *api_version, const char *kind, const char *name);
json_t *desired_pod_template(const struct cluster_snapshot *snapshot);
/* Bears in ANNOTATION_AWAITED_PODS the members' pods that another set left behind and that are being deleted, as after
 * the cluster or its StatefulSet was deleted and made anew: when one of them has gone the set changes. The StatefulSet
 * controller pauses for longer and longer, a quarter of an hour at most, while a pod of another owner has the name that
 * it needs. The end of such a pod is no event of its set, a change of the set is. */
json_t *desired_stateful_set(const struct cluster_snapshot *snapshot);
json_t *desired_service(const struct cluster_snapshot *snapshot);
json_t *desired_service_primary(const struct cluster_snapshot *snapshot);
json_t *desired_service_replicas(const struct cluster_snapshot *snapshot);
/* Whether clients are led to the primary (NULL: there is none). The agent's word counts, which is there seconds before
 * Kubernetes' own; without it, the pod's readiness. In a switchover the route goes ahead to the new primary. Never
 * before the status says that a primary was open: who finds the route finds the data. */
bool desired_route_is_open(const struct cluster_snapshot *snapshot, const struct cluster_member *primary);
json_t *desired_endpoint_slice(const struct cluster_snapshot *snapshot);
json_t *desired_disruption_budget(const struct cluster_snapshot *snapshot);
json_t *desired_config_map(const struct cluster_snapshot *snapshot);
json_t *desired_service_account(const struct cluster_snapshot *snapshot);
/* The ConfigMap that keeps what the members run, before a roll; what of it is to be read still is missing. */
json_t *desired_before(const struct cluster_snapshot *snapshot);
/* A new document: the same with what the StatefulSet and NAME-mysql-config hold, as the API server gives them. NULL:
 * one of them lacks what is needed. */
json_t *desired_before_fill(const json_t *draft, const json_t *set, const json_t *config_map);
/* instance.json of the agents' contract. */
char *desired_instance_json(const struct cluster_snapshot *snapshot);
/* The same with what the data of the members was made with, and with what is to be done, for the check pod. */
char *desired_check_instance_json(const struct cluster_snapshot *snapshot, enum check_kind kind);

#endif
