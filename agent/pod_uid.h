/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_uid.h: the UID of the pod that this process runs in, without asking anybody.
 *
 * The kubelet keeps what it makes for a pod in a folder with the pod's UID as its name: emptyDir volumes in
 * .../pods/UID/volumes/kubernetes.io~empty-dir/NAME,
 * /etc/hosts as .../pods/UID/etc-hosts, termination logs below .../pods/UID/containers (kubernetes,
 * pkg/kubelet/kubelet_getters.go and kubelet_pods.go). Container runtimes mount them, and /proc/self/mountinfo tells of
 * each mount where it lies in its file system (proc(5): the fourth word). A variable of the downward API would say the
 * same, but would be one more line in the pod template: all pods would be replaced for it.
 *
 * Where that is hidden (sandboxes with a kernel of their own) or of another form, the UID is not known, and only names
 * are compared.
 */
#ifndef KM_AGENT_POD_UID_H
#define KM_AGENT_POD_UID_H

#include "common/base.h"

#include "common/agent_identity.h"

/* Pure. mountinfo: the text of that file. Looked at are mounts at run_dir, /etc/hosts and /dev/termination-log; "" if
 * none names a UID, or two name different ones. */
void pod_uid_find(const char *mountinfo, const char *run_dir, char ret[static AGENT_POD_UID_SIZE]);
void pod_uid_read(const char *run_dir, char ret[static AGENT_POD_UID_SIZE]);

#endif
