/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drill_decide.h: what a cluster's restore drill needs now. Pure.
 *
 * A drill restores the newest completed backup into a scratch cluster of one member (drill_scratch.h), which goes the
 * way of any restore; here is only what begins, judges and ends it.
 *   1. its time has come, and there is a backup    status: Restoring, with the scratch cluster's name: before anything
 *                                                  is made
 *   2. Restoring: the scratch cluster is made, and made again when somebody took it away
 *   3. its data is there and its member is open    status: Checking; the member's agent is asked to check
 *                                                  (check_task.h)
 *   4. passed, failed, or over its deadline        status: Removing, with what came of it
 *   5. Removing: the backup is told, the scratch cluster and its claim are deleted; nothing of it is left: status: none
 * Each act may be repeated, and each follows from the status and from what is there: an operator that dies anywhere
 * leaves nothing that its successor does not end.
 * The name of the scratch cluster follows from the cluster's UID and the time: no drill finds the volume of another.
 *
 * Of the times of the schedule only the last one that was missed counts. A time that comes while there is no backup
 * waits for the first one; one that comes while a drill runs is left out.
 */
#ifndef KM_DRILL_DECIDE_H
#define KM_DRILL_DECIDE_H

#include "common/base.h"

#include "common/check_task.h"
#include "operator/api/backup_spec.h"
#include "operator/api/drill_status.h"
#include "operator/api/restore_status.h"
#include "operator/api/time_zone.h"

/* The newest completed one. */
struct drill_candidate {
    const char *name; /* NULL: there is none */
    const char *uid;
    int64_t completed_ms;
    bool beside_archive; /* stored and sealed as archived binary logs are: a restore can go on with them */
};

/* The cluster of summary.cluster's name, as it is. */
struct drill_scratch {
    bool exists, ours, deleting;
    bool refused; /* its spec is not accepted; refusal says why */
    char refusal[256];
    enum restore_phase restore;
    char restore_reason[48];
    char restore_message[512];
    char gtid[POSITION_TOLD_SIZE];    /* what the backup stands for; told */
    bool gave_up;                     /* its member tries no further */
    bool open;                        /* its member takes writes, and its agent is heard */
    const struct check_report *check; /* NULL: its agent is not heard */
};

struct drill_view {
    const char *cluster, *uid;
    const struct backup_spec *spec;
    const struct time_zone *zone; /* NULL: there is a problem */
    const char *problem;          /* NULL: none */
    bool paused;
    bool leaves; /* the cluster is being deleted: nothing new, and what there is goes */
    int64_t now_ms;
    struct drill_candidate candidate;
    int64_t recoverable_from_ms; /* by archived binary logs; 0: not */
    int64_t archived_until_ms;   /* until when all is archived, be there a transaction that late or not */
    struct drill_summary last;
    struct drill_scratch scratch;
};

enum drill_act {
    DRILL_ACT_NONE,
    DRILL_ACT_CREATE, /* the scratch cluster */
    DRILL_ACT_CHECK,  /* its agent has the task */
    DRILL_ACT_DELETE, /* the scratch cluster */
    DRILL_ACT_FINISH, /* its claim is deleted, before the status is written */
};
enum drill_news { DRILL_NEWS_NONE, DRILL_NEWS_BEGUN, DRILL_NEWS_VERIFIED, DRILL_NEWS_FAILED, DRILL_NEWS_ENDED };

struct drill_decision {
    struct drill_summary summary; /* what the status must say; before the act, save FINISH */
    enum drill_act act;
    enum drill_news news; /* the status tells it, once written */
};

/* Large: not for recursion. */
void drill_decide(const struct drill_view *view, struct drill_decision *ret);
void drill_scratch_name(const char *cluster, const char *uid, int64_t due_ms, char out[static DERIVED_NAME_SIZE]);

#endif
