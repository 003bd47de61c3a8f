/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/time_zone.h"

#include "common/alloc.h"
#include "operator/api/calendar.h"

#define HEADER_BYTES 44
#define OFFSET_MIN_S (-89999) /* RFC 8536, section 3.2: utoff */
#define OFFSET_MAX_S 93599
#define RULE_TEXT_MAX 128
#define RULE_CHANGES (4 * 2) /* of four years: a change may lie a week outside of its own */

/* ---- names ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* All zones begin with a capital; "posix", "right" and "localtime" beside them do not. */
const char *time_zone_name_check(const char *name)
{
    static const char wrong[] = "must be a time zone of the IANA's like Europe/Berlin or UTC";
    if (strlen(name) > TIME_ZONE_NAME_MAX || *name < 'A' || *name > 'Z')
        return wrong;
    for (const char *c = name; *c; c++) {
        bool in_place = *c == '/' && (is_letter(c[1]) || is_digit(c[1]));
        if (!is_letter(*c) && !is_digit(*c) && !strchr("+-_", *c) && !in_place)
            return wrong;
    }
    return NULL;
}

/* ---- the rule behind the table ---- */

/* All take_ functions move *text behind what they took, and return false when it is not there. */
static bool take_char(const char **text, char c)
{
    if (**text != c)
        return false;
    ++*text;
    return true;
}

static bool take_number(const char **text, int min, int max, int *ret)
{
    int value = 0, digits = 0;
    for (; is_digit(**text) && digits < 4; ++*text, digits++)
        value = value * 10 + (**text - '0');
    if (digits == 0 || value < min || value > max)
        return false;
    *ret = value;
    return true;
}

/* [+-]h[h[h]][:mm[:ss]] */
static bool take_time(const char **text, int max_hours, int32_t *ret)
{
    int hours, minutes = 0, seconds = 0;
    bool negative = take_char(text, '-');
    if (!negative)
        take_char(text, '+');
    if (!take_number(text, 0, max_hours, &hours))
        return false;
    if (take_char(text, ':')) {
        if (!take_number(text, 0, 59, &minutes))
            return false;
        if (take_char(text, ':') && !take_number(text, 0, 59, &seconds))
            return false;
    }
    int32_t value = hours * 3600 + minutes * 60 + seconds;
    *ret = negative ? -value : value;
    return true;
}

/* "CET" or "<-03>". */
static bool take_name(const char **text)
{
    const char *begin = *text;
    if (take_char(text, '<')) {
        while (is_letter(**text) || is_digit(**text) || **text == '+' || **text == '-')
            ++*text;
        return *text - begin > 3 && take_char(text, '>');
    }
    while (is_letter(**text))
        ++*text;
    return *text - begin >= 3;
}

static bool take_week_day(const char **text, struct time_zone_day *ret)
{
    ret->kind = TIME_ZONE_DAY_OF_WEEK;
    return take_number(text, 1, 12, &ret->month) && take_char(text, '.') && take_number(text, 1, 5, &ret->week) &&
        take_char(text, '.') && take_number(text, 0, 6, &ret->day);
}

/* ",M3.5.0/2": the time is 02:00:00 if left out. */
static bool take_day(const char **text, struct time_zone_day *ret)
{
    *ret = (struct time_zone_day){.kind = TIME_ZONE_DAY_OF_YEAR, .second = 2 * 3600};
    if (!take_char(text, ','))
        return false;
    if (take_char(text, 'M')) {
        if (!take_week_day(text, ret))
            return false;
    } else {
        bool julian = take_char(text, 'J');
        if (julian)
            ret->kind = TIME_ZONE_DAY_JULIAN;
        if (!take_number(text, julian ? 1 : 0, 365, &ret->day))
            return false;
    }
    return !take_char(text, '/') || take_time(text, 167, &ret->second);
}

/* "CET-1CEST,M3.5.0,M10.5.0/3": offsets are west of Greenwich. */
static bool rule_parse(const char *text, struct time_zone_rule *ret)
{
    int32_t west;
    *ret = (struct time_zone_rule){.present = true};
    if (!take_name(&text) || !take_time(&text, 24, &west))
        return false;
    ret->standard_s = -west;
    if (!*text)
        return true;
    ret->has_daylight = true;
    ret->daylight_s = ret->standard_s + 3600;
    if (!take_name(&text))
        return false;
    if (*text != ',') {
        if (!take_time(&text, 24, &west))
            return false;
        ret->daylight_s = -west;
    }
    return take_day(&text, &ret->start) && take_day(&text, &ret->end) && !*text;
}

static int64_t rule_day_of(const struct time_zone_day *day, int year)
{
    int64_t new_year = calendar_day(year, 1, 1);
    if (day->kind == TIME_ZONE_DAY_OF_YEAR)
        return new_year + day->day;
    if (day->kind == TIME_ZONE_DAY_JULIAN)
        return new_year + day->day - 1 + (day->day >= 60 && calendar_month_days(year, 2) == 29);
    int64_t first = calendar_day(year, day->month, 1);
    int64_t ret = first + (day->day - calendar_weekday(first) + 7) % 7 + (int64_t)(day->week - 1) * 7;
    return ret < first + calendar_month_days(year, day->month) ? ret : ret - 7;
}

/* The changes of the years around, ascending. Of two at the same time the later year's counts: daylight saving all year
 * is written so. */
static void rule_changes(
    const struct time_zone_rule *rule, int64_t utc_s, struct time_zone_change ret[static RULE_CHANGES])
{
    int year = calendar_date_of(calendar_day_of_second(utc_s)).year;
    for (int i = 0; i < RULE_CHANGES; i += 2) {
        int y = year - 2 + i / 2;
        struct time_zone_change start = {
            rule_day_of(&rule->start, y) * CALENDAR_DAY_SECONDS + rule->start.second - rule->standard_s,
            rule->daylight_s};
        struct time_zone_change end = {
            rule_day_of(&rule->end, y) * CALENDAR_DAY_SECONDS + rule->end.second - rule->daylight_s, rule->standard_s};
        bool north = start.at_s < end.at_s;
        ret[i] = north ? start : end;
        ret[i + 1] = north ? end : start;
    }
    for (int i = 1; i < RULE_CHANGES; i++) {
        for (int j = i; j > 0 && ret[j].at_s < ret[j - 1].at_s; j--) {
            struct time_zone_change swap = ret[j];
            ret[j] = ret[j - 1];
            ret[j - 1] = swap;
        }
    }
}

/* The rule's span that holds this time, as if there were no table. */
static void rule_span(const struct time_zone_rule *rule, int64_t utc_s, struct time_zone_span *ret)
{
    struct time_zone_change changes[RULE_CHANGES];
    *ret = (struct time_zone_span){INT64_MIN, INT64_MAX, rule->standard_s, rule->standard_s};
    if (!rule->has_daylight)
        return;
    rule_changes(rule, utc_s, changes);
    for (int i = 0; i < RULE_CHANGES; i++) {
        if (changes[i].at_s > utc_s) {
            ret->end_s = changes[i].at_s;
            return;
        }
        if (changes[i].at_s != ret->start_s)
            ret->before_s = i > 0 ? ret->offset_s : changes[i].offset_s;
        ret->start_s = changes[i].at_s;
        ret->offset_s = changes[i].offset_s;
    }
}

/* ---- the file ---- */

struct reader {
    const unsigned char *at, *end;
};

struct counts {
    uint32_t utc, standard, leap, change, type, chars;
};

static uint64_t read_big_endian(const unsigned char *at, int bytes)
{
    uint64_t ret = 0;
    for (int i = 0; i < bytes; i++)
        ret = ret << 8 | at[i];
    return ret;
}

static size_t remaining(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static int read_header(struct reader *reader, struct counts *ret, struct error *err)
{
    const unsigned char *at = reader->at;
    if (remaining(reader) < HEADER_BYTES || memcmp(at, "TZif", 4) != 0)
        return error_set(err, ERROR_INVALID, "is not a time zone file (TZif)");
    if (at[4] < '2')
        return error_set(err, ERROR_INVALID, "is a time zone file of version 1; at least 2 is needed");
    const unsigned char *numbers = at + 20;
    *ret = (struct counts){
        .utc = (uint32_t)read_big_endian(numbers, 4),
        .standard = (uint32_t)read_big_endian(numbers + 4, 4),
        .leap = (uint32_t)read_big_endian(numbers + 8, 4),
        .change = (uint32_t)read_big_endian(numbers + 12, 4),
        .type = (uint32_t)read_big_endian(numbers + 16, 4),
        .chars = (uint32_t)read_big_endian(numbers + 20, 4),
    };
    reader->at += HEADER_BYTES;
    if (ret->change > TIME_ZONE_CHANGES_MAX || ret->type == 0 || ret->type > 256 || ret->chars > TIME_ZONE_FILE_MAX ||
        ret->leap > TIME_ZONE_FILE_MAX || ret->utc > ret->type || ret->standard > ret->type)
        return error_set(err, ERROR_INVALID, "has numbers that no time zone file has");
    return 0;
}

static size_t block_bytes(const struct counts *counts, size_t time_bytes)
{
    return counts->change * (time_bytes + 1) + counts->type * 6 + counts->chars + counts->leap * (time_bytes + 4) +
        counts->standard + counts->utc;
}

static int read_offset(const unsigned char *types, uint32_t index, int32_t *ret, struct error *err)
{
    int32_t offset = (int32_t)(uint32_t)read_big_endian(types + (size_t)index * 6, 4);
    if (offset < OFFSET_MIN_S || offset > OFFSET_MAX_S)
        return error_set(err, ERROR_INVALID, "has an offset of more than a day");
    *ret = offset;
    return 0;
}

static int read_changes(
    const unsigned char *block, const struct counts *counts, struct time_zone *ret, struct error *err)
{
    const unsigned char *indexes = block + (size_t)counts->change * 8, *types = indexes + counts->change;
    if (read_offset(types, 0, &ret->first_s, err) < 0)
        return -1;
    ret->changes = counts->change > 0 ? xnew_array(struct time_zone_change, counts->change) : NULL;
    for (uint32_t i = 0; i < counts->change; i++) {
        struct time_zone_change *change = &ret->changes[i];
        change->at_s = (int64_t)read_big_endian(block + (size_t)i * 8, 8);
        if (i > 0 && change->at_s <= change[-1].at_s)
            return error_set(err, ERROR_INVALID, "has changes that are not in order");
        if (indexes[i] >= counts->type)
            return error_set(err, ERROR_INVALID, "names a kind of time that it does not have");
        if (read_offset(types, indexes[i], &change->offset_s, err) < 0)
            return -1;
        ret->change_count = i + 1;
    }
    return 0;
}

/* "\nRULE\n"; an empty one: the last offset stays for ever. */
static int read_rule(const struct reader *reader, struct time_zone_rule *ret, struct error *err)
{
    char text[RULE_TEXT_MAX];
    size_t len = remaining(reader);
    const unsigned char *newline = len > 0 ? memchr(reader->at + 1, '\n', len - 1) : NULL;
    if (!newline || reader->at[0] != '\n' || (size_t)(newline - reader->at) > sizeof(text))
        return error_set(err, ERROR_INVALID, "has no rule at its end, or is cut off");
    size_t text_len = (size_t)(newline - reader->at) - 1;
    memcpy(text, reader->at + 1, text_len);
    text[text_len] = '\0';
    if (text_len == 0)
        return 0;
    if (strlen(text) != text_len || !rule_parse(text, ret))
        return error_set(err, ERROR_INVALID, "has a rule at its end that cannot be read");
    return 0;
}

static int read_zone(struct reader *reader, struct time_zone *ret, struct error *err)
{
    struct counts counts;
    if (read_header(reader, &counts, err) < 0)
        return -1;
    if (remaining(reader) < block_bytes(&counts, 4))
        return error_set(err, ERROR_INVALID, "is cut off");
    reader->at += block_bytes(&counts, 4);
    if (read_header(reader, &counts, err) < 0)
        return -1;
    if (counts.leap > 0)
        return error_set(err, ERROR_INVALID, "counts leap seconds");
    if (remaining(reader) < block_bytes(&counts, 8))
        return error_set(err, ERROR_INVALID, "is cut off");
    if (read_changes(reader->at, &counts, ret, err) < 0)
        return -1;
    reader->at += block_bytes(&counts, 8);
    return read_rule(reader, &ret->rule, err);
}

int time_zone_parse(const void *data, size_t len, struct time_zone *ret, struct error *err)
{
    struct reader reader = {data, (const unsigned char *)data + len};
    struct time_zone zone = {.change_count = 0};
    if (len > TIME_ZONE_FILE_MAX)
        return error_set(err, ERROR_TOO_LARGE, "is larger than any time zone file");
    if (read_zone(&reader, &zone, err) < 0) {
        time_zone_release(&zone);
        return -1;
    }
    *ret = zone;
    return 0;
}

void time_zone_utc(struct time_zone *ret)
{
    *ret = (struct time_zone){.rule.present = true};
}

void time_zone_release(struct time_zone *zone)
{
    free(zone->changes);
    *zone = (struct time_zone){.change_count = 0};
}

/* ---- spans ---- */

/* How many changes of the table lie at or before this time. */
static size_t changes_until(const struct time_zone *zone, int64_t utc_s)
{
    size_t low = 0, high = zone->change_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at_s <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int32_t offset_before(const struct time_zone *zone, size_t index)
{
    return index > 0 ? zone->changes[index - 1].offset_s : zone->first_s;
}

void time_zone_span_at(const struct time_zone *zone, int64_t utc_s, struct time_zone_span *ret)
{
    size_t passed = changes_until(zone, utc_s), count = zone->change_count;
    bool behind = passed == count && zone->rule.present;
    int32_t last_before = passed > 0 ? offset_before(zone, passed - 1) : zone->first_s;
    int64_t last_at = passed > 0 ? zone->changes[passed - 1].at_s : INT64_MIN;
    if (!behind) {
        ret->start_s = last_at;
        ret->end_s = passed < count ? zone->changes[passed].at_s : INT64_MAX;
        ret->offset_s = offset_before(zone, passed);
        ret->before_s = passed > 0 ? last_before : ret->offset_s;
        return;
    }
    rule_span(&zone->rule, utc_s, ret);
    if (count > 0 && ret->start_s <= last_at) {
        ret->start_s = last_at;
        ret->before_s = last_before;
    }
}
