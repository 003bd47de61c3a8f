/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding_facts.h: what the last look at a cluster's Secret for applications and ConfigMap of its CA found
 * (cluster_binding.h).
 */
#ifndef KM_BINDING_FACTS_H
#define KM_BINDING_FACTS_H

#include "common/base.h"

struct cluster_binding_facts {
    bool known;         /* somebody has looked */
    bool has_secret;    /* it is there, and ours */
    char conflict[256]; /* an object of such a name belongs to somebody else; "" none does */
};

#endif
