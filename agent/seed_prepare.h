/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_prepare.h: MariaDB's files that were unpacked into data.new are made a database: mariadb-backup --prepare, then
 * one start of the server (clone_finish.h). The same for a donor's copy and for a stored backup. Lives on the loop.
 */
#ifndef KM_AGENT_SEED_PREPARE_H
#define KM_AGENT_SEED_PREPARE_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "common/error.h"
#include "common/loop.h"

struct seed_prepare;

struct seed_prepare_options {
    struct loop *loop;
    const struct agent_paths *paths;
    const struct init_prepared *prepared;
    /* Once, from the loop, not after seed_prepare_free. err: NULL when data.new can be started. The owner frees, not
     * from inside it. */
    void (*done)(void *arg, const struct error *err);
    void *arg;
};

/* NULL with an error: the tool is not there or cannot be run. */
struct seed_prepare *seed_prepare_start(const struct seed_prepare_options *options, struct error *err);
/* Kills what runs. NULL is fine. */
void seed_prepare_free(struct seed_prepare *prepare);

#endif
