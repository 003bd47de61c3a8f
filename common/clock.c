/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/clock.h"

#include <ctype.h>
#include <time.h>

/* What four digits of a year can say: 0000-01-01T00:00:00Z to 9999-12-31T23:59:59Z. */
#define SECONDS_MIN (-62167219200LL)
#define SECONDS_MAX 253402300799LL

static int64_t now_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_us(void)
{
    return now_us(CLOCK_MONOTONIC);
}

int64_t clock_monotonic_ms(void)
{
    return clock_monotonic_us() / 1000;
}

int64_t clock_realtime_us(void)
{
    return now_us(CLOCK_REALTIME);
}

int64_t clock_realtime_ms(void)
{
    return clock_realtime_us() / 1000;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static struct tm utc_of(int64_t seconds)
{
    time_t t = (time_t)MIN_OF(MAX_OF(seconds, SECONDS_MIN), SECONDS_MAX);
    struct tm tm = {0};
    gmtime_r(&t, &tm);
    return tm;
}

/* strftime's "%Y" does not pad the years before 1000; digits by hand do. */
static void put_digits(char *out, unsigned value, int digits)
{
    for (int i = digits - 1; i >= 0; i--, value /= 10)
        out[i] = (char)('0' + value % 10);
}

static void put_seconds(int64_t seconds, char *out)
{
    struct tm tm = utc_of(seconds);
    memcpy(out, "0000-00-00T00:00:00Z", CLOCK_RFC3339_SIZE);
    put_digits(out, (unsigned)(tm.tm_year + 1900), 4);
    put_digits(out + 5, (unsigned)(tm.tm_mon + 1), 2);
    put_digits(out + 8, (unsigned)tm.tm_mday, 2);
    put_digits(out + 11, (unsigned)tm.tm_hour, 2);
    put_digits(out + 14, (unsigned)tm.tm_min, 2);
    put_digits(out + 17, (unsigned)tm.tm_sec, 2);
}

void clock_format_rfc3339(int64_t realtime_ms, char out[static CLOCK_RFC3339_SIZE])
{
    put_seconds(floor_div(realtime_ms, 1000), out);
}

void clock_format_rfc3339_micro(int64_t realtime_us, char out[static CLOCK_RFC3339_MICRO_SIZE])
{
    int64_t us = realtime_us % 1000000;
    put_seconds(floor_div(realtime_us, 1000000), out);
    memcpy(out + CLOCK_RFC3339_SIZE - 2, ".000000Z", sizeof(".000000Z"));
    put_digits(out + CLOCK_RFC3339_SIZE - 1, (unsigned)(us < 0 ? us + 1000000 : us), 6);
}

/* Exactly `digits` digits within [min, max], then moves *s past them. */
static bool take_number(const char **s, int digits, int min, int max, int *ret)
{
    int value = 0;
    for (int i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)(*s)[i]))
            return false;
        value = value * 10 + ((*s)[i] - '0');
    }
    *s += digits;
    *ret = value;
    return value >= min && value <= max;
}

static bool take_char(const char **s, const char *one_of)
{
    if (!**s || !strchr(one_of, **s))
        return false;
    (*s)++;
    return true;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar; years counted from March so that leap days come last. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month > 2 ? year : (int64_t)year - 1;
    int64_t era = floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int days_in_month(int year, int month)
{
    static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static bool take_fraction_ms(const char **s, int *ret_ms)
{
    *ret_ms = 0;
    if (!take_char(s, "."))
        return true;
    if (!isdigit((unsigned char)**s))
        return false;
    for (int scale = 100; isdigit((unsigned char)**s); (*s)++, scale /= 10)
        *ret_ms += (**s - '0') * scale;
    return true;
}

static bool take_offset(const char **s, int64_t *ret_seconds)
{
    *ret_seconds = 0;
    if (take_char(s, "Zz"))
        return true;
    int sign = **s == '-' ? -1 : 1, hours, minutes;
    if (!take_char(s, "+-") || !take_number(s, 2, 0, 23, &hours) || !take_char(s, ":") ||
        !take_number(s, 2, 0, 59, &minutes))
        return false;
    *ret_seconds = (int64_t)sign * (hours * 3600 + minutes * 60);
    return true;
}

/* RFC 3339 section 5.6. */
int clock_parse_rfc3339(const char *s, int64_t *ret_realtime_ms)
{
    int year, month, day, hour, minute, second, fraction_ms;
    int64_t offset;
    if (!s || !take_number(&s, 4, 0, 9999, &year) || !take_char(&s, "-") || !take_number(&s, 2, 1, 12, &month) ||
        !take_char(&s, "-") || !take_number(&s, 2, 1, days_in_month(year, month), &day) || !take_char(&s, "Tt "))
        return -1;
    if (!take_number(&s, 2, 0, 23, &hour) || !take_char(&s, ":") || !take_number(&s, 2, 0, 59, &minute) ||
        !take_char(&s, ":") || !take_number(&s, 2, 0, 60, &second)) /* 60: a leap second */
        return -1;
    if (!take_fraction_ms(&s, &fraction_ms) || !take_offset(&s, &offset) || *s)
        return -1;
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
    *ret_realtime_ms = seconds * 1000 + fraction_ms;
    return 0;
}
