/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_status.h: status.restore of a MysqlCluster as a value: which backup its data is made of, and how far that is.
 *
 * What is restored (id, digest) is written before any agent is told, and stays: a restart of the operator goes on with
 * the same backup. A zeroed struct is "none".
 */
#ifndef KM_RESTORE_STATUS_H
#define KM_RESTORE_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_order.h"
#include "common/position.h"
#include "common/strbuf.h"

enum restore_phase {
    RESTORE_PHASE_NONE,
    RESTORE_PHASE_RESOLVING, /* which backup, is not known yet */
    RESTORE_PHASE_RESTORING, /* it stands below; the first primary is told */
    RESTORE_PHASE_COMPLETED, /* the cluster has its data */
    RESTORE_PHASE_EMPTY,     /* orEmpty, and provably nothing is stored: a new database */
    RESTORE_PHASE_SKIPPED,   /* the volumes held data */
    RESTORE_PHASE_COUNT,
};
extern const char *const restore_phase_names[RESTORE_PHASE_COUNT]; /* "", "Resolving", ... */
/* RESTORE_PHASE_NONE of what is none of them, as of the reasons for which a restore fails. */
enum restore_phase restore_phase_of(const char *name);

struct cluster_restore {
    enum restore_phase phase;
    char backup[AGENT_RESTORE_ID_SIZE]; /* its id; "" not known yet, as the rest */
    char folder[512];                   /* below the destination: NAMESPACE/CLUSTER/backups/ID */
    char location[640];                 /* for people */
    char digest[65];
    char gtid[POSITION_TOLD_SIZE]; /* told (position.h): what is longer stands in the manifest */
    char binlogs[256]; /* archived binary logs that are replayed onto it: NAMESPACE/CLUSTER/binlogs/UID; "" none */
    /* how far; 0 without cluster_restore_until_gtid: all that is archived. Meaningless without binlogs */
    int64_t until_ms;
    uint64_t bytes;    /* of the tool's stream */
    char reason[48];   /* CamelCase, why it does not go on; "" it does */
    char message[512]; /* for people */
    int64_t start_ms, completion_ms;
    /* Owned, NULL: none. In the words of the spec; names of Secrets, never what is in them. */
    json_t *from, *destination, *encryption;
};

json_t *cluster_restore_encode(const struct cluster_restore *restore); /* NULL: none */
/* *ret is overwritten. NULL is fine. */
void cluster_restore_decode(const json_t *json, struct cluster_restore *ret);
void cluster_restore_copy(const struct cluster_restore *from, struct cluster_restore *ret);
void cluster_restore_release(struct cluster_restore *restore);
/* Up to and with these, as `from` has them; "" not by GTIDs. The restore's. */
const char *cluster_restore_until_gtid(const struct cluster_restore *restore);
bool cluster_restore_same(const struct cluster_restore *a, const struct cluster_restore *b);
/* Of which binary logs and to which point, for people: "", or " and of the binary logs archived in FOLDER until
 * 2026-11-21T20:45:12Z". */
void cluster_restore_point_text(const struct cluster_restore *restore, struct strbuf *out);
/* Begins anew with another wish; from is copied. */
void cluster_restore_begin(struct cluster_restore *restore, const json_t *from, int64_t now_ms);

#endif
