/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mycnf_memory.h: whether the caches that a my.cnf sets fit into the memory that there is at all. Pure.
 *
 * A cache of the whole server that has a fixed size and is larger than that ends the server when it fills, and a node
 * without a limit for the container with it; a pool that grows at run time takes memory at once. So it is refused
 * before a server has it. The operator knows a limit that stands in the spec (operator/api/memory_fit.h). It does not
 * know how much memory a node has, nor the limit that a namespace's LimitRange sets.
 */
#ifndef KM_AGENT_BOOTSTRAP_MYCNF_MEMORY_H
#define KM_AGENT_BOOTSTRAP_MYCNF_MEMORY_H

#include "common/base.h"

#include "common/error.h"

struct mycnf_memory {
    uint64_t limit;   /* bytes, of the server's container; 0: none, or what it is does not matter */
    uint64_t machine; /* 0: not known */
};

/* text: a whole my.cnf, as run_mycnf_compose makes it. ERROR_INVALID names the option, its value and what it is held
 * against: a cache that takes all of the limit or of the machine alone, or else the largest of those that take all of
 * the machine together. */
int mycnf_memory_check(const char *text, const struct mycnf_memory *memory, struct error *err) KM_MUST_CHECK;

#endif
