/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmp_clients.h: the server's connections, as far as they tell whose its temporary files are, and the end of one.
 *
 * Never ended are threads of replication, those that send binary logs, the agent's own and its programs' (strangers.h),
 * our accounts `replication` and `monitor`, who is being ended already, and whoever waits for something: for an acknowledgement above all, but for a
 * lock, too, as it fills nothing. Of commits that wait for an acknowledgement one says so, and those behind it the step
 * that they are in. So whoever is in such a step, or says nothing while its statement runs, is not ended.
 *
 * KILL ends the connection, with MariaDB softly (KILL SOFT): then a commit that has begun to wait for its
 * acknowledgement meanwhile goes on waiting, and its client gets no answer (role_close.h). KILL QUERY is not used:
 * with it MariaDB answers OK to such a commit.
 */
#ifndef KM_AGENT_MYSQL_TMP_CLIENTS_H
#define KM_AGENT_MYSQL_TMP_CLIENTS_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

#define TMP_CLIENTS_MAX 4096

struct tmp_client {
    uint64_t id;
    uint64_t thread; /* of the operating system; 0: not known */
    char user[64];
    int64_t age_ms;   /* of its statement, or of its transaction, whichever is older */
    uint64_t bytes;   /* of its temporary files, as the server says; 0: none, or it does not say */
    bool makes_files; /* its statement has made such files, or does now */
    bool runs;        /* a statement */
    bool may_end;
};

/* One row of the list of connections; a text may be NULL. */
struct tmp_row {
    const char *id, *user, *command, *state, *age_ms, *thread, *bytes, *files;
};
/* Pure. is_stranger: as strangers.h says. */
struct tmp_client tmp_client_of(const struct tmp_row *row, const char *agent_user, bool is_stranger);

/* The caller frees *ret. More than TMP_CLIENTS_MAX are left out. */
int tmp_clients_list(struct session *session, const struct server_version *version, struct tmp_client **ret,
    size_t *ret_count, struct error *err) KM_MUST_CHECK;
/* That it has gone meanwhile is fine. */
int tmp_clients_end(
    struct session *session, const struct server_version *version, uint64_t id, struct error *err) KM_MUST_CHECK;

#endif
