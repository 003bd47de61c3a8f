/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_probe.h: whether somebody listens at a host's port. Blocking, for a worker's thread; says nothing, asks nothing.
 */
#ifndef KM_AGENT_BOOTSTRAP_TCP_PROBE_H
#define KM_AGENT_BOOTSTRAP_TCP_PROBE_H

#include "common/base.h"

#include "common/error.h"

/* 0: one of the host's addresses takes connections. timeout_ms: for each address; the name's resolution has the
 * resolver's. ERROR_UNAVAILABLE. */
int tcp_probe(const char *host, uint16_t port, int timeout_ms, struct error *err) KM_MUST_CHECK;

#endif
