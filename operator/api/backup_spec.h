/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_spec.h: MysqlCluster.spec.backup, read and checked; MysqlCluster.status.backup.
 *
 * Pure. Pointers are borrowed from the document that was read. A zeroed struct has no schedule.
 */
#ifndef KM_BACKUP_SPEC_H
#define KM_BACKUP_SPEC_H

#include "common/base.h"

#include <jansson.h>

#include "common/archive_task.h"
#include "operator/api/api_problems.h"
#include "operator/api/backup_destination.h"
#include "operator/api/cron.h"
#include "operator/api/names.h"

#define BACKUP_KEEP_MAX 10000
#define BACKUP_TIME_ZONE_DEFAULT "UTC"
#define DRILL_DEADLINE_SECONDS_MIN 60
#define DRILL_DEADLINE_SECONDS_MAX (7 * 24 * 3600)
#define DRILL_DEADLINE_SECONDS_DEFAULT (6 * 3600)

/* Which scheduled backups stay; 0: this one keeps none. */
struct backup_keep {
    bool present; /* else all stay */
    int last, daily, weekly, days;
};

struct backup_spec {
    const json_t *document; /* NULL: none */
    const char *schedule;   /* NULL: none */
    struct cron cron;       /* of schedule */
    const char *time_zone;  /* never NULL; whether it exists only its file tells */
    struct backup_destination destination;
    struct backup_encryption encryption;
    struct backup_keep keep;
    bool suspend;
    bool archives;          /* binlogs.enabled */
    int archive_interval_s; /* binlogs.intervalSeconds */
    enum backup_compression compression;
    const char *drill_schedule; /* drill.schedule; NULL: no drills */
    struct cron drill_cron;     /* of drill_schedule */
    int64_t drill_deadline_s;   /* drill.deadlineSeconds; never 0 */
};

/* `backup` is spec.backup; NULL is fine. -1 with problems: then it has no schedule. */
int backup_spec_parse(const json_t *backup, struct backup_spec *ret, struct api_problems *problems);
/* What one field alone cannot tell, for a `backup` whose types are right: as part of the parse of a whole cluster. */
int backup_spec_check(const json_t *backup, struct api_problems *problems);
/* What identifies a schedule: "30 2 * * * Europe/Berlin". Appends; nothing without a schedule. */
void backup_spec_schedule_text(const struct backup_spec *spec, struct strbuf *out);
/* The spec of a MysqlBackup of this cluster by its schedule, complete in itself; new object. */
json_t *backup_spec_of_run(const struct backup_spec *spec, const char *cluster);
/* Of the last one before the cluster goes: its data stays, whatever becomes of the object. */
json_t *backup_spec_of_final(const struct backup_spec *spec, const char *cluster, int64_t deadline_seconds);

/* ---- status ---- */

/* Other members of status.backup are others': recovery, drills. Times are wall clock in milliseconds, 0: not set. */
struct backup_summary {
    char schedule[CRON_TEXT_MAX + TIME_ZONE_NAME_MAX + 2]; /* in force, or suspended; "" none */
    int64_t scheduled_ms;                                  /* the last time of the schedule that was dealt with */
    int64_t next_ms;
    char last_backup[KUBE_NAME_MAX + 1];
    int64_t last_backup_ms;
    char last_failure[512];
    int64_t last_failure_ms;
    char problem[512];
    bool suspended; /* the schedule makes none */
};

/* `status`: the whole of MysqlCluster.status; NULL is fine. */
void backup_summary_decode(const json_t *status, struct backup_summary *ret);
/* A merge patch of status: what is empty is null. New object. */
json_t *backup_summary_patch(const struct backup_summary *summary);
bool backup_summary_same(const struct backup_summary *a, const struct backup_summary *b);

#endif
