/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/cluster_round.h"
#include "operator/cluster/cluster_secrets.h"

static bool has_agents(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++)
        if (cluster_member_has_agent(&snapshot->members[i]))
            return true;
    return false;
}

bool cluster_round_wants_secrets(const struct cluster_round *round)
{
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const struct cluster_memory *memory = cluster_round_memory(round);
    bool is_led = snapshot->last.epoch > 0 && has_agents(snapshot); /* with or without a good spec */
    if ((!snapshot->usable && !is_led) || snapshot->cluster.paused || snapshot->secrets_failed)
        return false;
    int64_t age_ms = loop_now_ms(round->controller->loop) - memory->secrets_checked_ms;
    bool lacks_tls = !memory->secrets.client_tls && has_agents(snapshot);
    return memory->secrets_checked_ms == 0 || age_ms >= round->controller->options.secrets_fresh_ms ||
        memory->secrets_generation != snapshot->generation || lacks_tls;
}

static void after_secrets(struct cluster_round *round)
{
    if (!cluster_round_look_again(round))
        cluster_round_abandon(round);
    else if (round->planned) {
        cluster_round_sync_agents(round);
        cluster_round_tell_agents(round);
        cluster_round_report(round);
    } else
        cluster_round_plan(round);
}

static void on_secrets(void *arg, const struct cluster_secrets_facts *facts, const struct error *err)
{
    struct cluster_round *round = arg;
    if (!err) {
        struct cluster_memory *memory = cluster_round_memory(round);
        cluster_memory_take_secrets(memory, facts);
        memory->secrets_checked_ms = loop_now_ms(round->controller->loop);
        memory->secrets_generation = round->snapshot.generation;
    } else {
        round->snapshot.secrets_failed = !round->planned;
        if (!round->error.kind) {
            round->error = *err;
            round->error_kind = PLAN_SECRET;
        }
    }
    after_secrets(round);
}

void cluster_round_ensure_secrets(struct cluster_round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const char *ns = snapshot->ns;
    _cleanup_(freep) char *wildcard = xasprintf("*.%s.%s.svc", snapshot->names.service, ns);
    _cleanup_(freep) char *primary = xasprintf("%s.%s.svc", snapshot->names.service_primary, ns);
    _cleanup_(freep) char *replicas = xasprintf("%s.%s.svc", snapshot->names.service_replicas, ns);
    const char *const dns_names[] = {wildcard, primary, replicas, NULL};
    _cleanup_(json_decrefp) json_t *metadata = desired_child_metadata(snapshot);
    const struct cluster_secrets_request request = {
        .ns = ns,
        .accounts_name = snapshot->names.accounts,
        .ca_name = snapshot->names.ca,
        .tls_name = snapshot->names.tls,
        .metadata = metadata,
        .dns_names = dns_names,
        .user_password = snapshot->usable ? snapshot->cluster.password : NULL,
        .user_secret_name = snapshot->usable ? snapshot->cluster.password_secret_name : NULL,
        .user_secret_key = snapshot->cluster.password_secret_key,
        .password_of_root = !snapshot->cluster.username,
        .keep_user_password = !snapshot->usable,
        .generate_user_password = snapshot->usable && snapshot->cluster.username,
        .fresh = snapshot->last.observed_generation == 0 && cluster_round_memory(round)->secrets_checked_ms == 0,
        .want_client_tls = has_agents(snapshot),
        .now_ms = snapshot->now_ms,
        .known = &cluster_round_memory(round)->secrets,
    };
    cluster_secrets_ensure(
        controller->client, controller->targets.kinds[PLAN_SECRET].resource, &request, on_secrets, round);
    cluster_snapshot_drop_world(&round->snapshot);
}
