/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer_pool.h: how large InnoDB's buffer pool is made where nobody says it: by the memory that the server's container
 * may take. The operator knows the limit that a configuration sets; the agent sees also one that the namespace's
 * LimitRange filled in. Pure.
 */
#ifndef KM_COMMON_BUFFER_POOL_H
#define KM_COMMON_BUFFER_POOL_H

#include "common/base.h"

/* innodb_buffer_pool_size for a memory limit; 0: leave the server's default. */
int64_t buffer_pool_bytes(int64_t memory_limit_bytes);

#endif
