/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gtid_loss.h: whether somebody has set back the GTID position of a running server by hand. Pure.
 *
 * RESET BINARY LOGS AND GTIDS (RESET MASTER) takes the position and leaves the data as it is, and so does a smaller
 * gtid_slave_pos of MariaDB. Its server reports no error. From then on its numbers prove nothing:
 *
 *   - a source sends it again what it has executed, and without a primary key its rows are doubled silently;
 *   - a primary gives numbers anew that its replicas hold as other transactions.
 *
 * A position that was set back may be at its end again before the next look. So what matters, too, is where the binary
 * logs begin: RESET MASTER takes them all, and if the first transaction of those that come after it had been executed
 * before, it was executed twice.
 *
 * So a look that finds less executed than an earlier one had found says it for good: what comes after it, also all the
 * numbers that were lost, may have been applied twice. It holds for this data, over the end of server and agent
 * (gtid_loss_note.h), until a copy replaces it. RESET MASTER on a MariaDB replica takes nothing of its position.
 *
 * A server never goes back by itself while it runs. So that it is never said of a sound one:
 *
 *   - looks of one thread over one connection are compared, each begun after the one before had ended: they are of one
 *     process of the server, in order. A start may cut off the end of the binary log, or lose it with its node;
 *   - the position of copied data is set after the server has started; it is looked at once it follows or is open.
 */
#ifndef KM_AGENT_GTID_LOSS_H
#define KM_AGENT_GTID_LOSS_H

#include "common/base.h"

#include "agent/mysql/replication_facts.h"
#include "common/agent_api.h"

/* What holds for the data. */
struct gtids_lost {
    bool is_lost;
    /* It was open for writes then, or has been since: it has given numbers anew. */
    bool was_open;
    char lacking[160]; /* what was executed before and is not now; cut to size */
};

/* As zeroed: nothing is known. It holds `latest` by a reference of its own. */
struct gtid_loss {
    uint64_t connection; /* of the latest look; 0: there was none */
    const char *latest;  /* what it found executed */
    struct position_pool *of_latest;
    uint32_t oldest_log; /* as it found them */
    char first_logged[80];
    const char *before_reset; /* executed before the binary logs were taken, until their first transaction is known */
    struct position_pool *of_before;
    struct gtids_lost lost;
};

/* A look at the server, whatever its role. True: `lost` is another one now. */
bool gtid_loss_look(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *facts);
/* Its server has ended: no look is compared with those before. `lost` stays, as the data does. */
void gtid_loss_server_gone(struct gtid_loss *loss);

#endif
