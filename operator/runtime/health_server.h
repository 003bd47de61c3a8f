/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health_server.h: GET /healthz, /readyz and /metrics for kubelet and Prometheus, in plain HTTP.
 *
 * The checks run at each request and must answer from memory. 200 "ok", or 503 with the reason.
 */
#ifndef KM_HEALTH_SERVER_H
#define KM_HEALTH_SERVER_H

#include "common/base.h"

#include "common/error.h"
#include "common/loop.h"
#include "common/metrics.h"

struct health_server;

struct health_checks {
    /* NULL when all is well, else why not (static text). */
    const char *(*healthy)(void *arg);
    const char *(*ready)(void *arg);
    void *arg;
};

/* Listens at once. port 0 picks one (*ret_port, may be NULL). NULL and err if the address cannot be had. */
struct health_server *health_server_new(struct loop *loop, const char *address, uint16_t port,
    const struct health_checks *checks, struct metrics *metrics, uint16_t *ret_port, struct error *err);
void health_server_free(struct health_server *server);

#endif
