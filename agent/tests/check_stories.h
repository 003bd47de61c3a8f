/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_stories.h: PUT /v1/check with a real server: what is whole, what is missing, what is damaged. The cases share a
 * pod and run in order.
 */
#ifndef KM_AGENT_TESTS_CHECK_STORIES_H
#define KM_AGENT_TESTS_CHECK_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int check_stories_run(bool mysql);

#endif
