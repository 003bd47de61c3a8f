/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/desired/service_names.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"
#include "operator/cluster/reconcile/cluster_secrets.h"

static int phase_after_secrets(struct cluster_reconcile *reconcile)
{
    int next = cluster_reconcile_go_on(reconcile, reconcile->planned ? CLUSTER_PHASE_BINDING : CLUSTER_PHASE_ROLES);
    if (next != CLUSTER_PHASE_BINDING)
        return next;
    cluster_reconcile_look_at_agents(reconcile);
    cluster_reconcile_tell_agents(reconcile);
    return next;
}

static void on_secrets(void *arg, const struct cluster_secrets_facts *facts,
    const struct cluster_credentials *credentials, const struct error *err)
{
    struct cluster_reconcile *reconcile = arg;
    if (!err) {
        struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
        cluster_memory_take_secrets(memory, facts);
        memory->secrets_checked_ms = loop_now_ms(reconcile->controller->loop);
        memory->secrets_generation = reconcile->snapshot.generation;
        memory->binding_due = true;
        secret_free(reconcile->user_password);
        reconcile->user_password = xstrdup(credentials->user_password);
        str_replace(&reconcile->ca_pem, credentials->ca_pem);
    } else {
        reconcile->snapshot.secrets_failed = !reconcile->planned;
        if (!reconcile->context.error.kind) {
            reconcile->context.error = *err;
            reconcile->error_kind = PLAN_SECRET;
        }
    }
    phases_go_on(&reconcile->context.phases, phase_after_secrets(reconcile));
}

int cluster_phase_secrets(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    struct cluster_controller *controller = reconcile->controller;
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    const struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
    struct strvec dns_names;
    strvec_init(&dns_names);
    service_names(&snapshot->names, snapshot->ns, controller->options.cluster_domain, &dns_names);
    _cleanup_(json_decrefp) json_t *metadata = desired_child_metadata(snapshot);
    bool takes_password = snapshot->usable && !snapshot->cluster.paused;
    const struct cluster_secrets_request request = {
        .ns = snapshot->ns,
        .uid = snapshot->uid,
        .accounts_name = snapshot->names.accounts,
        .ca_name = snapshot->names.ca,
        .tls_name = snapshot->names.tls,
        .metadata = metadata,
        .dns_names = (const char *const *)dns_names.v,
        .user_password = takes_password ? snapshot->cluster.password : NULL,
        .user_secret_name = takes_password ? snapshot->cluster.password_secret_name : NULL,
        .user_secret_key = snapshot->cluster.password_secret_key,
        .password_of_root = !snapshot->cluster.username,
        .keep_user_password = !takes_password,
        .generate_user_password = takes_password && snapshot->cluster.username,
        .adopts = cluster_takes_over(snapshot),
        .fresh = snapshot->last.observed_generation == 0 && memory->secrets_checked_ms == 0,
        .want_client_tls = cluster_snapshot_has_agents(snapshot),
        .now_ms = snapshot->now_ms,
        .known = &memory->secrets,
    };
    cluster_secrets_ensure(
        controller->client, controller->targets.kinds[PLAN_SECRET].resource, &request, on_secrets, reconcile);
    strvec_release(&dns_names);
    cluster_snapshot_drop_world(&reconcile->snapshot);
    return PHASES_WAIT;
}
