/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_guard.h: ends what this process does when it runs on after its lease, whatever state it is in.
 *
 * A leader that was stopped (SIGSTOP, a frozen container, a machine that sleeps) goes on where it was: with requests
 * half sent, answers that wait in its sockets, timers all due at once. Nothing that it asks itself first helps against
 * what it has handed to its sockets already. So the kernel holds the deadline: a timer whose signal ends the process. A
 * stopped process gets it when it is continued, before it executes anything else; a busy or hanging one in the midst of
 * whatever it does. One line on standard error says why.
 *
 * The signal (SIGRTMIN) goes to the thread that made the guard, which must be the one that does the work. It has a
 * handler, since the first process of a container gets no signal that it does not handle. Time is CLOCK_BOOTTIME: sleep
 * of the machine counts. What stops the clock of a machine (a virtual machine that is paused) is not seen by anybody
 * inside: against that epochs and resourceVersions stand alone (I2). timer_create(2),
 * https://man7.org/linux/man-pages/man2/timer_create.2.html
 */
#ifndef KM_LEASE_GUARD_H
#define KM_LEASE_GUARD_H

#include "common/base.h"

struct lease_guard;

/* At most one at a time in a process. expired: runs in the signal handler, so it must be async-signal-safe, and must
 * not return; NULL: the process ends with exit code 1. Returns NULL, with a line in the log, if the kernel gives no
 * timer. */
struct lease_guard *lease_guard_new(void (*expired)(void));
/* Milliseconds of CLOCK_BOOTTIME. */
int64_t lease_guard_now_ms(void);
/* The process ends at this time (now, if it has passed), unless told again or freed before. Absolute: a stop just
 * before the call counts too. */
void lease_guard_set(struct lease_guard *guard, int64_t at_ms);
/* Nothing ends any more. NULL is fine. */
void lease_guard_free(struct lease_guard *guard);

#endif
