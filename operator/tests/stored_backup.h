/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored_backup.h: what a donor that is done leaves in a bucket: one piece of ten bytes and its manifest; and what it
 * then reports.
 */
#ifndef KM_STORED_BACKUP_H
#define KM_STORED_BACKUP_H

#include "operator/tests/agent_double.h"
#include "operator/tests/bucket_double.h"

/* By the task that the agent was given. */
void stored_backup_put(struct bucket_double *s3, struct agent_double *agent);

#endif
