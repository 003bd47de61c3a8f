/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_reason.h: what is at fault, by the reason that the kubelet gives for a container that waits or has ended, or the
 * scheduler for a pod without a node. Pure. NULL and "" are no reason.
 */
#ifndef KM_POD_REASON_H
#define KM_POD_REASON_H

#include "common/base.h"

/* Its image. */
bool pod_reason_is_image(const char *reason);
/* The template: a Secret of its environment that is not there, a runtime that refuses. */
bool pod_reason_is_start(const char *reason);
/* Anything that a container cannot be made or begun for: of those of the template, and of its hooks and its command,
 * which one node alone may refuse. A report blames it; the template is not held back for it. */
bool pod_reason_is_container(const char *reason);

/* No node has a place for the pod (the reason of its condition PodScheduled). */
bool pod_reason_is_placement(const char *reason);
/* A container was ended as it needed more memory than its limit. */
bool pod_reason_is_memory(const char *reason);

#endif
