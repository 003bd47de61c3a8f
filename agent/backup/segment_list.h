/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_list.h: the names of an archive's objects (common/binlog_segment.h) as entries: one for the .json and the
 * .log of a segment, in the order of the chain. Pure.
 */
#ifndef KM_AGENT_BACKUP_SEGMENT_LIST_H
#define KM_AGENT_BACKUP_SEGMENT_LIST_H

#include "common/base.h"

#include "common/binlog_segment.h"
#include "common/error.h"

/* Two years of one a minute; 32 bytes each. */
#define SEGMENT_NAMES_MAX ((size_t)1000 * 1000)

struct segment_entry {
    struct binlog_segment_name name;
    bool has_meta, has_log;
};

struct segment_list {
    struct segment_entry *entries; /* owned */
    size_t count, capacity;
};

void segment_list_release(struct segment_list *list);
/* An object's name, with folders or without, in any order; others than segments' are ignored. ERROR_TOO_LARGE. */
int segment_list_add(struct segment_list *list, const char *object, struct error *err) KM_MUST_CHECK;
/* After all names: one entry each, in their order. */
void segment_list_sort(struct segment_list *list);
/* After that: drops what has no .json. A .log alone is on its way, or was left, and is no segment. */
void segment_list_drop_logs(struct segment_list *list);

#endif
