/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/txn.h"

int txn_bits_missing(const struct txn_bits *a, const struct txn_bits *b, int count)
{
    for (int i = 0; i * 64 < count; i++) {
        uint64_t rest = a->words[i] & ~b->words[i];
        if (rest)
            return i * 64 + __builtin_ctzll(rest);
    }
    return -1;
}

static void set_add(struct txn_set *set, const struct txn *txn)
{
    set->upto[txn->source] = MAX_OF(set->upto[txn->source], txn->number);
}

void txn_log_add(const struct txn_table *table, struct txn_log *log, int txn)
{
    log->entries[log->count++] = (uint16_t)txn;
    txn_bits_add(&log->bits, txn);
    set_add(&log->all, &table->all[txn]);
}

void txn_log_commit(const struct txn_table *table, struct txn_log *log, int count)
{
    for (; log->committed < count; log->committed++)
        set_add(&log->done, &table->all[log->entries[log->committed]]);
}

void txn_log_cut(const struct txn_table *table, struct txn_log *log, int count)
{
    struct txn_set none = {{0}};
    for (int i = count; i < log->count; i++)
        txn_bits_drop(&log->bits, log->entries[i]);
    log->count = count;
    log->committed = 0;
    log->durable = count;
    log->all = log->done = none;
    txn_log_commit(table, log, count);
    log->all = log->done;
}

void txn_log_clear(struct txn_log *log)
{
    log->count = log->committed = log->durable = log->base = 0;
    memset(&log->bits, 0, sizeof(log->bits));
    memset(&log->all, 0, sizeof(log->all));
    memset(&log->done, 0, sizeof(log->done));
}

void txn_log_copy(const struct txn_table *table, const struct txn_log *from, int count, struct txn_log *to)
{
    txn_log_clear(to);
    for (int i = 0; i < count; i++)
        txn_log_add(table, to, from->entries[i]);
    txn_log_commit(table, to, count);
    to->base = to->durable = count;
}

void txn_queue_clear(struct txn_queue *queue)
{
    queue->count = queue->at = 0;
    memset(&queue->all, 0, sizeof(queue->all));
}

void txn_queue_add(const struct txn_table *table, struct txn_queue *queue, int txn)
{
    if (queue->at == queue->count && queue->at > 0)
        queue->at = queue->count = 0;
    queue->entries[queue->count++] = (uint16_t)txn;
    set_add(&queue->all, &table->all[txn]);
}

int txn_log_last(const struct txn_log *log)
{
    return log->count > 0 ? log->entries[log->count - 1] : -1;
}

bool txn_same_gtid(const struct txn *a, const struct txn *b)
{
    return a->number == b->number && a->source == b->source;
}

/* printf would take a tenth of a run's time. Returns where the NUL is. */
static char *print_number(char *out, uint32_t number)
{
    char digits[10];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        *out++ = digits[--count];
    *out = '\0';
    return out;
}

uint32_t txn_server_id(int source)
{
    return TXN_SERVER_ID_BASE + (uint32_t)source;
}

void txn_uuid(int source, char out[static 37])
{
    static const char digits[] = "0123456789abcdef";
    memcpy(out, "00000000-1000-4000-8000-000000000000", 37);
    out[6] = out[34] = digits[(source + 1) >> 4 & 15];
    out[7] = out[35] = digits[(source + 1) & 15];
}

void txn_gtid(const struct txn *txn, bool mariadb, char *out, size_t size)
{
    char text[64] = "0-", *end;
    if (mariadb) {
        end = print_number(text + 2, txn_server_id(txn->source));
        *end++ = '-';
    } else {
        txn_uuid(txn->source, text);
        end = text + 36;
        *end++ = ':';
    }
    end = print_number(end, txn->number);
    if (size > 0)
        out[0] = '\0';
    if (size > (size_t)(end - text))
        memcpy(out, text, (size_t)(end - text) + 1);
}

void txn_set_print(const struct txn_set *a, const struct txn_set *b, int sources, char *out, size_t size)
{
    char *end = out;
    *end = '\0';
    for (int i = 0; i < sources; i++) {
        uint32_t upto = b ? MAX_OF(a->upto[i], b->upto[i]) : a->upto[i];
        if (upto == 0)
            continue;
        if (end != out)
            *end++ = ',';
        txn_uuid(i, end);
        memcpy(end + 36, ":1", 3);
        end += 38;
        if (upto > 1) {
            *end++ = '-';
            end = print_number(end, upto);
        }
        if ((size_t)(end - out) + 64 > size) {
            memcpy(out + size - 8, POSITION_TOO_LONG, sizeof(POSITION_TOO_LONG));
            return;
        }
    }
}
