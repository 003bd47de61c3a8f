/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/cluster_samples.h"

#include "operator/kube/kube_object.h"

void cluster_samples_add(struct cluster_samples *samples, const char *key, double value)
{
    char ns[KUBE_LABEL_MAX + 1], name[KUBE_NAME_MAX + 1];
    if (kube_key_split(key, ns, name) < 0)
        return;
    if (!samples->has_head)
        metrics_write_head(samples->out, samples->desc);
    samples->has_head = true;
    metrics_write_sample(samples->out, samples->desc, (const char *const[]){ns, name}, value);
}
