/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maintenance_stories.h: what somebody does by hand at members that are led, and that is left so: three real servers
 * and agents on loopback, orders by HTTP as the operator would send them. The cases share the members and run in order;
 * they are the same for every family.
 */
#ifndef KM_AGENT_TESTS_MAINTENANCE_STORIES_H
#define KM_AGENT_TESTS_MAINTENANCE_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int maintenance_stories_run(bool mysql);

#endif
