/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/cron.h"

#include <strings.h>

#include "operator/api/calendar.h"

#define HORIZON_DAYS (CRON_HORIZON_YEARS * 366)
#define ALL_HOURS ((1U << 24) - 1)
#define SUNDAY_AT_THE_END 7
#define FIELD_COUNT 5

static const char *const month_names[] = {
    "", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

struct field {
    const char *name;
    int min, max;
    const char *const *names; /* by value; NULL: none */
};

static const struct field fields[FIELD_COUNT] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of month", 1, 31, NULL},
    {"month", 1, 12, month_names},
    {"day of week", 0, SUNDAY_AT_THE_END, weekday_names},
};

static const struct {
    const char *name, *text;
} macros[] = {
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

/* ---- reading ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static int bad_item(const struct field *field, const char *item, size_t len, struct error *err)
{
    char clean[33];
    size_t n = MIN_OF(len, sizeof(clean) - 1);
    for (size_t i = 0; i < n; i++)
        clean[i] = item[i] > ' ' && item[i] < 127 ? item[i] : '?';
    clean[n] = '\0';
    return error_set(err, ERROR_INVALID, "%s: \"%s\" is no %s, range, list or step", field->name, clean,
        field->names ? "number, name" : "number");
}

static int take_name(const struct field *field, const char *at, size_t len)
{
    for (int i = 0; field->names && field->names[i]; i++) {
        if (len == 3 && *field->names[i] && strncasecmp(field->names[i], at, 3) == 0)
            return i;
    }
    return -1;
}

static bool read_number(const char *at, size_t len, int *ret)
{
    int value = 0;
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9' || len > 4)
            return false;
        value = value * 10 + (at[i] - '0');
    }
    *ret = value;
    return len > 0;
}

/* A number or a name; moves *at behind it. */
static int take_value(const struct field *field, const char **at, const char *end, int *ret, struct error *err)
{
    const char *begin = *at;
    while (*at < end && !strchr("-/", **at))
        ++*at;
    size_t len = (size_t)(*at - begin);
    int value = take_name(field, begin, len);
    if (value < 0 && !read_number(begin, len, &value))
        return bad_item(field, begin, len > 0 ? len : (size_t)(end - begin), err);
    if (value < field->min || value > field->max)
        return error_set(
            err, ERROR_INVALID, "%s: %d is not within %d and %d", field->name, value, field->min, field->max);
    *ret = value;
    return 0;
}

static int take_step(const struct field *field, const char *at, const char *end, int *ret, struct error *err)
{
    int value;
    if (!read_number(at, (size_t)(end - at), &value))
        return bad_item(field, at, (size_t)(end - at), err);
    if (value < 1 || value > field->max)
        return error_set(err, ERROR_INVALID, "%s: a step is between 1 and %d, not %d", field->name, field->max, value);
    *ret = value;
    return 0;
}

struct range {
    int low, high;
    bool open; /* one value: up to the field's end if a step follows */
};

static int take_range(const struct field *field, const char **at, const char *end, struct range *ret, struct error *err)
{
    if (*at < end && (**at == '*' || **at == '?')) {
        ++*at;
        *ret = (struct range){field->min, field->max, false};
        return 0;
    }
    if (take_value(field, at, end, &ret->low, err) < 0)
        return -1;
    ret->high = ret->low;
    ret->open = *at == end || **at != '-';
    if (ret->open)
        return 0;
    ++*at;
    if (take_value(field, at, end, &ret->high, err) < 0)
        return -1;
    if (ret->high == 0 && ret->low > 0 && field->max == SUNDAY_AT_THE_END)
        ret->high = SUNDAY_AT_THE_END;
    if (ret->high < ret->low)
        return error_set(err, ERROR_INVALID, "%s: a range goes up, not from %d to %d", field->name, ret->low, ret->high);
    return 0;
}

static int read_item(const struct field *field, const char *at, const char *end, uint64_t *ret, struct error *err)
{
    struct range range = {0};
    const char *begin = at;
    int step = 1;
    if (take_range(field, &at, end, &range, err) < 0)
        return -1;
    if (at < end && *at == '/') {
        if (take_step(field, at + 1, end, &step, err) < 0)
            return -1;
        if (range.open)
            range.high = field->max;
        at = end;
    }
    if (at < end)
        return bad_item(field, begin, (size_t)(end - begin), err);
    for (int value = range.low; value <= range.high; value += step)
        *ret |= UINT64_C(1) << value;
    return 0;
}

static int read_field(const struct field *field, const char *at, const char *end, uint64_t *ret, struct error *err)
{
    *ret = 0;
    for (const char *comma; at <= end; at = comma + 1) {
        comma = memchr(at, ',', (size_t)(end - at));
        if (!comma)
            comma = end;
        if (comma == at)
            return error_set(err, ERROR_INVALID, "%s: an item of the list is empty", field->name);
        if (read_item(field, at, comma, ret, err) < 0)
            return -1;
    }
    return 0;
}

static const char *expand(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(macros); i++) {
        if (strcasecmp(text, macros[i].name) == 0)
            return macros[i].text;
    }
    return text;
}

/* Whether some month that counts has a day that counts. A 29 February comes, on any day of the week, within 40
 * years. */
static bool ever_happens(const struct cron *cron)
{
    if (!cron->any_day && !cron->any_weekday)
        return true;
    for (int month = 1; month <= 12; month++) {
        if (!(cron->months >> month & 1))
            continue;
        for (int day = 1; day <= calendar_month_days(2000, month); day++) {
            if (cron->days >> day & 1)
                return true;
        }
    }
    return false;
}

static void fill(const uint64_t bits[static FIELD_COUNT], const bool is_any[static FIELD_COUNT], struct cron *ret)
{
    *ret = (struct cron){
        .minutes = bits[0],
        .hours = (uint32_t)bits[1],
        .days = (uint32_t)bits[2],
        .months = (uint32_t)bits[3],
        .weekdays = (uint32_t)(bits[4] | bits[4] >> SUNDAY_AT_THE_END) & 0x7f,
        .any_day = is_any[2],
        .any_weekday = is_any[4],
    };
}

int cron_parse(const char *text, struct cron *ret, struct error *err)
{
    uint64_t bits[FIELD_COUNT];
    bool is_any[FIELD_COUNT];
    struct cron cron;
    int count = 0;
    if (strlen(text) > CRON_TEXT_MAX)
        return error_set(err, ERROR_INVALID, "is longer than %d characters", CRON_TEXT_MAX);
    const char *at = expand(text);
    if (*at == '@')
        return error_set(
            err, ERROR_INVALID, "must be one of @hourly, @daily, @weekly, @monthly, @yearly, or five fields");
    for (; *at; count++) {
        while (is_space(*at))
            at++;
        const char *end = at + strcspn(at, " \t");
        if (at == end)
            break;
        if (memchr(at, '=', (size_t)(end - at)))
            return error_set(err, ERROR_INVALID, "holds a variable; the time zone is a field of its own");
        if (count < FIELD_COUNT && read_field(&fields[count], at, end, &bits[count], err) < 0)
            return -1;
        if (count < FIELD_COUNT)
            is_any[count] = *at == '*' || *at == '?';
        at = end;
    }
    if (count != FIELD_COUNT)
        return error_set(err, ERROR_INVALID,
            "must have five fields (minute, hour, day of month, month, day of week), not %d", count);
    fill(bits, is_any, &cron);
    if (!ever_happens(&cron))
        return error_set(err, ERROR_INVALID, "day of month: none of its months has such a day");
    *ret = cron;
    return 0;
}

/* ---- wall times, as seconds since 1970 on the wall ---- */

static bool day_fits(const struct cron *cron, int64_t day, const struct calendar_date *date)
{
    bool of_month = cron->days >> date->day & 1, of_week = cron->weekdays >> calendar_weekday(day) & 1;
    if (!(cron->months >> date->month & 1))
        return false;
    return cron->any_day || cron->any_weekday ? of_month && of_week : of_month || of_week;
}

/* The first (or last) minute of a day, from (or up to) `minute`, that fits; -1: none. */
static int minute_in_day(const struct cron *cron, int minute, int step)
{
    for (; minute >= 0 && minute < 24 * 60; minute += step) {
        int hour = minute / 60;
        if (!(cron->hours >> hour & 1))
            minute = step > 0 ? hour * 60 + 59 : hour * 60;
        else if (cron->minutes >> (minute % 60) & 1)
            return minute;
    }
    return -1;
}

/* From the day of `wall_s` on: the first day of the next month that counts, if this one does not. */
static int64_t skip_months(const struct cron *cron, const struct calendar_date *date, int64_t day, int step)
{
    if (cron->months >> date->month & 1)
        return day + step;
    if (step < 0)
        return calendar_day(date->year, date->month, 1) - 1;
    return calendar_day(date->year, date->month, calendar_month_days(date->year, date->month)) + 1;
}

/* The first fitting wall time within [from, until), or with step -1 the last one. Both directions share the walk. */
static bool find_wall(const struct cron *cron, int64_t from_s, int64_t until_s, int step, int64_t *ret_s)
{
    if (from_s >= until_s)
        return false;
    int64_t begin_s = step > 0 ? from_s + 59 : until_s - 1; /* fitting times are whole minutes */
    int64_t day = calendar_day_of_second(begin_s), first_day = day;
    for (int64_t next; llabs(day - first_day) <= HORIZON_DAYS; day = next) {
        int64_t midnight_s = day * CALENDAR_DAY_SECONDS;
        if (step > 0 ? midnight_s >= until_s : midnight_s + CALENDAR_DAY_SECONDS <= from_s)
            return false;
        struct calendar_date date = calendar_date_of(day);
        next = skip_months(cron, &date, day, step);
        if (!day_fits(cron, day, &date))
            continue;
        int minute = day == first_day ? (int)((begin_s - midnight_s) / 60) : step > 0 ? 0 : 24 * 60 - 1;
        minute = minute_in_day(cron, minute, step);
        if (minute < 0)
            continue;
        *ret_s = midnight_s + (int64_t)minute * 60;
        return *ret_s >= from_s && *ret_s < until_s;
    }
    return false;
}

/* ---- spans of constant offset ---- */

/* The runs of one span: those of its own wall times from own_s on, and one at its start for what a gap before it has
 * skipped. */
struct span_runs {
    int64_t start_s, own_s, end_s;
    int32_t offset_s;
    bool at_start;
};

static void runs_of(const struct cron *cron, const struct time_zone_span *span, struct span_runs *ret)
{
    int64_t ignored;
    int32_t moved = span->offset_s - span->before_s;
    bool elapsed = cron->hours == ALL_HOURS;
    *ret = (struct span_runs){
        .start_s = MAX_OF(span->start_s, -TIME_ZONE_SECONDS_MAX),
        .end_s = MIN_OF(span->end_s, TIME_ZONE_SECONDS_MAX),
        .offset_s = span->offset_s,
    };
    ret->own_s = ret->start_s;
    if (elapsed || moved == 0 || span->start_s < -TIME_ZONE_SECONDS_MAX)
        return;
    if (moved < 0)
        ret->own_s = MIN_OF(ret->start_s - moved, ret->end_s);
    else
        ret->at_start = find_wall(cron, ret->start_s + span->before_s, ret->start_s + span->offset_s, 1, &ignored);
}

static bool first_run(const struct cron *cron, const struct span_runs *runs, int64_t from_s, int64_t *ret_s)
{
    int64_t wall_s;
    if (runs->at_start && runs->start_s >= from_s) {
        *ret_s = runs->start_s;
        return true;
    }
    int64_t begin_s = MAX_OF(from_s, runs->own_s);
    if (!find_wall(cron, begin_s + runs->offset_s, runs->end_s + runs->offset_s, 1, &wall_s))
        return false;
    *ret_s = wall_s - runs->offset_s;
    return true;
}

static bool last_run(const struct cron *cron, const struct span_runs *runs, int64_t until_s, int64_t *ret_s)
{
    int64_t wall_s;
    int64_t end_s = MIN_OF(until_s + 1, runs->end_s);
    if (find_wall(cron, runs->own_s + runs->offset_s, end_s + runs->offset_s, -1, &wall_s)) {
        *ret_s = wall_s - runs->offset_s;
        return true;
    }
    *ret_s = runs->at_start ? runs->start_s : *ret_s;
    return runs->at_start;
}

static bool in_bounds(int64_t utc_s)
{
    return utc_s > -TIME_ZONE_SECONDS_MAX / 2 && utc_s < TIME_ZONE_SECONDS_MAX / 2;
}

bool cron_next(const struct cron *cron, const struct time_zone *zone, int64_t after_s, int64_t *ret_s)
{
    struct time_zone_span span;
    struct span_runs runs;
    if (!in_bounds(after_s))
        return false;
    int64_t horizon_s = after_s + (int64_t)HORIZON_DAYS * CALENDAR_DAY_SECONDS;
    for (int64_t at_s = after_s + 1; at_s < horizon_s; at_s = span.end_s) {
        time_zone_span_at(zone, at_s, &span);
        runs_of(cron, &span, &runs);
        if (first_run(cron, &runs, at_s, ret_s))
            return true;
    }
    return false;
}

bool cron_previous(const struct cron *cron, const struct time_zone *zone, int64_t until_s, int64_t *ret_s)
{
    struct time_zone_span span;
    struct span_runs runs;
    if (!in_bounds(until_s))
        return false;
    int64_t horizon_s = until_s - (int64_t)HORIZON_DAYS * CALENDAR_DAY_SECONDS;
    for (int64_t at_s = until_s; at_s > horizon_s; at_s = span.start_s - 1) {
        time_zone_span_at(zone, at_s, &span);
        runs_of(cron, &span, &runs);
        if (last_run(cron, &runs, at_s, ret_s))
            return true;
        if (span.start_s < horizon_s)
            return false;
    }
    return false;
}
