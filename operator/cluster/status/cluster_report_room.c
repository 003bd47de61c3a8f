/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_room.h"

#include "common/json.h"
#include "operator/api/names.h"
#include "operator/cluster/desired/cluster_volumes.h"
#include "operator/cluster/state/binlog_claims.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/root_wish.h"
#include "operator/cluster/status/cluster_report_roles.h"

#define REASON_CLOSED "ClosedForWrites"
#define REASON_LITTLE_ROOM "LittleRoom"

static const char *volume_words(const struct cluster_member *member)
{
    for (int i = 0; i < member->agent->problem_count; i++) {
        if (member->agent->problems[i].kind == AGENT_PROBLEM_VOLUME_FULL)
            return member->agent->problems[i].message;
    }
    return "";
}

/* It has little, and yet as much as a primary that is closed opens with again (agent/volume_room.h). */
static bool has_enough(const struct cluster_member *member)
{
    uint64_t floor = member->agent->volume_floor_bytes;
    return floor && member->agent->volume_free_bytes >= floor + floor / 4;
}

/* Of several one that has too little, and of such ones the primary: what is free on another one is no reason to be
 * closed, and reads as if there were none. */
static const struct cluster_member *find_short(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot), *found = NULL;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member_is_wanted(snapshot, member) || !member_has_problem(member, AGENT_PROBLEM_VOLUME_FULL))
            continue;
        bool is_shorter = found && has_enough(found) && !has_enough(member);
        bool is_as_short = found && has_enough(found) == has_enough(member);
        if (!found || is_shorter || (is_as_short && member == primary))
            found = member;
    }
    return found;
}

static const struct cluster_member *find_closed(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return primary && member_is_closed_for_room(snapshot, primary) ? primary : NULL;
}

bool cluster_room_passes(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *scarce = find_closed(snapshot) ? find_short(snapshot) : NULL;
    return scarce && scarce->agent->room_passes;
}

static void say_why(const struct cluster_member *closed, const struct cluster_member *scarce, char *out, size_t size)
{
    if (closed && closed != scarce)
        snprintf(out, size,
            "%s is closed for writes for want of room on a member whose acknowledgement it needs%s%s%s%s", closed->name,
            scarce ? "; " : "", scarce ? scarce->name : "", scarce ? ": " : "", scarce ? volume_words(scarce) : "");
    else
        snprintf(out, size, "%s: %s", scarce->name, volume_words(scarce));
}

/* Of binary logs that are to go for want of room: who is copied anew for that, or why they stay. */
static void say_binlogs(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    *out = '\0';
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        struct binlog_claims claims;
        binlog_claims_look(snapshot, member, &claims);
        if (!claims.is_wished || !member->agent->purge_for_room)
            continue;
        if (claims.lapsed) {
            snprintf(out, size,
                "binary logs of %s are not kept for %s, which has not been heard for an hour: it is copied anew",
                member->name, claims.lapsed->name);
            return;
        }
        if (!claims.is_free && !*out)
            snprintf(out, size, "binary logs of %s stay: %s", member->name, claims.why);
    }
}

/* Of a primary that is closed for writes: whether root may write there, or why not although somebody wishes it. */
static void say_root(
    const struct cluster_snapshot *snapshot, const struct cluster_member *closed, char *out, size_t size)
{
    struct root_wish wish;
    root_wish_read(snapshot, &wish);
    *out = '\0';
    if (!closed)
        return;
    if (*wish.why)
        snprintf(out, size, "; %s", wish.why);
    else if (wish.until_ms && closed->agent->open_for_root)
        snprintf(out, size, "; root may write until %s, down to 32 MiB", wish.text);
    else if (wish.until_ms && closed->agent->volume_free_bytes < AGENT_ROOT_FLOOR_BYTES / 4 * 5)
        snprintf(out, size, "; with less than 40 MiB root may not write either");
    else if (wish.until_ms)
        snprintf(out, size, "; root may not write yet, as " ANNOTATION_OPEN_FOR_ROOT_UNTIL " wishes");
}

void cluster_report_room(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct cluster_member *closed = find_closed(snapshot), *scarce = find_short(snapshot);
    char text[KUBE_CONDITION_MESSAGE_MAX] = "", binlogs[512], root[256];
    if (cluster_nobody_speaks(snapshot)) /* what was known stays */
        return;
    say_binlogs(snapshot, binlogs, sizeof(binlogs));
    if (!closed && !scarce && !*binlogs) {
        kube_conditions_remove(&status->conditions, CONDITION_VOLUME_FULL);
        return;
    }
    if (closed || scarce)
        say_why(closed, scarce, text, sizeof(text));
    say_root(snapshot, closed, root, sizeof(root));
    kube_conditions_set(&status->conditions, CONDITION_VOLUME_FULL, KUBE_CONDITION_TRUE,
        closed ? REASON_CLOSED : REASON_LITTLE_ROOM, snapshot->generation, snapshot->now_ms, "%s%s%s%s", text, root,
        *text && *binlogs ? "; " : "", binlogs);
}

#define WHAT_ROOT_DOES "DROP, TRUNCATE and OPTIMIZE TABLE as root free room, DELETE takes some first"

/* What else can be done than grow the volume: before whatever is said of that, and behind it. */
static void say_what_root_does(const struct cluster_snapshot *snapshot, const struct cluster_member *closed,
    char *before, size_t size, const char **ret_behind)
{
    struct root_wish wish;
    root_wish_read(snapshot, &wish);
    *before = '\0';
    *ret_behind = "";
    if (*wish.why)
        snprintf(before, size, "correct annotation %s; ", wish.why);
    else if (closed && wish.until_ms && closed->agent->open_for_root)
        snprintf(before, size, WHAT_ROOT_DOES ", until %s; or ", wish.text);
    else if (closed && !wish.until_ms)
        *ret_behind = ", or set annotation " ANNOTATION_OPEN_FOR_ROOT_UNTIL
                      " to a time, at most ten minutes ahead (" WHAT_ROOT_DOES ")";
}

bool cluster_room_remedy(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct cluster_member *closed = find_closed(snapshot), *scarce = find_short(snapshot);
    const char *now = json_path_str(snapshot->cluster.storage.resources, "requests.storage", NULL);
    char why[KUBE_CONDITION_MESSAGE_MAX], growing[256], root[320];
    const char *how;
    say_what_root_does(snapshot, closed, root, sizeof(root), &how);
    if (!closed && !scarce) { /* without what stands behind it */
        snprintf(out, size, "%.*s", (int)MAX_OF(strlen(root), 2U) - 2, root);
        return *root;
    }
    say_why(closed, scarce, why, sizeof(why));
    if (cluster_room_passes(snapshot))
        snprintf(out, size,
            "nothing: writes are let in again within a minute, and a larger volume can be filled faster: %s", why);
    else if (cluster_volumes_growing(snapshot, growing, sizeof(growing)))
        snprintf(out, size, "nothing: %s; until then %s", growing, why);
    else if (snapshot->cluster.storage.volume_source)
        snprintf(out, size, "%smake room on what spec.storage.volumeSource names%s: %s", root, how, why);
    else
        snprintf(out, size, "%sgrow spec.storage.resources.requests.storage%s%s%s%s: %s", root, now ? " (" : "",
            now ? now : "", now ? " now)" : "", how, why);
    return true;
}
