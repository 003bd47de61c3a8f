/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h: how fast a backup is sent: so many bytes a second. Pure: "now" is an argument.
 *
 * What is sent goes at once and is paid for afterwards: the next may go when as much time has passed as it takes at
 * that rate. Who comes late by a little has not lost it, so that a timer's delays do not add up; who comes late by more
 * (the tool was slow) does not catch up.
 */
#ifndef KM_AGENT_BACKUP_PACE_H
#define KM_AGENT_BACKUP_PACE_H

#include "common/base.h"

#define PACE_SLACK_US 200000

/* Zeroed: nothing was sent yet. */
struct pace {
    int64_t next_us; /* monotonic: not before */
};
/* 0: it may go, and is counted; else in so many microseconds. rate: bytes a second; 0: any. */
int64_t pace_take(struct pace *pace, uint64_t rate, size_t len, int64_t now_us);

#endif
