/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_binding.h: the objects that applications of one cluster connect with (binding_data.h): made, kept as they
 * should be, and somebody else's never taken over.
 *
 * An orphan (ownership.h) becomes ours, and all of its data is written anew: whoever has planted one can read no more
 * in it than in one that we make.
 *
 * Members run without them. So what cannot be read or written here, as where a quota is full, holds up nothing else,
 * and an object of somebody else's of such a name is only told of. Both are read by name whenever the cluster's Secrets
 * are.
 */
#ifndef KM_CLUSTER_BINDING_H
#define KM_CLUSTER_BINDING_H

#include "common/base.h"

#include "common/error.h"
#include "operator/cluster/reconcile/binding_data.h"
#include "operator/cluster/state/binding_facts.h"
#include "operator/kube/kube_client.h"

enum binding_wish {
    BINDING_KEEP, /* nobody knows at the moment whether there should be one */
    BINDING_NONE, /* the spec names no user: one of ours goes */
    BINDING_WANTED,
};

struct cluster_binding_request {
    const char *ns;
    const char *secret_name, *bundle_name;
    const json_t *metadata; /* labels and ownerReferences that every child carries */
    enum binding_wish wish; /* of the Secret */
    struct binding binding; /* WANTED: all of it; else ca_pem alone */
};

/* err: the first thing that could not be done; facts are valid in any case, and say what is known. */
typedef void (*cluster_binding_done_fn)(void *arg, const struct cluster_binding_facts *facts, const struct error *err);
/* What the request points to is copied or no longer needed when this returns. */
void cluster_binding_ensure(struct kube_client *client, const struct kube_resource *secrets,
    const struct kube_resource *config_maps, const struct cluster_binding_request *request,
    cluster_binding_done_fn done, void *arg);

#endif
