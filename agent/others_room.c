/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/others_room.h"

#include "common/hashmap.h"

/* A newcomer takes the place of the one that has been silent for longest. */
void others_room_note(struct others_room *room, const char *name, const struct others_word *word, int64_t now_ms)
{
    uint64_t who = hash64(HASH64_INIT, name, strlen(name));
    size_t place = 0;

    for (size_t i = 0; i < OTHERS_ROOM_MAX; i++) {
        if (room->members[i].ms && room->members[i].who == who) {
            place = i;
            break;
        }
        if (room->members[i].ms < room->members[place].ms)
            place = i;
    }
    room->members[place].who = who;
    room->members[place].ms = now_ms;
    room->members[place].pause_ms = word->pause_ms ? MIN_OF(word->pause_ms, OTHERS_PAUSE_MS) : OTHERS_PAUSE_MS;
    room->members[place].is_short = word->is_short || word->is_last;
    room->members[place].is_last = word->is_last;
}

struct others_count {
    uint32_t all, is_short, is_last;
};

static struct others_count count(const struct others_room *room, int64_t now_ms)
{
    struct others_count found = {0};

    for (size_t i = 0; i < OTHERS_ROOM_MAX; i++) {
        if (!room->members[i].ms || now_ms - room->members[i].ms >= OTHERS_ROOM_MS)
            continue;
        found.all++;
        found.is_short += room->members[i].is_short;
        found.is_last += room->members[i].is_last;
    }
    return found;
}

uint32_t others_room_count(const struct others_room *room, int64_t now_ms)
{
    struct others_count found = count(room, now_ms);

    return found.all - found.is_short;
}

bool others_room_misses(const struct others_room *room, int64_t now_ms)
{
    for (size_t i = 0; i < OTHERS_ROOM_MAX; i++) {
        int64_t silent_ms = now_ms - room->members[i].ms, pause_ms = room->members[i].pause_ms;
        bool is_late = silent_ms >= pause_ms + MAX_OF(pause_ms / 2, OTHERS_LATE_MS);
        if (room->members[i].ms && is_late && silent_ms < OTHERS_GONE_MS)
            return true;
    }
    return false;
}

bool others_room_lacks(const struct others_room *room, uint32_t acks, int64_t now_ms)
{
    struct others_count found = count(room, now_ms);

    return found.is_short > 0 && found.all - found.is_short < MAX_OF(acks, 1U);
}

bool others_room_is_last(const struct others_room *room, uint32_t acks, int64_t now_ms)
{
    struct others_count found = count(room, now_ms);

    return found.is_last > 0 && found.all - found.is_last < MAX_OF(acks, 1U);
}
