/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/binlog_limit.h"

static uint64_t sum(const uint64_t *bytes, size_t n)
{
    uint64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += bytes[i];
    return all;
}

/* A quarter of the floor more, so that what is made room for is not all that is gained. */
uint64_t binlog_limit_lacking(const struct volume_room *room)
{
    uint64_t twice = 2 * room->floor;

    return room->bytes && room->free_bytes < twice ? twice + room->floor / 4 - room->free_bytes : 0;
}

size_t binlog_limit_count(const uint64_t *bytes, size_t n, uint64_t max_bytes, uint64_t lacking_bytes)
{
    uint64_t rest = sum(bytes, n), gone = 0;
    size_t count = 0;

    while (count + 1 < n && ((max_bytes && rest > max_bytes) || gone < lacking_bytes)) {
        rest -= bytes[count];
        gone += bytes[count++];
    }
    return count;
}

bool binlog_limit_rotates(const uint64_t *bytes, size_t n, const struct volume_room *room)
{
    uint64_t lacking = binlog_limit_lacking(room);

    return n && lacking && room->free_bytes >= VOLUME_LAST_FLOOR && bytes[n - 1] >= BINLOG_ROTATE_BYTES &&
        sum(bytes, n - 1) < lacking;
}
