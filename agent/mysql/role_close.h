/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_close.h: a primary that stops being one. What clients are told is what replicas have: who waits for an
 * acknowledgement that does not come loses the connection first, and only then its commit is let go (I3).
 *
 * Of commits that go to the binary log together one, the leader, waits for the acknowledgement in the name of all. When
 * MariaDB's leader is killed, and when semi-sync is turned off, all of them are done, and who is still connected is
 * told so. So:
 *
 *   1. one session sets the server read-only. As long as this is pending nobody's new statement can write, not even an
 *      administrator's, though what is open can still be committed;
 *   2. another one looks who is connected. Replicas are cut off if a commit waits for them, so that no other group
 *      begins to wait meanwhile; MySQL's not before 1 is seen pending and no account statement runs, for which they
 *      could not log in again; then all clients are killed, which shuts their sockets. MariaDB's softly (KILL SOFT):
 *      a leader goes on waiting, so nobody it leads is let go before he is shut, too. MySQL's wait ends for nobody by
 *      that;
 *   3. once all are shut, semi-sync is turned off and the commits end. MariaDB's is on again when nobody waits any
 *      more; before, 1 is asked anew so that it does not give up meanwhile, and one statement sees that it is pending,
 *      turns semi-sync off and on again. MySQL's stays off;
 *      as its barrier may already be past read_only, which stops no administrator, newcomers are made to read only
 *      before all are killed.
 *
 * Where no connection is left for the second session, room is made for it (room.h): without it there is no barrier
 * during 3.
 *
 * An XA transaction that was prepared before can be committed by another connection during 2; that MariaDB's wait ends
 * for it is not prevented.
 */
#ifndef KM_AGENT_MYSQL_ROLE_CLOSE_H
#define KM_AGENT_MYSQL_ROLE_CLOSE_H

#include "common/base.h"

#include <stdatomic.h>

#include "agent/mysql/dialect.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/session.h"
#include "common/error.h"

/* From primary: events stop, no client can write any more and none is connected; what gtid_executed says afterwards
 * is final. Running statements may go on for drain_ms, then they are killed; new ones wait meanwhile. The agent's own
 * connections are spared, except those that write heartbeats, and so are those of the programs that it runs; strangers
 * by its account are not (strangers.h). Threads of replication are spared, but see above. drain_ms 0: writes are shut
 * out by the first statement that is sent, which a server that hangs finds in its socket when it goes on; what stands
 * in the way is killed at once. Can be repeated. *look, which may be NULL, is as zeroed; it may have been taken also
 * where the close fails. */
int role_close(struct session *session, const struct dialect *dialect, uint32_t drain_ms, struct semi_sync_look *look,
    struct error *err) KM_MUST_CHECK;

/* On a server that is closed: commits wait for nobody any more. MariaDB's accounts with READ ONLY ADMIN may have
 * written since; the connections of those that wait are gone before. With MySQL its own replicas are disconnected, and
 * up to two seconds are waited so that newcomers need not; once *superseded (may be NULL) no longer. */
int role_release(struct session *session, const struct dialect *dialect, const atomic_bool *superseded,
    struct error *err) KM_MUST_CHECK;

/* What a close that did not come to its end may have left. */
int role_admit_clients(struct session *session, const struct dialect *dialect, struct error *err) KM_MUST_CHECK;

/* Pure: as far as the text of a statement tells, a MySQL server lets nobody log in while the commit of this one waits for
 * an acknowledgement: it changes accounts, roles or rights. */
bool role_is_account_statement(const char *text);

/* Pure: replicas may be cut off. With MySQL they could not log in again to acknowledge an account statement that runs
 * (shuts_out), and the server would hang for good. One that begins while the barrier stands (blocked) waits for that
 * before it shuts anybody out. */
bool role_may_cut_replicas(const struct dialect *dialect, bool blocked, bool shuts_out);

/* Pure: whether a connection of SHOW PROCESSLIST is a client's that must go when the server is closed. is_stranger: as
 * strangers.h says; only asked of the agent's account. */
bool role_is_client(
    const char *user, const char *database, const char *command, const char *agent_user, bool is_stranger);

#endif
