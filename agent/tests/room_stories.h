/* SPDX-License-Identifier: Apache-2.0 */
/* A data volume that fills up: the stories of room_mariadb_itest and room_mysql_itest. */
#ifndef KM_AGENT_TESTS_ROOM_STORIES_H
#define KM_AGENT_TESTS_ROOM_STORIES_H

#include "common/base.h"

int room_stories_run(bool mysql);

#endif
