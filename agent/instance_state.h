/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_state.h: everything the agent knows about its server, as one plain value. Lanes and file watchers write it
 * on the loop thread; agent_decide and readiness only read it. All times are monotonic milliseconds.
 */
#ifndef KM_AGENT_INSTANCE_STATE_H
#define KM_AGENT_INSTANCE_STATE_H

#include "common/base.h"

#include "agent/bootstrap/datadir_beside.h"
#include "agent/bootstrap/made_with.h"
#include "agent/bootstrap/self_fence.h"
#include "agent/bootstrap/upgrade.h"
#include "agent/catch_up.h"
#include "agent/gtid_loss.h"
#include "agent/hearing.h"
#include "agent/mysql/accounts.h"
#include "agent/mysql/observe.h"
#include "agent/mysql/replication_facts.h"
#include "agent/others_room.h"
#include "agent/volume_room.h"
#include "agent/write_times.h"
#include "common/agent_order.h"
#include "common/error.h"

enum role_action {
    ROLE_ACTION_NONE,
    ROLE_ACTION_OPEN,
    ROLE_ACTION_CLOSE,
    ROLE_ACTION_SUSPEND, /* nobody may write; whoever is connected stays (mysql/role_suspend.h) */
    ROLE_ACTION_STOP,
    ROLE_ACTION_FOLLOW,
    ROLE_ACTION_PREPARE, /* all but the start of following */
    ROLE_ACTION_ROTATE,
    ROLE_ACTION_HOLD,        /* receives no more, goes on applying */
    ROLE_ACTION_END_WRITERS, /* of a server that is closed for writes, which some may write on nevertheless (MariaDB) */
    ROLE_ACTION_ADMIT,       /* MySQL: clients are let in again, whom offline_mode shuts out */
    ROLE_ACTION_RECOVER,     /* what was received before the server's start is looked after, before anything drops it */
    ROLE_ACTION_COUNT
};

/* What the server that was started anew has of its relay logs. */
enum relay_step {
    RELAY_DONE,    /* nothing, or it has been dealt with */
    RELAY_PENDING, /* they are to be looked at, and with MariaDB applied (relay_recover.h) */
    RELAY_DROP,    /* they are of no use: they are to be dropped */
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
    bool unseen;              /* it has ended, and what became of it is not known */
    int64_t finished_ms;      /* when the lane was done last: what a probe saw before is old */
    int64_t retry_ms;         /* not before */
    struct error error;       /* why the latest attempt failed */

    /* a primary that is kept closed until the copy that it gives has got past what it waited for */
    bool closed_for_copy;
    bool copy_reopens;      /* it was closed for that, and is being opened under the same order */
    int64_t copy_closed_ms; /* when it was closed for a copy last, 0: not by this agent */
    int64_t copy_shut_ms;   /* since when nobody can write for that reason; 0: not yet */
    bool closed_for_room;   /* a primary that is kept closed for writes while a volume has too little room */
    bool reopens;       /* it was read from while it was closed for room, and is being opened under the same order */
    bool held_for_room; /* a replica that receives nothing for that reason */
    bool open_for_root; /* closed for room, and administrators may write, as the order in force wishes */
    uint64_t root_until_ms; /* of the last order, by the operator's clock; 0: nobody wishes it */
    int64_t root_end_ms;    /* when that wish ends by ours, whatever is said of it again */
    int64_t writers_ms;     /* when writers were ended last (ROLE_ACTION_END_WRITERS) */

    struct hearing hearing;  /* since when the operator and the other members have not been heard */
    struct self_fence fence; /* as noted in the run folder, by this agent or the one before */
    int64_t started_ms;      /* this agent */
    bool leaving;            /* the server will be stopped: it begins to follow nobody (server_exec.h) */
    bool put_back_due;       /* what its start has cut off is to be taken back (put_back.h): each job does that first */
    bool nobody_stays;       /* as last ordered: no other member could take over (agent_order.h) */
    bool leave_threads;      /* likewise */
    bool lock_left;          /* likewise */
    bool keep_stopped;       /* likewise; before any order: as the volume says (server_exec.h) */
    bool stays_open;         /* as last ordered: it is not closed for a copy */
    bool marked_stopped;     /* the volume says so */
    bool started;  /* both threads were started by us in this life of the server, and we have not stopped any */
    bool stopping; /* the server is about to be stopped: a primary is closed before (server_exec.h) */
    bool isolated; /* a primary that has closed itself as it heard nobody; until the next epoch */

    bool opened;           /* this order made it a primary, if one that is closed for room */
    uint64_t opened_epoch; /* epoch_file.h: opened_file_read */
    uint64_t noted_since;  /* epoch_file.h: noted_since_begin */
    bool was_open;         /* clients may have written since it was closed last */
    bool waits_open;     /* it was opened such that commits wait for acknowledgements, and has not been closed since */
    uint32_t waits_acks; /* for how many; 0 counts as one */
    bool let_go;         /* a close has ended commits that waited, and has not come to its end */
    bool semi_sync_new;  /* an opening found semi-sync off, and the server has not been looked at since */

    uint64_t source_wanted; /* identifies host, port and password; 0: there is no password */
    /* the source is named, and has not been asked for anything yet: what the receiver says is of another one */
    bool prepared;
    uint64_t rotated_epoch;   /* in which the binary log has begun a new file as ordered */
    uint64_t source_followed; /* what was configured; 0: not by this process */
    bool password_unknown;    /* it was not named anew by us: another password than ours may be stored */
    int64_t followed_ms;      /* since when this source is followed, or the epoch is this one */
    int64_t lag_before_ms;    /* when the epoch became this one: what was to be applied was so old */
    int64_t lag_known_ms;     /* when the lag was known last; 0: never */
    int64_t restarted_ms;     /* when a thread that had failed was started again */
    enum relay_step relay;
    int64_t relay_ms; /* since when they are being applied although a source is to be followed; 0: they are not */
    /* Why this server has not all that the one before had received; "": it has, or it is not known. */
    char relay_dropped[128];
    int64_t draining_ms; /* what was received is being applied before the source is changed, since; 0: it is not */
};

/* The source, asked by its agent's door. */
struct source_view {
    bool known;             /* offset and errant are of the source that is followed */
    int64_t offset_us;      /* its clock minus ours */
    char errant[256];       /* what is executed here and not there */
    char accounts_hash[65]; /* of the accounts that are applied there */
    uint64_t epoch;         /* the largest one accepted there */
    bool is_primary;        /* it is ordered to be */
    bool is_open;           /* and it is, for writes, unless it has too little room for them */
    bool takes_no_writes;   /* by its own word, for want of room */
    bool others_have_room;  /* as many replicas as its commits wait for; this one may have been counted */
    int64_t clock_ms;       /* of the last status that came from there (hearing.h) */
    struct error error;     /* of the latest request */
};

/* What comes from the source that was ordered, as looks at the server have shown it. */
struct stream_view {
    bool seen;           /* this server has been connected to it */
    bool connected;      /* as of the latest look */
    bool refused;        /* likewise: it is there, but serves us no binary log */
    uint64_t signature;  /* of all that moves when something comes */
    int64_t heard_ms;    /* when that moved last; the first look */
    int64_t observed_ms; /* the latest look; 0: none yet */
    uint64_t beats;      /* as of the latest look */
    uint64_t position;   /* likewise */
    /* In this connection the source has had nothing to send. Before that, it may send heartbeats for what it skips
     * because this member has it. */
    bool was_idle;
    int64_t even_ms; /* all that the source, if it was open, had then is executed here; 0: not known of any time */
};

/* The server said for how long it runs, between two times of ours. */
struct uptime_look {
    int64_t asked_ms; /* 0: there was none */
    int64_t answered_ms;
    int64_t uptime_s;
};

/* The primary's heartbeat, as this agent writes it. */
struct beat_state {
    bool wanted;
    int64_t started_ms;       /* of the write that runs now, 0: none */
    int64_t blocked_since_ms; /* start of the first write of those that have not got through, 0: the latest did */
    int64_t locked_ms;        /* latest look that found it waiting for a lock of somebody else */
    int64_t waited_ms;        /* latest look that found commits waiting for acknowledgements */
    int64_t log_ms;           /* latest look that found the binary log being written meanwhile (log_watch.h) */
    int64_t row_reader_ms;    /* latest question of a member that judges its lag by the row alone; 0: none */
    bool log_wanted;          /* binary logs are archived: the newest one is looked at in any case */
    uint64_t log_file;        /* identifies the newest binary log; 0: not known */
    struct error error;
};

enum salvage_step {
    SALVAGE_NONE,
    SALVAGE_ASK,      /* wished: once all that was received is applied, the position is asked for */
    SALVAGE_FETCHING, /* what comes after it */
    SALVAGE_FETCHED,  /* to be applied */
    SALVAGE_DONE,
};

/* Around a failover (healing.h). */
struct healing_state {
    struct agent_set_asides set_aside;
    struct error set_aside_error;
    struct error put_back_error; /* while the mark stands */
    enum salvage_step salvage;   /* of the order in force */
    const char *fetched;         /* transactions; NULL: none */
    char salvaged[256];
    struct error salvage_error;
};

struct instance_state {
    const char *instance; /* the pod's name; NULL in tests */
    const char *user;     /* by which the agent enters the server; NULL in tests */

    /* The server process and its socket, looked at from outside. */
    bool server_there;        /* a process holds the server's lock */
    bool socket_accepts;      /* a connection to the socket is taken by the kernel */
    bool seen_gone;           /* this agent has seen that there was none */
    int64_t accepts_since_ms; /* since when socket_accepts, 0 if it does not */

    int64_t turn_ms; /* of the loop, the latest */

    /* Probes. */
    bool probe_now;            /* whatever the interval */
    int64_t probe_started_ms;  /* of the probe that runs now, 0: none */
    int64_t last_probe_ms;     /* start of the latest probe */
    int64_t last_answer_ms;    /* start of the latest probe that was answered, 0: never since the server came */
    struct uptime_look uptime; /* the latest */
    /* start of the first probe of those that have not been answered, or while that one runs, when the server answered a
     * part of it last; 0: the latest was answered, or failed at once */
    int64_t unanswered_since_ms;
    bool probe_gets_on;       /* that first one runs */
    int64_t last_status_ms;   /* latest collection of counters */
    int64_t stop_retry_ms;    /* the server is not stopped or let start before */
    struct error probe_error; /* of the latest finished probe; ERROR_NONE: it was answered */
    int64_t probe_us;
    struct observation observed;          /* from the latest answered probe */
    struct replication_facts replication; /* likewise, or newer: from the latest change of role */
    int64_t replication_ms;               /* when that look began; 0: none */
    const char *gone_executed; /* what the server that ended last said that it had executed; "" or NULL: not known */
    struct catch_up catch_up;
    struct gtid_loss loss;
    int64_t applier_stopped_since_ms; /* an error has stopped the applier since; 0: it has not */
    int64_t commits_blocked_since_ms; /* commits wait and none has got through since; 0: they do */
    uint32_t serving_copies;          /* donor.h: streams that this member gives now */
    bool copy_stalls;                 /* donor.h: it waits for something on this server */
    uint64_t unacknowledged;          /* commits that ended without an acknowledgement, not by our hand */
    uint64_t unacknowledged_seen;     /* the server's count that this accounts for */
    uint64_t lapses; /* agent_api.h: semi_sync_lapses; kept when the server ends, so that it is heard of */
    struct role_state role;
    struct source_view source;
    struct healing_state healing;
    struct datadir_beside beside; /* old_data.h */
    struct stream_view stream;
    struct beat_state beat;
    int64_t lock_waited_s; /* lock_waits.h, of the latest look; only where no heartbeat is written */
    struct write_times writes;

    struct volume_room room;   /* volume_watch.h */
    struct others_room others; /* of the replicas */
    uint64_t binlog_max_bytes; /* spec.binlogs.maxSize; 0: none */

    /* Accounts. Generations count changes of the files; 0: nothing read yet. */
    uint64_t accounts_wanted;
    bool tls_wanted_of_all; /* spec.tls.mode Required (agent_api.h: require_tls) */
    uint64_t accounts_applied;
    char accounts_wanted_hash[65];
    char accounts_applied_hash[65];
    char older_tables[UPGRADE_VERSION_MAX]; /* what the system tables stay of (bootstrap/upgrade.h); "" the server's */
    /* as in the status; asked for when accounts are tended, which begins with every server */
    char made_with[MADE_WITH_MAX];
    /* What the spec no longer names, as this primary has looked last; and what it names, as it was made last. */
    struct accounts_left left;
    bool named_known;
    char named_user[65], named_database[65]; /* "" none */
    bool named_requires_tls;
    bool user_is_there;           /* the account of spec.username, as seen last on this primary since it was applied */
    uint64_t accounts_digest;     /* of what was applied, as the server holds it (accounts.h); 0: not known */
    enum own_account own_account; /* as seen last */
    bool own_account_due;         /* the other members may lack it, too: it is to be logged */
    bool accounts_incomplete;     /* a file that is needed is missing */
    bool accounts_once;           /* they were applied to this data folder at some time */
    enum accounts_scope accounts_scope;       /* of what was applied */
    struct error files_error;                 /* the mounted files cannot be used */
    struct error accounts_error;              /* why the latest attempt failed */
    enum accounts_scope accounts_error_scope; /* of that attempt */
    int64_t accounts_retry_ms;
    bool action_running;
    const char *missing_file; /* static text; NULL: none */

    /* Events of the server. */
    uint64_t events_epoch; /* in which those of the former primary were taken over */
    int64_t events_retry_ms;

    /* The certificates: of the TLS door and of the server. Generations as above. */
    uint64_t tls_wanted;
    uint64_t tls_reloaded; /* by the server */
    struct error tls_error;
    int64_t certificate_not_after_ms; /* wall clock */
};

#endif
