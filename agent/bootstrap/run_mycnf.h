/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_mycnf.h: the my.cnf a server is started with, and the SQL it runs at every start. Pure.
 *
 * Three parts, of which the last setting of a key wins: defaults, the ConfigMap's text, and one [mysqld] section of
 * this instance; so nothing in the ConfigMap can move the data folder or the socket, or start the server writable (I1).
 * The ConfigMap's text is for every server: of the operator's own options in it that begin with loose_, those that this
 * server does not know are left out, or it would complain of each at every start. What people set there stays. The
 * buffer pool is the ConfigMap's; MariaDB's other caches of the whole server are sized here, so that a change of theirs
 * comes with the next start of a server and asks for none.
 * Clients may use TLS with the cluster's certificate, replicas do.
 */
#ifndef KM_AGENT_BOOTSTRAP_RUN_MYCNF_H
#define KM_AGENT_BOOTSTRAP_RUN_MYCNF_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/server_features.h"
#include "agent/mysql/dialect.h"
#include "common/agent_api.h"
#include "common/strbuf.h"

/* The largest my.cnf: a ConfigMap holds 1 MiB. */
#define MYCNF_MAX (1 * KM_MIB)
/* First line of the file: which ConfigMap text it was made from. 64 hex digits follow. */
#define RUN_MYCNF_HASH_PREFIX "# kube-mysql config "
/* Above MariaDB's caches: what they were sized by. */
#define RUN_MYCNF_MEMORY_PREFIX "# kube-mysql memory "

struct run_mycnf_input {
    const char *mycnf; /* the ConfigMap's */
    const struct agent_instance_config *instance;
    const struct agent_paths *paths;
    const struct dialect *dialect;
    struct server_features features;
    const char *help; /* what the server prints at --verbose --help (server_features.h); NULL: not known */
    const char *pod_name;
    uint16_t port; /* 0: MYSQL_PORT */
    /* Of the server's container; 0: no limit, or it is not known. Elsewhere than at its start: run_mycnf_memory. */
    uint64_t memory_max_bytes;
};

/* The number at the end of a StatefulSet pod's name, 0 if there is none. */
uint32_t run_mycnf_ordinal(const char *pod_name);
void run_mycnf_compose(const struct run_mycnf_input *input, struct strbuf *out);
/* The SHA-256 in the first line; false (and "") if text is not of our making. */
bool run_mycnf_hash(const char *text, char ret[static 65]);
/* memory_max_bytes as text was made with it: a my.cnf that is compared with this one is made with the same, or the
 * caches would be a change that asks for a restart. */
uint64_t run_mycnf_memory(const char *text);

/* Pure. What a whole my.cnf sets an option to, a number; the last setting counts. name: with '_'. False (and 0): it
 * does not. */
bool run_mycnf_number(const char *text, const char *name, uint64_t *ret);

/* One statement a line, as every server version accepts: the account `user` of the agent enters by the socket, whatever
 * was before. Not written to the binary log. */
void run_mycnf_init_sql(const struct dialect *dialect, const char *user, struct strbuf *out);

#endif
