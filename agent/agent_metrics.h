/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_metrics.h: what the agent exports of itself, beside the server's own counters (server_status.h).
 */
#ifndef KM_AGENT_AGENT_METRICS_H
#define KM_AGENT_AGENT_METRICS_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "agent/tmp_keeper.h"
#include "common/agent_api.h"
#include "common/metrics.h"

struct agent_metrics;

struct agent_metrics *agent_metrics_new(void);
void agent_metrics_free(struct agent_metrics *metrics);
struct metrics *agent_metrics_registry(struct agent_metrics *metrics);
/* A probe has ended; counters are taken over if it collected them. */
void agent_metrics_probe(struct agent_metrics *metrics, const struct instance_state *state);
/* For how long no operator has been heard; 0: one is. */
void agent_metrics_operator(struct agent_metrics *metrics, int64_t silent_ms);
void agent_metrics_tmp(struct agent_metrics *metrics, const struct tmp_report *report);
void agent_metrics_status(struct agent_metrics *metrics, const struct agent_status *status);

#endif
