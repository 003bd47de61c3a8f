/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin_anew.h: the program is executed anew in the same process.
 *
 * A leader that has lost its Lease must keep nothing of what it knew or was about to do. The end of the process would
 * do, too, but the kubelet pauses before it starts a container again, twice as long each time, up to five minutes:
 * after some slow seconds of the API server every operator may wait in CrashLoopBackOff, and nobody leads although the
 * API server is well again. So the process executes its own program again (execve of /proc/self/exe, with the
 * arguments and the environment that it was started with), and keeps no file descriptors but the standard ones. Kernel
 * timers end with the old program.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
 */
#ifndef KM_BEGIN_ANEW_H
#define KM_BEGIN_ANEW_H

#include "common/base.h"

/* argv: of main; it must stay as it is for as long as the process lives. */
void begin_anew_with(char *const *argv);
/* Does not return. Async-signal-safe. Where descriptors cannot be closed (a kernel before 5.9) or the program cannot be
 * executed, the process ends with exit code 1. */
_Noreturn void begin_anew(void);

#endif
