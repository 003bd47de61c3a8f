/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_path.h: by which way a member of this image gets a donor's data.
 */
#ifndef KM_AGENT_BOOTSTRAP_SEED_PATH_H
#define KM_AGENT_BOOTSTRAP_SEED_PATH_H

#include "common/base.h"

#include "agent/bootstrap/server_binary.h"

enum seed_path {
    SEED_PATH_PHYSICAL, /* MariaDB: the donor's files, by mariadb-backup */
    SEED_PATH_CLONE,    /* MySQL 8.0.22 and later: its servers copy by themselves */
    SEED_PATH_LOGICAL,  /* without that tool or that plugin: the donor's statements, by mariadb-dump or mysqldump */
};

/* Pure. has_tool: mariadb-backup and mbstream, or the shared object of CLONE, lie in the image. */
enum seed_path seed_path_choose(const struct server_version *version, bool has_tool);
/* Asks the image. Blocking, some tens of milliseconds. */
enum seed_path seed_path_find(const struct server_binary *binary);

#endif
