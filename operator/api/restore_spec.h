/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_spec.h: `spec.restoreFrom` of a MysqlCluster: which stored backup its first member is made of.
 *
 * One of three ways to name it: `backup` (a MysqlBackup of the namespace), `name` (of the stored backup, status.id of
 * the MysqlBackup that made it), `latest` (the newest that is whole). The last two are looked for in `destination` (by
 * default spec.backup.destination of the cluster itself), among the backups of `cluster` (by default one of the
 * cluster's own name). `pointInTime` or `gtid` say to which point archived binary logs are replayed onto it; without
 * them it is restored to its own end. Pointers are borrowed from the document that was read. A zeroed struct is "none".
 */
#ifndef KM_RESTORE_SPEC_H
#define KM_RESTORE_SPEC_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"
#include "operator/api/backup_destination.h"

/* How far archived binary logs are replayed. */
enum restore_point {
    RESTORE_POINT_NONE,   /* not at all */
    RESTORE_POINT_LATEST, /* all that is archived */
    RESTORE_POINT_TIME,   /* what was committed up to and with until_ms */
    RESTORE_POINT_GTID,   /* up to and with these transactions */
};
#define RESTORE_POINT_LATEST_WORD "latest"

enum restore_source { RESTORE_SOURCE_NONE, RESTORE_SOURCE_BACKUP, RESTORE_SOURCE_NAME, RESTORE_SOURCE_LATEST };

struct restore_spec {
    enum restore_source source;
    const json_t *document;                    /* NULL: none */
    const char *backup;                        /* SOURCE_BACKUP: name of a MysqlBackup */
    const char *name;                          /* SOURCE_NAME: id of a stored backup */
    bool or_empty;                             /* SOURCE_LATEST: begin empty where provably nothing is stored */
    const char *from_namespace, *from_cluster; /* whose; "" the cluster's own */
    enum restore_point point;
    int64_t until_ms;       /* POINT_TIME: wall clock; 0: it cannot be read, restore_spec_check says so */
    const char *until_gtid; /* POINT_GTID */
    const json_t *destination,
        *encryption; /* SOURCE_NAME, SOURCE_LATEST: never NULL where there is one, be it spec.backup's */
};

/* spec: MysqlCluster.spec. Never fails. */
void restore_spec_read(const json_t *spec, struct restore_spec *ret);
/* For a spec whose types are right: exactly one source, and what goes with it. Returns 0 or -1. */
int restore_spec_check(const json_t *spec, struct api_problems *problems);
/* old: spec.restoreFrom by which the cluster's data came to be; NULL: it came otherwise. What is done cannot be wished
 * otherwise; taking the wish away is fine. */
int restore_spec_check_change(const struct restore_spec *now, const json_t *old, struct api_problems *problems);

#endif
