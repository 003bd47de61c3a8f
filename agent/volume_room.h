/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_room.h: how much room the data volume has to keep, and whether it has it. Pure.
 *
 * A server that meets a full volume ends, or hangs: MySQL aborts when its binary log cannot be written, MariaDB when
 * InnoDB cannot. So a primary is closed for writes while there is still room for what is under way. The room that it
 * needs for that is the floor, the largest of
 *   VOLUME_FLOOR_MIN,
 *   VOLUME_FLOOR_PERCENT of the volume, but VOLUME_FLOOR_PERCENT_MAX at most,
 *   what VOLUME_FILLING_S seconds of the fastest filling of the last minute take, measured over
 *   VOLUME_FILLING_OVER_S seconds,
 *   the next extension of a data file;
 * the last two count up to a quarter of the volume, since nobody could use a small one otherwise.
 *
 * Once there is less than the floor, there is too little until a quarter of the floor more is free. The fastest filling
 * is forgotten after a minute, also while there is too little: who fills a volume as fast again is closed again, and so
 * gets what is left above the rest of the floor bit by bit.
 */
#ifndef KM_AGENT_VOLUME_ROOM_H
#define KM_AGENT_VOLUME_ROOM_H

#include "common/base.h"

#include "common/agent_order.h"

#define VOLUME_FLOOR_MIN (64ULL * KM_MIB)
#define VOLUME_FLOOR_PERCENT 3
#define VOLUME_FLOOR_PERCENT_MAX (2048ULL * KM_MIB)
#define VOLUME_FILLING_S 10
#define VOLUME_FILLING_OVER_S 3
#define VOLUME_FILLING_WINDOW_S 60
/* Below this a primary is closed for root, too, whatever an annotation says. */
#define VOLUME_LAST_FLOOR AGENT_ROOT_FLOOR_BYTES
/* People should hear of it before writes end. */
#define VOLUME_WARN_PERCENT 5

struct volume_room {
    uint64_t bytes, free_bytes; /* of the latest look; bytes 0: there was none */
    int64_t at_ms;
    uint64_t floor;
    uint64_t calm_floor; /* what the floor is where nothing was filled within the last minute */
    bool is_short;       /* less is free than the floor, or was, and not enough more is */
    int64_t short_since_ms;
    bool is_last; /* less is free than VOLUME_LAST_FLOOR, or was, and not a quarter of it more is */

    /* How fast it fills. */
    int64_t since_ms; /* the look that the second under way began with; 0: none */
    uint64_t since_free_bytes;
    struct {
        int64_t at_ms;   /* its latest look */
        int64_t took_ms; /* longer than a second where there was no look meanwhile */
        uint64_t bytes_per_s;
        uint64_t free_bytes; /* at its beginning */
    } seconds[VOLUME_FILLING_WINDOW_S];
};

/* A look at the volume. extension_bytes: by how much the server extends a data file next; 0: not known. at_ms must not
 * go back. True: is_short has changed. */
bool volume_room_look(
    struct volume_room *room, uint64_t free_bytes, uint64_t bytes, uint64_t extension_bytes, int64_t at_ms);

/* What is taken until the next look is taken by ourselves: it is no filling. */
void volume_room_skip(struct volume_room *room);

/* How much has to be free for is_short to end. */
uint64_t volume_room_enough(const struct volume_room *room);
/* It is short for the speed alone at which it was filled: within a minute what is free now is enough, unless somebody
 * fills it as fast again. */
bool volume_room_passes(const struct volume_room *room);
/* Whether somebody who writes, in a transaction that has run for age_ms, is to be ended, now that so much is free: less
 * than half of the floor; or its commit may not find room. That writes into the binary log about as much as has gone
 * into data files since it began. */
bool volume_room_ends(const struct volume_room *room, uint64_t free_bytes, int64_t age_ms, int64_t now_ms);
/* People should hear of it: it is short, or little more than the floor is free. False: there was no look. */
bool volume_room_is_low(uint64_t free_bytes, uint64_t bytes, bool is_short);

/* For a text: rounded down such that it does not change with every row. */
uint64_t volume_room_rounded_mib(uint64_t value_bytes, uint64_t volume_bytes);
/* Likewise rounded up: what is less is less in the text, too. */
uint64_t volume_room_rounded_up_mib(uint64_t value_bytes, uint64_t volume_bytes);

#endif
