/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_list.h: the names of objects, in the order of their bytes, a page at a time. Blocking: for worker threads.
 *
 * A folder of any size takes memory for STORE_LIST_LEVEL entries: the smallest that have not been told yet are
 * picked, then the next ones. A folder is told only when there is an object below it. Objects that come or go
 * meanwhile are told or not; all others are told exactly once over all pages, or the list fails: only what the file
 * system says to be gone (ENOENT, ENOTDIR) is left out, never what it cannot read.
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
 * told. */
int store_list(const struct store_folder *folder, const struct store_list_query *query,
    bool (*each)(void *arg, const struct store_entry *entry), void *arg, bool *ret_truncated,
    struct store_fault *fault) KM_MUST_CHECK;

#endif
