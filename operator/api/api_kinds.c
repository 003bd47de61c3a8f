/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/api_kinds.h"

#define BY_CRDS "kubectl apply --server-side -k crds (or deploy/install.sh)"

const struct kube_kind kube_kind_mysql_config = {
    .group = KM_API_GROUP,
    .kind = "MysqlConfig",
    .plural = "mysqlconfigs",
    .namespaced = false,
    .versions = {KM_API_VERSION},
    .installed_by = BY_CRDS,
};

const struct kube_kind kube_kind_mysql_cluster = {
    .group = KM_API_GROUP,
    .kind = "MysqlCluster",
    .plural = "mysqlclusters",
    .namespaced = true,
    .versions = {KM_API_VERSION},
    .installed_by = BY_CRDS,
};

const struct kube_kind kube_kind_mysql_terminal = {
    .group = KM_API_GROUP,
    .kind = "MysqlTerminal",
    .plural = "mysqlterminals",
    .namespaced = true,
    .versions = {KM_API_VERSION},
    .installed_by = BY_CRDS,
};

const struct kube_kind kube_kind_mysql_backup = {
    .group = KM_API_GROUP,
    .kind = "MysqlBackup",
    .plural = "mysqlbackups",
    .namespaced = true,
    .versions = {KM_API_VERSION},
    .installed_by = BY_CRDS,
};

const struct kube_kind kube_kind_config_map_sync = {
    .group = KM_API_GROUP,
    .kind = "ConfigMapSync",
    .plural = "configmapsyncs",
    .namespaced = true,
    .versions = {KM_API_VERSION},
    .installed_by = "kubectl apply --server-side -f deploy/components/configmapsync/crd.yaml",
};

const struct kube_kind kube_kind_app = {
    .group = KM_API_GROUP,
    .kind = "App",
    .plural = "apps",
    .namespaced = true,
    .versions = {KM_API_VERSION},
    .installed_by = "kubectl apply --server-side -f deploy/components/app/crd.yaml",
};
