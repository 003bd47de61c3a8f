/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_view.h: what a member's agent says, as the questions that decisions about roles ask. Pure.
 *
 * Only a word from a standing stream counts: a member that does not speak is unknown, not dead (I5).
 */
#ifndef KM_MEMBER_VIEW_H
#define KM_MEMBER_VIEW_H

#include "common/gtid.h"
#include "operator/cluster/state/cluster_snapshot.h"

/* By pod name; NULL if there is none, or name is "". */
const struct cluster_member *cluster_member_named(const struct cluster_snapshot *snapshot, const char *name);
/* The one that the status names; NULL if none is chosen or there is no such member. */
const struct cluster_member *cluster_primary(const struct cluster_snapshot *snapshot);
/* By its own word it takes writes, or does so by itself as soon as its volume has room (closed_for_room): nothing but
 * an order closes it. */
bool agent_takes_writes(const struct agent_status *agent);
/* It takes writes, and has taken up another role under a later epoch than the one under which it was opened: it is
 * being closed. */
bool agent_is_closing(const struct agent_status *agent);

bool member_is_wanted(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
bool member_speaks(const struct cluster_member *member);
/* A node has had its volume: data may be on it. */
bool member_has_volume(const struct cluster_member *member);
/* It has a volume, and has not said that nothing is on it. */
bool member_may_hold_data(const struct cluster_member *member);
/* It is in `init`: there is no server yet. */
bool member_is_seeding(const struct cluster_member *member);
/* Why its last attempt to get its data failed (restore_reason.h): by name, since a newer agent may know more of
 * them. */
const char *member_seed_failure(const struct cluster_member *member);
/* Its agent says that nothing is on its volume, and there is no server. */
bool member_is_empty(const struct cluster_member *member);
bool member_runs(const struct cluster_member *member);
/* Its server gives no answer now, and did what was ordered under the present epoch before: nobody was chosen in its
 * place. It may answer again any moment; what it sends goes on then, or ends by itself. */
bool member_only_hangs(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* It has been opened under the epoch of the status, and takes writes unless its volume has too little room for them. */
bool member_is_open(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* It takes none for that reason, though it is open in all else (agent_api.h: closed_for_room). */
bool member_is_closed_for_room(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* It has carried out the order to be nothing under the epoch of the status: no client writes there, its position is
 * final. */
bool member_is_fenced(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* A replica under the epoch of the status that receives, applies and holds nothing that the primary lacks. */
bool member_follows(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* Why it does not; never NULL. */
const char *member_why_not_following(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* How its positions are written. It has an agent. */
enum gtid_flavour member_gtid_flavour(const struct cluster_member *member);
bool member_has_problem(const struct cluster_member *member, enum agent_problem_kind kind);
/* Writes on it wait for a lock that a session holds on all tables. */
bool member_is_locked(const struct cluster_member *member);
/* Its commits have waited for acknowledgements for longer than a hiccup takes: as long as makes the agent's word news
 * (AGENT_WATCH_BLOCKED_MS). */
bool member_commits_wait(const struct cluster_member *member);
/* Its volume must not be trusted: it left the cluster, or was marked to be seeded again. */
bool member_data_is_stale(const struct cluster_member *member);
/* Its agent can read an order with this position: one of an earlier version cannot, if it is long. */
bool member_can_be_told(const struct cluster_member *member, const char *position);
/* A copy of the data arrives, or is about to. */
bool member_is_being_cloned(const struct cluster_member *member);

/* ---- its template and its my.cnf ---- */

bool member_has_newest_template(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* By its last word; without one, or if that does not tell, nothing speaks against it. */
bool member_has_wanted_mycnf(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* A wanted member whose pod must be replaced: an older template; a my.cnf that only a restart brings; an older my.cnf
 * under which its server is down. */
bool member_is_outdated(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* It has another my.cnf than wanted, and nothing that is known so far says that its pod must be replaced. */
bool member_takes_up_mycnf(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* A server that runs was given the my.cnf that is in force, and can have it by a restart only. */
bool cluster_awaits_restart(const struct cluster_snapshot *snapshot);
/* Its `init` does not go on because the server refuses my.cnf. */
bool member_refuses_mycnf(const struct cluster_member *member);
/* What its container "init" has ended for, while that keeps it from starting. */
enum agent_init_fault pod_init_fault(const struct pod_object *pod);

/* Of the server that runs on the primary's data, or ran there last: as VERSION() spells it, "" unknown. A replica may
 * be further, by a change that was undone: it can be copied anew. */
const char *cluster_data_version(const struct cluster_snapshot *snapshot);
int cluster_follower_count(const struct cluster_snapshot *snapshot);
/* Of the servers, as any agent said last, be it silent now; AGENT_FLAVOUR_UNKNOWN: none has said. */
enum agent_flavour cluster_flavour(const struct cluster_snapshot *snapshot);
/* Acknowledgements that a commit should wait for by the spec: half of the replicas, at least one (MariaDB always waits
 * for one). 0 with one member, and in mode async. What holds is in the status. */
int cluster_wanted_acks(const struct cluster_snapshot *snapshot);
/* DNS name of a member, as its certificate has it. */
void cluster_member_host(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char out[static AGENT_HOST_SIZE]);

#endif
