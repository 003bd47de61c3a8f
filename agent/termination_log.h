/* SPDX-License-Identifier: Apache-2.0 */
/*
 * termination_log.h: a container's termination message.
 *
 * The kubelet shows this file's text as the container's message; the operator quotes it.
 * https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
 */
#ifndef KM_AGENT_TERMINATION_LOG_H
#define KM_AGENT_TERMINATION_LOG_H

#include "common/base.h"

/* Does nothing outside of a pod, where the file is not there to be written. No line break is added: the text is quoted
 * in the middle of others. */
void termination_log_write(const char *path, const char *text);

#endif
