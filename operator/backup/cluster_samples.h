/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_samples.h: a family of metrics with labels namespace and name, written cluster by cluster. A family without a
 * sample is not there at all.
 */
#ifndef KM_CLUSTER_SAMPLES_H
#define KM_CLUSTER_SAMPLES_H

#include "common/metrics.h"

struct cluster_samples {
    struct strbuf *out;
    const struct metric_desc *desc;
    bool has_head;
};

/* key: NAMESPACE/NAME. The family's head goes before its first sample. */
void cluster_samples_add(struct cluster_samples *samples, const char *key, double value);

#endif
