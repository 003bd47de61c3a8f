/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_command.h: what the check pod runs: whether this image takes the my.cnf, and with what values.
 */
#ifndef KM_AGENT_CHECK_COMMAND_H
#define KM_AGENT_CHECK_COMMAND_H

#include "common/base.h"

#include "agent/options.h"
#include "common/error.h"

/* Blocking. As init_check; what the server takes otherwise than it stands there is in the container's termination
 * message. */
int check_command_run(const struct agent_options *options, struct error *err) KM_MUST_CHECK;

#endif
