/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_donor.h: which member a backup is taken from: pure.
 *
 * The replica that lags least, else the primary; who failed before comes last. Nobody that is seeding, held, down, or
 * has a backup already.
 */
#ifndef KM_BACKUP_DONOR_H
#define KM_BACKUP_DONOR_H

#include "operator/backup/backup_snapshot.h"

/* A replica that lags more is asked only when nobody else can give one. */
#define BACKUP_DONOR_LAG_MS 60000

/* NULL: nobody can; why says so of each. */
const struct backup_member *backup_donor_choose(const struct backup_snapshot *snapshot, char *why, size_t size);

#endif
