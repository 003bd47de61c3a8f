/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial_stories.h: the check pod of a change that needs a start, on real servers: what a look at the options lets pass
 * and a start refuses, with the option's name; sizes that no volume would hold; and the question to a running server
 * whether it needs a restart at all.
 */
#ifndef KM_AGENT_TESTS_TRIAL_STORIES_H
#define KM_AGENT_TESTS_TRIAL_STORIES_H

/* root: as of agent_rig_new_in. For main(). */
int trial_stories_run(const char *root);

#endif
