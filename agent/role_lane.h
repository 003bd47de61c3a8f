/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_lane.h: the thread that changes the server's role (mysql/role_change.h), with a session of its own. One change
 * at a time; each is bounded, what takes longer is asked for again.
 */
#ifndef KM_AGENT_ROLE_LANE_H
#define KM_AGENT_ROLE_LANE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "agent/mysql/dialect.h"
#include "agent/mysql/role_close.h"
#include "agent/mysql/session.h"
#include "agent/relay_recover.h"
#include "common/error.h"
#include "common/loop.h"

struct role_lane;

struct role_job {
    enum role_action action;
    struct server_version version;
    struct agent_order order;
    char *password; /* follow; taken over, secret */
    bool reconfigure;
    bool restart;
    enum relay_step relay;           /* recover */
    bool drain;                      /* follow: what was received is applied before the source is changed */
    enum salvage_step salvage;       /* open: ASK for the position, or apply what was FETCHED */
    const char *fetched;             /* what that is */
    bool stays_closed;               /* open: all but for writes */
    bool was_writable;               /* open: clients may write already */
    bool root;                       /* suspend: as role_suspend_wish */
    struct volume_room room;         /* suspend: as it was when it began */
    uint64_t note_change;            /* catch_up_note.h: to be synced before anything is changed; 0: nothing */
    struct position_pool *positions; /* hold those above and of the order; taken over */
};

struct role_result {
    struct error error;   /* ERROR_NONE: the change was made */
    uint64_t note_change; /* of the job */
    bool done;            /* false: ask again */
    bool has_facts;
    struct replication_facts facts; /* as it is after the change */
    int64_t looked_ms;              /* when that look began */
    int64_t took_us;
    struct semi_sync_look look; /* close; open, where clients could write before */
    bool dropped;               /* follow: something that was received */
    enum relay_outcome relay;   /* recover */
    char relay_why[128];        /* recover: RELAY_BROKEN */
    bool salvage_asked; /* nothing is missing any more but what only the dead primary has, beyond salvage_after */
    const char *salvage_after; /* valid until the lane's next job */
    bool salvage_applied;
    uint64_t noted_epoch; /* open: under which the opening was noted, whatever became of it; 0: it was not */
    bool is_uncertain;    /* open: it could not be noted, so that nothing is certain any more (noted_since_end) */
};

/* fn runs on the loop after every job. paths and user must outlive the lane. */
struct role_lane *role_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    void (*fn)(void *arg, const struct role_result *result), void *arg);
/* The last job found no connection left, and clients may keep them for ever: a session of another lane is to make room
 * for one of ours (room.h). */
bool role_lane_is_shut_out(const struct role_lane *lane);
struct session_options role_lane_session_options(const struct role_lane *lane);
/* Takes it. */
void role_lane_admit(struct role_lane *lane, struct session *session);
/* At most one at a time (abort). */
void role_lane_start(struct role_lane *lane, const struct role_job *job);
/* The job that runs is of an order that no longer counts: it opens nothing any more. */
void role_lane_supersede(struct role_lane *lane);
void role_lane_free(struct role_lane *lane);

#endif
