/* SPDX-License-Identifier: Apache-2.0 */
/*
 * others_room.h: whether the members whose acknowledgements a primary's commits wait for have room on their volumes.
 * Pure.
 *
 * A replica says so with each question to its source's agent (agent_api.h: GET /v1/status?room=short|enough). What it
 * said counts for OTHERS_ROOM_MS: one that fell silent for want of room has none. One that says nothing of it, as of an
 * earlier version, counts as one that has room. One that says "floor=last" as well has less than VOLUME_LAST_FLOOR.
 */
#ifndef KM_AGENT_OTHERS_ROOM_H
#define KM_AGENT_OTHERS_ROOM_H

#include "common/base.h"

#define OTHERS_ROOM_MS 30000
#define OTHERS_ROOM_MAX 16

struct others_room {
    struct {
        uint64_t who; /* hash of its name */
        int64_t ms;   /* 0: nobody */
        uint32_t pause_ms;
        bool is_short, is_last;
    } members[OTHERS_ROOM_MAX];
};

/* Each says after how long it asks again: one that has not, and not for OTHERS_LATE_MS more, or for half of that time,
 * is missed, until it counts as gone. */
#define OTHERS_PAUSE_MS 1000 /* of one that does not say it */
#define OTHERS_LATE_MS 300
#define OTHERS_GONE_MS 10000

struct others_word {
    bool is_short, is_last;
    uint32_t pause_ms; /* after how long it asks again; 0: it does not say */
};

void others_room_note(struct others_room *room, const char *name, const struct others_word *word, int64_t now_ms);
/* Replicas that have room. */
uint32_t others_room_count(const struct others_room *room, int64_t now_ms);
/* One that asked has just fallen silent: it may be cut off. */
bool others_room_misses(const struct others_room *room, int64_t now_ms);
/* Somebody is short of it, and fewer than `acks` (0 counts as 1) others have some. */
bool others_room_lacks(const struct others_room *room, uint32_t acks, int64_t now_ms);
/* Likewise, of those that have hardly any. */
bool others_room_is_last(const struct others_room *room, uint32_t acks, int64_t now_ms);

#endif
