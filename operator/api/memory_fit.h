/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_fit.h: whether the caches that my.cnf sets fit into the memory that container `mysql` may have, and whether a
 * limit of memory is one at all. Pure.
 *
 * Counted are the caches of the whole server that have a fixed size: a server fills them sooner or later, and the
 * kernel ends it on the way. What sessions take, and what a server needs beside its caches, is not counted: how much
 * that is nobody knows beforehand, and what may run is not refused. The limit is what the pod is made with:
 * resources.limits.memory of the configuration, under a podTemplate's for the container.
 */
#ifndef KM_MEMORY_FIT_H
#define KM_MEMORY_FIT_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/mysql_config.h"

/* config: what mysql_cluster_resolve made of cluster and named_spec (NULL: none). Adds a problem for a memory limit of
 * a few bytes ("512m"); else one for each cache in its mycnf that takes the whole limit alone, or else one if all
 * together do, with the default of the buffer pool. The path is where the person set it. Caches that members run with
 * already are not refused: in_force is the configuration that they have (status.configSpec; NULL: none), and a problem
 * only where a cache is to be larger than there, or the limit smaller. Returns 0, or -1 with problems. */
int memory_fit_check(const struct mysql_cluster *cluster, const json_t *named_spec,
    const struct mysql_config_spec *config, const json_t *in_force, struct api_problems *problems);

#endif
