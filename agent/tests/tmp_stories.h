/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmp_stories.h: servers whose temporary files outgrow their bound.
 */
#ifndef KM_AGENT_TESTS_TMP_STORIES_H
#define KM_AGENT_TESTS_TMP_STORIES_H

#include "common/base.h"

/* Returns the exit code. */
int tmp_stories_run(bool mysql);

#endif
