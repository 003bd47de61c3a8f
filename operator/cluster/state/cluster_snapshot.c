/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/cluster_snapshot.h"

const char *cluster_take_position(const struct cluster_snapshot *snapshot, const char *position)
{
    return position_take(snapshot->last.positions, position);
}

bool cluster_takes_over(const struct cluster_snapshot *snapshot)
{
    return snapshot->orphans[CHILD_STATEFUL_SET] != NULL;
}

bool cluster_owns(const struct cluster_snapshot *snapshot, const struct kube_object *object)
{
    return kube_uid_eq(object->owner, kube_uid_parse(snapshot->uid, strlen(snapshot->uid)));
}

bool cluster_member_is_ready(const struct cluster_member *member)
{
    return member->pod && member->pod->ready && !member->pod->object.deleting;
}

void cluster_snapshot_release(struct cluster_snapshot *snapshot)
{
    mysql_cluster_release(&snapshot->cluster);
    mysql_config_spec_release(&snapshot->config);
    cluster_status_release(&snapshot->last);
    free(snapshot->mycnf);
    free(snapshot->wanted_mycnf);
    free(snapshot->roll_again);
    free(snapshot->ns);
    free(snapshot->name);
    free(snapshot->uid);
    free(snapshot->version);
    free(snapshot->config_version);
    free(snapshot->switchover_to);
    free(snapshot->confirmed_lost);
    free(snapshot->set_aside_seen);
    free(snapshot->stop_server);
    free(snapshot->open_for_root_until);
    in_place_wish_release(&snapshot->in_place_wish);
    *snapshot = (struct cluster_snapshot){.ns = NULL};
}

int cluster_snapshot_ready_count(const struct cluster_snapshot *snapshot)
{
    int count = 0;
    for (int i = 0; i < snapshot->member_count; i++)
        count += cluster_member_is_ready(&snapshot->members[i]);
    return count;
}

bool cluster_member_has_agent(const struct cluster_member *member)
{
    const struct pod_object *pod = member->pod;
    return pod && !str_empty(pod->pod_ip) && pod->phase != POD_PHASE_FAILED && pod->phase != POD_PHASE_SUCCEEDED;
}

bool cluster_snapshot_has_agents(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++)
        if (cluster_member_has_agent(&snapshot->members[i]))
            return true;
    return false;
}

bool cluster_snapshot_has_mounting_pod(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct pod_object *pod = snapshot->members[i].pod;
        if (pod && pod->scheduled && !pod->initialized && !pod->object.deleting)
            return true;
    }
    return false;
}

int64_t cluster_snapshot_certificate_end_ms(const struct cluster_snapshot *snapshot)
{
    int64_t end_ms = snapshot->secrets.certificate_not_after_ms;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent && agent->certificate_not_after_ms > 0 && (end_ms == 0 || agent->certificate_not_after_ms < end_ms))
            end_ms = agent->certificate_not_after_ms;
    }
    return end_ms;
}
