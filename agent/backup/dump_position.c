/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/dump_position.h"

#include <ctype.h>

#include "common/alloc.h"

void dump_position_init(struct dump_position *position)
{
    *position = (struct dump_position){0};
    strbuf_init(&position->head, DUMP_HEAD_MAX);
}

void dump_position_release(struct dump_position *position)
{
    strbuf_release(&position->head);
    free(steal_ptr(position->gtid));
}

/* A text between quotes, without white space. False: it does not end here, or is too long. */
static bool take_quoted(struct dump_position *position, const char *at)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, POSITION_TEXT_MAX);
    for (; *at != '\''; at++) {
        if (!*at || text.overflowed)
            return false;
        if (!isspace((unsigned char)*at))
            strbuf_addc(&text, *at);
    }
    if (text.overflowed)
        return false;
    str_replace(&position->gtid, str_or_empty(text.buf));
    position->found = true;
    return true;
}

/* Where the text begins whose end is "';": behind the mark, and behind a comment that holds quotes too. */
static const char *text_begins(const char *head, const char *mark, bool comment)
{
    const char *at = strstr(head, mark);

    if (!at)
        return NULL;
    at += strlen(mark);
    if (comment && str_starts_with(at, "/*")) {
        at = strstr(at, "*/");
        if (!at)
            return NULL;
        at += 2;
    }
    while (isspace((unsigned char)*at))
        at++;
    return *at == '\'' ? at + 1 : NULL;
}

/* A position is in the head before the first table is made: what a table holds is no word of the tool. */
static bool find(struct dump_position *position)
{
    const char *head = position->head.buf;
    const char *maria = text_begins(head, "\n-- SET GLOBAL gtid_slave_pos=", false);
    const char *mysql = text_begins(head, "\nSET @@GLOBAL.GTID_PURGED=", true);
    const char *at = maria ? maria : mysql;
    const char *table = strstr(head, "\nCREATE TABLE ");

    if (!at || (table && table < at))
        return table != NULL;
    return take_quoted(position, at);
}

static void keep_tail(struct dump_position *position, const char *data, size_t len)
{
    if (len >= DUMP_TAIL_MAX) {
        memcpy(position->tail, data + len - DUMP_TAIL_MAX, DUMP_TAIL_MAX);
        position->tail_len = DUMP_TAIL_MAX;
        return;
    }
    size_t kept = MIN_OF(position->tail_len, DUMP_TAIL_MAX - len);
    memmove(position->tail, position->tail + position->tail_len - kept, kept);
    memcpy(position->tail + kept, data, len);
    position->tail_len = kept + len;
}

/* The last one: what stands in a routine comes before it. */
void dump_position_end(struct dump_position *position)
{
    static const char mark[] = "\n-- SET GLOBAL gtid_slave_pos='";
    const char *found = NULL;

    if (!str_empty(position->gtid))
        return;
    for (size_t i = 0; i < position->tail_len; i++)
        position->tail[i] = (char)(position->tail[i] ? position->tail[i] : ' ');
    position->tail[position->tail_len] = '\0';
    for (const char *at = position->tail; (at = strstr(at, mark)); at++)
        found = at + sizeof(mark) - 1;
    if (found)
        (void)take_quoted(position, found);
}

void dump_position_feed(struct dump_position *position, const char *data, size_t len)
{
    keep_tail(position, data, len);
    if (position->over)
        return;
    strbuf_add(&position->head, data, MIN_OF(len, DUMP_HEAD_MAX - position->head.len));
    position->over = find(position) || position->head.len == DUMP_HEAD_MAX;
    if (position->over)
        strbuf_release(&position->head);
}
