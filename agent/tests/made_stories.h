/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made_stories.h: what a data folder is made with, and the tables of time zones, in one family of servers.
 */
#ifndef KM_AGENT_TESTS_MADE_STORIES_H
#define KM_AGENT_TESTS_MADE_STORIES_H

/* root: as of agent_rig_new_in. For main(). */
int made_stories_run(const char *root);

#endif
