/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/in_place_check.h"

#include "common/clock.h"
#include "common/json.h"
#include "operator/api/archive_status.h"
#include "operator/api/backup_destination.h"
#include "operator/cluster/state/server_series.h"

#define FIELD "spec.restoreFrom"

static bool is_mariadb(const char *flavour)
{
    return str_eq(flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
}

/* ---- the archive ---- */

/* It would replay binary logs of this very history. */
static bool is_of_history(const struct cluster_snapshot *snapshot, const struct cluster_restore *found)
{
    char history[64];
    cluster_history_name(snapshot->uid, snapshot->last.in_place.taken, history, sizeof(history));
    const char *slash = strrchr(found->binlogs, '/');
    return slash && str_eq(slash + 1, history);
}

/* They are archived where the backup lies. */
static bool is_in_place_of_archive(const struct cluster_snapshot *snapshot, const struct cluster_restore *found)
{
    struct backup_destination of_archive, of_backup;
    backup_destination_read(json_path(snapshot->cluster.document, "backup.destination"), &of_archive);
    backup_destination_read(found->destination, &of_backup);
    return backup_destination_same_place(&of_archive, &of_backup);
}

/* What the restore would replay is not there, and no backup was made behind the gap. A moment before it may be
 * there. */
static bool goes_over_gap(const struct cluster_snapshot *snapshot, const struct cluster_restore *found)
{
    bool is_later = found->until_ms == 0 ? str_empty(cluster_restore_until_gtid(found))
                                         : found->until_ms >= snapshot->last.archive.gap_ms;
    bool has_gap = archive_reason_of(snapshot->last.archive.reason) == ARCHIVE_GAP;
    return has_gap && is_of_history(snapshot, found) && is_later;
}

static bool has_target(const struct cluster_restore *found)
{
    return !str_empty(found->binlogs) && (found->until_ms > 0 || !str_empty(cluster_restore_until_gtid(found)));
}

/* As the primary reports its archive, that does not hold the target. Only a transaction that is not earlier shows that
 * nothing is missing. */
static bool is_short(
    const struct cluster_snapshot *snapshot, const struct cluster_restore *found, const struct agent_status *primary)
{
    const struct archive_report *archive = &primary->archive;
    const char *gtid = cluster_restore_until_gtid(found);
    bool is_known = *archive->task && archive->known && is_of_history(snapshot, found) &&
        is_in_place_of_archive(snapshot, found) && has_target(found);
    if (!is_known)
        return false;
    if (found->until_ms > 0)
        return archive->newest_ms > 0 && archive->newest_ms < found->until_ms;
    enum gtid_flavour flavour = agent_gtid_flavour(primary->flavour);
    return position_is_whole(archive->until_gtid) && position_is_whole(found->gtid) &&
        !position_holds(flavour, archive->until_gtid, gtid) && !position_holds(flavour, found->gtid, gtid);
}

static bool is_of_future(
    const struct cluster_snapshot *snapshot, const struct cluster_restore *found, const struct agent_status *primary)
{
    int64_t now_ms = MAX_OF(snapshot->now_ms, primary->now_ms);
    return has_target(found) && found->until_ms > now_ms + IN_PLACE_CLOCKS_MS;
}

/* Counted from the wish, by one clock: whatever had been committed by then is archived in that time. */
static bool has_patience(const struct cluster_snapshot *snapshot)
{
    return snapshot->now_ms - snapshot->last.in_place.start_ms < IN_PLACE_ARCHIVE_MS;
}

bool in_place_awaits_archive(
    const struct cluster_snapshot *snapshot, const struct restore_answer *answer, const struct agent_status *primary)
{
    return is_short(snapshot, &answer->found, primary) && !is_of_future(snapshot, &answer->found, primary) &&
        has_patience(snapshot);
}

static void say_short(const struct cluster_snapshot *snapshot, const struct cluster_restore *found,
    const struct agent_status *primary, char *why, size_t size)
{
    char target[CLOCK_RFC3339_SIZE], newest[CLOCK_RFC3339_SIZE];
    int64_t newest_ms = is_short(snapshot, found, primary) ? primary->archive.newest_ms : 0;
    clock_format_rfc3339(found->until_ms, target);
    clock_format_rfc3339(newest_ms, newest);
    snprintf(why, size, "the archive of binary logs does not reach %.160s%s%s%s",
        found->until_ms > 0 ? target : cluster_restore_until_gtid(found),
        is_of_future(snapshot, found, primary) ? ", which lies in the future" : "",
        newest_ms > 0 ? ": the last transaction in it is of " : "", newest_ms > 0 ? newest : "");
}

/* ---- the backup ---- */

/* A donor may lag, which IN_PLACE_CLOCKS_MS allows for. If nothing was committed in between, the backup as it is has
 * what was asked for. */
static bool is_later_than_target(const struct restore_answer *answer)
{
    const struct cluster_restore *found = &answer->found;
    return has_target(found) && found->until_ms > 0 && answer->begun_ms > found->until_ms + IN_PLACE_CLOCKS_MS;
}

static void say_later(const struct restore_answer *answer, char *why, size_t size)
{
    char begun[CLOCK_RFC3339_SIZE], target[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(answer->begun_ms, begun);
    clock_format_rfc3339(answer->found.until_ms, target);
    snprintf(why, size,
        "the backup is later than %s: it was begun at %s; an older backup is needed, or this one as it is, without a "
        "time",
        target, begun);
}

static enum restore_reason check_target(const struct cluster_snapshot *snapshot, const struct restore_answer *answer,
    const struct agent_status *primary, char *why, size_t size)
{
    const struct cluster_restore *found = &answer->found;
    if (is_later_than_target(answer)) {
        say_later(answer, why, size);
        return RESTORE_REASON_BACKUP_TOO_NEW;
    }
    if (goes_over_gap(snapshot, found)) {
        char when[CLOCK_RFC3339_SIZE];
        clock_format_rfc3339(snapshot->last.archive.gap_ms, when);
        snprintf(why, size,
            "the archive of binary logs has a gap that ends at %s, and no backup was made since: only earlier moments, "
            "and backups as they are, can be restored",
            when);
        return RESTORE_REASON_GAP_IN_ARCHIVE;
    }
    bool is_missed = is_short(snapshot, found, primary) && !has_patience(snapshot);
    if (!is_missed && !is_of_future(snapshot, found, primary))
        return RESTORE_REASON_NONE;
    say_short(snapshot, found, primary, why, size);
    return RESTORE_REASON_TARGET_NOT_COVERED;
}

/* ---- the server and its volume ---- */

static enum restore_reason check_member(
    const struct restore_answer *answer, const struct agent_status *member, char *why, size_t size)
{
    bool known = *answer->flavour && *answer->server_version && *member->version;
    bool other = is_mariadb(answer->flavour) != (member->flavour == AGENT_FLAVOUR_MARIADB);
    if (known && (other || !server_series_same(answer->server_version, member->version))) {
        snprintf(why, size, "the backup is of %s %s, the members run %s: it cannot be restored here", answer->flavour,
            answer->server_version, member->version);
        return RESTORE_REASON_SERVER_MISMATCH;
    }
    if (member->volume_bytes > 0 && member->volume_free_bytes < answer->data_bytes + IN_PLACE_ROOM_MARGIN) {
        snprintf(why, size,
            "the data volume is too small: the backup goes beside the data and needs %llu MiB, %llu MiB are free",
            (unsigned long long)((answer->data_bytes + IN_PLACE_ROOM_MARGIN) / KM_MIB),
            (unsigned long long)(member->volume_free_bytes / KM_MIB));
        return RESTORE_REASON_VOLUME_TOO_SMALL;
    }
    return RESTORE_REASON_NONE;
}

enum restore_reason in_place_check(const struct cluster_snapshot *snapshot, const struct restore_answer *answer,
    const struct agent_status *primary, char *why, size_t size)
{
    enum restore_reason reason = check_member(answer, primary, why, size);
    return reason ? reason : check_target(snapshot, answer, primary, why, size);
}

const char *in_place_message(const char *message)
{
    const char *rest = strncmp(message, FIELD, sizeof(FIELD) - 1) == 0 ? strstr(message, ": ") : NULL;
    return rest ? rest + 2 : message;
}
