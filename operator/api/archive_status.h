/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_status.h: what MysqlCluster.status.backup says of the archive of binary logs (spec.backup.binlogs), as a
 * value: recoverableFrom, recoverableUntil, archive.
 *
 * Written by the controller of archives as a merge patch; the cluster controller makes the condition BinlogsArchived of
 * its reason and message. Times are wall clock in milliseconds, 0: not set. A zeroed struct is "not archived".
 */
#ifndef KM_ARCHIVE_STATUS_H
#define KM_ARCHIVE_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_order.h"
#include "operator/kube/kube_condition.h"

/* Reasons that this operator finds itself. A summary keeps its reason as text, since others are an agent's
 * (archive_task.h), a Secret's or a store's, and nothing is decided by those. */
enum archive_reason {
    ARCHIVE_OTHER, /* none of these */
    ARCHIVE_UP_TO_DATE,
    ARCHIVE_STARTING, /* nothing is known yet */
    ARCHIVE_GAP,
    ARCHIVE_BEHIND,
    ARCHIVE_NO_BACKUP, /* what is archived has none to go on from, and none comes by itself */
    ARCHIVE_REASON_COUNT
};
/* As it stands in the status: "UpToDate". Static; "" of ARCHIVE_OTHER. */
const char *archive_reason_name(enum archive_reason reason);
enum archive_reason archive_reason_of(const char *name);

struct archive_summary {
    char reason[48]; /* "": nothing is archived */
    char message[KUBE_CONDITION_MESSAGE_MAX];
    int64_t recoverable_from_ms, recoverable_until_ms;
    int64_t epoch, sequence, segments;
    char until[POSITION_TOLD_SIZE]; /* told (position.h): what is longer is in the segment of that epoch and sequence */
    int64_t until_ms;
    int64_t gap_ms;
};

/* `status`: the whole of MysqlCluster.status; NULL is fine. */
void archive_summary_decode(const json_t *status, struct archive_summary *ret);
/* A merge patch of status: what is empty is null. New object. */
json_t *archive_summary_patch(const struct archive_summary *summary);
/* As they are written. */
bool archive_summary_same(const struct archive_summary *a, const struct archive_summary *b);
/* All that binary logs lack which were begun then is archived: a member that has them can go on with the archive. Two
 * nodes' clocks may differ by ARCHIVE_CLOCKS_MS. Where it is not known when they were begun (0), they are believed to
 * reach back. */
#define ARCHIVE_CLOCKS_MS 1000
bool archive_reaches(int64_t until_ms, int64_t binlogs_from_ms);
/* The primary's binary logs, which were begun then (0: not known), may hold something that neither the archive nor
 * those of a member do. What the primary has not, either, it cannot archive. */
bool archive_lacks(int64_t until_ms, int64_t primary_from_ms, int64_t binlogs_from_ms);
/* Of the condition BinlogsArchived. */
enum kube_condition_status archive_reason_status(enum archive_reason reason);

#endif
