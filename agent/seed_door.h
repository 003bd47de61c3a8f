/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_door.h: the TLS door of `init`: GET /v1/status[?watch=1], PUT /v1/role and PUT /v1/restore, for the operator's
 * certificate only (agent_api.h, agent_order.h, backup_task.h).
 *
 * Certificates are read from the mounted files and again when they change; until they are usable the door stays shut
 * and the log says why.
 */
#ifndef KM_AGENT_SEED_DOOR_H
#define KM_AGENT_SEED_DOOR_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/loop.h"

struct seed_door;

struct seed_door_options {
    const struct agent_paths *paths;
    const char *bind;
    uint16_t port;
    struct agent_status *status; /* the caller's; what it knows of certificates is written here */
    /* An order arrived. Returns false when its epoch is too small; ret_epoch: the largest one seen. */
    bool (*order)(void *arg, const struct agent_order *order, uint64_t *ret_epoch);
    /* How to do a restore arrived: a task that can be decoded, as it was sent. Secret; wiped after the call. */
    void (*task)(void *arg, const char *id, const char *text, size_t len);
    void *arg;
};

struct seed_door *seed_door_new(struct loop *loop, const struct seed_door_options *options);
void seed_door_free(struct seed_door *door); /* NULL is fine */
/* The status has changed. */
void seed_door_publish(struct seed_door *door);

#endif
