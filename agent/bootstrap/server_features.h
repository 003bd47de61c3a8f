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
#include "common/strbuf.h"

#define SERVER_SHARE_DIR_SIZE 256
#define SERVER_HELP_MAX (1 * KM_MIB)

struct server_features {
    /*
     * A transaction is in the binary log before any storage engine commits it, and after a crash the server goes by
     * that log (MDEV-21117). MariaDB has it since 10.6, known by the option log_ddl_recovery, which came with the same
     * release. True of every MySQL.
     *
     * Facts, tried on MariaDB 10.5.23, which has it not: a replica with parallel threads, in any mode but "none", stops
     * with error 1950 (gtid_strict_mode) within the first rows of an Aria table, as the transaction behind them gets
     * into its binary log first; with slave_parallel_threads 0 or 1 it never did, nor with MyISAM tables, nor did 11.8
     * with four threads. And --init-rpl-role=SLAVE cuts nothing off (start_mode.h).
     */
    bool log_first;
    /* The server makes an empty database itself (--initialize), or has a script that does. Else it is made of the files
     * of statements that come with the server, in share_dir: MySQL 5.6, whose script needs perl. */
    bool initialises;
    /* A replica can be kept from writing, also by root. MySQL has it since 5.7.8; without it there is one member
     * only. */
    bool super_read_only;
    /* A primary can be kept from telling a client what no replica has. Known only where there is no super_read_only: it
     * is part of the reason that is given then. */
    bool lossless_semi_sync;
    char share_dir[SERVER_SHARE_DIR_SIZE]; /* where the server finds its messages, "": it does not say */
    /* "": the server finds its own files. Else its option basedir must name this folder: upstream's archive,
     * unpacked at another place than it was built for (MariaDB, MySQL 5.6). */
    char base_dir[SERVER_SHARE_DIR_SIZE];
};

/* "" if the server can replicate, else what it lacks, behind "has no". */
const char *server_features_lacking(const struct server_features *features);

/* Pure. help: what --verbose --help prints. */
void server_features_parse(enum agent_flavour flavour, const char *help, struct server_features *ret);
/* Pure but for looking whether folders are there. said: the basedir that the server goes by; program: its path. */
void server_features_base_dir(const char *said, const char *program, char *ret, size_t size);
/* Pure. Whether the server knows an option, in either spelling ("gtid_mode"), that no plugin brings along. */
bool server_features_has(const char *help, const char *option);
/* Blocking, a tenth of a second. help: becomes what --verbose --help prints (SERVER_HELP_MAX); may be NULL. An error:
 * the program could not be asked. */
int server_features_ask(const struct server_binary *binary, struct server_features *ret, struct strbuf *help,
    struct error *err) KM_MUST_CHECK;

#endif
