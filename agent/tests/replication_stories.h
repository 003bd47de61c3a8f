/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replication_stories.h: three real servers, three agents, orders by HTTP, no Kubernetes. The cases share the members
 * and run in order; they are the same for every family.
 */
#ifndef KM_AGENT_TESTS_REPLICATION_STORIES_H
#define KM_AGENT_TESTS_REPLICATION_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int replication_stories_run(bool mysql);

#endif
