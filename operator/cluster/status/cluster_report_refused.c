/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_refused.h"

#include "operator/api/pod_answer.h"
#include "operator/api/service_answer.h"

/* ---- Services ---- */

/* NULL: nothing of that Service comes from the spec. */
static const struct cluster_service_options *options_of(const struct mysql_cluster *cluster, enum cluster_child child)
{
    const struct cluster_service_options *options = child == CHILD_SERVICE_PRIMARY ? &cluster->service_primary
        : child == CHILD_SERVICE_REPLICAS                                          ? &cluster->service_replicas
                                                                                   : NULL;
    bool is_given = options &&
        (options->labels || options->annotations || options->load_balancer_source_ranges ||
            !str_eq(options->type, "ClusterIP"));
    return is_given ? options : NULL;
}

/* The field of the spec, where one is known, before the API server's words. True: it is. */
static bool put_words(const struct report *report, char *out, size_t size)
{
    const struct cluster_outcome *outcome = report->outcome;
    bool is_named =
        outcome->error_kind == PLAN_SERVICE && options_of(&report->snapshot->cluster, outcome->error_child) != NULL;
    if (is_named)
        report_put_text(out, size, "spec.services.%s%s: the API server refuses %s",
            outcome->error_child == CHILD_SERVICE_PRIMARY ? "primary" : "replicas",
            service_answer_field(outcome->error), outcome->error->message);
    else
        report_put_text(out, size, "%s", outcome->error->message);
    return is_named;
}

/* ---- what is refused ---- */

bool report_is_refused(const struct report *report)
{
    const struct error *error = report->outcome->error;
    return error && (error->kind == ERROR_INVALID || error->kind == ERROR_FORBIDDEN);
}

enum condition_reason report_refusal(const struct report *report, char *message, size_t size)
{
    const struct cluster_outcome *outcome = report->outcome;
    if (!report_is_refused(report))
        return REASON_OTHER;
    bool is_named = put_words(report, message, size);
    if (outcome->error_kind == PLAN_STATEFUL_SET)
        return REASON_TEMPLATE_REFUSED;
    if (outcome->error_kind == PLAN_POD && report->decision->gate == GATE_CHECKING)
        return REASON_CHECK_POD_REFUSED;
    return is_named && service_answer_blames_fields(outcome->error) ? REASON_SERVICE_REFUSED : REASON_OTHER;
}

/* A no of admission often says what is lacking, which need not be in the spec. */
static void say_how_to_pass(
    const struct report *report, const char *message, const char *else_do, char *out, size_t size)
{
    char words[256];
    const char *remedy = pod_refusal_remedy(message, report->snapshot->ns, "the cluster", words, sizeof(words));
    report_put_text(out, size, "%s: %s", remedy == words ? remedy : else_do, message);
}

bool report_refusal_remedy(const struct report *report, char *out, size_t size)
{
    const struct cluster_decision *decision = report->decision;
    char message[CLUSTER_MESSAGE_MAX];
    if (decision->gate_reason != REASON_OTHER && decision->gate != GATE_OPEN) /* the gate says itself what it blocks */
        return false;
    if (decision->gate_reason != REASON_OTHER)
        report_put_text(message, sizeof(message), "%s", decision->gate_message);
    else if (report_refusal(report, message, sizeof(message)) == REASON_OTHER)
        return false;
    if (decision->gate_is_of_volume) /* which is in no podTemplate */
        report_put_text(out, size, "correct the spec: %s", message);
    else
        say_how_to_pass(report, message, "correct the spec", out, size);
    return true;
}

bool report_retried_remedy(const struct report *report, char *out, size_t size)
{
    char message[CLUSTER_MESSAGE_MAX];
    if (!report_is_refused(report))
        return false;
    put_words(report, message, sizeof(message));
    say_how_to_pass(report, message, "change what the API server names", out, size);
    return true;
}

/* ---- names of ours that somebody else has ---- */

static bool terminal_is_foreign(const struct cluster_snapshot *snapshot)
{
    return snapshot->usable && snapshot->cluster.has_terminal && snapshot->terminal &&
        !cluster_owns(snapshot, &snapshot->terminal->object);
}

bool report_conflict(const struct report *report, char *out, size_t size)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct error *error = report->outcome->error;
    if (error && error->kind == ERROR_EXISTS)
        report_put_text(out, size, "%s", error->message);
    else if (terminal_is_foreign(snapshot))
        report_put_text(out, size,
            "spec.terminal: MysqlTerminal %s exists and is not ours; it is left alone. Rename or remove it",
            snapshot->terminal->name);
    else if (!str_empty(snapshot->binding.conflict))
        report_put_text(out, size, "%s", snapshot->binding.conflict);
    else
        return false;
    return true;
}

/* The words end with what to do (ownership.c). */
bool report_conflict_remedy(const struct report *report, char *out, size_t size)
{
    char message[CLUSTER_MESSAGE_MAX];
    if (!report_conflict(report, message, sizeof(message)))
        return false;
    report_put_text(out, size, "free the names that the cluster needs: %s", message);
    return true;
}
