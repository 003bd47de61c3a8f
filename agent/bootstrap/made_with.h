/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made_with.h: the variables that a data folder is made with, and keeps: they are given to the initialisation, and
 * cannot be changed afterwards.
 *
 * Facts, tried on MariaDB 10.5.23, 10.11.19, 11.4.5, 11.8.9 and MySQL 9.7.4: a server does not start with another
 * innodb_page_size or innodb_data_file_path than its data was made with, MySQL not with another lower_case_table_names;
 * MariaDB starts, and no longer finds the tables whose names have capitals. innodb_undo_tablespaces is fixed in MariaDB
 * 10.5 only ("Expected to open innodb_undo_tablespaces=3 but was able to find only 0"): 10.11 and later make the
 * tablespaces anew, MySQL 8.0 and later ignore it. innodb_log_file_size can be changed in all of them. What a server
 * would take for them it says itself (--verbose --help), with units resolved and its own defaults.
 */
#ifndef KM_AGENT_BOOTSTRAP_MADE_WITH_H
#define KM_AGENT_BOOTSTRAP_MADE_WITH_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/server_binary.h"
#include "agent/mysql/session.h"
#include "common/error.h"
#include "common/strbuf.h"

#define MADE_WITH_MAX 256 /* agent_status.made_with */

/* Pure. Of a my.cnf, an option file for the initialisation: the variables above, as they are written there. */
int made_with_options(const char *mycnf, struct strbuf *out, struct error *err) KM_MUST_CHECK;

/* That of the composed my.cnf, as a file. Blocking. */
int made_with_write(const struct agent_paths *paths, const char *file, struct error *err) KM_MUST_CHECK;

/* Pure. data: "innodb_page_size=16384 lower_case_table_names=0", as a running server says it (observe.h). help: what
 * --verbose --help of the server prints for the my.cnf to judge. ERROR_INVALID names each variable with the value that
 * the data has. Variables that one of both does not name are not judged. */
int made_with_compare(
    const char *data, const char *help, const struct server_version *version, struct error *err) KM_MUST_CHECK;

/* Asks the server about the option file `path`, and compares. Blocking. */
int made_with_check(
    const struct server_binary *binary, const char *path, const char *data, struct error *err) KM_MUST_CHECK;

/* What a running server says of its data; a variable that it has not, or whose value is too long, is left out. "": it
 * cannot be asked. Blocking. */
void made_with_ask(struct session *session, char ret[static MADE_WITH_MAX]);

#endif
