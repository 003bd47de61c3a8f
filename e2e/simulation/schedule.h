/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h: what a run is made from: parameters and a list of faults. As JSON in regressions/.
 */
#ifndef KM_SIMULATION_SCHEDULE_H
#define KM_SIMULATION_SCHEDULE_H

#include "common/base.h"

#define SIM_MEMBERS_MAX 6
#define SCHEDULE_FAULTS_MAX 48

enum fault_kind {
    FAULT_SERVER_KILLED,
    FAULT_SERVER_FROZEN,
    FAULT_ALL_SERVERS_KILLED,
    FAULT_AGENT_KILLED,
    FAULT_AGENT_FROZEN,
    FAULT_MEMBER_FROZEN, /* agent and server: a node that stands still */
    FAULT_NODE_LOST,     /* loses its power: what was not synced is gone */
    FAULT_POD_DELETED,
    FAULT_POD_FORCED, /* deleted by force: everything in it ends a second later */
    FAULT_VOLUME_LOST,
    FAULT_LINK_CUT,
    FAULT_LINK_ONE_WAY,
    FAULT_MEMBER_CUT,      /* from everybody */
    FAULT_REPLICATION_CUT, /* from all other members, but not from the operators */
    FAULT_OPERATOR_KILLED,
    FAULT_OPERATOR_FROZEN,
    FAULT_OPERATORS_KILLED,
    FAULT_CACHE_OLD, /* the operators' caches lag */
    FAULT_API_AWAY,
    FAULT_API_SLOW,
    FAULT_SWITCHOVER,
    FAULT_SCALE,
    FAULT_HIBERNATE,
    FAULT_ROLL,
    FAULT_RECREATE, /* the cluster is deleted and applied again; `number` members, 0: as many */
    FAULT_APPLIER_STUCK,
    FAULT_ERRANT,
    FAULT_DDL_KILLED, /* a server is killed in the midst of a DDL statement */
    FAULT_LOSS_ALLOWED,
    FAULT_CONFIRMED_LOST,
    FAULT_STATUS_PAST, /* the API server was restored from a copy: the status is what it was under the epoch before */
    FAULT_STATUS_UNLISTED, /* a version that knows no reigns has written the status */
    /* Somebody with all rights, at an open primary. */
    FAULT_SEMI_SYNC_OFF, /* number odd, MySQL: commits wait for one replica */
    FAULT_SEMI_SYNC_TIMEOUT,
    FAULT_COMMITS_KILLED,   /* those that wait; number odd: by KILL QUERY */
    FAULT_VOLUME_FILLS,     /* number: what FAULT_VOLUME_FULL's says */
    FAULT_VOLUME_FULL,      /* number odd: tables, too; 5: those of all members */
    FAULT_TABLES_LOCKED,    /* FLUSH TABLES WITH READ LOCK at an open primary */
    FAULT_LONG_TRANSACTION, /* of a client, at an open primary */
    FAULT_PAUSED,           /* spec.paused; number odd: somebody stops replication threads then */
    FAULT_FAILOVER_OFF,     /* spec.failover.enabled: false */
    FAULT_PRIMARY_WISHED,   /* spec.replication.primary */
    FAULT_SPEC_REFUSED,     /* a spec that is not accepted */
    FAULT_STATUS_OLD,       /* as FAULT_STATUS_PAST, of `number` epochs ago, or the oldest that was kept */
    FAULT_KIND_COUNT
};

/* Members by number (0…), or by what they are when it happens. */
enum fault_target {
    TARGET_PRIMARY = -1,
    TARGET_TO = -2,      /* of the transition; else the primary */
    TARGET_FROM = -3,    /* likewise */
    TARGET_REPLICA = -4, /* the first one that is not the primary */
    TARGET_OPEN = -5     /* a server that takes writes; else the primary */
};

/* From `at` on, as soon as this is so; at the latest FAULT_WAIT_MS later. */
enum fault_when {
    WHEN_AT_ONCE,
    WHEN_TRANSITION, /* a transition is in the status, and its `to` is not open */
    WHEN_NOBODY_CHOSEN,
    WHEN_CHOSEN,
    WHEN_SALVAGE,
    WHEN_OPENED,  /* a server was opened less than half a second ago */
    WHEN_LET_GO,  /* a commit was let go less than a second ago */
    WHEN_JOINING, /* somebody follows, and does not count as an acknowledger */
    WHEN_COUNT
};
#define FAULT_WAIT_MS 4000

struct fault {
    enum fault_kind kind;
    int64_t at_ms; /* since the first opening */
    enum fault_when when;
    int64_t after_ms; /* behind that */
    int target;       /* a member, or fault_target; of operators 0 or 1 */
    int other;        /* the link's other end */
    int64_t for_ms;
    int number;
};

struct schedule {
    uint64_t seed;
    bool mariadb;
    int members;
    bool semi_sync;
    bool strict;    /* a person is never to be asked, not even after a volume was lost, if somebody has everything */
    bool slow;      /* appliers lag by seconds */
    bool impatient; /* a client whose commit waits for seconds connects anew, and tries again (clients.c) */
    bool idle;      /* clients write every few seconds only, so that the heartbeat rests (agent/beat_rest.h) */
    struct fault faults[SCHEDULE_FAULTS_MAX];
    int fault_count;
};

enum violation {
    VIOLATION_NONE,
    VIOLATION_LOST,      /* opened, or acknowledged, without something that was acknowledged */
    VIOLATION_TWO_OPEN,  /* two members can acknowledge */
    VIOLATION_TWO_TXNS,  /* one GTID, two transactions */
    VIOLATION_SET_ASIDE, /* something acknowledged was cut off or replaced, and the primary has it not */
    VIOLATION_EPOCH,     /* an epoch fell */
    VIOLATION_STUCK,     /* healed, somebody has everything, and it does not open */
    VIOLATION_GTIDS,     /* an agent says that somebody has set back a GTID position, which nobody has done */
    VIOLATION_UNEQUAL,   /* healed and open, and the members stay different */
    VIOLATION_COUNT
};

extern const char *const violation_names[VIOLATION_COUNT];
extern const char *const fault_names[FAULT_KIND_COUNT];
extern const char *const when_names[WHEN_COUNT];

struct schedule_wish {
    bool any_family, mariadb;
    int members; /* 0: any */
    int faults;  /* 0: as many as the seed says */
    bool strict;
    uint64_t without; /* bit N: no fault of that kind */
};
/* A schedule from a seed. */
void schedule_make(uint64_t seed, const struct schedule_wish *wish, struct schedule *ret);
/* One line, as a person reads it. */
void schedule_describe_fault(const struct fault *fault, char *out, size_t size);
int schedule_read(const char *path, struct schedule *ret);
int schedule_write(const char *path, const struct schedule *schedule, enum violation was);

#endif
