/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h: the one event loop of a process (libevent), its timers, descriptors and signals.
 *
 * One thread owns the loop and all state hung on it. Callbacks run from loop_run, exactly once per arming, never inside
 * the call that armed them and never after the matching _cancel/_free.
 */
#ifndef KM_COMMON_LOOP_H
#define KM_COMMON_LOOP_H

#include "common/base.h"

struct event_base; /* for http_client, http_server and subprocess only */

struct loop;

/* Ignores SIGPIPE in the whole process: a peer that goes away is an error of a write. */
struct loop *loop_new(void);
/* After everything that hangs on it: timers, watches, clients, servers, workers. */
void loop_free(struct loop *loop);
/* Runs until loop_stop; a stop before it makes it return at once. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* async-signal-unsafe; call from callbacks */
/* Runs what is ready and waits at most timeout_ms for more: tests. */
void loop_run_once(struct loop *loop, int64_t timeout_ms);
/* Monotonic milliseconds, read once per turn of the loop (outside of it: now). */
int64_t loop_now_ms(const struct loop *loop);
struct event_base *loop_base(struct loop *loop);

/* A timer is embedded or on the heap, inited once, then armed and cancelled at will. */
struct loop_timer {
    struct loop *loop;
    void (*fn)(void *arg);
    void *arg;
    void *event; /* private */
    bool armed;
};
void loop_timer_init(struct loop_timer *timer, struct loop *loop, void (*fn)(void *arg), void *arg);
/* Arms for once, delay_ms from now (0: next turn); replaces an earlier arming. */
void loop_timer_arm(struct loop_timer *timer, int64_t delay_ms);
void loop_timer_cancel(struct loop_timer *timer);
void loop_timer_release(struct loop_timer *timer); /* cancels and frees; fine on a zeroed timer */

/* fn runs for every delivery of the signal until loop_off_signals or loop_free. */
void loop_on_signal(struct loop *loop, int signum, void (*fn)(int signum, void *arg), void *arg);
/* All that was asked for with this arg: its owner goes before the loop does. */
void loop_off_signals(struct loop *loop, const void *arg);

/* Level-triggered readiness of a descriptor. */
struct loop_fd;
enum { LOOP_READABLE = 1, LOOP_WRITABLE = 2 };
struct loop_fd *loop_fd_new(
    struct loop *loop, int fd, unsigned what, void (*fn)(int fd, unsigned what, void *arg), void *arg);
void loop_fd_free(struct loop_fd *watch); /* does not close fd */

#endif
