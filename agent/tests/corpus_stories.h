/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus_stories.h: backups and archives that an earlier version wrote are restored and replayed by this one, with a
 * real server.
 *
 * agent/tests/data/corpus-COMMIT has one folder for each FLAVOUR-METHOD-SEAL: prod (what lay in the store: a backup of
 * d.t with rows 1 to 5, and an archive of binary logs up to row 30, with changes of other tables between rows 20 and
 * 21) and facts.json (a moment between rows 15 and 16, the position behind row 17, and that at the end). The key is 32
 * bytes of 7. It is never written anew: what is stored must stay readable.
 */
#ifndef KM_AGENT_TESTS_CORPUS_STORIES_H
#define KM_AGENT_TESTS_CORPUS_STORIES_H

#include "common/base.h"

/* root: as of agent_rig_new_in. Returns what cmocka does. */
int corpus_stories_run(const char *root);

#endif
