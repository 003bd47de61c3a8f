/*
 * instance_state.h: everything the agent knows about its server, as one plain value. Lanes and file watchers write it on the loop thread;
 * agent_decide and readiness only read it. All times are monotonic milliseconds.
 */
#ifndef KM_AGENT_INSTANCE_STATE_H
#define KM_AGENT_INSTANCE_STATE_H

#include "common/base.h"

#include "agent/mysql/observe.h"
#include "agent/mysql/replication_facts.h"
#include "common/agent_order.h"
#include "common/error.h"

enum role_action {
    ROLE_ACTION_NONE,
    ROLE_ACTION_OPEN,
    ROLE_ACTION_CLOSE,
    ROLE_ACTION_STOP,
    ROLE_ACTION_FOLLOW,
    ROLE_ACTION_COUNT
};

/* What the operator ordered and how far it is carried out. */
struct role_state {
    uint64_t epoch; /* the largest one ever accepted, on the volume */
    enum agent_mark mark;
    bool has_order;
    struct agent_order order;
    char order_hash[17];

    enum role_action running; /* the lane is at it */
    int64_t running_ms;       /* since when */
    int64_t finished_ms;      /* when the lane was done last: what a probe saw before is old */
    int64_t retry_ms;         /* not before */
    struct error error;       /* why the latest attempt failed */

    bool opened;   /* this order made it a primary */
    bool was_open; /* clients may have written since it was closed last */

    uint64_t source_wanted;   /* identifies host, port and password; 0: there is no password */
    uint64_t source_followed; /* what was configured; 0: not by this process */
    int64_t followed_ms;      /* since when this source is followed */
    int64_t restarted_ms;     /* when a thread that had failed was started again */
};

/* The source, asked by its agent's door. */
struct source_view {
    bool known;             /* offset and errant are of the source that is followed */
    int64_t offset_us;      /* its clock minus ours */
    char errant[256];       /* what is executed here and not there */
    char accounts_hash[65]; /* of the accounts that are applied there */
    struct error error;     /* of the latest request */
};

/* The primary's heartbeat, as this agent writes it. */
struct beat_state {
    bool wanted;
    int64_t started_ms;       /* of the write that runs now, 0: none */
    int64_t blocked_since_ms; /* start of the first write of those that have not got through, 0: the latest did */
    struct error error;
};

struct instance_state {
    /* The server process and its socket, looked at from outside. */
    bool server_there;        /* a process holds the server's lock */
    bool socket_accepts;      /* a connection to the socket is taken by the kernel */
    int64_t accepts_since_ms; /* since when socket_accepts, 0 if it does not */

    /* Probes. */
    int64_t probe_started_ms; /* of the probe that runs now, 0: none */
    int64_t last_probe_ms;    /* start of the latest probe */
    int64_t last_answer_ms;   /* start of the latest probe that was answered, 0: never since the server came */
    int64_t last_status_ms;   /* latest collection of counters */
    struct error probe_error; /* of the latest finished probe; ERROR_NONE: it was answered */
    int64_t probe_us;
    struct observation observed;          /* from the latest answered probe */
    struct replication_facts replication; /* likewise, or newer: from the latest change of role */
    int64_t commits_blocked_since_ms;     /* commits wait and none has got through since; 0: they do */
    struct role_state role;
    struct source_view source;
    struct beat_state beat;

    /* The volume, from the latest probe. */
    uint64_t volume_bytes;
    uint64_t volume_free_bytes;

    /* Accounts. Generations count changes of the files; 0: nothing read yet. */
    uint64_t accounts_wanted;
    uint64_t accounts_applied;
    char accounts_applied_hash[65];
    uint64_t accounts_digest;    /* of what was applied, as the server holds it (accounts.h); 0: not known */
    bool accounts_incomplete;    /* a file that is needed is missing */
    bool accounts_once;          /* they were applied to this data folder at some time */
    bool accounts_as_primary;    /* those applied include database and user */
    struct error files_error;    /* the mounted files cannot be used */
    struct error accounts_error; /* why the latest attempt failed */
    int64_t accounts_retry_ms;
    bool action_running;
    const char *missing_file; /* static text; NULL: none */

    /* The certificates: of the TLS door and of the server. Generations as above. */
    uint64_t tls_wanted;
    uint64_t tls_reloaded; /* by the server */
    struct error tls_error;
    int64_t certificate_not_after_ms; /* wall clock */
};

#endif
