/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_server.h: the agent's doors (agent_api.h): plain for the kubelet and Prometheus, mutual TLS for the operator.
 *
 * Every answer comes from memory, on the loop; nothing here waits for the server. Only the check of a my.cnf is
 * answered later.
 *
 * GET /role on the plain door, for preStop hooks and load balancers of others: 200 "primary" while this member is
 * ordered to be the primary, "primary closed" as long as it takes no writes, else 404 "replica", "replica open" until
 * its server is known to be closed, "fenced" (ordered to be neither) or "none" (no order yet); " turning" behind it
 * while its replication is being set up; " applying" while its server is to be stopped and has received what it has not
 * applied; " alone" behind it when no operator has a status stream open; " last" behind it when no other member could
 * take over.
 */
#ifndef KM_AGENT_AGENT_SERVER_H
#define KM_AGENT_AGENT_SERVER_H

#include "common/base.h"

#include "agent/action_lane.h"
#include "agent/binlog_keeper.h"
#include "agent/holds_door.h"
#include "agent/instance_state.h"
#include "agent/role_keeper.h"
#include "common/agent_api.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/metrics.h"
#include "common/tls.h"

/* What the doors show; owned by the agent, outlives the server. */
struct agent_view {
    struct loop *loop;
    const struct instance_state *state;
    const struct agent_status *status;
    struct metrics *metrics;
    struct action_lane *actions;
    struct donor *donor;            /* gives the data to other members */
    struct backup_keeper *backups;  /* takes backups */
    struct archive_keeper *archive; /* of binary logs */
    struct check_keeper *check;     /* of restored data */
    struct binlog_keeper *binlogs;  /* which go for their size */
    struct tail_donor *tail_donor;  /* and the end of a dead server's binary logs */
    struct holds_door *holds;       /* whether its server has what others have set aside */
    struct role_keeper *roles;
    const char *pod_name;
    uint16_t mysql_port;
    void (*mycnf_applied)(void *arg); /* run_mycnf is another */
    void *arg;
    int64_t last_scrape_ms; /* written here: when /metrics was asked last */
};

struct agent_server;

struct agent_server *agent_server_new(struct agent_view *view);
void agent_server_free(struct agent_server *server);
int agent_server_listen_plain(
    struct agent_server *server, const char *address, uint16_t port, struct error *err) KM_MUST_CHECK;
/* The certificates stay the caller's and may be reloaded at any time. */
int agent_server_listen_tls(struct agent_server *server, struct tls_server *tls, const char *address, uint16_t port,
    struct error *err) KM_MUST_CHECK;
/* For how long no operator has had a status stream open; 0: one has. After OPERATOR_SILENT_MS /ready says so, too. */
#define OPERATOR_SILENT_MS 60000
int64_t agent_server_alone_ms(const struct agent_server *server, int64_t now_ms);
/* Pure: /role. is_alone: no operator has a status stream open. */
#define AGENT_SERVER_ROLE_WORD_SIZE 48
void agent_server_role_word(
    const struct instance_state *state, const struct agent_status *status, bool is_alone, char *out, size_t size);
/* The status has changed: tells everybody who watches. */
void agent_server_publish(struct agent_server *server);

#endif
