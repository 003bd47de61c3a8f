/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_stories.h: what replicas had received and not applied when their servers were killed: three real servers and
 * agents on loopback (replication_rig.h). The cases share the members and run in order; they are the same for every
 * family.
 */
#ifndef KM_AGENT_TESTS_RELAY_STORIES_H
#define KM_AGENT_TESTS_RELAY_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int relay_stories_run(bool mysql);

#endif
