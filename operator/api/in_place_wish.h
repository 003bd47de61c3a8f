/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_wish.h: what the annotation kubemysql.dev/restore-in-place of a MysqlCluster asks for: BACKUP or
 * BACKUP@POINT, where BACKUP is a MysqlBackup of the namespace, and POINT a time (RFC 3339), "latest", or a GTID set:
 * as backup.name, pointInTime and gtid of spec.restoreFrom.
 */
#ifndef KM_IN_PLACE_WISH_H
#define KM_IN_PLACE_WISH_H

#include "common/base.h"

#include "operator/api/restore_spec.h"

struct in_place_wish {
    char *text;       /* the annotation's value; NULL or "": there is no wish */
    json_t *document; /* {restoreFrom}: what `spec` borrows from; NULL: it cannot be read */
    struct restore_spec spec;
    char problem[256]; /* why it cannot be read; "" it can */
};

/* *ret is overwritten. text may be NULL. */
void in_place_wish_read(const char *text, struct in_place_wish *ret);
void in_place_wish_release(struct in_place_wish *wish);

#endif
