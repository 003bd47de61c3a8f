/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds_door.h: POST /v1/binlogs/holds: whether the open primary has what another member has set aside
 * (set_aside_judge.h).
 *
 * The body: MySQL: a set of GTIDs; MariaDB: GTIDs, one a line, each of which must be in this server's binary logs
 * (binlog_holds.h). The answer: {"all": true} or {"all": false}.
 *
 *   403  no member of this cluster     409  this member is not the open primary
 *   400  not such a list               503  another one is served          500  the logs cannot be read
 */
#ifndef KM_AGENT_HOLDS_DOOR_H
#define KM_AGENT_HOLDS_DOOR_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/error.h"
#include "common/http_server.h"
#include "common/loop.h"

struct holds_door;

/* paths and status must outlive it; the status may change at any time. */
struct holds_door *holds_door_new(struct loop *loop, const struct agent_paths *paths, const struct agent_status *status);
/* Before the server whose exchanges it holds. NULL is fine. */
void holds_door_free(struct holds_door *door);
void holds_door_handle(struct holds_door *door, struct http_exchange *exchange);

/* Whether all of `gtids` (as in the body) is there. executed: MySQL: the set; not used for MariaDB. Blocking. */
int holds_find(const char *data_dir, enum agent_flavour flavour, const char *executed, const char *gtids, bool *ret,
    struct error *err) KM_MUST_CHECK;

#endif
