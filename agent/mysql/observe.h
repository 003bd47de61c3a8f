/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe.h: one look at the server: who it is, how it is, and, when asked, its counters.
 */
#ifndef KM_AGENT_MYSQL_OBSERVE_H
#define KM_AGENT_MYSQL_OBSERVE_H

#include "common/base.h"

#include "agent/mysql/accounts_left.h"
#include "agent/mysql/dialect.h"
#include "agent/mysql/own_account.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/server_status.h"
#include "agent/mysql/session.h"
#include "common/error.h"

struct observation {
    struct server_version version;
    uint32_t server_id;
    char server_uuid[40];
    bool read_only;
    int64_t uptime_s;
    bool partial_revokes;
    uint64_t extension_bytes;     /* by how much the system tablespace is extended next; 0: not known; with `status` */
    uint64_t accounts_digest;     /* accounts.h; with `status`; by probe_lane.c; 0: not read */
    struct accounts_left left;    /* likewise, where system tables were seen */
    enum own_account own_account; /* likewise */
    bool has_status;              /* `status` was collected */
    struct server_status status;
    char unread[LOOK_UNREAD_SIZE]; /* replication_facts.h: replication_goes_without */
};

/* All that a dialect needs. */
int observe_version(struct session *session, struct server_version *ret, struct error *err) KM_MUST_CHECK;
/* The session must be idle. with_status: SHOW GLOBAL STATUS and VARIABLES and the replication status as well, where the
 * server tells them. */
int observe_server(struct session *session, bool with_status, struct observation *ret, struct error *err) KM_MUST_CHECK;

#endif
