/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/roll_before.h"

/* Of all that the template is made of only the port depends on the world, not on the specs. */
static bool is_known(const struct cluster_snapshot *snapshot)
{
    const struct spec_template *known = &snapshot->spec_template;
    return *known->hash && known->has_init_port == desired_keeps_init_port(snapshot);
}

void desired_note_template_hash(struct cluster_snapshot *snapshot)
{
    if (is_known(snapshot))
        return;
    snapshot->spec_template.has_init_port = desired_keeps_init_port(snapshot);
    desired_spec_template_hash(snapshot, snapshot->spec_template.hash);
}

void desired_template_hash(const struct cluster_snapshot *snapshot, char out[static 17])
{
    if (snapshot->before)
        memcpy(out, snapshot->before->template_hash, sizeof(snapshot->before->template_hash));
    else if (is_known(snapshot))
        memcpy(out, snapshot->spec_template.hash, sizeof(snapshot->spec_template.hash));
    else
        desired_spec_template_hash(snapshot, out);
}
