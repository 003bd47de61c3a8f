/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a schedule in zones with gaps and overlaps of any size: no crash, and the runs before and behind any time
 * agree with each other. */
#include "common/base.h"

#include "operator/api/cron.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cron *cron, const struct time_zone *zone, int64_t at_s)
{
    int64_t next_s, previous_s, again_s;
    if (!cron_next(cron, zone, at_s, &next_s))
        return;
    if (next_s <= at_s || !cron_previous(cron, zone, next_s, &again_s) || again_s != next_s)
        abort();
    if (!cron_previous(cron, zone, next_s - 1, &previous_s))
        return;
    if (previous_s > at_s || !cron_next(cron, zone, previous_s, &again_s) || again_s != next_s)
        abort();
}

/* The first bytes are the time and two changes of the clocks, the rest is the schedule. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct {
        int32_t at_s, moves_s[2];
        uint16_t days;
    } input;
    char text[CRON_TEXT_MAX + 16];
    struct cron cron;
    if (size < sizeof(input))
        return 0;
    memcpy(&input, data, sizeof(input));
    size_t len = MIN_OF(size - sizeof(input), sizeof(text) - 1);
    memcpy(text, data + sizeof(input), len);
    text[len] = '\0';
    if (cron_parse(text, &cron, NULL) < 0)
        return 0;
    struct time_zone_change changes[] = {
        {input.at_s, input.moves_s[0] % 93600}, {input.at_s + 1LL + input.days * 3600LL, input.moves_s[1] % 93600}};
    struct time_zone zone = {.changes = changes, .change_count = ARRAY_LEN(changes)};
    for (int64_t at_s = input.at_s - 200000LL; at_s < input.at_s + 400000LL; at_s += 77777)
        check(&cron, &zone, at_s);
    return 0;
}
