/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_next_action.h"

#include "common/json.h"
#include "operator/api/archive_status.h"
#include "operator/api/names.h"
#include "operator/cluster/desired/cluster_volumes.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/roles/reseed.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/stop_wish.h"
#include "operator/cluster/status/cluster_report_left.h"
#include "operator/cluster/status/cluster_report_refused.h"
#include "operator/cluster/status/cluster_report_rolled.h"
#include "operator/cluster/status/cluster_report_room.h"
#include "operator/cluster/status/cluster_state.h"
#include "operator/cluster/status/cluster_trouble.h"
#include "operator/cluster/status/first_start.h"

static bool has_pods(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (snapshot->members[i].pod)
            return true;
    }
    return false;
}

/* The spec, or what it names, holds everything up, or a part of it. False: nothing of that is wrong. */
static bool say_how_to_be_accepted(struct report *report, char *out, size_t size)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct mysql_cluster *cluster = &snapshot->cluster;
    const struct cluster_secrets_facts *secrets = &snapshot->secrets;
    const char *rest = !snapshot->usable && has_pods(snapshot) ? "; until then the members are led as they are" : "";
    if (reason_of_name(snapshot->reason) == REASON_CONFIG_NOT_FOUND)
        report_put_text(out, size, "make the MysqlConfig that spec.config.name names, or name another: %s%s",
            snapshot->message, rest);
    else if (!str_empty(snapshot->reason))
        report_put_text(out, size, "correct the spec: %.*s%s", (int)(size - 128), snapshot->message, rest);
    else if (secrets->user_password == USER_PASSWORD_SECRET_MISSING)
        report_put_text(out, size, "make Secret %s in namespace %s with the password as key %s",
            cluster->password_secret_name, snapshot->ns, cluster->password_secret_key);
    else if (secrets->user_password == USER_PASSWORD_KEY_MISSING && *secrets->user_keys)
        report_put_text(out, size,
            "set spec.passwordSecret.key (now %s) to a key that Secret %s has: %s; or add that key to it",
            cluster->password_secret_key, cluster->password_secret_name, secrets->user_keys);
    else if (secrets->user_password == USER_PASSWORD_KEY_MISSING)
        report_put_text(out, size, "add the password to Secret %s as key %s; it is empty",
            cluster->password_secret_name, cluster->password_secret_key);
    else if (secrets->user_password == USER_PASSWORD_EMPTY)
        report_put_text(out, size, "put a password into key %s of Secret %s; it is empty", cluster->password_secret_key,
            cluster->password_secret_name);
    else if (!str_empty(report_backup_problem(snapshot)))
        report_put_text(out, size, "correct the spec: %s", report_backup_problem(snapshot));
    else
        return false;
    return true;
}

/* The operator's own plan stands behind what a person has to do. */
static void put_before(struct cluster_status *status, const char *remedy, const char *own)
{
    report_put_text(status->next_action, sizeof(status->next_action), "%s%s%s", remedy, *own ? "; then: " : "", own);
}

/* What only a person can do comes first. The operator's own plan stands behind it where it waits for that member to
 * change the primary. */
static bool say_what_is_to_do(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct cluster_member *worst = cluster_worst_member(snapshot, report->wanted);
    struct cluster_status *status = report->status;
    const char *own = snapshot->last.roles.initialized ? report->decision->intent.next_action : "";
    const char *planned = snapshot->last.roles.initialized ? report->decision->next_action : "";
    char remedy[sizeof(status->next_action)];
    struct first_start first;
    const struct agent_problem *lock = NULL;
    const struct cluster_member *locked = report_find_locked(report, &lock);
    if (snapshot->cluster.paused || snapshot->final.deleting)
        return false;
    if (str_empty(snapshot->reason) && report_refusal_remedy(report, remedy, sizeof(remedy)))
        put_before(status, remedy, planned);
    else if (say_how_to_be_accepted(report, remedy, sizeof(remedy)))
        report_put_text(status->next_action, sizeof(status->next_action), "%s", remedy);
    else if (first_start_fails(snapshot, &first))
        report_put_text(status->next_action, sizeof(status->next_action), "%s", first.remedy);
    else if (locked) {
        report_put_text(remedy, sizeof(remedy), "%s: %s", locked->name, lock->message);
        put_before(status, remedy, report->decision->next_action);
    } else if (roll_remedy(snapshot, &status->roll, remedy, sizeof(remedy)))
        put_before(status, remedy, own);
    else if (!cluster_data_is_lost(snapshot) && report_conflict_remedy(report, remedy, sizeof(remedy)))
        put_before(status, remedy, planned);
    else if (snapshot->usable && worst && member_trouble_remedy(snapshot, worst, remedy, sizeof(remedy)))
        put_before(status, remedy, own);
    else if (report_growth_is_refused(report) &&
        cluster_volumes_remedy(snapshot, report->outcome->error, remedy, sizeof(remedy)))
        put_before(status, remedy, own);
    else if (snapshot->usable && cluster_room_remedy(snapshot, remedy, sizeof(remedy)))
        put_before(status, remedy, own);
    else if (report_retried_remedy(report, remedy, sizeof(remedy)))
        put_before(status, remedy, planned);
    else
        return false;
    return true;
}

/* Of a cluster that has never served: what is known of the member tells more than that it has not been heard. */
static bool says_more(struct report *report, const struct cluster_member *unready)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    return unready && unready->pod && !str_empty(unready->pod->problem_reason) && snapshot->usable &&
        !snapshot->cluster.paused && !snapshot->final.deleting && !snapshot->last.roles.initialized;
}

/* A new backup is what one can go on from after a gap, and where there is none. Other failures end when the store is
 * there again. */
static bool say_how_to_archive(const struct report *report, char *out, size_t size)
{
    const struct cluster_status *last = &report->snapshot->last;
    enum archive_reason reason = archive_reason_of(last->archive.reason);
    bool is_wished = json_path_bool(report->snapshot->cluster.document, "backup.binlogs.enabled", false);
    if (!is_wished || str_empty(last->archive.reason) || archive_reason_status(reason) != KUBE_CONDITION_FALSE)
        return false;
    if (reason == ARCHIVE_GAP || reason == ARCHIVE_NO_BACKUP)
        report_put_text(
            out, size, "make a backup (a MysqlBackup of %s): %s", report->snapshot->name, last->archive.message);
    else
        report_put_text(
            out, size, "see that binary logs can be archived: %s: %s", last->archive.reason, last->archive.message);
    return true;
}

bool cluster_unknown_switchover(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    if (str_empty(snapshot->switchover_to) || snapshot->final.deleting || snapshot->scale.effective == 0 ||
        !snapshot->last.roles.initialized || cluster_member_meant(snapshot, snapshot->switchover_to))
        return false;
    snprintf(
        out, size, "annotation " ANNOTATION_SWITCHOVER_TO ": there is no member \"%.60s\"", snapshot->switchover_to);
    return true;
}

static void add_unknown_switchover(struct report *report)
{
    struct cluster_status *status = report->status;
    char own[sizeof(status->next_action)], note[CLUSTER_UNKNOWN_SWITCHOVER_SIZE];
    if (!cluster_unknown_switchover(report->snapshot, note, sizeof(note)))
        return;
    snprintf(own, sizeof(own), "%s", status->next_action);
    size_t room = sizeof(own) - strlen(note) - sizeof("; ...");
    report_put_text(status->next_action, sizeof(status->next_action), "%.*s%s%s%s", (int)room, *own ? own : "nothing",
        strlen(own) > room ? "..." : "", *own ? "; " : ": ", note);
}

/* The cluster serves all the same. One of another owner is told as a conflict. */
static bool say_how_to_mend_terminal(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct custom_object *terminal = snapshot->terminal;
    if (!snapshot->cluster.has_terminal || !terminal || !cluster_owns(snapshot, &terminal->object) ||
        terminal->object.deleting || str_empty(terminal->stalled))
        return false;
    report_put_text(out, size, "mend spec.terminal: MysqlTerminal %s: %s", terminal->name, terminal->stalled);
    return true;
}

/* It does not become ready by waiting alone: who copies it anew, and why. False: it may. */
static bool say_copy(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    char remedy[256], message[REPORT_MESSAGE_SIZE];
    enum reseed_outlook outlook = snapshot->usable ? reseed_outlook(snapshot, member) : RESEED_NOT_KNOWN;
    report_instance_message(member, message, sizeof(message));
    if (outlook == RESEED_SOON)
        report_put_text(out, size, "wait until %s is copied anew: %s", member->name, message);
    else if (outlook == RESEED_LEFT && member_copy_remedy(snapshot, member, remedy, sizeof(remedy)))
        report_put_text(out, size, "%s: %s: %s", remedy, member->name, message);
    else
        return false;
    return true;
}

/* Nothing is planned, and yet not all is well: what is awaited, and of whom. */
static void say_what_comes_next(struct report *report)
{
    struct cluster_status *status = report->status;
    const struct cluster_member *unready = cluster_worst_member(report->snapshot, report->wanted);
    const struct agent_problem *problem = NULL, *origin = NULL;
    const struct cluster_member *ailing = report_find_ailing(report, &problem);
    const struct cluster_member *cause = report_find_cause(report, &origin);
    char message[REPORT_MESSAGE_SIZE], archive[sizeof(status->next_action)], remedy[256];
    char again[sizeof(status->next_action)];
    if (say_what_is_to_do(report))
        return;
    if (says_more(report, unready))
        status->next_action[0] = '\0';
    if (!str_empty(status->next_action))
        return;
    if (cluster_data_is_lost(report->snapshot))
        report_put_text(status->next_action, sizeof(status->next_action), "nothing: " REPORT_DATA_LOST);
    else if ((cause || unready || ailing) &&
        say_copy(report->snapshot,
            cause         ? cause
                : unready ? unready
                          : ailing,
            again, sizeof(again)))
        report_put_text(status->next_action, sizeof(status->next_action), "%s", again);
    else if (cause && report->snapshot->usable)
        report_put_text(status->next_action, sizeof(status->next_action), "%s: %s", cause->name, origin->message);
    else if (unready && report->snapshot->usable) {
        report_instance_message(unready, message, sizeof(message));
        report_put_text(status->next_action, sizeof(status->next_action), "wait until %s is ready%s%s", unready->name,
            *message ? ": " : "", message);
    } else if (ailing && !unready && !report->snapshot->cluster.paused)
        report_put_text(status->next_action, sizeof(status->next_action), "%s: %s", ailing->name, problem->message);
    else if (!unready && !report->snapshot->cluster.paused && !report->snapshot->final.deleting &&
        in_place_remedy(report->snapshot, again, sizeof(again)))
        report_put_text(status->next_action, sizeof(status->next_action), "%s", again);
    else if (!unready && !report->snapshot->final.deleting && report_backup_refusal(report->snapshot))
        report_put_text(status->next_action, sizeof(status->next_action), "let the scheduled backup begin: %s",
            report_backup_refusal(report->snapshot));
    else if (!unready && !report->snapshot->cluster.paused && say_how_to_archive(report, archive, sizeof(archive)))
        report_put_text(status->next_action, sizeof(status->next_action), "%s", archive);
    else if (!unready && !report->snapshot->cluster.paused && !report->snapshot->final.deleting &&
        say_how_to_mend_terminal(report->snapshot, again, sizeof(again)))
        report_put_text(status->next_action, sizeof(status->next_action), "%s", again);
    else if (!unready && !report->snapshot->cluster.paused &&
        cluster_left_remedy(report->snapshot, remedy, sizeof(remedy)))
        report_put_text(status->next_action, sizeof(status->next_action), "%s", remedy);
}

void cluster_next_action(struct report *report)
{
    say_what_comes_next(report);
    add_unknown_switchover(report);
}
