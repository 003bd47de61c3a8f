/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a zone file: no crash; what is accepted has spans that hold the times asked for and touch each other. */
#include "common/base.h"

#include "operator/api/time_zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct time_zone *zone, int64_t utc_s)
{
    struct time_zone_span span, beside;
    time_zone_span_at(zone, utc_s, &span);
    if (span.start_s > utc_s || span.end_s <= utc_s)
        abort();
    if (span.end_s == INT64_MAX || span.end_s > TIME_ZONE_SECONDS_MAX)
        return;
    time_zone_span_at(zone, span.end_s, &beside);
    if (beside.start_s != span.end_s || beside.before_s != span.offset_s)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct time_zone zone;
    if (time_zone_parse(data, size, &zone, NULL) < 0)
        return 0;
    for (int64_t utc_s = -5000000000; utc_s < 10000000000; utc_s += 7 * 86400 * 13 + 1)
        check(&zone, utc_s);
    for (size_t i = 0; i < zone.change_count; i++) {
        int64_t at_s = zone.changes[i].at_s;
        if (at_s > -TIME_ZONE_SECONDS_MAX && at_s < TIME_ZONE_SECONDS_MAX)
            check(&zone, at_s);
    }
    time_zone_release(&zone);
    return 0;
}
