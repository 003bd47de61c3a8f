/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/volume_room.h"

#define SECOND_MS 1000

/* What was filled within less than a second was filled within that second at least. */
static void note_filling(struct volume_room *room, uint64_t free_bytes, int64_t at_ms)
{
    size_t slot = (size_t)(at_ms / SECOND_MS) % ARRAY_LEN(room->seconds);
    int64_t took_ms = at_ms - room->since_ms;

    if (!room->since_ms || free_bytes >= room->since_free_bytes) {
        bool is_over = !room->since_ms || took_ms >= SECOND_MS || free_bytes > room->since_free_bytes;
        room->since_ms = is_over ? at_ms : room->since_ms;
        room->since_free_bytes = is_over ? free_bytes : room->since_free_bytes;
        return;
    }
    uint64_t used = room->since_free_bytes - free_bytes;
    uint64_t bytes_per_s = took_ms > SECOND_MS ? used * SECOND_MS / (uint64_t)took_ms : used;
    if (at_ms - room->seconds[slot].at_ms >= SECOND_MS || bytes_per_s > room->seconds[slot].bytes_per_s) {
        room->seconds[slot].at_ms = at_ms;
        room->seconds[slot].took_ms = MAX_OF(took_ms, SECOND_MS);
        room->seconds[slot].bytes_per_s = bytes_per_s;
        room->seconds[slot].free_bytes = room->since_free_bytes;
    }
    if (took_ms >= SECOND_MS) {
        room->since_ms = at_ms;
        room->since_free_bytes = free_bytes;
    }
}

/* In the VOLUME_FILLING_OVER_S seconds that end with this one: a short burst is no speed that lasts. */
static uint64_t filling_until(const struct volume_room *room, int64_t at_ms)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < ARRAY_LEN(room->seconds); i++) {
        int64_t before_ms = at_ms - room->seconds[i].at_ms;
        int64_t counts_ms = MIN_OF(room->seconds[i].took_ms, VOLUME_FILLING_OVER_S * SECOND_MS - before_ms);
        if (room->seconds[i].at_ms && before_ms >= 0 && counts_ms > 0)
            bytes += room->seconds[i].bytes_per_s * (uint64_t)counts_ms / SECOND_MS;
    }
    return bytes / VOLUME_FILLING_OVER_S;
}

static uint64_t fastest_filling(const struct volume_room *room, int64_t at_ms)
{
    uint64_t fastest = 0;

    for (size_t i = 0; i < ARRAY_LEN(room->seconds); i++) {
        int64_t ended_ms = room->seconds[i].at_ms;
        if (ended_ms && at_ms - ended_ms < VOLUME_FILLING_WINDOW_S * SECOND_MS)
            fastest = MAX_OF(fastest, filling_until(room, ended_ms));
    }
    return fastest;
}

/* growth_bytes: what is taken before anybody can be stopped. */
static uint64_t floor_of(uint64_t bytes, uint64_t growth_bytes)
{
    uint64_t percent = MIN_OF(bytes / 100 * VOLUME_FLOOR_PERCENT, VOLUME_FLOOR_PERCENT_MAX);

    return MAX_OF(MAX_OF(VOLUME_FLOOR_MIN, percent), MIN_OF(growth_bytes, bytes / 4));
}

bool volume_room_look(
    struct volume_room *room, uint64_t free_bytes, uint64_t bytes, uint64_t extension_bytes, int64_t at_ms)
{
    bool was_short = room->is_short;

    if (!bytes)
        return false;
    note_filling(room, free_bytes, at_ms);
    room->floor = floor_of(bytes, MAX_OF(fastest_filling(room, at_ms) * VOLUME_FILLING_S, extension_bytes));
    room->calm_floor = floor_of(bytes, extension_bytes);
    room->bytes = bytes;
    room->free_bytes = free_bytes;
    room->at_ms = at_ms;
    room->is_short = free_bytes < (was_short ? volume_room_enough(room) : room->floor);
    if (room->is_short && !was_short)
        room->short_since_ms = at_ms;
    room->is_last = free_bytes < VOLUME_LAST_FLOOR + (room->is_last ? VOLUME_LAST_FLOOR / 4 : 0);
    return room->is_short != was_short;
}

void volume_room_skip(struct volume_room *room)
{
    room->since_ms = 0;
}

static uint64_t enough(uint64_t floor)
{
    return floor + floor / 4;
}

uint64_t volume_room_enough(const struct volume_room *room)
{
    return enough(room->floor);
}

bool volume_room_passes(const struct volume_room *room)
{
    return room->is_short && room->free_bytes >= enough(room->calm_floor);
}

/* The most that was free at any look since then, as far as looks are remembered. */
static uint64_t most_free_since(const struct volume_room *room, int64_t at_ms)
{
    uint64_t most = room->free_bytes;

    for (size_t i = 0; i < ARRAY_LEN(room->seconds); i++) {
        if (room->seconds[i].at_ms && room->seconds[i].at_ms >= at_ms - SECOND_MS && room->seconds[i].free_bytes > most)
            most = room->seconds[i].free_bytes;
    }
    return most;
}

bool volume_room_ends(const struct volume_room *room, uint64_t free_bytes, int64_t age_ms, int64_t now_ms)
{
    uint64_t before = most_free_since(room, now_ms - age_ms);
    uint64_t written = before > free_bytes ? before - free_bytes : 0;

    return free_bytes < room->floor / 2 || (age_ms >= SECOND_MS && free_bytes < written + VOLUME_LAST_FLOOR);
}

bool volume_room_is_low(uint64_t free_bytes, uint64_t bytes, bool is_short)
{
    return bytes && (is_short || free_bytes < VOLUME_FLOOR_MIN || free_bytes < bytes / 100 * VOLUME_WARN_PERCENT);
}

static uint64_t step_mib(uint64_t volume_bytes)
{
    return MAX_OF(volume_bytes / 256 / KM_MIB, 1ULL);
}

uint64_t volume_room_rounded_mib(uint64_t value_bytes, uint64_t volume_bytes)
{
    uint64_t step = step_mib(volume_bytes);

    return value_bytes / KM_MIB / step * step;
}

uint64_t volume_room_rounded_up_mib(uint64_t value_bytes, uint64_t volume_bytes)
{
    uint64_t step = step_mib(volume_bytes);

    return (value_bytes + step * KM_MIB - 1) / KM_MIB / step * step;
}
