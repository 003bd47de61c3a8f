/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_choice.h: whether a stored backup is one that a wish with a point (restore_spec.h) can begin from. Pure.
 *
 * For `latest`, which takes the newest that is. To a time: it was completed by then. To a GTID set: it holds nothing
 * beyond it. To one transaction, as MySQL names them ("UUID:4711"; MariaDB's "0-1-4711" means all before it, too): it
 * does not hold it yet. One that is named is not judged here: the agent that restores it refuses what does not fit.
 */
#ifndef KM_RESTORE_CHOICE_H
#define KM_RESTORE_CHOICE_H

#include "common/base.h"

#include "common/backup_manifest.h"
#include "common/error.h"
#include "operator/api/restore_spec.h"

/* By its name alone: an id begins with the time at which it was begun (backup_id_make). False: it can be passed over
 * without a look. */
bool restore_may_fit(const struct restore_spec *wish, const char *id);
/* 1 or 0; -1 with ERROR_INVALID: spec.restoreFrom.gtid is no GTID of the server that it is a backup of. */
int restore_fits(
    const struct restore_spec *wish, const struct backup_manifest *manifest, struct error *err) KM_MUST_CHECK;

#endif
