/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_kinds.h: our kinds: group, version, REST names.
 *
 * MysqlConfig has cluster scope (a template that clusters of every namespace share), the others are namespaced.
 */
#ifndef KM_API_KINDS_H
#define KM_API_KINDS_H

#include "common/base.h"

#include "operator/kube/kube_resource.h"

#define KM_API_GROUP "kubemysql.dev"
#define KM_API_VERSION "v1alpha1"
#define KM_API_GROUP_VERSION KM_API_GROUP "/" KM_API_VERSION

#define KM_FIELD_MANAGER "kube-mysql"

extern const struct kube_kind kube_kind_mysql_config, kube_kind_mysql_cluster, kube_kind_mysql_terminal,
    kube_kind_mysql_backup;
/* Used only where the operator is told so (--enable). */
extern const struct kube_kind kube_kind_config_map_sync, kube_kind_app;

#endif
