/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/agent_metrics.h"

#include "agent/mysql/server_status.h"
#include "common/alloc.h"

enum {
    M_READY,
    M_PHASE,
    M_PROBES,
    M_PROBE_SECONDS,
    M_VOLUME,
    M_VOLUME_FREE,
    M_VOLUME_FLOOR,
    M_CLOSED_FOR_ROOM,
    M_OPEN_FOR_ROOT,
    M_TMP,
    M_TMP_BOUND,
    M_TMP_ENDED,
    M_CERTIFICATE,
    M_PROBLEMS,
    M_ROLE,
    M_EPOCH,
    M_WRITABLE,
    M_LAG,
    M_ERRANT,
    M_BLOCKED,
    M_WAITING,
    M_ACKNOWLEDGING,
    M_LONG,
    M_VERSION,
    M_OPERATOR_SILENT,
    M_COUNT
};

static const struct metric_desc descs[M_COUNT] = {
    [M_READY] = {"kubemysql_agent_ready", "Whether this member is ready.", METRIC_GAUGE, {NULL}, {0}},
    [M_PHASE] = {"kubemysql_agent_phase", "1 for the phase the server is in.", METRIC_GAUGE, {"phase"}, {0}},
    [M_PROBES] = {"kubemysql_agent_probes_total", "Probes by result.", METRIC_COUNTER, {"result"}, {0}},
    [M_PROBE_SECONDS] = {"kubemysql_agent_probe_seconds", "How long answered probes took.", METRIC_HISTOGRAM, {NULL},
        {0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2}},
    [M_VOLUME] = {"kubemysql_agent_volume_bytes", "Size of the file system of the data volume.", METRIC_GAUGE, {NULL},
        {0}},
    [M_VOLUME_FREE] = {"kubemysql_agent_volume_free_bytes", "Free space of the file system of the data volume.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_VOLUME_FLOOR] = {"kubemysql_agent_volume_floor_bytes", "With less free space a primary is closed for writes.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_CLOSED_FOR_ROOM] = {"kubemysql_agent_closed_for_room",
        "Whether this primary is closed for writes, as a data volume has too little room.", METRIC_GAUGE, {NULL}, {0}},
    [M_OPEN_FOR_ROOT] = {"kubemysql_agent_open_for_root",
        "Whether root may write on this primary, which is closed for writes, to make room.", METRIC_GAUGE, {NULL}, {0}},
    [M_TMP] = {"kubemysql_agent_tmp_bytes", "What the server's temporary files in /tmp take. Absent: not known.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_TMP_BOUND] = {"kubemysql_agent_tmp_bound_bytes",
        "Beyond this the connection whose statement fills /tmp is ended.", METRIC_GAUGE, {NULL}, {0}},
    [M_TMP_ENDED] = {"kubemysql_agent_tmp_ended_connections_total", "Connections that were ended as they filled /tmp.",
        METRIC_COUNTER, {NULL}, {0}},
    [M_CERTIFICATE] = {"kubemysql_agent_certificate_expiry_timestamp_seconds", "When the agent's certificate ends.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_PROBLEMS] = {"kubemysql_agent_problems", "Problems that a person should know; the member's status names them.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_ROLE] = {"kubemysql_agent_role", "1 for the role that was ordered.", METRIC_GAUGE, {"role"}, {0}},
    [M_EPOCH] = {"kubemysql_agent_epoch", "The largest epoch this member has accepted.", METRIC_GAUGE, {NULL}, {0}},
    [M_WRITABLE] = {"kubemysql_agent_writable", "Whether clients can write here.", METRIC_GAUGE, {NULL}, {0}},
    [M_LAG] = {"kubemysql_agent_lag_seconds", "Age of what was applied last, by the heartbeat. Absent: not known.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_ERRANT] = {"kubemysql_agent_errant", "Whether transactions are executed here that the source has not.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_BLOCKED] = {"kubemysql_agent_writes_blocked_seconds", "Since when no commit has been acknowledged; 0: they are.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_WAITING] = {"kubemysql_agent_waiting_commits", "Commits that wait for acknowledgements.", METRIC_GAUGE, {NULL},
        {0}},
    [M_ACKNOWLEDGING] = {"kubemysql_agent_acknowledging_replicas", "Replicas that acknowledge commits.", METRIC_GAUGE,
        {NULL}, {0}},
    [M_LONG] = {"kubemysql_agent_long_transactions", "Transactions of clients open for more than a second.",
        METRIC_GAUGE, {NULL}, {0}},
    [M_VERSION] = {"mysql_version_info", "1 for the server that answered last.", METRIC_GAUGE, {"version", "flavour"},
        {0}},
    [M_OPERATOR_SILENT] = {"kubemysql_agent_operator_silent_seconds",
        "For how long no operator has watched this member; 0: one does.", METRIC_GAUGE, {NULL}, {0}},
};

struct agent_metrics {
    struct metrics *registry;
    struct metric_family *families[M_COUNT];
    struct server_metrics *server;
    char version[sizeof(((struct agent_status *)NULL)->version)]; /* that has a series; "" none */
};

struct agent_metrics *agent_metrics_new(void)
{
    struct agent_metrics *metrics = xnew(struct agent_metrics);

    metrics->registry = metrics_new();
    for (size_t i = 0; i < M_COUNT; i++)
        metrics->families[i] = metrics_declare(metrics->registry, &descs[i]);
    metrics->server = server_metrics_new(metrics->registry);
    server_metrics_set(metrics->server, NULL);
    metrics_add_process(metrics->registry);
    return metrics;
}

void agent_metrics_free(struct agent_metrics *metrics)
{
    if (!metrics)
        return;
    metrics_free(metrics->registry);
    server_metrics_free(metrics->server);
    free(metrics);
}

struct metrics *agent_metrics_registry(struct agent_metrics *metrics)
{
    return metrics->registry;
}

void agent_metrics_probe(struct agent_metrics *metrics, const struct instance_state *state)
{
    bool answered = state->probe_error.kind == ERROR_NONE;

    metric_inc(metric_of1(metrics->families[M_PROBES], answered ? "ok" : error_kind_name(state->probe_error.kind)));
    if (answered)
        metric_observe(metric_of(metrics->families[M_PROBE_SECONDS]), (double)state->probe_us / 1e6);
    server_metrics_set(metrics->server, answered ? &state->observed.status : NULL);
}

static const char *role_label(enum agent_role role)
{
    return role == AGENT_ROLE_NONE ? "none" : agent_role_name(role);
}

static void set_replication(struct agent_metrics *metrics, const struct agent_status *status)
{
    struct metric_family *const *families = metrics->families;
    for (unsigned i = 0; i < AGENT_ROLE_COUNT; i++)
        metric_set(metric_of1(families[M_ROLE], role_label((enum agent_role)i)), status->role == i);
    metric_set(metric_of(families[M_EPOCH]), (double)status->epoch);
    metric_set(metric_of(families[M_WRITABLE]), status->writable);
    if (status->replication.lag_known)
        metric_set(metric_of(families[M_LAG]), (double)status->replication.lag_ms / 1e3);
    else
        metric_unset(metric_of(families[M_LAG]));
    metric_set(metric_of(families[M_ERRANT]), *status->errant != '\0');
    metric_set(metric_of(families[M_BLOCKED]), (double)status->writes_blocked_ms / 1e3);
    metric_set(metric_of(families[M_WAITING]), status->waiting_commits);
    metric_set(metric_of(families[M_ACKNOWLEDGING]), status->semi_sync_replicas);
    metric_set(metric_of(families[M_LONG]), status->long_transactions);
}

static void set_version(struct agent_metrics *metrics, const struct agent_status *status)
{
    struct metric_family *family = metrics->families[M_VERSION];
    if (!*status->version || str_eq(metrics->version, status->version))
        return;
    if (*metrics->version)
        metric_remove_matching(family, 0, metrics->version);
    memcpy(metrics->version, status->version, sizeof(metrics->version));
    metric_set(metric_of2(family, status->version, agent_flavour_name(status->flavour)), 1);
}

void agent_metrics_operator(struct agent_metrics *metrics, int64_t silent_ms)
{
    metric_set(metric_of(metrics->families[M_OPERATOR_SILENT]), (double)silent_ms / 1e3);
}

void agent_metrics_tmp(struct agent_metrics *metrics, const struct tmp_report *report)
{
    if (report->is_known)
        metric_set(metric_of(metrics->families[M_TMP]), (double)report->bytes);
    else
        metric_unset(metric_of(metrics->families[M_TMP]));
    metric_set(metric_of(metrics->families[M_TMP_BOUND]), (double)report->bound);
    metric_set(metric_of(metrics->families[M_TMP_ENDED]), (double)report->ended);
}

void agent_metrics_status(struct agent_metrics *metrics, const struct agent_status *status)
{
    set_version(metrics, status);
    metric_set(metric_of(metrics->families[M_READY]), status->ready);
    for (unsigned i = 0; i < AGENT_PHASE_COUNT; i++)
        metric_set(metric_of1(metrics->families[M_PHASE], agent_phase_name((enum agent_phase)i)), status->phase == i);
    metric_set(metric_of(metrics->families[M_VOLUME]), (double)status->volume_bytes);
    metric_set(metric_of(metrics->families[M_VOLUME_FREE]), (double)status->volume_free_bytes);
    metric_set(metric_of(metrics->families[M_VOLUME_FLOOR]), (double)status->volume_floor_bytes);
    metric_set(metric_of(metrics->families[M_CLOSED_FOR_ROOM]), status->closed_for_room);
    metric_set(metric_of(metrics->families[M_OPEN_FOR_ROOT]), status->open_for_root);
    metric_set(metric_of(metrics->families[M_CERTIFICATE]), (double)status->certificate_not_after_ms / 1e3);
    metric_set(metric_of(metrics->families[M_PROBLEMS]), status->problem_count);
    set_replication(metrics, status);
}
