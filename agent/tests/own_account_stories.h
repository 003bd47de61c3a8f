/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_account_stories.h: the agents' own account, dropped by another hand: on the primary, on a replica alone,
 * and where no connection is left.
 */
#ifndef KM_AGENT_TESTS_OWN_ACCOUNT_STORIES_H
#define KM_AGENT_TESTS_OWN_ACCOUNT_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int own_account_stories_run(bool mysql);

#endif
