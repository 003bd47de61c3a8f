/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule_decide.h: what a cluster's schedule asks for now. Pure.
 *
 * A run has a time, and the time makes its name (CLUSTER-YYYYMMDDHHMM, in UTC), so whoever makes it, however often,
 * makes one object. Which times are dealt with stands in the status: `schedule`, in the words of the spec, and
 * `lastScheduleTime`. From there follows everything:
 *  - a schedule that is new, or another than before, begins now: no time before counts;
 *  - of the times since lastScheduleTime only the last one counts: what was missed is caught up once;
 *  - while a run is not over the next one is left out, not put behind it;
 *  - suspended is as if there were no schedule, but for what the status tells;
 *  - one that the API server does not let begin is a problem that the status tells, and holds up nothing;
 *  - a cluster that is paused, stopped (0 replicas) or whose schedule has a problem waits, and then catches up.
 * The object first, then the status: who comes after a crash in between finds the name taken.
 */
#ifndef KM_SCHEDULE_DECIDE_H
#define KM_SCHEDULE_DECIDE_H

#include "common/base.h"

#include "operator/api/backup_spec.h"
#include "operator/api/time_zone.h"

#define SCHEDULE_NAME_SIZE 64

struct schedule_view {
    const char *cluster;
    const struct backup_spec *spec;
    const struct time_zone *zone; /* NULL: there is a problem */
    const char *problem;          /* NULL: none */
    bool waits;                   /* paused or stopped */
    const char *running;          /* a scheduled one that is not over; NULL: none */
    const char *refusal;          /* why the API server does not let that one begin; NULL: it does */
    int64_t now_ms;
    struct backup_summary last; /* with what the caller knows of backups: last_backup, last_failure */
};

struct schedule_decision {
    bool create; /* `name`, before the status is written */
    bool skip;   /* its time has come, but `running` is not over */
    char name[SCHEDULE_NAME_SIZE];
    int64_t due_ms;                /* create, skip */
    struct backup_summary summary; /* what the status must say afterwards */
};

void schedule_decide(const struct schedule_view *view, struct schedule_decision *ret);
void schedule_run_name(const char *cluster, int64_t due_ms, char out[static SCHEDULE_NAME_SIZE]);

#endif
