/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.h: MariaDB's system tables after an upgrade of the image. MySQL (8.0.16 and later) upgrades its own at the
 * start.
 */
#ifndef KM_AGENT_BOOTSTRAP_UPGRADE_H
#define KM_AGENT_BOOTSTRAP_UPGRADE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/dialect.h"
#include "common/error.h"

#define UPGRADE_VERSION_MAX 64

/*
 * Blocking; the server runs. Nothing to do unless an older series wrote the data folder. ret_older: the version that
 * the system tables stay of, as this image has no mariadb-upgrade; "" they are of the server's series. The server works
 * with older ones, but for what is new in its own; a later image that has the tool upgrades them.
 */
int upgrade_system_tables(const struct agent_paths *paths, const char *user, const struct server_version *server,
    char ret_older[static UPGRADE_VERSION_MAX], struct error *err) KM_MUST_CHECK;

#endif
