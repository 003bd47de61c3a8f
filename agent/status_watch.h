/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_watch.h: GET /v1/status[?watch=1] for whoever has a status: the running agent and `init`.
 *
 * Each client that watches gets one JSON line per change and at least one every AGENT_STATUS_INTERVAL_MS; one that does
 * not read gets the newest when it does again. The caller has checked who asks.
 */
#ifndef KM_AGENT_STATUS_WATCH_H
#define KM_AGENT_STATUS_WATCH_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/loop.h"

struct status_watch;

/* status: the caller's, read whenever a line is written. */
struct status_watch *status_watch_new(struct loop *loop, const struct agent_status *status);
/* After the servers whose exchanges it holds. NULL is fine. */
void status_watch_free(struct status_watch *watch);

/* Answers one request, at once or as a stream. may_watch: whether this client may have a stream. */
void status_watch_handle(struct status_watch *watch, struct http_exchange *exchange, bool may_watch);
size_t status_watch_count(const struct status_watch *watch);
/* For how long nobody has watched; 0: somebody does. */
int64_t status_watch_alone_ms(const struct status_watch *watch, int64_t now_ms);
/* The status has changed: tells everybody who watches. */
void status_watch_publish(struct status_watch *watch);

#endif
