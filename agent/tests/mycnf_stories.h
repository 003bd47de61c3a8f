/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mycnf_stories.h: the my.cnf files that people bring along (operator/api/tests/data/mycnf), as the operator renders
 * them, in one family of servers: each is refused by the check with the key that is at fault, and starts when those
 * keys are taken out.
 */
#ifndef KM_AGENT_TESTS_MYCNF_STORIES_H
#define KM_AGENT_TESTS_MYCNF_STORIES_H

/* root: as of agent_rig_new_in. For main(). */
int mycnf_stories_run(const char *root);

#endif
