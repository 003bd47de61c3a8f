/*
 * instance_state.h: everything the agent knows about its server, as one plain value. Lanes and file watchers write it on the loop thread;
 * agent_decide and readiness only read it. All times are monotonic milliseconds.
 */
#ifndef KM_AGENT_INSTANCE_STATE_H
#define KM_AGENT_INSTANCE_STATE_H

#include "common/base.h"

#include "agent/mysql/observe.h"
#include "common/error.h"

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
    struct observation observed; /* from the latest answered probe */

    /* The volume, from the latest probe. */
    uint64_t volume_bytes;
    uint64_t volume_free_bytes;

    /* Accounts. Generations count changes of the files; 0: nothing read yet. */
    uint64_t accounts_wanted;
    uint64_t accounts_applied;
    char accounts_applied_hash[65];
    bool accounts_incomplete;    /* a file that is needed is missing */
    bool accounts_once;          /* they were applied to this data folder at some time */
    struct error files_error;    /* the mounted files cannot be used */
    struct error accounts_error; /* why the latest attempt failed */
    int64_t accounts_retry_ms;
    bool action_running;
    const char *missing_file; /* static text; NULL: none */

    /* The TLS door. */
    struct error tls_error;
    int64_t certificate_not_after_ms; /* wall clock */
};

#endif
