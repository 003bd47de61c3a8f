/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gtid_loss.h: whether this server's set of executed transactions lacks some that it must have. Pure.
 *
 * RESET BINARY LOGS AND GTIDS (RESET MASTER) empties gtid_executed and leaves the data as it is. A replica goes on
 * applying after it, and its server says nothing; but no other member can be compared with it or follow it, and once it
 * connects anew its source sends it all again, or refuses it. Two signs tell of it:
 *
 *   - between two looks at a server that ran all the time its set has lost something. So it is with a primary, too. What
 *     the source has not counts for nothing: somebody may have taken an errant transaction out of the set by hand;
 *   - MySQL, also after the agent was restarted: a source sends its binary log in order, and so it is executed, unless
 *     replica_preserve_commit_order is off. A replica that has executed (or received, then) something new since the
 *     source's set was read, over a connection that has stood all the time, has been sent all of that set. What it lacks
 *     of it then will never come. Twice in a row, so that nothing is concluded from a connection that broke between two
 *     looks.
 *
 * MariaDB's positions name the last transaction of a domain, so nothing can be lacking before it; a replica keeps its
 * position over RESET MASTER.
 */
#ifndef KM_AGENT_GTID_LOSS_H
#define KM_AGENT_GTID_LOSS_H

#include "common/base.h"

#include "agent/mysql/replication_facts.h"
#include "common/agent_api.h"

/* Between two comparisons with the source. */
#define GTID_LOSS_JUDGE_MS 5000

struct gtid_loss {
    int64_t since_ms; /* since when something is lacking; 0: nothing is */
    const char *had;  /* executed by this run of the server, and lacking; "" or NULL: nothing */
    /* Some of that has been executed again since, if by its number alone: the set may be whole one day, and proves
     * nothing. So it stays until the server ends. */
    bool again;
    char unsent[256]; /* lacking although the source has sent it, or never will; "" nothing */
    /* The source's set, and what was executed or received here, at base_ms; NULL: not yet in this connection. */
    const char *base, *here;
    int64_t base_ms;
    unsigned found; /* comparisons in a row that found something lacking */
    /* They hold these; NULL: somebody else does. */
    struct position_pool *of_had, *of_base, *of_here;
};

/* Two looks at the same run of the server, one after the other. */
void gtid_loss_look(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *before,
    const struct replication_facts *facts, int64_t now_ms);
/* The set of the source, which is open, in its agent's answer; positions hold it. facts: the latest look here;
 * connected: it found this server connected to that source. */
void gtid_loss_heard(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *facts,
    bool connected, const char *theirs, struct position_pool *positions, int64_t now_ms);
/* The connection to the source has broken, or it was not heard for certain: it may send anything after this. */
void gtid_loss_parted(struct gtid_loss *loss);
/* Another source is followed, which is compared anew. */
void gtid_loss_other_source(struct gtid_loss *loss);
/* The server has ended: what the next one has is looked at anew. */
void gtid_loss_server_gone(struct gtid_loss *loss);
/* What is lacking, cut to size; "" nothing. executed: as of the latest look. */
void gtid_loss_text(
    const struct gtid_loss *loss, enum agent_flavour flavour, const char *executed, char *ret, size_t size);

#endif
