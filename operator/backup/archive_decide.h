/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_decide.h: how the archive of a cluster's binary logs stands, and what of that must be written. Pure.
 *
 * Up to date is an archive that holds everything up to a moment that is not older than three intervals, and not older
 * than a minute: rounds come once in an interval, and one may be lost. A gap is told until a backup was completed
 * behind it: from there a restore can go on again.
 *
 * An archive without any backup to go on from is of no use. The condition says so when no schedule is about to make one
 * and none is being made: at once where the database holds what was committed before the archive of this history began,
 * as on kept volumes; else when it has been archived for ARCHIVE_BACKUP_MS.
 *
 * The time until which all is archived moves with every round. The status follows once in ARCHIVE_STATUS_MS at most,
 * unless something else has changed, too.
 */
#ifndef KM_ARCHIVE_DECIDE_H
#define KM_ARCHIVE_DECIDE_H

#include "common/base.h"

#include "common/archive_task.h"
#include "common/gtid.h"
#include "operator/api/archive_status.h"
#include "operator/api/backup_spec.h"

#define ARCHIVE_STATUS_MS (60 * 1000)
#define ARCHIVE_BEHIND_MIN_MS (60 * 1000)
#define ARCHIVE_BACKUP_MS ((int64_t)60 * 60 * 1000)

/* A backup from which one could go on: completed, of this cluster, in the place where its binary logs are archived. */
struct archive_backup {
    int64_t completed_ms;
    const char *gtid; /* told (position.h): one that is too long is in the manifest */
    const char *id;
    bool mariadb;
};

/* When the oldest of the known backups was completed that holds what a chain begins with, by their manifests: what
 * is told of positions is not enough where one is too long. */
struct archive_link {
    bool known;
    struct binlog_segment_name chain; /* its first segment */
    int64_t completed_ms;             /* 0: there is none */
};

struct archive_view {
    const struct backup_spec *spec;
    int64_t now_ms;
    int64_t since_ms;    /* since when it is wanted, as far as this process knows */
    int64_t noticed_ms;  /* until when all is archived, as this process heard last; 0: never */
    bool rests;          /* there is no primary, and none is wanted */
    const char *problem; /* reason why the primary cannot be told what to do, or where; "" none */
    const char *problem_message;
    enum gtid_flavour flavour;
    const struct archive_report *report; /* of the primary, if it has been heard; else NULL */
    const struct archive_backup *backups;
    size_t backup_count;
    bool backup_runs;            /* one is not over */
    bool is_scheduled;           /* one comes by itself */
    int64_t next_backup_ms;      /* when; 0: not known yet */
    bool has_earlier_data;       /* the database holds what this history did not begin with */
    struct archive_link link;    /* the latest that was found out */
    struct archive_summary last; /* as written */
};

struct archive_decision {
    struct archive_summary summary; /* what the status should say */
    bool write;                     /* it does not, and it is time */
    bool new_gap;                   /* one that the status does not tell of yet */
};

void archive_decide(const struct archive_view *view, struct archive_decision *ret);
/* The latest moment that a restore can go to: all that was committed by then is archived, and a transaction that is not
 * earlier shows it. Nothing else in an archive tells a replay that nothing is missing. Agents that do not tell of that
 * transaction are believed. */
int64_t archive_reach_ms(const struct archive_report *report);
/* After how long without a word an archive is behind. */
int64_t archive_patience_ms(int interval_s);
/* When the oldest of the backups was completed from which the chain of a report goes on; 0: there is none, as far
 * as is known. */
int64_t archive_oldest_link_ms(const struct archive_view *view);
/* The link of the report's chain must be looked for in the store: positions are too long to be told, and it was not
 * looked for yet. */
bool archive_link_is_wanted(const struct archive_view *view);
/* Of the chain that the report tells of; sequence 0: it does not. */
struct binlog_segment_name archive_chain_of(const struct archive_report *report);

#endif
