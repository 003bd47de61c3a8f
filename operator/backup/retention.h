/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retention.h: which backups of a schedule go. Pure.
 *
 * Of the good ones (completed) stay: the `last` newest; the newest of each of the last `daily` days and `weekly` weeks
 * (Monday to Sunday) on which there is one, in the schedule's time zone, by the time they began; all that are at most
 * `days` days older than the newest good one. So age alone removes nothing: while no new one succeeds, all stay.
 * Whatever is asked for:
 *  - the newest good one stays;
 *  - the newest good one that was complete at the floor stays: from there a restore to any later time begins. The floor
 *    is what the caller says, and with `days` also the beginning of those days;
 *  - the newest one that a drill has proven stays;
 *  - what is held (somebody restores from it) stays.
 * A good one whose drill failed is doubtful. A drill may fail for other reasons than its backup, so that takes no
 * protection from it. But it takes no sound one's place, either: the rules hold for all good ones, and once more for
 * those that are not doubtful, as if the others were not there. What either keeps stays.
 * Without `keep` all good ones stay. Of those that failed the newest RETENTION_FAILED_MAX stay: they hold no data, only
 * the reason.
 * Deciding after each backup leaves the same as deciding once at the end.
 */
#ifndef KM_RETENTION_H
#define KM_RETENTION_H

#include "common/base.h"

#include "operator/api/backup_spec.h"
#include "operator/api/time_zone.h"

#define RETENTION_FAILED_MAX 3

struct retention_item {
    const char *name;           /* borrowed */
    const char *uid;            /* borrowed; not looked at */
    int64_t begun_ms, ended_ms; /* wall clock */
    bool good;                  /* else it failed */
    bool proven, doubtful;      /* a good one's drill went well, failed; neither: there was none */
    bool held;
    bool remove; /* the verdict */
};

/* Sorts the items by when they began, newest first, and sets their verdicts. floor_ms 0: none. */
void retention_decide(const struct backup_keep *keep, const struct time_zone *zone, int64_t floor_ms,
    struct retention_item *items, size_t count);

#endif
