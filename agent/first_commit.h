/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_commit.h: the thread that sees when the first commit that is not the agent's is done on a server that was just
 * opened for writes. A look every 500 ms would tell a pause of 100 ms as one of up to 600.
 *
 * It has a session of its own, from the opening until that commit, and asks for the position every few milliseconds,
 * later more rarely: kube-proxy may load the route late, and commits may wait for acknowledgements for long. Where no
 * client writes it gives up after FIRST_COMMIT_MAX_MS. The agent's own commits are counted (own_commits). While the
 * agent changes accounts or events its transactions cannot be told from clients': only what comes after that counts.
 *
 * The first commit of a client that writes rarely is late, too, although nothing held it up. So the time before that
 * commit in which no commit was seen to wait is reported with it: the server was open then, and whether a client tried
 * to write is not known.
 */
#ifndef KM_AGENT_FIRST_COMMIT_H
#define KM_AGENT_FIRST_COMMIT_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/own_commits.h"
#include "common/agent_api.h"
#include "common/loop.h"

#define FIRST_COMMIT_MAX_MS 600000

/* ---- pure ---- */

struct first_commit_moment {
    struct agent_moment done;
    int64_t idle_ms; /* for how long before that nothing was seen to wait, since the opening */
};

struct first_commit_look {
    int64_t asked_ms, answered_ms;
    uint64_t count; /* of the transactions executed here; of MariaDB those that wait for acknowledgements included */
    unsigned begun; /* own_commits, read after the answer */
    unsigned ended; /* likewise, before the question */
    bool changing;  /* at any time since the look before */
    bool has_waits; /* what follows was asked for */
    bool waits;     /* commits wait for acknowledgements now, the agent's own included */
    uint64_t acknowledged;
};

struct first_commit_view {
    bool begun;
    uint64_t count;        /* of the look that all is compared with */
    unsigned ended;        /* own commits that are in it for certain */
    int64_t none_ms;       /* start of the latest look that found none */
    int64_t changed_ms;    /* likewise, before the agent changed something of its own; 0: it does not */
    bool seen;             /* there is one, which may wait for its acknowledgement */
    uint64_t acknowledged; /* when it was seen */
    bool waited;           /* at the latest look that asked */
    uint64_t waited_acknowledged;
    int64_t idle_since_ms; /* the opening, or the latest look at which what waited before still did */
};

/* Whether there are others than the agent's, so that it is to be asked what waits. */
bool first_commit_is_there(const struct first_commit_view *view, const struct first_commit_look *look);
/* The first look is the one that all others are compared with, unless the view has begun. True: *ret. */
bool first_commit_take(
    struct first_commit_view *view, const struct first_commit_look *look, struct first_commit_moment *ret);

/* ---- the thread ---- */

struct first_commit;

typedef void first_commit_fn(void *arg, uint64_t epoch, const struct first_commit_moment *moment);

/* fn runs on the loop when it has found it, not when it has given up. socket, user and own must outlive it. */
struct first_commit *first_commit_new(struct loop *loop, const char *socket, const char *user,
    const struct own_commits *own, first_commit_fn *fn, void *arg);
/* The server was just opened under that epoch, and the agent has committed nothing there since. executed: at a look
 * that began at looked_ms. What it may still be looking for, after an earlier opening, counts no more. */
void first_commit_look_for(struct first_commit *first, const struct server_version *version, uint64_t epoch,
    const char *executed, int64_t looked_ms);
/* The server is closed, or has gone. */
void first_commit_stop(struct first_commit *first);
void first_commit_free(struct first_commit *first);

#endif
