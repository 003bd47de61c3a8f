/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_util.h: time that passes only while a test's only thread waits, and takes none then.
 *
 * A story with doubles waits most of its time: for the next tick, the next try, the next poll. All its parties live in
 * one thread and one event loop, so while that loop finds nothing ready, nothing happens but that time passes. After
 * clock_stand_still no time passes while the thread computes, or waits for the processor: a story goes on a busy
 * machine as it goes on a quiet one. When nothing is ready and a timer is set, the clocks (clock_gettime, so also
 * clock.h, libevent and libcurl) show at once the time at which it is due.
 *
 * What is under way between two sockets of the process is not overtaken by a timer: before time passes, a datagram goes
 * from a socket of loopback to itself, behind all that was sent before, and it is waited for in real time. Not for
 * tests with other processes or threads, whose clocks are real.
 *
 * Who turns without waiting for anything stops the clock for ever. That is a fault, and ends the test: CLOCK_TURNS_MAX.
 *
 * The executable's own clock_gettime and epoll_wait stand before those of libc. They do nothing of their own until
 * clock_stand_still.
 */
#ifndef KM_COMMON_TESTS_CLOCK_UTIL_H
#define KM_COMMON_TESTS_CLOCK_UTIL_H

/* Turns of a loop at one and the same time. The busiest story has less than 3,000. */
#define CLOCK_TURNS_MAX 20000

/* From now on, for the whole process; each story may call it again. Before the first loop is made: libevent's precise
 * timers are the kernel's, which knows real time only. */
void clock_stand_still(void);

#endif
