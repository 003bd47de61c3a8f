/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.h: MariaDB's system tables after an upgrade of the image. MySQL (8.0.16 and later) upgrades its own at the start.
 */
#ifndef KM_AGENT_BOOTSTRAP_UPGRADE_H
#define KM_AGENT_BOOTSTRAP_UPGRADE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/dialect.h"
#include "common/error.h"

/* Blocking; the server runs. Nothing to do unless an older series wrote the data folder. */
int upgrade_system_tables(const struct agent_paths *paths, const char *user, const struct server_version *server,
    struct error *err) KM_MUST_CHECK;

#endif
