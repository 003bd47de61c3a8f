/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/cache_options.h"

const char *const cache_options[CACHE_OPTION_COUNT] = {
    CACHE_OPTION_BUFFER_POOL,
    "aria_pagecache_buffer_size",
    "innodb_log_buffer_size",
    "key_buffer_size",
    "query_cache_size",
    "rocksdb_block_cache_size",
    "s3_pagecache_buffer_size",
};
