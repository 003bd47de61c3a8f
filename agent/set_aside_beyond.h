/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_aside_beyond.h: what the binary logs of a server that is down hold beyond what another one has, so that it can be
 * set aside before the data goes.
 *
 * MySQL: the difference of two sets. What these logs hold, or stand for, says the newest one: it begins with what all
 * before it held. What came by a copy is not in it, and cannot be set aside: the donor of that copy had it.
 *
 * MariaDB: positions name one transaction per domain, which does not tell whether 0-1-105 is in a history that has
 * reached 0-2-110. The other server's gtid_binlog_state does, as it names the last transaction of each domain and
 * server (https://mariadb.com/kb/en/gtid/#gtid_binlog_state): 0-1-100 there says that 0-1-105 is not in it. Within a
 * domain numbers only grow, so both share everything up to the last transaction that both have, and what is here behind
 * it is beyond. Where they share none, all that is here counts as beyond: too much is set aside rather than too little.
 */
#ifndef KM_AGENT_SET_ASIDE_BEYOND_H
#define KM_AGENT_SET_ASIDE_BEYOND_H

#include "common/base.h"

#include "common/error.h"
#include "common/gtid.h"
#include "common/strbuf.h"

struct set_aside_beyond {
    bool known;           /* false: it cannot be told; anything may be */
    struct strbuf gtids;  /* beyond; MariaDB: the last one of each domain and server. "" with `known`: nothing is */
    struct strbuf shared; /* MariaDB: what both have, one position per domain */
    uint64_t end;         /* identifies the end of these logs: other transactions, another one. 0: not known */
};

/* theirs: gtid_executed or gtid_binlog_state, of each domain and server or of each domain alone; "", cut ("...") or not
 * a position: not known. A data folder that names no binary logs has nothing beyond. Release in any case. Blocking. */
void set_aside_beyond_find(
    const char *data_dir, enum gtid_flavour flavour, const char *theirs, struct set_aside_beyond *ret);
/* As `end` above. */
uint64_t set_aside_beyond_end(const char *data_dir, enum gtid_flavour flavour);
void set_aside_beyond_release(struct set_aside_beyond *beyond);

#endif
