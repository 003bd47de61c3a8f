/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gtid_loss.h: whether somebody has emptied a replica's GTID set by hand. Pure.
 *
 * RESET BINARY LOGS AND GTIDS (RESET MASTER) empties gtid_executed and leaves the data as it is. A replica goes on
 * applying after it, and its server reports no error. But it will never have what a switchover waits for, no other
 * member can follow it, and once it connects anew its source sends everything again, or refuses it. MariaDB: the same
 * holds for an emptied gtid_slave_pos; RESET MASTER alone takes nothing of a replica's position.
 *
 * It is only said, and nobody is made less of a primary or replica for it. So that it is never said of a sound server:
 *
 *   - looks of one thread over one connection are compared, each begun after the one before had ended: they are of one
 *     process of the server, in order;
 *   - as many looks as GTID_LOSS_LOOKS, over GTID_LOSS_MS at least, have found the same lacking;
 *   - the source, which is open, has what is lacking: else somebody may have taken an errant transaction out by hand;
 *   - this server is a replica by its order, and is set up to follow that source: positions of copied data are set
 *     before.
 *
 * An agent that was started later, or a server that was, knows of nothing lacking.
 */
#ifndef KM_AGENT_GTID_LOSS_H
#define KM_AGENT_GTID_LOSS_H

#include "common/base.h"

#include "agent/mysql/replication_facts.h"
#include "common/agent_api.h"

#define GTID_LOSS_LOOKS 5
#define GTID_LOSS_MS 3000

/* As zeroed: nothing is known. It holds the positions by references of its own. */
struct gtid_loss {
    uint64_t connection; /* of the latest look; 0: there was none */
    const char *latest;  /* what it found executed */
    const char *had;     /* what was executed before some of it was lacking; NULL: nothing is */
    /* MySQL: that, and what had been received: what was executed after the last look before is in it. Only with all of
     * this it is whole again. */
    const char *wanted;
    struct position_pool *of_latest, *of_had, *of_wanted;
    int64_t found_ms, latest_ms; /* when the first look began that found something lacking, and the latest look */
    unsigned looks;              /* that have found it */
    char lacking[160];           /* for certain, and the source has it. Cut to size; "" nothing */
};

/* A look at a replica. */
void gtid_loss_look(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *facts);
/* theirs: what the source, which is open, has executed. */
void gtid_loss_heard(struct gtid_loss *loss, enum agent_flavour flavour, const char *theirs);
/* It is no replica, or its server has ended. */
void gtid_loss_forget(struct gtid_loss *loss);

#endif
