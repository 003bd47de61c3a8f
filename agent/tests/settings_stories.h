/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_stories.h: what somebody sets on a real server behind its agent's back: semi-sync is set right, and told; a
 * server that has no order is closed.
 */
#ifndef KM_AGENT_TESTS_SETTINGS_STORIES_H
#define KM_AGENT_TESTS_SETTINGS_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int settings_stories_run(bool mysql);

#endif
