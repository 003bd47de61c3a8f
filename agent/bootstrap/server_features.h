/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_features.h: what the image's server can do, asked of the server program itself: its list of options
 * (--verbose --help, which starts nothing), not its version number.
 */
#ifndef KM_AGENT_BOOTSTRAP_SERVER_FEATURES_H
#define KM_AGENT_BOOTSTRAP_SERVER_FEATURES_H

#include "common/base.h"

#include "agent/bootstrap/server_binary.h"
#include "common/error.h"

struct server_features {
    /*
     * A transaction is in the binary log before any storage engine commits it, and after a crash the server goes by that
     * log (MDEV-21117). MariaDB has it since 10.6, known by the option log_ddl_recovery, which came with the same
     * release. True of every MySQL.
     *
     * Facts, tried on MariaDB 10.5.23, which has it not: a replica with parallel threads, in any mode but "none", stops
     * with error 1950 (gtid_strict_mode) within the first rows of an Aria table, as the transaction behind them gets into
     * its binary log first; with slave_parallel_threads 0 or 1 it never did, nor with MyISAM tables, nor did 11.8 with
     * four threads. And --init-rpl-role=SLAVE cuts nothing off (start_mode.h).
     */
    bool log_first;
};

/* Pure. help: what --verbose --help prints. */
void server_features_parse(enum agent_flavour flavour, const char *help, struct server_features *ret);
/* Blocking, a tenth of a second. An error: the program could not be asked. */
int server_features_ask(
    const struct server_binary *binary, struct server_features *ret, struct error *err) KM_MUST_CHECK;

#endif
