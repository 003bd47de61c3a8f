/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_id.h: each copy of data has a server id of its own, and so has data from which something was cut off.
 *
 * A GTID of MariaDB is a domain, a server id and a number, and a server gives the number that follows on the largest
 * one it has. So a member whose data is replaced by a copy that lacks its last transactions would give their GTIDs to
 * others, and a replica that holds the old ones goes on without an error. MySQL's GTIDs have the server's UUID, which a
 * copy does not take along (auto.cnf); but a receiver of either family leaves out events of its own server id
 * (replicate_same_server_id = OFF), so a member would leave out what it wrote before its data was replaced. A start that
 * cuts off the end of MariaDB's binary log (start_mode.h) leaves the same data as such a copy.
 *
 * data/kube-mysql-server-id.json: {"insteadOf": …, "serverId": …}, the server id of my.cnf (run_mycnf.h) for which it
 * was drawn, and the one drawn. It comes with the copy, by the same rename, or is written before such a start. Data that was initialised here has no such
 * file and goes by my.cnf; so does data whose file is of another member or cluster, as that of a volume snapshot: the
 * server id of my.cnf was never used with it.
 */
#ifndef KM_AGENT_BOOTSTRAP_SERVER_ID_H
#define KM_AGENT_BOOTSTRAP_SERVER_ID_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/error.h"

/* For the copy that lies in data.new. The last four bits are those of my.cnf's, the ordinal: members never draw the
 * same one. On the disk when it returns. ERROR_INVALID: my.cnf names no server id. */
int server_id_draw(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* The same for the data that is there: in place of the one it has. */
int server_id_draw_anew(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* Pure. 0: `drawn` was not drawn for this one, or nothing was. */
uint32_t server_id_decide(uint32_t of_mycnf, uint32_t instead_of, uint32_t drawn);
/* The option for the server; NULL: as my.cnf has it. The caller frees. */
char *server_id_option(const struct agent_paths *paths);

#endif
