/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_api.h: the contract between operator and agent, and nothing else that both must know.
 *
 * Part one names the places inside a database pod: the operator writes them into pod templates, the agent finds things
 * there. Part two is the status document that an agent publishes on GET /v1/status (one JSON object; with ?watch=1 one
 * per line, at every change and at least every AGENT_STATUS_INTERVAL_MS). Unknown members are ignored, absent ones have
 * the zero value, so either side may be older.
 *
 * Doors (design, section 5): AGENT_PORT_PLAIN serves /live /ready /startup /role /metrics without TLS, read-only.
 * AGENT_PORT_TLS wants a client certificate of the cluster's CA and serves, to whoever means this pod
 * (agent_identity.h: ?to=POD&uid=UID),
 *   GET  /v1/status[?watch=1]
 *       also to members, without watch: a replica compares its clock and its transactions with its source's;
 *       ?from=POD&asOf=MS says who asks, and clock_ms of the last status that it has got; &room=short that its volume
 *       has too little room, &floor=last that it has hardly any (agent/others_room.h); &lag=stream that it knows its
 *       lag without a heartbeat row (agent/beat_rest.h); &again=MS after how long it asks again
 *   PUT  /v1/role[?asOf=MS]                      agent_order.h; operator only
 *   POST /v1/backups, DELETE /v1/backups/ID      backup_task.h; operator only
 *   PUT  /v1/archive, DELETE /v1/archive         archive_task.h; operator only
 *   PUT  /v1/check, DELETE /v1/check             check_task.h; operator only
 *   PUT  /v1/binlogs/purge                       agent/binlog_keeper.h; operator only
 *   PUT  /v1/restore                             backup_task.h; operator only, to `init`
 *   GET  /v1/backup[?digest=poly1305][&method=sql]
 *       a copy of the data as a framed stream (frame_stream.h), to members of the cluster
 *   GET  /v1/binlogs/tail?after=GTIDS
 *       to members, while this one's server is down: its transactions beyond that position as a framed stream
 *   POST /v1/binlogs/tail
 *       the same, with the position in the body: for one that is too long for a head
 *   POST /v1/mycnf/apply
 *       body: the ConfigMap's new my.cnf; answers {"applied":[...],"needsRestart":[...]}, names of variables: takes it
 *       over while the server runs, unless something needs a restart, then nothing; mycnf_hash follows
 *   POST /v1/mycnf/preview
 *       body: a my.cnf; the same answer, and nothing is changed: which variables this server can set while it runs
 *   POST /v1/mycnf/check
 *       body: a my.cnf; answers {"ok":bool,"message":"..."}: whether this member's server binary accepts it
 */
#ifndef KM_COMMON_AGENT_API_H
#define KM_COMMON_AGENT_API_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_identity.h"
#include "common/agent_order.h"
#include "common/agent_problem.h"
#include "common/archive_task.h"
#include "common/backup_task.h"
#include "common/check_task.h"
#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

#define AGENT_PORT_PLAIN 8080
#define AGENT_PORT_TLS 8443
#define MYSQL_PORT 3306
#define AGENT_STATUS_INTERVAL_MS 500

/* Status of the answer to GET /v1/backup?statements=1: the asker can take statements, too, and is to ask for them
 * (method=sql), as a copy of the files would wait for commits that wait for acknowledgements. */
#define AGENT_COPY_BY_STATEMENTS 409

/* An open primary is closed for writes for a copy at most once in so long, whichever member it is, unless no commit has
 * got through for a minute (agent/role_decide.h). */
#define AGENT_COPY_CLOSE_AGAIN_MS INT64_C(600000)

/* Status of the answer to POST /v1/backups when the image lacks what the method takes: asking again does not help. */
#define AGENT_TASK_IMPOSSIBLE 422

/* What agents and the operator speak with the pod in front of a volume (docs/decisions/volume-store.md):
 * agent_status.volume_protocol. Whoever does not say is of an earlier version, which spoke S3 with it. */
#define AGENT_VOLUME_PROTOCOL 1

/* Common names in certificates: the agent's TLS door serves clients with the operator's name, or another
 * member's. */
#define AGENT_OPERATOR_COMMON_NAME "kube-mysql-operator"
#define AGENT_COMMON_NAME "kube-mysql-agent"

/* ---- places in the pod ---- */
#define AGENT_BIN_DIR "/opt/kube-mysql" /* emptyDir: the injected binary */
#define AGENT_BIN AGENT_BIN_DIR "/kube-mysql-agent"
#define AGENT_VOLUME_DIR "/var/lib/mysql" /* the data volume's mount point */
/* mysqld's datadir: a folder, so that lost+found and our state stay outside */
#define AGENT_DATA_DIR AGENT_VOLUME_DIR "/data"
#define AGENT_STATE_DIR AGENT_VOLUME_DIR "/.kube-mysql" /* markers of resumable work, things set aside */
#define AGENT_RUN_DIR "/run/mysqld" /* emptyDir shared by all containers: socket, final my.cnf, init-file */
#define AGENT_SOCKET AGENT_RUN_DIR "/mysqld.sock"
#define AGENT_SLOW_LOG \
    AGENT_RUN_DIR "/slow.log" /* where a server writes slow statements: read and rotated by the agent */
/* the ConfigMap's my.cnf plus this instance's own lines; written by `init` */
#define AGENT_RUN_MYCNF AGENT_RUN_DIR "/my.cnf"
#define AGENT_TMP_DIR "/tmp" /* emptyDir: where servers have their temporary files (tmpdir) */
/* Environment of container "agent", where the pod has a limit for what it writes onto the node's disk: bytes. */
#define AGENT_ENV_EPHEMERAL "EPHEMERAL_STORAGE_BYTES"
#define AGENT_CONFIG_DIR "/etc/kube-mysql/config" /* ConfigMap NAME-mysql-config */
#define AGENT_CONFIG_MYCNF AGENT_CONFIG_DIR "/my.cnf"
#define AGENT_CONFIG_INSTANCE AGENT_CONFIG_DIR "/instance.json"
/* projected Secrets, one file per account: root, replication, monitor, user */
#define AGENT_ACCOUNTS_DIR "/etc/kube-mysql/accounts"
#define AGENT_TLS_DIR "/etc/kube-mysql/tls" /* Secret NAME-mysql-tls: ca.crt, tls.crt, tls.key */
/* What `check` says of the image itself, rather than of my.cnf, begins with this and a colon. */
#define AGENT_CHECK_IMAGE "images.mysql"
/* What it says of a server that does not start, and of which it is not known what is at fault. */
#define AGENT_CHECK_START "start"
/* When all is well: the values that the server changes, and behind this the sizes that it was started with instead of
 * those of the my.cnf. Either may be empty; without the second there is none of this. */
#define AGENT_CHECK_CUT "\n"
#define AGENT_TERMINATION_LOG "/dev/termination-log" /* why a container ended, for people; the operator quotes it */

/* What `check` has failed for, by what it says. */
enum agent_check_fault {
    AGENT_CHECK_FAULT_MYCNF, /* the options that are at fault come first, as far as they are known */
    AGENT_CHECK_FAULT_IMAGE, /* AGENT_CHECK_IMAGE */
    AGENT_CHECK_FAULT_START, /* AGENT_CHECK_START */
};
/* ret_words: behind what it begins with; borrowed from `said`, which may be NULL. */
enum agent_check_fault agent_check_fault_of(const char *said, const char **ret_words);
/* Of a `check` that has failed for nothing: so many bytes are of the values that the server changes. ret_cut: the sizes
 * that it was started with instead; "" none. */
size_t agent_check_adjusted(const char *said, const char **ret_cut);
/* What `init` has ended for. The exit code tells it, beside words that are for people. */
enum agent_init_fault {
    AGENT_INIT_FAULT_OTHER,
    AGENT_INIT_FAULT_MYCNF,  /* the server refuses it */
    AGENT_INIT_FAULT_IMAGE,  /* it holds no server, or one that cannot read the data */
    AGENT_INIT_FAULT_MEMORY, /* the kernel has ended a program of it for want of memory */
    AGENT_INIT_FAULT_COUNT
};
int agent_init_exit_code(enum agent_init_fault fault);
/* Agents up to 0.1.0 end with 1, whatever it is: of these, and of no others, it is read from what they say. said: NULL
 * is fine. */
enum agent_init_fault agent_init_fault_of(int exit_code, const char *said);

/* ---- subcommands, run by the containers ---- */
/*   kube-mysql-agent copy DIR   init container "inject" (agent image): copies itself into AGENT_BIN_DIR
 *   kube-mysql-agent init       init container "init" (database image): data folder, my.cnf, init-file; resumes after a
 *   crash. Its exit code says what is at fault (agent_init_exit_code)
 *   kube-mysql-agent check      the check pod (database image): would this image take this my.cnf, and does its server
 *   start with it? Touches no member's data
 *   kube-mysql-agent server     container "mysql" (database image): execs the image's own mysqld or mariadbd
 *   kube-mysql-agent run        container "agent" (database image)
 *   kube-mysql-agent pre-stop   preStop hook of container "mysql": a primary is moved before it is stopped
 *   kube-mysql-agent linger     preStop hook of container "agent": it outlives the server
 * POD_NAME, POD_NAMESPACE and POD_IP come as environment by the downward API. */

/* spec.tls.mode */
#define AGENT_TLS_REQUIRED "Required"
#define AGENT_TLS_OFFERED "Offered"

/* AGENT_CONFIG_INSTANCE: what the operator tells every member of a cluster; re-read when it changes. */
struct agent_instance_config {
    char *cluster_namespace;
    char *cluster_name;
    char *cluster_uid;
    char *service_domain;    /* "NAME-mysql.NS.svc": report_host is POD_NAME.service_domain */
    uint32_t server_id_base; /* server_id = base + ordinal; ordinal is the number at the end of POD_NAME */
    int replicas;
    char *database;   /* to be made, NULL: none */
    char *username;   /* to be made with all rights on `database`; password in AGENT_ACCOUNTS_DIR/user; NULL: none */
    bool require_tls; /* spec.tls.mode AGENT_TLS_REQUIRED: accounts that are made at any host may not enter without TLS */
    /* for `check` only: agent_status.made_with of a member, which the my.cnf must fit; NULL: not known */
    char *made_with;
    /* for `check` only: agent_status.version of the primary, whose data the image must read; NULL: not known */
    char *data_version;
    uint64_t binlog_max_bytes; /* spec.binlogs.maxSize; 0: none */
    bool start;                /* for `check` only: the server is to be started for real, on scratch data */
};
void agent_instance_config_release(struct agent_instance_config *config);
json_t *agent_instance_config_encode(const struct agent_instance_config *config);
int agent_instance_config_decode(
    const json_t *document, struct agent_instance_config *ret, struct error *err) KM_MUST_CHECK;

/* What agent_status.accounts_hash holds: the cluster's UID and every account file that is there (NULL: it is not).
 * Either side computes it: the operator knows that a changed Secret has arrived when the hashes are equal. */
struct agent_account_files {
    const char *root;
    const char *replication;
    const char *monitor;
    const char *user;
};
void agent_accounts_hash(const char *cluster_uid, const struct agent_account_files *files, char out[static 65]);

/* ---- status ---- */
/* MariaDB: the GTID domain of what a server that completes a DDL statement at its start logs by itself
 * (agent/mysql/start_domain.h). Nobody else has it, and the server cannot follow any source: once its binary log has
 * that domain, it refuses every gtid_slave_pos without it (error 1948). */
#define AGENT_START_DOMAIN "4294967294"

enum agent_phase {
    AGENT_PHASE_UNKNOWN,
    AGENT_PHASE_STARTING, /* mysqld does not answer yet (crash recovery included) */
    AGENT_PHASE_RUNNING,  /* mysqld answers */
    AGENT_PHASE_HUNG,     /* the socket is there, but probes time out */
    AGENT_PHASE_DOWN,     /* mysqld ended or was never there */
    AGENT_PHASE_SEEDING,  /* `init` runs: there is no server yet */
    AGENT_PHASE_COUNT,
};

enum agent_flavour {
    AGENT_FLAVOUR_UNKNOWN,
    AGENT_FLAVOUR_MYSQL,
    AGENT_FLAVOUR_MARIADB,
    AGENT_FLAVOUR_PERCONA,
    AGENT_FLAVOUR_COUNT
};

/* How its GTIDs are written; MySQL's where it is not known. */
static inline enum gtid_flavour agent_gtid_flavour(enum agent_flavour flavour)
{
    return flavour == AGENT_FLAVOUR_MARIADB ? GTID_MARIADB : GTID_MYSQL;
}

enum agent_thread { AGENT_THREAD_OFF, AGENT_THREAD_CONNECTING, AGENT_THREAD_RUNNING, AGENT_THREAD_COUNT };

/* What lies on the volume. */
enum agent_data { AGENT_DATA_UNKNOWN, AGENT_DATA_EMPTY, AGENT_DATA_DATABASE, AGENT_DATA_COUNT };

enum agent_seed_step {
    AGENT_SEED_STEP_NONE,
    AGENT_SEED_STEP_WAITING, /* for an order with `seed` */
    AGENT_SEED_STEP_INITIALISING,
    AGENT_SEED_STEP_COPYING,
    AGENT_SEED_STEP_PREPARING, /* the copy is complete and is made consistent */
    AGENT_SEED_STEP_REPLAYING, /* archived binary logs are executed on a restored backup */
    AGENT_SEED_STEP_DONE,
    AGENT_SEED_STEP_FAILED, /* this attempt; message says why, another one follows */
    AGENT_SEED_STEP_COUNT,
};

/* Between at_ms and at_ms + span_ms, by the clock of agent_status.clock_ms. at_ms 0: not known. */
struct agent_moment {
    int64_t at_ms, span_ms;
};

#define AGENT_SET_ASIDE_SIZE 256
#define AGENT_SET_ASIDES_MAX 3

/* What was set aside on a volume (I7) and not taken back, newest first. */
struct agent_set_asides {
    char sets[AGENT_SET_ASIDES_MAX][AGENT_SET_ASIDE_SIZE]; /* "FOLDER: TRANSACTIONS"; "" none */
    uint32_t more;                                         /* older ones that are not named here */
};

#define AGENT_PROBLEMS_MAX 8
#define AGENT_PURGE_ID_SIZE 17
#define AGENT_LOCK_HOLDER_SIZE 96
#define AGENT_BINLOG_NAME_SIZE 64

struct agent_status {
    char instance[KUBE_NAME_MAX + 1]; /* pod name */
    char pod_uid[AGENT_POD_UID_SIZE]; /* "" not known */
    char boot_id[40];                 /* random per agent process: a new one means the agent restarted */
    uint64_t sequence;                /* grows by one with every published change */
    enum agent_phase phase;
    enum agent_flavour flavour;
    char version[64];     /* server's VERSION(), "" until known */
    char server_uuid[40]; /* MySQL only */
    uint32_t server_id;
    int64_t uptime_s; /* mysqld's */
    bool ready;
    char ready_reason[128]; /* why not, "" if ready */
    bool read_only;
    /* root, system accounts, database and user are as configured; made by a primary, arrived at the others */
    bool accounts_applied;
    /* Primary: it has made what spec.username and spec.database named then ("": nothing); and what was made for them
     * before, is there, and is named no more (agent/mysql/accounts_left.h): names, separated by commas. */
    bool named_known;
    char named_user[65], named_database[65];
    /* Primary: AGENT_TLS_REQUIRED or AGENT_TLS_OFFERED, as spec.tls.mode was when its accounts were made last; "" not
     * known, or the agent does not tell */
    char named_tls[16];
    char left_accounts[576], locked_accounts[576], left_databases[1088];
    /* identifies (by SHA-256, salted with cluster UID) the set of account files that is applied; never a password */
    char accounts_hash[65];
    char mycnf_hash[65]; /* SHA-256 of the ConfigMap's my.cnf that this mysqld was started with */
    /* "innodb_page_size=16384 lower_case_table_names=0 …": what the data was made with and keeps
     * (agent/bootstrap/made_with.h); "" not known */
    char made_with[256];
    const char *gtid_executed; /* POSITION_TOO_LONG, or cut by an earlier version: cannot be compared */
    const char *gtid_state; /* MariaDB: gtid_binlog_state, the last transaction of each domain and server; likewise */
    uint64_t volume_bytes;
    uint64_t volume_free_bytes;
    uint64_t volume_floor_bytes; /* a primary with less is closed for writes (agent/volume_room.h); 0: not told */
    bool room_passes; /* too little is free, for the speed alone at which it was filled: that ends within a minute */
    /* When the oldest of the binary logs was begun, by this node's wall clock: what they do not hold had been committed
     * by then. 0: not known, as nobody has looked yet, or as it cannot be told (they are encrypted by MySQL). */
    int64_t binlogs_from_ms;
    uint64_t binlog_bytes; /* of all binary logs; 0: nobody looked, as nothing limits them */
    /* Binary logs that this member wishes to remove (agent/binlog_limit.h): those before purge_until, which begins
     * behind purge_after (told: position.h). purge_wish: identifies that wish; "" none. purge_for_room: because room is
     * lacking. purge_granted: the wish that was granted last. */
    char purge_wish[AGENT_PURGE_ID_SIZE], purge_granted[AGENT_PURGE_ID_SIZE];
    char purge_until[AGENT_BINLOG_NAME_SIZE];
    char purge_after[POSITION_TOLD_SIZE];
    bool purge_for_room;
    int64_t probe_us; /* how long the last successful probe took */
    int64_t certificate_not_after_ms;
    int64_t now_ms; /* this node's wall clock, when the status was encoded */
    /* the agent's own monotonic clock then: who asks for something tells the last one it has (hearing.h) */
    int64_t clock_ms;
    uint32_t position_max;    /* bytes of a position that the agent can be told; 0: POSITION_OLD_MAX */
    uint32_t volume_protocol; /* AGENT_VOLUME_PROTOCOL of its version */
    /* by that clock, when the server was asked for what is said here of transactions; 0: it was not */
    int64_t looked_ms;

    /* The order in force (agent_order.h). */
    uint64_t epoch; /* the largest one ever accepted by this member */
    /* Under which this volume's server was opened last; 0: never, or not known. It had all that it had to have then. */
    uint64_t opened_epoch;
    /* From this epoch on each opening of this volume's server is certainly noted in opened_epoch; 0: not known, as of
     * agents of 0.1.0. */
    uint64_t noted_since;
    enum agent_role role; /* ordered */
    char order_hash[17];  /* "" if this process has no order */
    /* what was ordered is so. On the way from primary: no client can write any more, gtid_executed is final */
    bool order_done;
    bool writable; /* clients can write here; also where the server does not tell: perhaps */
    /* The order's leave_threads, keep_stopped, lock_left, stays_open and root_until_ms, as last told; keeps_stopped by
     * an agent that was restarted since, too. */
    bool leaves_threads, keeps_stopped, locks_left, stays_open;
    uint64_t root_until_ms;
    /* Primary: it has done what its order asks for but for writes, which it takes again, under the order in force then,
     * when its volume has enough room. */
    bool closed_for_room;
    bool open_for_root; /* closed_for_room, and root may write as the order wishes: administrators, not applications */
    uint32_t roomy_replicas; /* primary: replicas that have told it that their volumes have room */

    const char *gtid_received; /* executed and what waits in relay logs; likewise */
    /* Transactions that the source has not; proven by asking it, or of AGENT_START_DOMAIN. */
    char errant[256];
    struct {
        char source_host[AGENT_HOST_SIZE]; /* as the server is configured */
        enum agent_thread receiver, applier;
        bool lag_known;
        int64_t lag_ms;
        /* Of the youngest heartbeat that was applied; 0: none. Everything that was committed under earlier epochs, and
         * is part of the history, is applied. */
        uint64_t applied_epoch;
        uint32_t receiver_errno, applier_errno;
        char receiver_error[192], applier_error[192];
        int64_t stopped_ms; /* since when the applier has been stopped by an error; 0: it is not */
        /* Of the source that was ordered. Seen: this server has been connected to it since it started. Lost: it is not
         * now, or nothing has come for silence_ms (neither an event nor the source's own beat). Both false without a
         * source. */
        bool source_seen, source_lost;
        /* gtid_received holds all that this server can have acknowledged to its source. False: that is not proven. From
         * the server's start, and after relay logs were dropped, until it has received what the source's agent, asked
         * after the receiver had connected, called executed there, or has executed all that it had received before the
         * start and kept. Stays what it is while the member is held. */
        bool caught_up;
        /* Why not: what it had received was dropped, and the reason; "": it was not, or that is not known. */
        char dropped[128];
    } replication;
    bool semi_sync; /* primary: commits wait for acknowledgements, for as long as it takes; replica: it gives them */
    uint32_t semi_sync_replicas; /* primary: replicas that acknowledge */
    uint32_t semi_sync_acks;     /* primary: for how many its commits wait; 0: not told (MariaDB counts one) */
    /* Primary: grows with every commit that was to wait for an acknowledgement and ended without, and with every look
     * that found that commits need not wait as ordered. From 0 on since it followed somebody last. An agent that does
     * not count says 0. */
    uint64_t semi_sync_lapses;
    uint32_t waiting_commits;  /* primary: commits that wait now */
    int64_t writes_blocked_ms; /* primary: since when no commit has got through although some wait; 0: they do */
    /* primary: since when a write of the agent's own hangs, though not on acknowledgements: storage; 0: none does */
    int64_t stalled_ms;
    /* For how long writes waited when the primary changes (agent/write_times.h); of agents that do not tell not known.
     * Of one that is, or was, primary: the last sign that clients' writes were done here. */
    struct agent_moment took_writes;
    struct agent_moment event_received; /* a replica: the last transaction from its source, whoever made it */
    /* Primary: when this process opened its server for clients' writes last, and under which epoch; epoch 0: it has
     * not, or the agent does not tell. */
    struct agent_moment opening;
    uint64_t opening_epoch;
    /* Primary: the first commit that is not the agent's and had its acknowledgements, after it was opened under that
     * epoch. Epoch 0: there was none, or it was not looked for any more. */
    struct agent_moment first_commit;
    /* For how long before it nothing was seen to wait, since the opening: whether anybody tried is not known. */
    int64_t first_commit_idle_ms;
    uint64_t first_commit_epoch;
    bool isolated; /* it closed itself (self_fence_ms); until the next order */
    /* read from the volume at start; agents of earlier versions tell the newest set only */
    struct agent_set_asides set_aside;
    char salvaged[256]; /* primary: transactions that were taken over from salvage_host; "" none */
    /* primary: of clients, open for more than a second with writes, or statements that hold writes up */
    uint32_t long_transactions;
    char long_transaction[160]; /* the oldest: "thread 17 of app@10.1.2.3, 42 s: UPDATE" */
    /* primary: for how long writes have waited for a lock that a session holds on all tables; 0: they do not, or the
     * agent does not tell */
    int64_t locked_ms;
    char lock_holder[AGENT_LOCK_HOLDER_SIZE]; /* "thread 17 of app@10.1.2.3"; "": the server does not say */

    enum agent_data data;
    enum agent_mark mark; /* on the volume */
    /* Of restores in place (agent_order.h): by which one the data came, which one waits beside it, 0: none; whether the
     * data from before is still there. */
    uint64_t restored_number, beside_number;
    bool has_before;
    struct {
        enum agent_seed_step step;
        char donor[AGENT_HOST_SIZE];
        uint64_t bytes, total_bytes; /* total: the donor's estimate, 0 unknown */
        uint64_t bytes_per_second;
        uint32_t attempts;
        char message[256];
        /* the restore that this process has been told how to do (PUT /v1/restore); "" none */
        char task[AGENT_RESTORE_ID_SIZE];
        char reason[48]; /* of a failed restore, CamelCase (restore_check.h); "" none */
        bool gave_up;    /* nothing is tried before another task or order comes */
    } seed;
    uint32_t serving_backups;      /* streams that this agent gives now */
    struct backup_report backup;   /* the last one that this process was told to take */
    struct archive_report archive; /* of binary logs; without a task nothing is said */
    struct check_report check;     /* of restored data; likewise */

    int problem_count;
    struct agent_problem problems[AGENT_PROBLEMS_MAX];
};

/* agent_order_asides, as far as a status shows them. */
unsigned agent_status_asides(const struct agent_status *status);
const char *agent_phase_name(enum agent_phase phase);        /* "Running", ... */
const char *agent_seed_step_name(enum agent_seed_step step); /* "Copying", ... */
/* AGENT_SEED_STEP_NONE of a name that is none of them. */
enum agent_seed_step agent_seed_step_of(const char *name);
const char *agent_flavour_name(enum agent_flavour flavour); /* "mysql", "mariadb", "percona", "" */
/* Of all positions of one status. */
#define AGENT_STATUS_POSITIONS_MAX ((size_t)AGENT_STATUS_MAX)
/* One line without the newline, at most AGENT_STATUS_MAX bytes. */
void agent_status_encode(const struct agent_status *status, struct strbuf *out);
/* Positions are taken into the pool. */
int agent_status_decode(const char *text, size_t len, struct position_pool *positions, struct agent_status *ret,
    struct error *err) KM_MUST_CHECK;
/* Equal but for sequence, clocks, probe time, progress, and free bytes that moved less than 1 %: no need to publish. */
bool agent_status_same(const struct agent_status *a, const struct agent_status *b);
/* Statuses that are the same have the same one, whatever their free bytes: for those who do not keep 12 KiB to compare
 * with. */
uint64_t agent_status_digest(const struct agent_status *status);
/* Appends when there is room; cut texts end in "...". */
void agent_status_add_problem(struct agent_status *status, enum agent_problem_kind kind, const char *fmt, ...)
    KM_PRINTF(3, 4);

#endif
