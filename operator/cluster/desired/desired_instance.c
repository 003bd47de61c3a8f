/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/member_view.h"

/* The server id of a member whose data was initialised is this and its ordinal; each copy has one of its own
 * (agent/bootstrap/server_id.h). Clusters that may one day replicate from each other need different ones: from the UID,
 * 16 apart. */
static uint32_t server_id_base(const char *uid)
{
    uint64_t hash = hash64(HASH64_INIT, uid, strlen(uid));
    return (uint32_t)(((hash >> 16) % 0x0ffffffeULL + 1) << 4);
}

static char *instance_json(
    const struct cluster_snapshot *snapshot, const char *made_with, const char *data_version, bool start)
{
    _cleanup_(freep) char *domain = xasprintf("%s.%s.svc", snapshot->names.service, snapshot->ns);
    struct agent_instance_config config = {
        .cluster_namespace = xstrdup(snapshot->ns),
        .cluster_name = xstrdup(snapshot->name),
        .cluster_uid = xstrdup(snapshot->uid),
        .service_domain = xstrdup(domain),
        .server_id_base = server_id_base(snapshot->uid),
        .replicas = snapshot->scale.effective,
        .database = xstrdup(snapshot->cluster.database),
        .username = xstrdup(snapshot->cluster.username),
        .require_tls = snapshot->cluster.require_tls,
        .binlog_max_bytes = (uint64_t)snapshot->cluster.binlog_max_bytes,
        .made_with = xstrdup(made_with),
        .data_version = xstrdup(data_version),
        .start = start,
    };
    json_t *document = agent_instance_config_encode(&config);
    char *text = json_text(document);
    json_decref(document);
    agent_instance_config_release(&config);
    return text;
}

char *desired_instance_json(const struct cluster_snapshot *snapshot)
{
    return instance_json(snapshot, NULL, NULL, false);
}

/* All members' data came from one; whoever has heard of it says what it was made with. Of which server it is the
 * primary says: a replica that an undone change has brought further can be copied anew. */
char *desired_check_instance_json(const struct cluster_snapshot *snapshot, enum check_kind kind)
{
    const char *made_with = NULL;
    for (int i = 0; i < snapshot->member_count && !made_with; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent && !str_empty(agent->made_with))
            made_with = agent->made_with;
    }
    const char *version = cluster_data_version(snapshot);
    return instance_json(snapshot, made_with, str_empty(version) ? NULL : version, kind == CHECK_START);
}
