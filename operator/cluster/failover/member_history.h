/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_history.h: what a member holds, seen against the reigns of the status: pure.
 *
 * A reign (struct cluster_reign) is the time in which one member was primary. Every transaction of a reign was written
 * by its primary, so its GTID names the reign's origin: the server's UUID (MySQL) or its server id (MariaDB). A member
 * that holds one transaction of a reign holds all that its primary held when it was opened, because binary logs are
 * received in order. So two members compare as (latest reign of which they hold a transaction, GTIDs), in that order,
 * as Raft compares (term, index).
 *
 * What lies beyond the floor of the oldest listed reign and is of no listed origin belongs to no reign that can have
 * acknowledged it: an unacknowledged tail of an earlier primary, or a transaction that somebody wrote on a replica.
 * MariaDB tells the last transaction of each domain only: if that one is such a tail, what came before it is known only
 * as far as the floor is of the same server.
 */
#ifndef KM_MEMBER_HISTORY_H
#define KM_MEMBER_HISTORY_H

#include "common/gtid.h"
#include "operator/api/cluster_status.h"

struct member_history {
    bool readable; /* false: the position or a floor is too long or malformed; then nothing below means anything */
    int reign;     /* index in the list: the latest one of which it holds a transaction; the list's count: of none */
    bool reaches_floor;     /* it holds the floor of that reign, of the oldest one if it holds nothing of any */
    bool has_extra;         /* it holds something that belongs to no listed reign */
    bool hides;             /* MariaDB: what it holds below that cannot be told */
    struct gtid_set *known; /* without that; NULL unless readable */
};

/* position: GTIDs. Release with member_history_release. */
void member_history_read(
    const struct cluster_reigns *reigns, enum gtid_flavour flavour, const char *position, struct member_history *ret);
void member_history_release(struct member_history *history);

/* a against b: by reign, then by what is known. Both readable. */
enum gtid_relation member_history_compare(const struct member_history *a, const struct member_history *b);

/* MariaDB: gtid_binlog_state, which has the last transaction of each domain and server, shows nothing of any listed
 * reign. Then nothing is hidden. */
bool member_history_shows_none(const struct cluster_reigns *reigns, const char *state);

/* MariaDB. state: gtid_binlog_state of a member, the last number of each server that it has logged. True: it has logged
 * something of a server that wrote the last transaction of `position`, and not that one. Numbers alone do not tell:
 * whoever writes on a replica gets the number of what that one has received and not applied. A copy begins with an
 * empty state, so what a state does not name is no proof. */
bool member_history_state_lacks(const char *state, const char *position);

/* MariaDB. The last number of that domain and server in gtid_binlog_state; 0: it is not named, or the text cannot be
 * read. */
uint64_t member_history_state_number(const char *state, const struct gtid_one *one);

/* MariaDB. True: it has logged the last transaction of each domain of `position`, or a later one of the same server. */
bool member_history_state_holds(const char *state, const char *position);

/* MariaDB. `own`: gtid_binlog_state of a server that writes, and its server id. True: in each domain that is named there,
 * `state` holds the last transaction that another server wrote, or a later one of the same server. Where none is named
 * what came before is not known: false. */
bool member_history_state_holds_others(const char *state, const char *own, uint32_t server_id);

/* MariaDB. Two gtid_binlog_state: `state` names all that `theirs` names, or later ones of the same server and domain;
 * what `but_server` wrote need not be there. False if either cannot be read, or is empty. */
bool member_history_state_holds_state(const char *state, const char *theirs, uint32_t but_server);

/* MariaDB: a lacks the last transaction of b in some domain: a's own last one has a smaller number, or the same number
 * and another server id. False if either cannot be read. */
bool member_history_is_behind(const char *a, const char *b);

/* Transactions with this origin are of that server. uuid and server_id as an agent says them: "" and 0 unknown. */
bool member_history_is_origin(const char *origin, const char *uuid, uint32_t server_id);

#endif
