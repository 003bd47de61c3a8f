/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_index.h: the files that a log of the server is made of, as its index names them: a path a line, oldest first
 * (both families; run_mycnf.h gives the logs their names). Blocking: for a worker's thread.
 */
#ifndef KM_AGENT_BACKUP_LOG_INDEX_H
#define KM_AGENT_BACKUP_LOG_INDEX_H

#include "common/base.h"

#include "common/error.h"
#include "common/strvec.h"

#define LOG_INDEX_BINLOG "binlog.index"
#define LOG_INDEX_RELAY_LOG "relaylog.index"

/* Adds the paths of all of them, in data_dir, whatever folder the index names. It may name none. -1: the index cannot
 * be read, or is larger than 4 MiB. */
int log_index_files(const char *data_dir, const char *index, struct strvec *ret, struct error *err) KM_MUST_CHECK;

#endif
