#include "common/base.h"

#include "agent/backup/archive_chain.h"

#include "common/alloc.h"

void archive_chain_release(struct archive_chain *chain)
{
    free(chain->entries);
    *chain = (struct archive_chain){0};
}

int archive_chain_add(struct archive_chain *chain, const char *object, struct error *err)
{
    const char *slash = strrchr(object, '/');
    struct archive_entry entry = {0};
    bool is_meta = false;

    if (!binlog_segment_name_parse(slash ? slash + 1 : object, &entry.name, &is_meta))
        return 0;
    if (chain->count >= 2 * ARCHIVE_NAMES_MAX)
        return error_set(err, ERROR_TOO_LARGE, "there are more than %zu archived segments", ARCHIVE_NAMES_MAX);
    if (chain->count == chain->capacity) {
        chain->capacity = chain->capacity ? chain->capacity * 2 : 256;
        chain->entries = xreallocarray(chain->entries, chain->capacity, sizeof(*chain->entries));
    }
    entry.has_meta = is_meta;
    entry.has_log = !is_meta;
    chain->entries[chain->count++] = entry;
    return 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int archive_name_compare(const struct binlog_segment_name *a, const struct binlog_segment_name *b)
{
    int rc = compare_numbers(a->epoch, b->epoch);

    if (rc == 0)
        rc = compare_numbers(a->sequence, b->sequence);
    return rc ? rc : compare_numbers((uint64_t)a->archived_ms, (uint64_t)b->archived_ms);
}

bool archive_name_same_place(const struct binlog_segment_name *a, const struct binlog_segment_name *b)
{
    return a->epoch == b->epoch && a->sequence == b->sequence;
}

static int compare_entries(const void *left, const void *right)
{
    return archive_name_compare(
        &((const struct archive_entry *)left)->name, &((const struct archive_entry *)right)->name);
}

void archive_chain_sort(struct archive_chain *chain)
{
    size_t kept = 0;

    if (chain->count > 0)
        qsort(chain->entries, chain->count, sizeof(*chain->entries), compare_entries);
    for (size_t i = 0; i < chain->count; i++) {
        struct archive_entry *last = kept ? &chain->entries[kept - 1] : NULL;
        if (last && compare_entries(last, &chain->entries[i]) == 0) {
            last->has_meta |= chain->entries[i].has_meta;
            last->has_log |= chain->entries[i].has_log;
        } else {
            chain->entries[kept++] = chain->entries[i];
        }
    }
    chain->count = kept;
}

bool archive_chain_newest(const struct archive_chain *chain, size_t *ret_first, size_t *ret_end)
{
    size_t end = chain->count;

    while (end > 0 && !chain->entries[end - 1].has_meta)
        end--;
    if (end == 0)
        return false;
    size_t first = end - 1;
    while (first > 0 && archive_name_same_place(&chain->entries[first - 1].name, &chain->entries[end - 1].name))
        first--;
    *ret_first = first;
    *ret_end = end;
    return true;
}

/* Whether a chain goes on from a to b. How far an earlier epoch went only its descriptions tell. */
static bool follows(const struct binlog_segment_name *a, const struct binlog_segment_name *b)
{
    if (archive_name_same_place(a, b))
        return true;
    return a->epoch == b->epoch ? a->sequence + 1 == b->sequence : b->sequence == 1;
}

size_t archive_chain_begin(const struct archive_chain *chain, size_t newest, const struct binlog_segment_name *from)
{
    size_t begin = newest;

    for (size_t i = newest; i-- > 0;) {
        const struct archive_entry *entry = &chain->entries[i];
        if (!entry->has_meta)
            continue;
        if (archive_name_compare(&entry->name, from) < 0 || !follows(&entry->name, &chain->entries[begin].name))
            break;
        begin = i;
    }
    return begin;
}

bool archive_entry_is_orphan(const struct archive_entry *entry, int64_t now_ms)
{
    return entry->has_log && !entry->has_meta && entry->name.archived_ms + ARCHIVE_ORPHAN_MS < now_ms;
}

struct binlog_segment_name archive_name_next(
    const struct binlog_segment_name *newest, uint64_t epoch, int64_t now_ms, int64_t after_ms)
{
    bool goes_on = newest->sequence > 0 && newest->epoch == epoch;

    return (struct binlog_segment_name){
        .epoch = epoch,
        .sequence = goes_on ? newest->sequence + 1 : 1,
        .archived_ms = MAX_OF(now_ms / 1000, after_ms / 1000 + 1) * 1000,
    };
}
