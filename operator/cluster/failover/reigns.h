/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reigns.h: the reigns in force (struct cluster_reigns), and how they change: pure.
 *
 * A reign is added in the write that names its primary. An election goes through the list from the latest to the oldest
 * (failover_election.h). What follows from a completed election is the floor of the next reign, so the list is short:
 * the reign of a switchover's target beside that of the old primary, or the reign of a candidate that takes over binary
 * logs beside that of the server which wrote them.
 */
#ifndef KM_REIGNS_H
#define KM_REIGNS_H

#include "common/gtid.h"
#include "operator/cluster/state/cluster_roles.h"

/* Those of the status. A status of a version that had none is read as the reigns of the primaries that it names, with
 * the floor that it knows. Where it has none or no epochs, and a failover has not chosen yet, a member that is held and
 * was opened under the epoch just before was open last: then the list is its reign alone. So it is where the only one
 * that is listed was never open, as its primary has lost some of its floor, and the notes of all members say who was open
 * last. Never none. */
void reigns_in_force(const struct cluster_snapshot *snapshot, struct cluster_reigns *ret);

/* Those that a failover which begins now has to judge. The target of a switchover is ordered to open only after the
 * old primary has taken up the epoch: if that one has not seen it, the target's reign has not begun. What the target
 * says is no proof: an order to open may be on its way. */
void reigns_to_judge(const struct cluster_snapshot *snapshot, struct cluster_reigns *ret);

/* The floor below which nobody may lead, whatever the election shows: that of the oldest reign. "" nothing is known. */
const char *reigns_floor(const struct cluster_reigns *reigns);
/* Index of the latest reign of that member; -1: none. */
int reigns_index(const struct cluster_reigns *reigns, const char *name);
/* It is the primary of a listed reign, and of the server that wrote its transactions. */
bool reigns_is_primary(const struct cluster_reign *reign, const struct cluster_member *member);

/* A reign of `member`, ahead of those from `first` on; the ones before that are dropped. first: reigns->count drops
 * all. Drops the oldest if there is no room. floor: of the pool of the status (cluster_take_position). */
void reigns_begin(
    const struct cluster_member *member, int64_t epoch, const char *floor, int first, struct cluster_reigns *reigns);
/* The reign at `index` goes on under another epoch; those after it are dropped. It keeps the one that it began with:
 * that its primary was opened under that one shows that the reign began, also if the primary is lost before it opens
 * again. epoch: the one under which it goes on, which stands for one that is not known. */
void reigns_continue(int64_t epoch, int index, struct cluster_reigns *reigns);
/* Whose binary logs the candidate of the failover that goes on takes over (transition.salvage); NULL: there is no such
 * member, or a status without reigns does not tell which of several it is. */
const struct cluster_member *reigns_salvaged(const struct cluster_snapshot *snapshot);
/* False: it does not fit, and the floor stays as it is. */
bool reigns_set_floor(
    const struct cluster_snapshot *snapshot, const struct gtid_set *floor, struct cluster_reign *reign);
/* Drops the latest; the last one stays. */
void reigns_drop_latest(struct cluster_reigns *reigns);

/* It holds something that no listed reign wrote: an unacknowledged tail of an earlier one, or what somebody wrote on a
 * replica. Known only where one reign is listed, and its floor is whole. */
bool reigns_has_extra(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

/* What its source lacks, as that has told, was acknowledged in no reign, if the source is the open primary of the
 * one that is listed, and its floor is whole. So is what reigns_has_extra says. And on MariaDB what has a smaller
 * number than the floor: numbers grow along a log, so nothing of the reign lies behind it, and whatever was
 * acknowledged before the reign is in the floor, which its primary has. */
bool reigns_is_beside(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* It holds a transaction of the reign in force. */
bool reigns_holds_latest(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* The transactions that the primary reports not to have belong to an earlier reign than its own, and to no floor, and the
 * primary was seen open and has written in its reign. So it was opened without them and has lost nothing since: no
 * client's commit of them was acknowledged, however many reigns are listed. */
bool reigns_is_left_behind(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member);

/* The primary of the reign in force was seen open, and wrote none of the transactions that it reports not to have: so
 * it has not lost them. */
bool reigns_is_written_by_others(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member);

/* MariaDB, by both logs (gtid_binlog_state): the member has all that the open primary had before its reign began, so all
 * that was acknowledged until then. */
bool reigns_holds_all_before(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member);

/* What an open primary shows: who wrote this reign's transactions, that it was open, and that earlier reigns need not
 * be listed any more, as enough members hold a transaction of this one. For the report: nobody is ordered anything
 * because of it. */
void reigns_settle(const struct cluster_snapshot *snapshot, struct cluster_reigns *ret);

#endif
