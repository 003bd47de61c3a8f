#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034  # settings are used by the scripts that source this file
# Settings and helpers of the local Kubernetes. Source it:  . e2e/cluster/env.sh
#
# Two clusters can run side by side:
#   full   (up.sh, down.sh):      etcd, API server, controllers, scheduler, DNS, volumes, nodes; run state in $KM_RUN
#   light  (control-plane.sh):    etcd, API server, controller manager alone; run state in $KM_RUN-light[-INSTANCE]
# Everything that is built (binaries, images) lies in $KM_CACHE and is shared. KUBERNETES_VERSION chooses the version of both.

KM_CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
KM_CACHE=${KM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kube-mysql}
KM_RUN=${KM_RUN:-/var/lib/kube-mysql-e2e}

# Addresses of the full cluster. The bridge joins the host (API server, DNS, node1) with the nodes' namespaces.
KM_BRIDGE=k8s0
KM_HOST_IP=10.200.0.1
KM_SERVICE_CIDR=10.96.0.0/16
KM_SERVICE_IP=10.96.0.1
KM_POD_CIDR=10.244.0.0/16     # nodeN gets 10.244.N.0/24
KM_MAX_NODES=5
KM_PROVISIONER=kube-mysql.local/volumes

# What is built and runs. Raise the last number when build-kubernetes.sh makes something else than before.
KUBERNETES_VERSION=${KUBERNETES_VERSION:-1.36.3}
[[ $KUBERNETES_VERSION =~ ^1\.[0-9]+\.[0-9]+$ ]] || { echo "error: KUBERNETES_VERSION is '$KUBERNETES_VERSION', not of the form 1.36.3" >&2; exit 2; }
KM_KUBERNETES=$KM_CACHE/kubernetes-$KUBERNETES_VERSION-1
KM_IMAGES=$KM_CACHE/images

KUBECONFIG=${KUBECONFIG:-$KM_RUN/kubeconfig/admin}
KM_GO=${KM_GO-$(type -P go || true)}   # the user's, before PATH is set
PATH=$KM_KUBERNETES/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export KM_CACHE KM_RUN KM_GO KUBERNETES_VERSION PATH

# kubernetes_since MINOR: whether the version is 1.MINOR or later
kubernetes_since() { [[ $KUBERNETES_VERSION =~ ^1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= $1)); }

# shellcheck source=lib/process.sh
. "$KM_CLUSTER_DIR/lib/process.sh"
