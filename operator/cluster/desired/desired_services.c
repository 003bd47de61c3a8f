/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/state/copy_close.h"
#include "operator/cluster/state/final_backup_state.h"
#include "operator/cluster/state/in_place_state.h"
#include "operator/cluster/state/member_view.h"

/* Where the server listens, whatever spec.port is: an EndpointSlice tells the ports of pods, a Service finds its own
 * there by name. */
static json_t *mysql_port(void)
{
    return json_build("{s:s, s:i, s:s}", "name", "mysql", "port", MYSQL_PORT, "protocol", "TCP");
}

static json_t *service_port(int at)
{
    json_t *port = mysql_port();
    json_put_int(port, "port", at);
    json_put_int(port, "targetPort", MYSQL_PORT);
    return port;
}

static void put_map_members(json_t *object, const char *key, const json_t *members)
{
    if (!members || json_object_size(members) == 0)
        return;
    json_t *target = json_object_get(object, key);
    if (!target) {
        target = json_object();
        json_put(object, key, target);
    }
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)members, name, value)
        if (!json_object_get(target, name)) /* ours win */
            json_object_set(target, name, value);
}

static void put_options(json_t *service, const struct cluster_service_options *options)
{
    json_t *metadata = json_object_get(service, "metadata");
    put_map_members(metadata, "labels", options->labels);
    put_map_members(metadata, "annotations", options->annotations);
    json_t *spec = json_object_get(service, "spec");
    json_put_str(spec, "type", options->type);
    if (options->load_balancer_source_ranges)
        json_put(spec, "loadBalancerSourceRanges", json_deep_copy(options->load_balancer_source_ranges));
}

/* Without a cluster IP nothing translates ports: clients reach what the server listens on. */
json_t *desired_service(const struct cluster_snapshot *snapshot)
{
    json_t *service = desired_object(snapshot, "v1", "Service", snapshot->names.service);
    json_put(service, "spec",
        json_build("{s:s, s:b, s:o, s:[o, {s:s, s:i, s:i, s:s}]}", "clusterIP", "None", "publishNotReadyAddresses", 1,
            "selector", cluster_selector_labels(snapshot->name), "ports", service_port(MYSQL_PORT), "name", "agent",
            "port", AGENT_PORT_TLS, "targetPort", AGENT_PORT_TLS, "protocol", "TCP"));
    return service;
}

json_t *desired_service_primary(const struct cluster_snapshot *snapshot)
{
    json_t *service = desired_object(snapshot, "v1", "Service", snapshot->names.service_primary);
    json_put(service, "spec", json_build("{s:[o]}", "ports", service_port(snapshot->cluster.port)));
    put_options(service, &snapshot->cluster.service_primary);
    return service;
}

json_t *desired_service_replicas(const struct cluster_snapshot *snapshot)
{
    json_t *selector = cluster_selector_labels(snapshot->name);
    json_put_str(selector, LABEL_ROLE, LABEL_ROLE_REPLICA);
    json_t *service = desired_object(snapshot, "v1", "Service", snapshot->names.service_replicas);
    json_put(service, "spec",
        json_build("{s:o, s:[o]}", "selector", selector, "ports", service_port(snapshot->cluster.port)));
    put_options(service, &snapshot->cluster.service_replicas);
    return service;
}

static json_t *primary_endpoint(const struct cluster_snapshot *snapshot, const struct pod_object *pod)
{
    json_t *endpoint = json_build("{s:[s], s:{s:b}, s:{s:s, s:s, s:s, s:s}}", "addresses", pod->pod_ip, "conditions",
        "ready", 1, "targetRef", "kind", "Pod", "namespace", snapshot->ns, "name", pod->name, "uid", pod->uid);
    return endpoint;
}

static bool fits_family(const struct cluster_snapshot *snapshot, const char *address)
{
    return !str_empty(address) && (strchr(address, ':') != NULL) == snapshot->ipv6;
}

bool desired_route_is_open(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    if (!primary || !primary->pod || !snapshot->last.roles.initialized || final_backup_is_closed(snapshot) ||
        in_place_closes_route(snapshot))
        return false;
    if (transition->failover && str_empty(transition->to)) /* `primary` is the lost one */
        return false;
    /* An agent that is started anew is no reason to turn clients away from its server: its last word stands. */
    if (!member_speaks(primary))
        return cluster_member_is_ready(primary) || (primary->agent && primary->agent->writable);
    if (primary->agent->phase == AGENT_PHASE_UNKNOWN)
        return true;
    return primary->agent->writable || primary->agent->closed_for_room || copy_close_is_under_way(snapshot) ||
        str_eq(primary->name, snapshot->last.roles.transition.to);
}

/* The old primary of a switchover takes writes as before, and its agent, which is to stop them, does not answer: the
 * route was ahead for nothing. It leads to the new one again when that agent is back. */
static bool takes_writes_still(const struct cluster_snapshot *snapshot, const struct cluster_member *from)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    return !transition->failover && from && !from->departed && from->pod && from->agent && !member_speaks(from) &&
        !from->agent_awaited && from->agent->writable && from->agent->epoch < (uint64_t)transition->epoch &&
        from->silent_ms >= failover_silence_ms(snapshot) && !(to && member_is_open(snapshot, to));
}

static const struct cluster_member *routed_member(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.roles.transition.from);
    return takes_writes_still(snapshot, from) ? from : cluster_primary(snapshot);
}

json_t *desired_endpoint_slice(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = routed_member(snapshot);
    bool open = desired_route_is_open(snapshot, primary) && fits_family(snapshot, primary->pod->pod_ip);
    json_t *slice = desired_object(snapshot, "discovery.k8s.io/v1", "EndpointSlice", snapshot->names.service_primary);
    json_t *labels = json_object_get(json_object_get(slice, "metadata"), "labels");
    json_put_str(labels, LABEL_SERVICE_NAME, snapshot->names.service_primary);
    json_put_str(labels, LABEL_SLICE_MANAGER, DESIRED_SLICE_MANAGER);
    json_put_str(slice, "addressType", snapshot->ipv6 ? "IPv6" : "IPv4");
    json_t *endpoints = json_array();
    if (open)
        json_array_append_new(endpoints, primary_endpoint(snapshot, primary->pod));
    json_put(slice, "endpoints", endpoints);
    json_put(slice, "ports", json_build("[o]", mysql_port()));
    return slice;
}
