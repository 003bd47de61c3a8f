/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail_client.h: asks an agent of the rig for the end of its server's binary logs (GET /v1/binlogs/tail).
 */
#ifndef KM_AGENT_TESTS_TAIL_CLIENT_H
#define KM_AGENT_TESTS_TAIL_CLIENT_H

#include "agent/tests/replication_rig.h"

/* A file of the rig, whole. To be freed. */
char *tail_client_text(const struct agent_rig *rig, const char *name);
/* The HTTP status; 0: there was no answer. identity: "operator", "tls/tls" (a member), NULL for no certificate. */
int tail_client_ask(struct replication_rig *rig, unsigned member, const char *identity, const char *after);

/* The newest binary log of a member whose server is down, as agent_rig_path takes it. The caller frees. */
char *tail_newest_log(const struct agent_rig *rig);
/* Writes over it; at < 0: from its end. */
void tail_change_log(const struct agent_rig *rig, const char *name, long at, const void *bytes, size_t len);
void tail_append_log(const struct agent_rig *rig, const char *name, const void *bytes, size_t len);

#endif
