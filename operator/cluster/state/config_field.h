/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_field.h: where a field of the configuration stands, as people can set it. Pure.
 */
#ifndef KM_CONFIG_FIELD_H
#define KM_CONFIG_FIELD_H

#include "operator/api/mysql_cluster.h"
#include "operator/api/mysql_config.h"

#define CONFIG_FIELD_SIZE (KUBE_NAME_MAX + 64)

/* field: "images.mysql". Gives "spec.config.spec.images.mysql", or "spec.images.mysql of MysqlConfig shared". The
 * inline configuration wins; what stands nowhere is set where the rest of the configuration is. */
void config_field_name(const struct mysql_cluster *cluster, const char *field, char *out, size_t size);
#define CONFIG_FIELD_CHOICE_SIZE (CONFIG_FIELD_SIZE + 64)
/* Likewise, and beside a MysqlConfig, which others may own, where the cluster itself can set it: "spec.resources of
 * MysqlConfig shared, or the cluster's own spec.config.spec.resources". */
void config_field_choice(const struct mysql_cluster *cluster, const char *field, char *out, size_t size);
/* Likewise, of the memory limit that a container of the members' pods has; a podTemplate comes over resources. Returns
 * its value there, borrowed; NULL: none is set. config: the merged one. */
const char *config_memory_limit(const struct mysql_cluster *cluster, const struct mysql_config_spec *config,
    const char *container, char *field, size_t size);
/* Writes what is wrong where the server took more memory at its start than the limit of container `mysql`. The field
 * comes first: it is what the user looks for. */
void config_memory_too_small(
    const struct mysql_cluster *cluster, const struct mysql_config_spec *config, char *out, size_t size);

#endif
