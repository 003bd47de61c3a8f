/* SPDX-License-Identifier: Apache-2.0 */
/*
 * healing_stories.h: what becomes of transactions that only a dead primary has: taken over, cut off, set aside. Three
 * real servers and agents on loopback, orders by HTTP as the operator would send them. The cases share the members and
 * run in order.
 */
#ifndef KM_AGENT_TESTS_HEALING_STORIES_H
#define KM_AGENT_TESTS_HEALING_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int healing_stories_run(bool mysql);

#endif
