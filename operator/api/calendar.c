/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/calendar.h"

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Years are counted from 1 March, so that the leap day is the last one; 400 of them are an era of 146,097 days. */
int64_t calendar_day(int year, int month, int day)
{
    int64_t shifted = (int64_t)year - (month <= 2);
    int64_t era = floor_div(shifted, 400);
    int64_t year_of_era = shifted - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

struct calendar_date calendar_date_of(int64_t day)
{
    int64_t shifted = day + 719468;
    int64_t era = floor_div(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int month_from_march = (int)((5 * day_of_year + 2) / 153);
    int month = month_from_march + (month_from_march < 10 ? 3 : -9);
    return (struct calendar_date){
        .year = (int)(year_of_era + era * 400) + (month <= 2),
        .month = month,
        .day = (int)(day_of_year - (153 * month_from_march + 2) / 5) + 1,
    };
}

int calendar_weekday(int64_t day)
{
    int64_t ret = (day + 4) % 7;
    return (int)(ret < 0 ? ret + 7 : ret);
}

int calendar_month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

int64_t calendar_day_of_second(int64_t seconds)
{
    return floor_div(seconds, CALENDAR_DAY_SECONDS);
}
