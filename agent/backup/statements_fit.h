/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statements_fit.h: whether a copy of a MariaDB server's data by statements (dump_command.h) would be of one moment:
 * nothing but InnoDB in the tables of applications. What is written to others while a copy is made is in it or not,
 * whatever its position says; the server's own tables change by accounts alone, which the dump waits for.
 */
#ifndef KM_AGENT_BACKUP_STATEMENTS_FIT_H
#define KM_AGENT_BACKUP_STATEMENTS_FIT_H

#include "common/base.h"

#include "common/error.h"

/* Blocking, some seconds at most: on a server whose tables are locked nothing is known. 0 and *ret, or -1. */
int statements_fit(const char *socket, const char *user, bool *ret, struct error *err) KM_MUST_CHECK;

#endif
