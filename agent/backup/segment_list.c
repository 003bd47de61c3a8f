/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/segment_list.h"

#include "common/alloc.h"

void segment_list_release(struct segment_list *list)
{
    free(list->entries);
    *list = (struct segment_list){0};
}

int segment_list_add(struct segment_list *list, const char *object, struct error *err)
{
    const char *slash = strrchr(object, '/');
    struct segment_entry entry = {0};
    bool is_meta = false;

    if (!binlog_segment_name_parse(slash ? slash + 1 : object, &entry.name, &is_meta))
        return 0;
    if (list->count >= 2 * SEGMENT_NAMES_MAX)
        return error_set(err, ERROR_TOO_LARGE, "there are more than %zu archived segments", SEGMENT_NAMES_MAX);
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 256;
        list->entries = xreallocarray(list->entries, list->capacity, sizeof(*list->entries));
    }
    entry.has_meta = is_meta;
    entry.has_log = !is_meta;
    list->entries[list->count++] = entry;
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    return binlog_segment_name_compare(
        &((const struct segment_entry *)left)->name, &((const struct segment_entry *)right)->name);
}

void segment_list_sort(struct segment_list *list)
{
    size_t kept = 0;

    if (list->count > 0)
        qsort(list->entries, list->count, sizeof(*list->entries), compare_entries);
    for (size_t i = 0; i < list->count; i++) {
        struct segment_entry *last = kept ? &list->entries[kept - 1] : NULL;
        if (last && compare_entries(last, &list->entries[i]) == 0) {
            last->has_meta |= list->entries[i].has_meta;
            last->has_log |= list->entries[i].has_log;
        } else {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->count = kept;
}

void segment_list_drop_logs(struct segment_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].has_meta)
            list->entries[kept++] = list->entries[i];
    }
    list->count = kept;
}
