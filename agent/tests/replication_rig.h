/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replication_rig.h: three members on loopback and an operator of a few lines: it watches every agent's status stream
 * and sends orders, over mutual TLS, on one loop that runs while a test waits for something.
 */
#ifndef KM_AGENT_TESTS_REPLICATION_RIG_H
#define KM_AGENT_TESTS_REPLICATION_RIG_H

#include "common/base.h"

#include <sys/types.h>

#include "agent/tests/agent_rig.h"
#include "common/agent_api.h"
#include "common/http_client.h"
#include "common/loop.h"

#define MEMBERS 3

struct member {
    struct agent_rig *rig;
    struct replication_rig *all;
    unsigned index;
    struct agent_status status; /* the newest */
    struct http_request *watch;
    struct strbuf line;
    struct agent_order order; /* the latest that was sent; `positions` holds its texts */
    int64_t told_us;          /* when the newest status came */
    uint64_t lapses_before;   /* semi_sync_lapses, as a test found it */
};

struct replication_rig {
    struct member members[MEMBERS];
    struct loop *loop;
    struct http_client *client;
    struct http_tls *tls;
    struct position_pool *positions; /* of all that the agents have said */
    uint64_t epoch;
    bool semi_sync;
    bool gtids_are_emptied;   /* by the test: else it is a failure of all, if an agent says so */
    unsigned gtids_said_lost; /* lines of status that did */
};

/* Three initialised members; servers and agents run. root: agent_rig_new_in. */
struct replication_rig *replication_rig_new(const char *root);
void replication_rig_free(struct replication_rig *rig);
/* Of a group of tests, whose state is a rig. MySQL: fails where its servers are not installed. semi: rig->semi_sync. */
int replication_rig_setup_mariadb(void **state);
int replication_rig_setup_mysql(void **state);
int replication_rig_setup_semi_mariadb(void **state);
int replication_rig_setup_semi_mysql(void **state);
int replication_rig_teardown(void **state);
void replication_rig_start(struct replication_rig *rig, unsigned member, const char *command); /* "server", "run" */

/* Sends member->order (filled in by the caller or by the calls below) and returns the HTTP status. */
int replication_rig_order(struct replication_rig *rig, unsigned member, const struct agent_order *order);
struct agent_order replication_rig_primary(const struct replication_rig *rig, const char *wait_for);
struct agent_order replication_rig_replica(const struct replication_rig *rig, unsigned source);
struct agent_order replication_rig_fence(const struct replication_rig *rig);

/* Runs the loop until test(member's status) is true; false after timeout_ms, then the status is printed. */
typedef bool (*status_test)(const struct member *member);
bool replication_rig_await(
    struct replication_rig *rig, unsigned member, status_test test, const char *what, int64_t timeout_ms);
/* As replication_rig_order and replication_rig_await, which must succeed; 60 s. */
void member_give(struct replication_rig *rig, unsigned member, struct agent_order order);
void member_await(struct replication_rig *rig, unsigned member, status_test test, const char *what);
bool member_runs(const struct member *member);
bool member_is_down(const struct member *member);
bool member_is_held(const struct member *member); /* done, and it receives nothing */
bool member_done(const struct member *member);    /* the order that was sent last is carried out */
bool member_ready(const struct member *member);   /* and it is ready */
bool member_has_problem(const struct member *member, const char *reason);
void replication_rig_run(struct replication_rig *rig, int64_t ms);

/* Member 0 primary, the others follow, all ready. */
void replication_rig_form(struct replication_rig *rig);
/* Moves the primary as the operator does; returns how long nobody could write, as the operator saw it. */
int64_t replication_rig_switch_us(struct replication_rig *rig, unsigned from, unsigned to);

bool member_sql(struct replication_rig *rig, unsigned member, const char *sql, struct strbuf *out); /* as root */
/* Likewise, by the socket: root@localhost. */
bool member_root_sql(struct replication_rig *rig, unsigned member, const char *sql, struct strbuf *out);
bool member_owner_sql(
    struct replication_rig *rig, unsigned member, const char *sql, struct strbuf *out);              /* by the socket */
bool member_says(struct replication_rig *rig, unsigned member, const char *sql, const char *answer); /* within 10 s */

/* 0 in a process of its own, with a process group of its own (member_release_lock), which ends by _exit; else its pid. */
pid_t replication_rig_fork(void);
/* A connection of root that runs sql and then does nothing for so long; a process. */
pid_t member_hold_lock(struct replication_rig *rig, unsigned member, const char *sql, unsigned seconds);
pid_t member_hold_lock_as_owner(
    struct replication_rig *rig, unsigned member, const char *sql, unsigned seconds); /* by the socket */
void member_release_lock(pid_t pid);

/* Statements of the owner, who may write on a replica: as what no log knows of, or as an errant transaction. */
bool member_write_aside(struct replication_rig *rig, unsigned member, bool logged, const char *sql);
bool member_start_applier(struct replication_rig *rig, unsigned member);
bool member_purge_binlogs(struct replication_rig *rig, unsigned member); /* all but the newest */

#endif
