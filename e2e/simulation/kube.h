/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube.h: what Kubernetes does: pods, claims, the StatefulSet, kubelets, the route.
 */
#ifndef KM_SIMULATION_KUBE_H
#define KM_SIMULATION_KUBE_H

#include "e2e/simulation/sim.h"

void kube_step(struct sim *sim);
/* The init container has ended well: server and agent are started. */
void kube_init_done(struct sim *sim, int member);
/* A pod that a person or the operator deletes; it ends when its server has handed over, or its time is up. */
void kube_delete_pod(struct sim *sim, int member);
/* By force: nobody sees it any more, and what runs in it is ended a second later. */
void kube_force_pod(struct sim *sim, int member);
/* Nothing in it lives on. */
void kube_remove_pod(struct sim *sim, int member);
void kube_lose_volume(struct sim *sim, int member);
/* The node's power is gone until then. */
void kube_lose_node(struct sim *sim, int member, int64_t for_ms);
/* Before the status is replaced by one of another epoch: it is the past one from now on. */
void kube_keep_past(struct sim *sim);
/* The status of so many epochs ago, or the oldest one that was kept. */
void kube_restore_past(struct sim *sim, int epochs);
void kube_forget_past(struct sim *sim);
void kube_recreate(struct sim *sim, int replicas);

#endif
