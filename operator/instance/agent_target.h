/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_target.h: where an agent's TLS door is, whose agent it is, and how we show ourselves there.
 */
#ifndef KM_AGENT_TARGET_H
#define KM_AGENT_TARGET_H

#include "common/base.h"

#include "common/http_client.h"

struct agent_target {
    const char *address;     /* pod IP */
    const char *server_name; /* a DNS name of the agent's certificate */
    uint16_t port;
    struct http_tls *tls; /* the operator's client certificate for this cluster */
    /* Asked before the agent is told anything: who no longer leads must not, and must not seem alive either. NULL:
     * yes. */
    bool (*may_tell)(void *arg);
    void *may_tell_arg;
    int64_t silence_ms; /* a stream without a word for so long is lost; 0: AGENT_WATCH_SILENCE_MS */
    /* Whom every request is for (agent_identity.h). NULL or "": whoever has that address. */
    const char *pod;
    const char *uid;
};

/* Copies the texts and takes a reference; release the copy. */
void agent_target_copy(const struct agent_target *from, struct agent_target *ret);
void agent_target_release(struct agent_target *target);
bool agent_target_may_tell(const struct agent_target *target);
bool agent_target_same(const struct agent_target *a, const struct agent_target *b);
/* As http_client_start; url, tls and connect_to of the options are filled in, and whom it is for is added to the
 * path. */
struct http_request *agent_target_start(
    const struct agent_target *target, struct http_client *http, const char *path, struct http_request_options options);

#endif
