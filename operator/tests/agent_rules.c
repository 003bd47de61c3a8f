/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/agent_rules.h"

#include "common/json.h"
#include "operator/tests/operator_world.h"

static const json_t *cluster_status(const struct agent_doubles *doubles)
{
    return json_path(agent_model_cluster(doubles), "status");
}

static bool is_acknowledger(const json_t *status, int ordinal)
{
    size_t i;
    const json_t *value;
    json_array_foreach(json_path(status, "acknowledgers"), i, value) {
        if (json_integer_value(value) == ordinal)
            return true;
    }
    return false;
}

/* The next primary follows the old one, under the new epoch, until that one has closed. */
static bool is_next_after(const json_t *status, const char *name, const char *source)
{
    return !str_eq(json_path_str(status, "transition.kind", ""), "Failover") &&
        str_eq(json_path_str(status, "transition.to", ""), name) &&
        str_eq(json_path_str(status, "transition.from", ""), source);
}

void agent_rules_check_order(const struct agent_double *agent, const struct agent_order *order)
{
    const json_t *status = cluster_status(agent->all);
    int64_t epoch = json_path_int(status, "epoch", 0);
    const char *primary = json_path_str(status, "currentPrimary", "");
    const char *named = order->role == AGENT_ROLE_PRIMARY ? agent->name : "";
    char source[64];
    snprintf(source, sizeof(source), "%.*s", (int)strcspn(order->source_host, "."), order->source_host);
    if (order->role == AGENT_ROLE_REPLICA)
        named = source;
    if ((int64_t)order->epoch > epoch)
        agent_model_fail(agent->all, "I2: %s got an order of epoch %llu before the status said more than %lld",
            agent->name, (unsigned long long)order->epoch, (long long)epoch);
    if ((int64_t)order->epoch == epoch && *named && !str_eq(named, primary) &&
        !(order->rotate && is_next_after(status, agent->name, source)))
        agent_model_fail(agent->all, "I2: %s was told that %s is primary of epoch %lld, the status says %s",
            agent->name, named, (long long)epoch, primary);
    bool may_wait = json_path_int(status, "acks", 0) > 0; /* else nobody counts acknowledgements under this epoch */
    bool follows = agent->status.phase != AGENT_PHASE_SEEDING && order->role == AGENT_ROLE_REPLICA && *source;
    if ((int64_t)order->epoch == epoch && may_wait && follows && order->semi_sync &&
        !is_acknowledger(status, agent->ordinal))
        agent_model_fail(agent->all, "I4: %s is told to acknowledge, and the status does not say so", agent->name);
}

void agent_rules_check_acks(const struct agent_double *agent, const struct agent_order *order)
{
    typeof(agent->all->told[0]) *told = &agent->all->told[order->role];
    if (order->epoch < told->epoch || agent->status.phase == AGENT_PHASE_SEEDING)
        return;
    if (order->role == AGENT_ROLE_PRIMARY && order->epoch == told->epoch &&
        (order->semi_sync != told->semi_sync || order->acks != told->acks))
        agent_model_fail(agent->all,
            "I2: %s is told of %u acknowledgements (semi-sync %d) under epoch %llu, which said %u (%d)", agent->name,
            order->acks, order->semi_sync, (unsigned long long)order->epoch, told->acks, told->semi_sync);
    told->epoch = order->epoch;
    told->semi_sync = order->semi_sync;
    told->acks = order->acks;
}

unsigned agent_rules_acknowledgers(const struct agent_double *primary)
{
    unsigned count = 0;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        const struct agent_double *other = &primary->all->members[i];
        count += other->following == primary->ordinal && other->order.semi_sync && agent_model_receives(other);
    }
    return count;
}

bool agent_rules_can_commit(const struct agent_double *primary)
{
    return primary->opened && agent_model_server_runs(primary) &&
        (!primary->open_as.semi_sync || agent_rules_acknowledgers(primary) >= MAX_OF(1U, primary->open_as.acks));
}

void agent_rules_check_opening(const struct agent_double *agent)
{
    const struct agent_doubles *doubles = agent->all;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        const struct agent_double *other = &doubles->members[i];
        if (other != agent && other->opened && (!other->open_as.semi_sync || agent_rules_can_commit(other)))
            agent_model_fail(agent->all, "I1: %s (epoch %llu) is opened while %s (epoch %llu) takes writes",
                agent->name, (unsigned long long)agent->epoch, other->name, (unsigned long long)other->epoch);
    }
    if (agent->line != doubles->line)
        agent_model_fail(agent->all, "%s is opened with history %llu, which ended with restore %llu", agent->name,
            (unsigned long long)agent->line, (unsigned long long)doubles->line);
    if (agent->executed < doubles->acknowledged)
        agent_model_fail(agent->all, "I3: %s is opened with %llu of %llu acknowledged transactions", agent->name,
            (unsigned long long)agent->executed, (unsigned long long)doubles->acknowledged);
    if (agent->errant > 0)
        agent_model_fail(
            agent->all, "%s is opened with %u transactions that are not of the history", agent->name, agent->errant);
}

void agent_rules_check_initialise(const struct agent_double *agent)
{
    const struct agent_doubles *doubles = agent->all;
    if (json_path_bool(cluster_status(doubles), "initialized", false))
        agent_model_fail(agent->all, "I8: %s initialises in a cluster that was initialised before", agent->name);
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        if (&doubles->members[i] != agent && doubles->members[i].has_data)
            agent_model_fail(
                agent->all, "I8: %s initialises although %s has data", agent->name, doubles->members[i].name);
    }
}

static const json_t *in_place_of(const struct agent_double *agent)
{
    return json_object_get(cluster_status(agent->all), "restoreInPlace");
}

void agent_rules_check_taking(const struct agent_double *agent)
{
    const json_t *in_place = in_place_of(agent);
    if (!str_eq(json_path_str(in_place, "phase", ""), "Taking") ||
        json_path_int(in_place, "taken", 0) != (int64_t)agent->order.restore_number)
        agent_model_fail(agent->all, "I2: %s takes restore %llu, which the status does not say", agent->name,
            (unsigned long long)agent->order.restore_number);
}

static void check_restore_beside(const struct agent_double *agent)
{
    const json_t *in_place = in_place_of(agent);
    if (!str_eq(json_path_str(in_place, "phase", ""), "Restoring") ||
        !str_eq(json_path_str(in_place, "member", ""), agent->name) ||
        !str_eq(json_path_str(in_place, "source.backup", ""), agent->order.restore_id))
        agent_model_fail(agent->all, "I2: %s restores %s beside its data, which the status does not name", agent->name,
            agent->order.restore_id);
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        if (agent_double_is_open(&agent->all->members[i]))
            agent_model_fail(agent->all, "%s serves while %s restores", agent->all->members[i].name, agent->name);
    }
}

void agent_rules_check_restore(const struct agent_double *agent)
{
    const json_t *restore = json_object_get(cluster_status(agent->all), "restore");
    if (agent->order.seed == AGENT_SEED_RESTORE_BESIDE) {
        check_restore_beside(agent);
        return;
    }
    agent_rules_check_initialise(agent);
    if (!str_eq(json_path_str(restore, "phase", ""), "Restoring") ||
        !str_eq(json_path_str(restore, "backup", ""), agent->order.restore_id))
        agent_model_fail(
            agent->all, "I2: %s restores %s, which the status does not name", agent->name, agent->order.restore_id);
}

void agent_rules_check_copy(const struct agent_double *agent, const struct agent_double *donor)
{
    if (!agent->has_data || agent->line != donor->line)
        return;
    if (agent->errant > agent->set_aside)
        agent_model_fail(agent->all, "I7: the errant transactions of %s are thrown away", agent->name);
    if (agent->executed > donor->executed)
        agent_model_fail(agent->all, "%s, which has %llu transactions, is replaced by %llu of %s", agent->name,
            (unsigned long long)agent->executed, (unsigned long long)donor->executed, donor->name);
}
