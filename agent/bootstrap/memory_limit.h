/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_limit.h: how much memory this process's container may take.
 */
#ifndef KM_AGENT_BOOTSTRAP_MEMORY_LIMIT_H
#define KM_AGENT_BOOTSTRAP_MEMORY_LIMIT_H

#include "common/base.h"

/* Bytes, of its control group (version 2 or 1). 0: there is no limit, or it cannot be known. */
uint64_t memory_limit_bytes(void);

#endif
