/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/buffer_pool.h"

/*
 * Beside the pool a server needs about 150 MiB (threads, dictionaries, performance schema) and some for each
 * connection. So: a quarter of small limits, half from 512 MiB, two thirds from 4 GiB; whole MiB.
 */
int64_t buffer_pool_bytes(int64_t memory_limit_bytes)
{
    int64_t limit_mib = memory_limit_bytes / KM_MIB;
    int64_t pool_mib = limit_mib / 4;
    if (limit_mib >= 4096)
        pool_mib = limit_mib / 3 * 2;
    else if (limit_mib >= 512)
        pool_mib = limit_mib / 2;
    return pool_mib < 16 ? 0 : pool_mib * KM_MIB;
}
