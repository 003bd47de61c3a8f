/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_word.h: what the agent and `kube-mysql-agent archive` say to each other. One round of one child: on
 * descriptor 3 a task (archive_task.h, the only line with secrets), then an order; on standard output a word after each
 * segment and one at the end, each a line of JSON, the last one counts. The end of descriptor 3 ends the child at once.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_WORD_H
#define KM_AGENT_BACKUP_ARCHIVE_WORD_H

#include "common/base.h"

#include "common/archive_task.h"
#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

/* Two positions, and the rest. */
#define ARCHIVE_WORD_MAX (2 * POSITION_TEXT_MAX + (size_t)(64 * KM_KIB))

/* What a round knew at its end. The next one of the same agent may rely on it as far as the store and the logs say the
 * same; without one everything is found out anew. */
struct archive_memory {
    bool known;
    struct binlog_segment_name newest; /* sequence 0: the archive is empty */
    char digest[65];                   /* of its .json */
    struct binlog_segment_name chain;
    char from_gtid[POSITION_TOLD_SIZE]; /* for the report */
    int64_t from_ms;
    int64_t gap_ms;
    const char *until;
    struct position_pool *positions; /* holds that; a reference is owned; NULL: somebody else does */
    int64_t newest_ms;               /* when the newest segment's last transaction was committed */
    /* Where the server's logs were read to: a file of that name, whose beginning has that hash. "": not known. */
    char file[128];
    uint64_t offset, head;
};

struct archive_order {
    uint64_t epoch;
    char writer[64];
    char flavour[16], server_version[64];
    /* held as memory.until is. By the server, as it was looked at last: before the logs are read */
    const char *executed;
    /* segments of this round have later times in their names than any that another child of this agent, or of one
     * before it, has written */
    int64_t named_after_ms;
    struct archive_memory memory;
};

struct archive_word {
    struct archive_memory memory;
    int64_t began_ms;
    uint64_t segments, stored_bytes; /* of this round */
    bool ended, full;                /* full: there is more */
    char error_reason[48];
    char message[256];
};

/* *memory is as zeroed. Fine on a zeroed one. */
void archive_memory_release(struct archive_memory *memory);
/* Releases *to, which becomes a copy with a reference of its own. */
void archive_memory_keep(struct archive_memory *to, const struct archive_memory *from);
void archive_memory_set_until(struct archive_memory *memory, const char *until);

/* With the line break. What was decoded is released by its memory. */
void archive_order_encode(const struct archive_order *order, struct strbuf *out);
int archive_order_decode(const char *text, size_t len, struct archive_order *ret, struct error *err) KM_MUST_CHECK;
void archive_word_encode(const struct archive_word *word, struct strbuf *out);
int archive_word_decode(const char *text, size_t len, struct archive_word *ret, struct error *err) KM_MUST_CHECK;

#endif
