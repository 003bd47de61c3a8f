/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h: `kube-mysql-agent run`: observe, decide, act, publish, until SIGTERM.
 */
#ifndef KM_AGENT_AGENT_H
#define KM_AGENT_AGENT_H

#include "common/base.h"

#include "agent/options.h"
#include "common/error.h"

int agent_run(const struct agent_options *options, struct error *err) KM_MUST_CHECK;

#endif
