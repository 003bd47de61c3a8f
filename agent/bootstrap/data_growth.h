/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_growth.h: whether a server that fills a folder gets on: its time-out then follows what it does, not the clock.
 */
#ifndef KM_AGENT_BOOTSTRAP_DATA_GROWTH_H
#define KM_AGENT_BOOTSTRAP_DATA_GROWTH_H

#include "common/base.h"

#include "common/subprocess.h"

/* A program that prints nothing and changes no file for so long is not going to end. */
#define DATA_GROWTH_PATIENCE_MS (5LL * 60 * 1000)

struct data_growth {
    const char *dir;
    uint64_t seen;
};

/* Differs when a file of the folder, or of one of its folders, has another size, time or number of blocks. 0: there is
 * no such folder. */
uint64_t data_growth_of(const char *dir);
/* subprocess_options.watch; its watch_arg is a struct data_growth. */
enum subprocess_watch data_growth_watch(void *arg);

#endif
