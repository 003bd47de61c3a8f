/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_options.h: the options of my.cnf, of both families, that set a cache of the whole server with a fixed size.
 * What sessions may take is not among them.
 */
#ifndef KM_COMMON_CACHE_OPTIONS_H
#define KM_COMMON_CACHE_OPTIONS_H

#define CACHE_OPTION_BUFFER_POOL "innodb_buffer_pool_size"
#define CACHE_OPTION_COUNT 7

/* The buffer pool first; as the server names them, without loose_. */
extern const char *const cache_options[CACHE_OPTION_COUNT];

#endif
