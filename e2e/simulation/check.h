/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: what must hold after every step, whatever happens.
 *
 * A transaction is acknowledged when a client was told that it is done. Whoever is opened, and whoever acknowledges
 * another one, must have all of them. Where spec.failover.dataLoss is allow, what a failover says may be lost with it
 * (mayBeLost) is forgiven when the new primary opens, or when the failover ends before that (it is closed for want of
 * room). What somebody with all rights has let go without its acknowledgements may be lost until an operator has
 * decided by a status of the primary that tells of it.
 */
#ifndef KM_SIMULATION_CHECK_H
#define KM_SIMULATION_CHECK_H

#include "e2e/simulation/sim.h"

void check_opened(struct sim *sim, int member);
void check_acknowledged(struct sim *sim, int member, int txn);
/* It came into this member's binary log, or its relay log. */
void check_added(struct sim *sim, int member, int txn);
/* Before the start of a server cuts off its tail, all but so many transactions; before data is replaced. */
void check_cut(struct sim *sim, int member, int kept);
void check_replaced(struct sim *sim, int member);
/* MySQL is stopped with commits that wait: their clients are told that they are done (S5). */
void check_told_at_end(struct sim *sim, int member);
/* An operator has decided with what `writer` said of a look at looked_ms: what that had let go before, in spite of its
 * order, is not to be lost any more. */
void check_heard(struct sim *sim, int writer, int64_t looked_ms);
/* The cluster is applied again after it was deleted: its status knows nothing of what was on volumes that are lost.
 * What none of the others holds is not asked for any more. */
void check_applied_again(struct sim *sim);
void check_status(struct sim *sim, const struct cluster_status *before, const struct cluster_status *after);
void check_step(struct sim *sim);
/* No fault comes any more. True: all is well, or a verdict is there. */
bool check_settled(struct sim *sim);
/* Somebody's volume holds all that was acknowledged. */
bool check_somebody_has_all(const struct sim *sim);

#endif
