/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_world.h: an operator_world with a cluster that has a bucket for its binary logs; for stories about their
 * archive.
 */
#ifndef KM_ARCHIVE_WORLD_H
#define KM_ARCHIVE_WORLD_H

#include "common/tests/s3_double.h"
#include "operator/tests/role_story.h"

#define PATH_KEYS PATH_CORE "secrets/keys"
#define HOUR_MS (60 * 60 * 1000)
/* Of spec.backup: they are archived. */
#define ARCHIVE_WORLD_ARCHIVES ", 'binlogs': {'enabled': true, 'intervalSeconds': 7}"

/* more: members of spec.backup behind the destination, after a comma. One at a time. */
struct operator_world *archive_world_new(int replicas, const char *more);
void archive_world_free(struct operator_world *world);
/* Steps get the operator_world only. */
struct s3_double *archive_world_bucket(void);

/* The bucket's Secret; access_key in base64. */
void archive_world_put_keys(struct operator_world *world, const char *access_key);
/* A MysqlBackup as its controller leaves it, of the cluster as it is. */
void archive_world_put_backup(struct operator_world *world, const char *name, const char *gtid, int64_t completed_ms);
bool archive_world_remove_backup(struct operator_world *world, const char *name);

#endif
