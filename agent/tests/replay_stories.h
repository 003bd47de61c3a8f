/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_stories.h: archived binary logs on top of a restored backup, with real servers: a donor that is written to at
 * known times, its backup by the agent, its binary logs cut into segments by the test itself (binlog_tail.h,
 * backup_pack.h), a member whose init restores. The same stories for MariaDB (files) and MySQL (a dump, and files).
 */
#ifndef KM_AGENT_TESTS_REPLAY_STORIES_H
#define KM_AGENT_TESTS_REPLAY_STORIES_H

#include "common/base.h"

#include "common/backup_manifest.h"

/* root: as of agent_rig_new_in. Returns what cmocka does. */
int replay_stories_run(const char *root, enum backup_method method);

#endif
