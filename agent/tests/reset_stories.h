/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reset_stories.h: somebody sets back a server's GTID position by hand (RESET BINARY LOGS AND GTIDS, RESET MASTER,
 * gtid_slave_pos): three real servers and agents on loopback, orders by HTTP as the operator would send them. The cases
 * share the members and run in order.
 */
#ifndef KM_AGENT_TESTS_RESET_STORIES_H
#define KM_AGENT_TESTS_RESET_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int reset_stories_run(bool mysql);

#endif
