/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash_util.h: something is done in a child that is killed at a system call: what is on disk then is what a crash
 * leaves.
 */
#ifndef KM_CRASH_UTIL_H
#define KM_CRASH_UTIL_H

#include "common/base.h"

/* A place that stops twice at every call, before and after it; at 0 the child has not begun. */
#define CRASH_PLACES_MAX 10000

/* Runs it in a child that is killed at that place; run returns 0, or the test fails. False when the child had ended
 * before. Skips the test where no child may be traced. */
bool crash_at(unsigned place, int (*run)(void *arg), void *arg);

/* Tries one place after the other, until try (which uses crash_at) says that it came to the end; returns at how many
 * calls it was killed. */
unsigned crash_at_every_call(bool (*try)(void *arg, unsigned place), void *arg);

#endif
