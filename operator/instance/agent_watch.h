/*
 * agent_watch.h: one agent's standing status stream (GET /v1/status?watch=1 over mutual TLS), kept open.
 *
 * Every line is a whole status; a stream that breaks or falls silent (AGENT_WATCH_SILENCE_MS) is opened again with back-off from 200 ms to
 * 5 s. `changed` runs when a status arrives that says something new (agent_status_same, executed
 * transactions aside), when the stream is lost and when the
 * first word comes after a loss. Unreachable is not dead (I5): the age of the last word is kept, judging is for others.
 */
#ifndef KM_AGENT_WATCH_H
#define KM_AGENT_WATCH_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/http_client.h"
#include "common/loop.h"

/* Six missed lines (one every AGENT_STATUS_INTERVAL_MS). */
#define AGENT_WATCH_SILENCE_MS 3000

struct agent_watch;

struct agent_watch_target {
    const char *address;     /* pod IP */
    const char *server_name; /* a DNS name of the agent's certificate */
    uint16_t port;
    struct http_tls *tls; /* the operator's client certificate for this cluster; a reference is taken */
};

struct agent_watch *agent_watch_new(struct loop *loop, struct http_client *http,
    const struct agent_watch_target *target, void (*changed)(void *arg), void *arg);
/* No callback follows. NULL is fine. */
void agent_watch_free(struct agent_watch *watch);
/* The last status, or NULL if none ever came. Valid until the next turn of the loop. */
const struct agent_status *agent_watch_status(const struct agent_watch *watch);
/* Whether the stream is open and has spoken on this connection. */
bool agent_watch_connected(const struct agent_watch *watch);
/* Milliseconds since the last word; INT64_MAX if there was none. */
int64_t agent_watch_age_ms(const struct agent_watch *watch);
/* Why the stream is not open; "" while it is. */
const char *agent_watch_error(const struct agent_watch *watch);
bool agent_watch_same_target(const struct agent_watch *watch, const struct agent_watch_target *target);

#endif
