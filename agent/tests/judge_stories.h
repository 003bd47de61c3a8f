/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_stories.h: what a member has set aside, judged by the open primary (set_aside_judge.h): three real servers and
 * agents on loopback. The same for every family.
 */
#ifndef KM_AGENT_TESTS_JUDGE_STORIES_H
#define KM_AGENT_TESTS_JUDGE_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int judge_stories_run(bool mysql);

#endif
