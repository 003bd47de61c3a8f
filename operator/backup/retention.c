/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/retention.h"

#include "operator/api/calendar.h"

#define DAY_MS (CALENDAR_DAY_SECONDS * 1000LL)

static int newer_first(const void *a, const void *b)
{
    const struct retention_item *left = a, *right = b;
    if (left->begun_ms != right->begun_ms)
        return left->begun_ms > right->begun_ms ? -1 : 1;
    if (left->ended_ms != right->ended_ms)
        return left->ended_ms > right->ended_ms ? -1 : 1;
    return strcmp(right->name, left->name);
}

static int64_t local_day(const struct time_zone *zone, int64_t realtime_ms)
{
    struct time_zone_span span;
    int64_t utc_s = realtime_ms / 1000;
    time_zone_span_at(zone, utc_s, &span);
    return calendar_day_of_second(utc_s + span.offset_s);
}

/* Of its Monday. Day 0 was a Thursday. */
static int64_t week_of_day(int64_t day)
{
    return day - (calendar_weekday(day) + 6) % 7;
}

/* Which ones a rule is about. */
enum kind {
    KIND_FAILED,
    KIND_GOOD,
    KIND_SOUND, /* good, and no drill says otherwise */
    KIND_PROVEN,
};

static bool is_of(const struct retention_item *item, enum kind kind)
{
    if (kind == KIND_FAILED || !item->good)
        return kind == KIND_FAILED && !item->good;
    return kind == KIND_GOOD || (kind == KIND_SOUND ? !item->doubtful : item->proven);
}

/* The newest one of each of the `wanted` last days, or weeks, that have one. */
static void keep_periods(
    enum kind kind, const struct time_zone *zone, int wanted, bool weeks, struct retention_item *items, size_t count)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < count && wanted > 0; i++) {
        if (!is_of(&items[i], kind))
            continue;
        int64_t day = local_day(zone, items[i].begun_ms);
        int64_t period = weeks ? week_of_day(day) : day;
        if (period == last)
            continue;
        last = period;
        items[i].remove = false;
        wanted--;
    }
}

static void keep_newest(enum kind kind, int wanted, struct retention_item *items, size_t count)
{
    for (size_t i = 0; i < count && wanted > 0; i++) {
        if (is_of(&items[i], kind)) {
            items[i].remove = false;
            wanted--;
        }
    }
}

static void keep_younger(enum kind kind, int64_t since_ms, struct retention_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_of(&items[i], kind) && items[i].ended_ms >= since_ms)
            items[i].remove = false;
    }
}

static void keep_link(enum kind kind, int64_t floor_ms, struct retention_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_of(&items[i], kind) && items[i].ended_ms <= floor_ms) {
            items[i].remove = false;
            return;
        }
    }
}

static int64_t newest_ms(enum kind kind, const struct retention_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_of(&items[i], kind))
            return items[i].ended_ms;
    }
    return 0;
}

static void keep_wanted(enum kind kind, const struct backup_keep *keep, const struct time_zone *zone, int64_t floor_ms,
    struct retention_item *items, size_t count)
{
    keep_newest(kind, MAX_OF(1, keep->last), items, count);
    keep_periods(kind, zone, keep->daily, false, items, count);
    keep_periods(kind, zone, keep->weekly, true, items, count);
    if (keep->days > 0) {
        int64_t since_ms = newest_ms(kind, items, count) - keep->days * DAY_MS;
        keep_younger(kind, since_ms, items, count);
        keep_link(kind, since_ms, items, count);
    }
    if (floor_ms > 0)
        keep_link(kind, floor_ms, items, count);
}

void retention_decide(const struct backup_keep *keep, const struct time_zone *zone, int64_t floor_ms,
    struct retention_item *items, size_t count)
{
    if (count > 1)
        qsort(items, count, sizeof(*items), newer_first);
    for (size_t i = 0; i < count; i++)
        items[i].remove = !items[i].held && (!items[i].good || keep->present);
    keep_newest(KIND_FAILED, RETENTION_FAILED_MAX, items, count);
    keep_newest(KIND_PROVEN, 1, items, count);
    keep_wanted(KIND_GOOD, keep, zone, floor_ms, items, count);
    keep_wanted(KIND_SOUND, keep, zone, floor_ms, items, count);
}
