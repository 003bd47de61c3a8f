/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_position.h: which transactions a dump holds, by what it says itself. Pure.
 *
 *   mariadb-dump   -- SET GLOBAL gtid_slave_pos='0-1-5,1-2-7'; in the head, or (tried with 10.11.19) as one of the
 *                  last lines
 *   mysqldump      SET @@GLOBAL.GTID_PURGED= followed by a comment of its own and '3e11fa47-…:1-5,
 *                  4f22…:1-3'; over as many lines as it takes
 *
 * In the head they stand before the first table. Only the first DUMP_HEAD_MAX and the last DUMP_TAIL_MAX bytes are
 * looked at.
 */
#ifndef KM_AGENT_BACKUP_DUMP_POSITION_H
#define KM_AGENT_BACKUP_DUMP_POSITION_H

#include "common/base.h"

#include "common/position.h"
#include "common/strbuf.h"

#define DUMP_HEAD_MAX ((size_t)(128 * KM_KIB))
#define DUMP_TAIL_MAX (POSITION_TEXT_MAX + (size_t)(8 * KM_KIB))

struct dump_position {
    struct strbuf head; /* what came so far, until it is found or full */
    bool over;
    size_t tail_len;
    char tail[DUMP_TAIL_MAX + 1]; /* what came last */
    bool found;                   /* else the dump does not say, or it takes more than POSITION_TEXT_MAX */
    char *gtid;                   /* owned; "" and found: none */
};

void dump_position_init(struct dump_position *position);
void dump_position_release(struct dump_position *position);
/* Bytes of the dump as they come. */
void dump_position_feed(struct dump_position *position, const char *data, size_t len);
/* That was all: found and gtid are what they stay. */
void dump_position_end(struct dump_position *position);

#endif
