/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_rig.h: a database pod without a cluster, for tests: temporary folders in the place of mounts, the agent's
 * commands as processes of their own, each in a PID namespace like a container, as the user "mysql". Needs root, a
 * server and curl.
 */
#ifndef KM_AGENT_TESTS_AGENT_RIG_H
#define KM_AGENT_TESTS_AGENT_RIG_H

#include "common/base.h"

#include <sys/types.h>

#include "common/strbuf.h"

/* One command: the process itself, and the one that made its namespace and reports its end. */
struct agent_process {
    pid_t inner; /* 0: does not run */
    pid_t outer;
};

/* In the environment: agents that are started then keep the temporary files of their servers below so many MiB. */
#define AGENT_RIG_TMP_MIB "KM_TEST_TMP_MIB"
#define AGENT_RIG_POD_UID "0b1c2d3e-0000-4000-8000-000000000001"

struct agent_rig {
    char *dir; /* everything; removed in the end */
    char *binary;
    char *pod_name; /* "demo-mysql-2" */
    char *root;     /* the root file system its programs run in; NULL: this machine's own */
    bool mysql;
    char *plugin_dir;  /* MySQL: instead of the image's plugins; NULL: the image's */
    unsigned uid, gid; /* of the user "mysql" there */
    uint16_t plain_port;
    uint16_t tls_port;
    uint16_t mysql_port;
    int64_t client_ms; /* for so long statements of tests may take; 30 s */
    bool own_volume;   /* the data volume is a file system of its own */
    struct agent_process server;
    struct agent_process agent;
};

/* Whether this machine can run it; says why not. */
bool agent_rig_possible(void);
/* Config, accounts (password of X is "pw-X'\\") and certificates are in place. */
struct agent_rig *agent_rig_new(void);
/* The same with the server of another root file system, which sees this machine's /tmp. root: MySQL's. NULL: MariaDB's,
 * which is the one that KM_TEST_MARIADB_ROOT names (e2e/cluster/server-tree.sh), or this machine's own. */
struct agent_rig *agent_rig_new_in(const char *root);
/* The MySQL that KM_TEST_MYSQL_ROOT names, or the image's (mysql-root.sh), or NULL, having said why not. The caller
 * frees. */
char *agent_rig_mysql_root(void);
/* Whether the MariaDB under test knows an option: its own list of them (--verbose --help) is asked. */
bool agent_rig_server_has_option(const char *option);
/* Rigs that are made after this have a data volume of so many MiB, which can be full. False: this machine lets nobody
 * mount. */
bool agent_rig_volumes_of(unsigned mib);
/* The same on a disk: a file system that can be frozen. False: this machine has no such disks. */
bool agent_rig_disks_of(unsigned mib);
/* Freezes such a volume for so long at most: who writes to it, or waits for it, hangs. A process of its own sees to the
 * end, whatever becomes of the test; agent_rig_thaw ends it before. */
pid_t agent_rig_freeze(const struct agent_rig *rig, unsigned seconds);
void agent_rig_thaw(const struct agent_rig *rig, pid_t pid);
/* Such a volume, while it is in use. */
void agent_rig_resize_volume(const struct agent_rig *rig, unsigned mib);
void agent_rig_free(struct agent_rig *rig); /* kills what runs */

/* dir/name, from a buffer that the next but seven call reuses. */
const char *agent_rig_path(const struct agent_rig *rig, const char *name);
/* Owned by the database user; NULL removes. Replaced atomically. */
void agent_rig_put(const struct agent_rig *rig, const char *name, const char *content);
/* What the operator tells of a cluster of so many members. The rig begins with one. */
void agent_rig_put_instance(const struct agent_rig *rig, unsigned replicas);
bool agent_rig_has(const struct agent_rig *rig, const char *name);
/* Whether a file holds the text. */
bool agent_rig_file_says(const struct agent_rig *rig, const char *name, const char *text);

/* A fresh CA, and certificates of it for agent and operator. */
void agent_rig_put_certificates(struct agent_rig *rig);

/* Starts "init", "server", "run" or "store" (of its volume); what it says goes to dir/COMMAND.log. */
struct agent_process agent_rig_start(struct agent_rig *rig, const char *command);
/* SIGKILL to the whole namespace, and reap. */
void agent_rig_kill(struct agent_process *process);
/* Ends the server when it makes one of these calls ("unlink,unlinkat") with that file: the process that watches, to be
 * waited for; 0: there is no strace. */
pid_t agent_rig_kill_at(const struct agent_rig *rig, const char *calls, const char *file);
/* Waits for the end: the exit code, 128 + signal. */
int agent_rig_wait(struct agent_process *process);
/* True and the exit code if it has ended; does not wait. */
bool agent_rig_ended(struct agent_process *process, int *ret_code);
/* Runs `init` to its end and orders what the operator would: the exit code. */
int agent_rig_init(struct agent_rig *rig);

/* GET on the plain door: the status code, 0 if nobody answers. body may be NULL. */
int agent_rig_get(const struct agent_rig *rig, const char *path, struct strbuf *body);
/* Repeats until the code is seen; false after timeout_ms. */
bool agent_rig_await(const struct agent_rig *rig, const char *path, int code, int64_t timeout_ms);
/* On the TLS door, by curl. identity: "operator", "tls/tls" (a member), NULL for no certificate. post: a body or
 * NULL. */
int agent_rig_tls(
    const struct agent_rig *rig, const char *identity, const char *path, const char *post, struct strbuf *body);
/* PUT /v1/role as the operator: the status code. */
int agent_rig_order(const struct agent_rig *rig, const char *order, struct strbuf *body);
/* PUT /v1/restore likewise. */
int agent_rig_restore(const struct agent_rig *rig, const char *task, struct strbuf *body);
/* PUT or DELETE /v1/archive likewise; task NULL: DELETE. */
int agent_rig_archive(const struct agent_rig *rig, const char *identity, const char *task, struct strbuf *body);
/* PUT or DELETE /v1/check likewise. */
int agent_rig_check(const struct agent_rig *rig, const char *identity, const char *task, struct strbuf *body);
/* PUT /v1/binlogs/purge. */
int agent_rig_purge(const struct agent_rig *rig, const char *identity, const char *wish, struct strbuf *body);
int agent_rig_order_as(const struct agent_rig *rig, const char *identity, const char *order, struct strbuf *body);
/* As the operator, to the pod that the query names: "to=POD&uid=UID". */
int agent_rig_order_to(const struct agent_rig *rig, const char *query, const char *order, struct strbuf *body);
bool agent_rig_await_status(const struct agent_rig *rig, const char *contains, int64_t timeout_ms);

/* Runs SQL by TCP; false if the server refuses the account or a statement. out may be NULL. */
bool agent_rig_sql(
    const struct agent_rig *rig, const char *user, const char *password, const char *sql, struct strbuf *out);
/* Likewise, by the socket. */
bool agent_rig_socket_sql(
    const struct agent_rig *rig, const char *user, const char *password, const char *sql, struct strbuf *out);
/* As the agent does: by the socket, as the database's own user. */
bool agent_rig_owner_sql(const struct agent_rig *rig, const char *sql, struct strbuf *out);
/* MySQL: one empty transaction each of so many other servers, as a primary has them of its predecessors. */
bool agent_rig_add_servers(const struct agent_rig *rig, unsigned count);

#endif
