/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_reason.h: what is at fault, by the reason that the kubelet gives for a container that waits or has ended, or the
 * scheduler for a pod without a node. Pure. NULL and "" are no reason.
 *
 * The texts are those of other programs and stay text where they are kept. What is decided by them is asked here.
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
/* The container waits as every one does at its beginning. */
bool pod_reason_is_beginning(const char *reason);
/* The container ends over and over. Why is not said by this. */
bool pod_reason_is_loop(const char *reason);

/* words: the message of a pod's condition PodScheduled. True: nodes have a taint that the pod does not tolerate. ret:
 * the first taint that the message names, "key" or "key=value"; "" if it names none, as that of Kubernetes 1.36. */
bool pod_reason_names_taint(const char *words, char *ret, size_t size);
/* Likewise. True: nodes have too little left of what the pod asks for. */
bool pod_reason_lacks_room(const char *words);
/* words: the message of a pod's condition PodScheduled. True: it says that this PersistentVolumeClaim does not exist. */
bool pod_reason_lacks_claim(const char *words, const char *claim);
/* Likewise. True: a PersistentVolumeClaim does not exist; ret: its name. */
bool pod_reason_names_claim(const char *words, char *ret, size_t size);
/* Likewise, the length of what is worth reading: Kubernetes 1.36 ends such a message with ". not found" once more. */
size_t pod_reason_words_len(const char *words);

/* What a pod's words say of an image that is not there (pod_reason_is_image). */
enum pod_image_word {
    POD_IMAGE_UNTOLD,  /* not why: kubelets before 1.31 say while they wait that they wait */
    POD_IMAGE_DELAYED, /* of something that may pass: its registry is not reached */
    POD_IMAGE_REFUSED, /* no waiting helps: what a registry answers, or the kubelet before it asks */
};
enum pod_image_word pod_image_word_of(const char *reason, const char *words);

#endif
