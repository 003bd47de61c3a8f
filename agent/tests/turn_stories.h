/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn_stories.h: replicas that get ready for a source before that is open, and what they have received when they turn:
 * three real servers and agents on loopback, orders by HTTP as the operator would send them. The cases share the
 * members and run in order; they are the same for every family.
 */
#ifndef KM_AGENT_TESTS_TURN_STORIES_H
#define KM_AGENT_TESTS_TURN_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int turn_stories_run(bool mysql);

#endif
