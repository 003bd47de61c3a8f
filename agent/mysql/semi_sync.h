/* SPDX-License-Identifier: Apache-2.0 */
/*
 * semi_sync.h: what makes commits wait for acknowledgements, set and looked at in one place.
 *
 * A primary waits as set here: for as long as it takes (the longest time-out that every version takes, 49 days), before
 * the commit is visible (AFTER_SYNC), also while no replica is connected, for as many acknowledgements as wished
 * (MariaDB counts one). A server whose time-out has passed goes on without waiting although it is enabled: then
 * `Rpl_semi_sync_*_status` is OFF, until a replica has caught up (plugin/semisync/semisync_source.cc: switch_off,
 * try_switch_on; MariaDB: sql/semisync_master.cc). To set the variable `enabled` once more changes nothing then; it
 * must be off in between.
 */
#ifndef KM_AGENT_MYSQL_SEMI_SYNC_H
#define KM_AGENT_MYSQL_SEMI_SYNC_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/session.h"
#include "common/error.h"

/* A primary: commits wait for acks (at least one) acknowledgements, or for none. Can be repeated while they wait. */
int semi_sync_set_source(
    struct session *session, const struct dialect *dialect, bool on, uint32_t acks, struct error *err) KM_MUST_CHECK;
/* A replica: it gives acknowledgements, from the next connection to its source on. */
int semi_sync_set_replica(
    struct session *session, const struct dialect *dialect, bool on, struct error *err) KM_MUST_CHECK;

/* Fills in what the facts say of it. */
int semi_sync_observe(struct session *session, const struct dialect *dialect, struct replication_facts *facts,
    struct error *err) KM_MUST_CHECK;

/* Pure: a commit that begins now would wait in vain, as far as two looks can tell, a moment apart: fewer replicas than it
 * waits for are connected, or others wait and none of them has been acknowledged in between. first and last may be the
 * same look. */
bool semi_sync_would_wait(const struct replication_facts *first, const struct replication_facts *last);
/* Looks until it is known that a commit that begins now is acknowledged. ERROR_UNAVAILABLE: it would wait in vain, or
 * others have for SEMI_SYNC_PATIENCE_MS. */
#define SEMI_SYNC_PATIENCE_MS 1000
int semi_sync_await_answers(struct session *session, const struct dialect *dialect, struct error *err) KM_MUST_CHECK;

/* What semi-sync was like just before a change of role set it anew. A close takes it when nobody can be told any more of
 * the commits that it ends: what has ended without an acknowledgement by then was not ended by the close. */
struct semi_sync_look {
    bool taken;
    struct replication_facts facts; /* of semi-sync alone (semi_sync_observe) */
};

/* Pure: one row of SHOW GLOBAL VARIABLES or SHOW GLOBAL STATUS. */
void semi_sync_take(
    const struct replication_terms *terms, struct replication_facts *facts, const char *name, const char *value);

#endif
