/* SPDX-License-Identifier: Apache-2.0 */
/* A segment's description of anybody, a name of an object, a task: refused, or whole; what was accepted is written and
 * read as the same. */
#include "common/base.h"

#include "common/alloc.h"
#include "common/archive_task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void segment_again(const struct binlog_segment *segment)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    _cleanup_(strbuf_release) struct strbuf text;
    struct binlog_segment again;

    strbuf_init(&text, 2 * BINLOG_SEGMENT_META_MAX);
    binlog_segment_encode(segment, NULL, &text);
    /* Characters that had been escaped may take more room now. */
    if (text.len > BINLOG_SEGMENT_META_MAX)
        return;
    if (binlog_segment_decode(text.buf, text.len, NULL, positions, &again, NULL) < 0)
        abort();
    if (strcmp(again.until, segment->until) != 0 || again.name.sequence != segment->name.sequence ||
        again.gap != segment->gap || again.count != segment->count)
        abort();
}

static void name_again(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *text = xstrndup((const char *)data, size);
    struct binlog_segment_name name;
    char again[BINLOG_SEGMENT_NAME_SIZE];
    bool is_meta = false;

    if (!binlog_segment_name_parse(text, &name, &is_meta))
        return;
    binlog_segment_name_print(&name, again);
    if (strncmp(text, again, strlen(again)) != 0 || strcmp(text + strlen(again), is_meta ? ".json" : ".log") != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment segment;
    struct archive_task task;

    if (binlog_segment_decode((const char *)data, size, NULL, positions, &segment, NULL) == 0 && !segment.sealed)
        segment_again(&segment);
    if (archive_task_decode((const char *)data, size, &task, NULL) == 0)
        archive_task_release(&task);
    if (size > 0)
        name_again(data, size);
    return 0;
}
