/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_zone.h: what clocks on the wall show somewhere: TZif files (RFC 8536), read from memory. Pure.
 *
 * Versions 2 and later only: 64-bit times and the rule for the time behind the table. Everything is bounded
 * (TIME_ZONE_FILE_MAX, TIME_ZONE_CHANGES_MAX) and checked; files that count leap seconds ("right/...") are refused,
 * since clocks of computers do not.
 *
 * A zone is a sequence of spans of constant offset. Where the offset grows, wall times are skipped (a gap); where it
 * shrinks, wall times come twice (an overlap). Times are seconds of UTC since 1970 within TIME_ZONE_SECONDS_MAX of it;
 * wall times are the same plus the offset.
 *
 * Life cycle: time_zone_utc and time_zone_parse fill a plain value; time_zone_release drops what it holds.
 */
#ifndef KM_TIME_ZONE_H
#define KM_TIME_ZONE_H

#include "common/base.h"

#include "common/error.h"

#define TIME_ZONE_NAME_MAX 64
#define TIME_ZONE_FILE_MAX (64 * KM_KIB)             /* the largest of the IANA's has less than 4 KiB */
#define TIME_ZONE_CHANGES_MAX 2000                   /* the most today: 236 */
#define TIME_ZONE_SECONDS_MAX (8000LL * 366 * 86400) /* thousands of years */

/* When a rule changes the clocks, every year: RFC 8536, section 3.3.1; POSIX, TZ. */
struct time_zone_day {
    enum { TIME_ZONE_DAY_JULIAN, TIME_ZONE_DAY_OF_YEAR, TIME_ZONE_DAY_OF_WEEK } kind;
    int month, week,
        day; /* JULIAN: day 1..365, never 29 February; DAY_OF_YEAR: day 0..365; DAY_OF_WEEK: the week-th (5: last) of month */
    int32_t second; /* wall time, -167..167 hours */
};

struct time_zone_rule {
    bool present, has_daylight;
    int32_t standard_s, daylight_s; /* offsets, east is positive */
    struct time_zone_day start, end;
};

struct time_zone_change {
    int64_t at_s;
    int32_t offset_s; /* from then on */
};

struct time_zone {
    struct time_zone_change *changes; /* owned; ascending */
    size_t change_count;
    int32_t first_s;            /* offset before the first change */
    struct time_zone_rule rule; /* behind the last one */
};

/* "UTC": no file needed. */
void time_zone_utc(struct time_zone *ret);
/* ERROR_INVALID says what is wrong with the file. */
int time_zone_parse(const void *data, size_t len, struct time_zone *ret, struct error *err) KM_MUST_CHECK;
void time_zone_release(struct time_zone *zone);

struct time_zone_span {
    int64_t start_s, end_s; /* [start, end); INT64_MIN, INT64_MAX: without end */
    int32_t offset_s;
    int32_t before_s; /* offset before start; offset_s itself if there is no start */
};
/* The span that holds this time. */
void time_zone_span_at(const struct time_zone *zone, int64_t utc_s, struct time_zone_span *ret);

/* What is wrong with a name as one of the IANA's ("Europe/Berlin"), NULL if nothing: it is a path below a folder, and
 * must not leave it. */
const char *time_zone_name_check(const char *name);

#endif
