/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_lane.h: the thread that looks at the server once a second, with a session of its own.
 *
 * Beside the probing session it opens an idle one, the sentinel, and hands it to the loop, which watches its
 * descriptor: the kernel makes it readable the moment the server's process dies, long before the next probe.
 */
#ifndef KM_AGENT_PROBE_LANE_H
#define KM_AGENT_PROBE_LANE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/observe.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/session.h"
#include "common/agent_order.h"
#include "common/error.h"
#include "common/loop.h"

struct probe_lane;

struct probe_result {
    struct error error; /* ERROR_NONE: the server answered */
    int64_t probe_us;
    int64_t asked_ms, answered_ms;
    int64_t lock_waited_s;                /* lock_waits.h; -1: was not asked for */
    struct observation observed;          /* if it answered; the version also of one that refused the rest */
    struct replication_facts replication; /* if it answered */
    enum agent_mark mark;                 /* on the volume; AGENT_MARK_NONE also if it cannot be read */
    /* New, if they were asked for; the receiver takes them (steal_ptr). */
    struct session *sentinel, *admitted;
};

/* fn runs on the loop after every probe. paths, user must outlive the lane. */
struct probe_lane *probe_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    void (*fn)(void *arg, struct probe_result *result), void *arg);
struct probe_wish {
    bool with_status;
    bool sentinel;                /* open one */
    bool beat_late;               /* see whether the heartbeat waits for a lock */
    bool lock_waits;              /* see whether anybody does */
    struct session *old_sentinel; /* closed on the thread; may be NULL */
    bool is_spare;                /* old_sentinel is whole: it probes if there is no connection left for that */
    bool admit;                   /* room is made for a session with these options */
    struct session_options admitted;
};
/* At most one probe at a time: -1 while one runs. */
int probe_lane_start(struct probe_lane *lane, const struct probe_wish *wish);
/* When the server answered a statement of a probe last, from the loop's thread, also while one runs; 0: it has not. */
int64_t probe_lane_answered_ms(const struct probe_lane *lane);
void probe_lane_free(struct probe_lane *lane);

#endif
