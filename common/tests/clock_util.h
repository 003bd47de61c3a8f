/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_util.h: time that runs faster while a test's only thread waits.
 *
 * A story with doubles waits most of its time: for the next tick, the next try, the next poll. All its parties live in
 * one thread and one event loop, so while that loop finds nothing ready, nothing happens but that time passes.
 * clock_run_fast makes it pass faster: a wait of epoll_wait takes the SPEED-th part of the time that was asked for, and
 * the clocks (clock_gettime, so also clock.h, libevent and libcurl) are put forward by the rest. While the thread
 * computes, time is as real as ever: a story on a slow machine has no less of it than before.
 *
 * The executable's own clock_gettime and epoll_wait stand before those of libc. They do nothing of their own until
 * clock_run_fast. Not for tests with other processes or threads, whose clocks are real.
 */
#ifndef KM_COMMON_TESTS_CLOCK_UTIL_H
#define KM_COMMON_TESTS_CLOCK_UTIL_H

/* From now on, for the whole process. Before the first loop is made: libevent's precise timers are the kernel's,
 * which knows real time only. */
void clock_run_fast(void);

#endif
