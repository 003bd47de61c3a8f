/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_field.h: where a field of the configuration stands, as people can set it. Pure.
 */
#ifndef KM_CONFIG_FIELD_H
#define KM_CONFIG_FIELD_H

#include "operator/api/mysql_cluster.h"

#define CONFIG_FIELD_SIZE (KUBE_NAME_MAX + 64)

/* field: "images.mysql". Gives "spec.config.spec.images.mysql", or "spec.images.mysql of MysqlConfig shared". The
 * inline configuration wins; what stands nowhere is set where the rest of the configuration is. */
void config_field_name(const struct mysql_cluster *cluster, const char *field, char *out, size_t size);

#endif
