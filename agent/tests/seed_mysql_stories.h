/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_mysql_stories.h: MySQL seeds itself: real servers on loopback, and everything that can go wrong between them.
 * seed_itest is MariaDB's.
 */
#ifndef KM_AGENT_TESTS_SEED_MYSQL_STORIES_H
#define KM_AGENT_TESTS_SEED_MYSQL_STORIES_H

#include "common/base.h"

/* dump: from an image without CLONE. The exit status: 77 where there is no MySQL. */
int seed_mysql_stories_run(bool dump);

#endif
