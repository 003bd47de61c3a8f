/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/desired/service_names.h"

#include "operator/api/mysql_cluster.h"

static void add_longer(struct strvec *ret, const char *prefix, const char *service, const char *ns, const char *domain)
{
    strvec_pushf(ret, "%s%s.%s", prefix, service, ns);
    strvec_pushf(ret, "%s%s.%s.svc", prefix, service, ns);
    if (domain)
        strvec_pushf(ret, "%s%s.%s.svc.%s", prefix, service, ns, domain);
}

void service_names(const struct cluster_names *names, const char *ns, const char *domain, struct strvec *ret)
{
    const char *const services[] = {names->service_primary, names->service_replicas, names->service};
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        strvec_push(ret, services[i]);
        add_longer(ret, "", services[i], ns, domain);
    }
    for (int ordinal = 0; ordinal < CLUSTER_REPLICAS_MAX; ordinal++)
        strvec_pushf(ret, "%s-%d.%s", names->stateful_set, ordinal, names->service);
    add_longer(ret, "*.", names->service, ns, domain);
}
