/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_double.h: StatefulSet controller, volume provisioner and kubelet of the test, for the StatefulSet of the
 * cluster whose agents it is given.
 *
 * Every wanted pod without an object gets one, with a claim of its own and an agent double behind its address;
 * its revision is a hash of the template. Pods beyond the wanted number are deleted. A pod is ready when its agent says
 * so. A deleted pod stays, with a deletionTimestamp, until its preStop hook lets it go (agent_double_may_stop). Claims
 * stay.
 */
#ifndef KM_KUBERNETES_DOUBLE_H
#define KM_KUBERNETES_DOUBLE_H

#include "common/base.h"

#include "operator/tests/agent_double.h"
#include "operator/tests/kube_api_double.h"

struct kubernetes_double {
    struct kube_api_double *api;
    struct agent_doubles *agents;
    /* resourceVersions at which the status said all there is to say: nothing is composed and compared until they
     * change */
    char set_version[24];
    char set_revision[24];
    struct {
        char version[24];
        char address[24];
        bool past_init, ready;
    } pods[AGENT_DOUBLES_MAX];
    bool claims_wait;         /* claims are not bound */
    const char *init_refuses; /* what `init` of a pod that begins says and ends with, three times; NULL: it goes on */
    int set_late_ticks;       /* the StatefulSet's controller goes by what it saw up to so many ticks ago */
    json_t *set_seen;         /* that; owned */
    int ticks;
    bool is_held;   /* nothing is made, changed or ended while true */
    bool is_ending; /* nothing is made: the namespace is being deleted (kube_api_double_end_namespace) */
};

/* Time passes: to be called every few milliseconds. */
void kubernetes_double_tick(struct kubernetes_double *kubernetes);
void kubernetes_double_release(struct kubernetes_double *kubernetes);

#endif
