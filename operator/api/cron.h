/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cron.h: schedules of five fields, as in crontab(5) and Kubernetes' CronJob. Pure.
 *
 *   minute        0-59
 *   hour          0-23
 *   day of month  1-31
 *   month         1-12 or jan-dec
 *   day of week   0-7 or sun-sat; 0 and 7 are Sunday
 *
 * A field is a list of items: "*", a value, a range "mon-fri", each with a step if wanted ("*" "/15", "8-18/2"; "5/10"
 * is 5-59/10). Case does not matter. "?" is "*". Or one of @hourly, @daily (@midnight), @weekly, @monthly, @yearly
 * (@annually).
 * Vixie's rule: if neither day field begins with "*", a day counts that fits one of them; else one that fits both.
 *
 * When clocks are set forward, a time that is skipped counts as the end of the gap, once, however many of them are
 * skipped; when they are set back, a time that comes twice counts the first time. A schedule of every hour means
 * elapsed time instead: it skips nothing that exists, and repeats what comes twice. So the time of every run follows
 * from schedule and zone alone, whoever asks and whenever.
 */
#ifndef KM_CRON_H
#define KM_CRON_H

#include "common/base.h"

#include "common/error.h"
#include "operator/api/time_zone.h"

#define CRON_TEXT_MAX 256

struct cron {
    uint64_t minutes;                       /* bit per value */
    uint32_t hours, days, months, weekdays; /* days, months from bit 1; weekdays 0..6 */
    bool any_day, any_weekday;              /* the field begins with "*" */
};

/* ERROR_INVALID names the field: "hour: 24 is not within 0 and 23". */
int cron_parse(const char *text, struct cron *ret, struct error *err) KM_MUST_CHECK;
/* The first run behind `after_s`; false: there is none within CRON_HORIZON_YEARS (or time is out of bounds,
 * time_zone.h). */
#define CRON_HORIZON_YEARS 50
bool cron_next(const struct cron *cron, const struct time_zone *zone, int64_t after_s, int64_t *ret_s);
/* The last run at or before `until_s`; false as above. */
bool cron_previous(const struct cron *cron, const struct time_zone *zone, int64_t until_s, int64_t *ret_s);

#endif
