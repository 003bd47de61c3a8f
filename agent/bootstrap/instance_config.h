/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_config.h: reads AGENT_CONFIG_INSTANCE.
 */
#ifndef KM_AGENT_BOOTSTRAP_INSTANCE_CONFIG_H
#define KM_AGENT_BOOTSTRAP_INSTANCE_CONFIG_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/error.h"

int instance_config_load(const char *path, struct agent_instance_config *ret, struct error *err) KM_MUST_CHECK;

#endif
