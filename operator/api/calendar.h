/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calendar.h: days and dates of the Gregorian calendar. Pure.
 *
 * A day is counted from 1970-01-01 (0), which was a Thursday. Months are 1..12, days of a month 1..31, days of a week 0
 * (Sunday)..6. Good for every year from -10,000 to 100,000.
 */
#ifndef KM_CALENDAR_H
#define KM_CALENDAR_H

#include "common/base.h"

#define CALENDAR_DAY_SECONDS 86400

struct calendar_date {
    int year, month, day;
};

int64_t calendar_day(int year, int month, int day);
struct calendar_date calendar_date_of(int64_t day);
int calendar_weekday(int64_t day);
int calendar_month_days(int year, int month);
/* The day of some second, also before 1970. */
int64_t calendar_day_of_second(int64_t seconds);

#endif
