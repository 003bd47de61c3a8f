/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tmp_look.h"

#include <inttypes.h>

#define END "end\n"

size_t tmp_look_render(const struct tmp_look *look, char ret[static TMP_LOOK_TEXT_SIZE])
{
    size_t count = MIN_OF(look->writer_count, TMP_LOOK_WRITERS);
    int len = snprintf(ret, TMP_LOOK_TEXT_SIZE, "%" PRId64 " %" PRIu64 " %zu\n", look->at_ms, look->bytes, count);

    for (size_t i = 0; i < count; i++)
        len += snprintf(ret + len, TMP_LOOK_TEXT_SIZE - (size_t)len, "%" PRIu64 " %" PRIu64 " %" PRId64 "\n",
            look->writers[i].thread, look->writers[i].bytes, look->writers[i].last_ms);
    return (size_t)len + (size_t)snprintf(ret + len, TMP_LOOK_TEXT_SIZE - (size_t)len, END);
}

/* The time alone may be negative, and is not. */
static bool take_number(const char **at, char behind, uint64_t *ret)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    *ret = strtoull(*at, &end, 10);
    if (*end != behind)
        return false;
    *at = end + 1;
    return true;
}

static bool take_writer(const char **at, struct tmp_writer *ret)
{
    uint64_t last = 0;

    if (!take_number(at, ' ', &ret->thread) || !take_number(at, ' ', &ret->bytes) || !take_number(at, '\n', &last))
        return false;
    ret->last_ms = (int64_t)last;
    return true;
}

bool tmp_look_parse(const char *text, struct tmp_look *ret)
{
    uint64_t at_ms = 0, count = 0;

    *ret = (struct tmp_look){0};
    if (!take_number(&text, ' ', &at_ms) || !take_number(&text, ' ', &ret->bytes) ||
        !take_number(&text, '\n', &count) || count > TMP_LOOK_WRITERS)
        return false;
    ret->at_ms = (int64_t)at_ms;
    ret->writer_count = (size_t)count;
    for (size_t i = 0; i < ret->writer_count; i++) {
        if (!take_writer(&text, &ret->writers[i]))
            return false;
    }
    return str_starts_with(text, END);
}

/* ---- the credits ---- */

/* Both lists are in about the same order: the search goes on where it ended. NULL: it is new. */
static const struct tmp_thread *find_before(const struct tmp_ledger *ledger, uint64_t thread, size_t *hint)
{
    for (size_t i = 0; i < ledger->count; i++) {
        size_t at = (*hint + i) % ledger->count;
        if (ledger->threads[at].thread != thread)
            continue;
        *hint = at + 1;
        return &ledger->threads[at];
    }
    return NULL;
}

static uint64_t scaled(uint64_t credit, uint64_t bytes, uint64_t before)
{
    return bytes >= before ? credit : (uint64_t)((double)credit * (double)bytes / (double)before);
}

void tmp_ledger_take(struct tmp_ledger *ledger, struct tmp_thread *threads, size_t count, uint64_t bytes, int64_t at_ms)
{
    uint64_t grown = bytes > ledger->bytes ? bytes - ledger->bytes : 0;
    size_t hint = 0;

    for (size_t i = 0; i < count; i++) {
        const struct tmp_thread *before = find_before(ledger, threads[i].thread, &hint);
        /* The kernel gives a number anew: who has written less is another one. */
        bool is_same = before && before->written <= threads[i].written;
        uint64_t wrote = threads[i].written - (is_same ? before->written : 0);
        uint64_t credit = ledger->has_begun ? MIN_OF(wrote, grown) : 0;
        threads[i].credit = credit + (is_same ? scaled(before->credit, bytes, ledger->bytes) : 0);
        threads[i].credit = MIN_OF(threads[i].credit, bytes);
        threads[i].last_ms = credit >= TMP_LOOK_CREDIT_MIN / 16 ? at_ms : is_same ? before->last_ms : 0;
    }
    free(ledger->threads);
    *ledger = (struct tmp_ledger){.has_begun = true, .bytes = bytes, .threads = threads, .count = count};
}

/* Keeps the largest, in their order. */
static void put_writer(struct tmp_look *look, const struct tmp_thread *thread)
{
    size_t at = look->writer_count;

    while (at > 0 && look->writers[at - 1].bytes < thread->credit)
        at--;
    if (at == TMP_LOOK_WRITERS)
        return;
    size_t moved = MIN_OF(look->writer_count, TMP_LOOK_WRITERS - 1) - at;
    memmove(&look->writers[at + 1], &look->writers[at], moved * sizeof(look->writers[0]));
    look->writers[at] =
        (struct tmp_writer){.thread = thread->thread, .bytes = thread->credit, .last_ms = thread->last_ms};
    look->writer_count = MIN_OF(look->writer_count + 1, TMP_LOOK_WRITERS);
}

void tmp_ledger_fill(const struct tmp_ledger *ledger, struct tmp_look *look)
{
    look->writer_count = 0;
    for (size_t i = 0; i < ledger->count; i++) {
        if (ledger->threads[i].credit >= TMP_LOOK_CREDIT_MIN)
            put_writer(look, &ledger->threads[i]);
    }
}

void tmp_ledger_release(struct tmp_ledger *ledger)
{
    free(ledger->threads);
    *ledger = (struct tmp_ledger){0};
}
