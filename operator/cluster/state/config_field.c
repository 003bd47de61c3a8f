/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/config_field.h"

#include "common/json.h"

void config_field_name(const struct mysql_cluster *cluster, const char *field, char *out, size_t size)
{
    if (cluster->config_name && !json_path(cluster->config_spec, field))
        snprintf(out, size, "spec.%s of MysqlConfig %s", field, cluster->config_name);
    else
        snprintf(out, size, "spec.config.spec.%s", field);
}
