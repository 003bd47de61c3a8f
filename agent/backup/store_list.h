/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_list.h: the names of objects, in the order of their bytes, a page at a time. Blocking: for worker threads.
 *
 * A folder of any size needs memory for STORE_LIST_LEVEL entries: the smallest names that are not listed yet are
 * selected, then the next ones. A folder is listed only if there is an object below it. An object that is made or
 * removed meanwhile may be listed or not; every other object is listed exactly once over all pages, or the request
 * fails: a name is left out only if the file system reports that it does not exist (ENOENT, ENOTDIR), never because it
 * cannot be read.
 */
#ifndef KM_AGENT_BACKUP_STORE_LIST_H
#define KM_AGENT_BACKUP_STORE_LIST_H

#include "common/base.h"

#include "agent/backup/store_fault.h"
#include "agent/backup/store_folder.h"
#include "agent/backup/store_request.h"

#define STORE_LIST_LEVEL 512

struct store_entry {
    const char *name; /* whole; valid during the call; a folder's ends in "/" */
    bool is_folder;
    uint64_t bytes;
    int64_t modified_ms;
};

/* each: false when it has no room for this one, which is then the first of the next page. At most query->max are
 * listed. */
int store_list(const struct store_folder *folder, const struct store_list_query *query,
    bool (*each)(void *arg, const struct store_entry *entry), void *arg, bool *ret_truncated,
    struct store_fault *fault) KM_MUST_CHECK;

#endif
