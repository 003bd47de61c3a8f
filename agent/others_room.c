/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/others_room.h"

#include "common/hashmap.h"

/* A newcomer takes the place of the one that has been silent for longest. */
void others_room_note(struct others_room *room, const char *name, bool is_short, int64_t now_ms)
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
    room->members[place].is_short = is_short;
}

static uint32_t count(const struct others_room *room, bool is_short, int64_t now_ms)
{
    uint32_t found = 0;

    for (size_t i = 0; i < OTHERS_ROOM_MAX; i++)
        found += room->members[i].ms && now_ms - room->members[i].ms < OTHERS_ROOM_MS &&
            room->members[i].is_short == is_short;
    return found;
}

uint32_t others_room_count(const struct others_room *room, int64_t now_ms)
{
    return count(room, false, now_ms);
}

bool others_room_lacks(const struct others_room *room, uint32_t acks, int64_t now_ms)
{
    return count(room, true, now_ms) > 0 && count(room, false, now_ms) < MAX_OF(acks, 1U);
}
