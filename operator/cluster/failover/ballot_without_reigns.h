/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ballot_without_reigns.h: what a ballot (ballot.h) makes of a status that an earlier version wrote: it has no reigns,
 * so they are put together from who was primary (reigns_in_force), without epochs and without the floors of the time
 * when they began. For the files of the ballot only. Pure.
 */
#ifndef KM_BALLOT_WITHOUT_REIGNS_H
#define KM_BALLOT_WITHOUT_REIGNS_H

#include "operator/cluster/failover/ballot.h"

/* The status knows no floor of the time when the reign began, only that of the last failover. */
bool ballot_has_earlier_floor(const struct ballot *ballot, int i);
/* Then what bears its origin may be of an earlier reign of the same member. The primary before tells, once it has
 * answered: what it holds as well may be that old, what it lacks is not. */
bool ballot_may_be_older(const struct ballot *ballot, int i, const struct vote *vote);
/* The last one before it in which something may have been written. Whoever is chosen and lost again and again is listed
 * for each time. */
int ballot_find_before(const struct ballot *ballot, int i);
/* Where no epochs are told, those on the volumes tell: the primary before was opened under one, and its own has
 * executed a heartbeat of that, and none of a later one, and would have noted an opening. */
bool ballot_has_only_followed(const struct ballot *ballot, int i, const struct vote *own);
/* MariaDB, and it is not known what its primary held when it began: its primary's last transaction is another one's,
 * behind all that anybody holds of its own. So that is of an earlier reign. */
bool ballot_wrote_nothing(const struct ballot *ballot, int i, const struct vote *own);

#endif
