/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_written.h: when the newest relay log was written last: a receiver writes each event as it comes, and nothing
 * else there (tried: MySQL 9.7, MariaDB 10.11; a source's own beat is not written). No version of MariaDB tells it.
 */
#ifndef KM_AGENT_RELAY_WRITTEN_H
#define KM_AGENT_RELAY_WRITTEN_H

#include "common/base.h"

/* Monotonic milliseconds; 0: there is none, or it cannot be looked at. Blocking: for a lane's thread. */
int64_t relay_written_ms(const char *data_dir);

#endif
