/* SPDX-License-Identifier: Apache-2.0 */
/* A time that parses is printed as a time that parses to the same second. */
#include "common/base.h"

#include "common/clock.h"

#include "common/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *text = xstrndup((const char *)data, size);
    int64_t ms, again;
    if (clock_parse_rfc3339(text, &ms) != 0)
        return 0;
    if (ms < -62167219200000 || ms > 253402300799999) /* an offset led beyond four-digit years */
        return 0;
    char seconds[CLOCK_RFC3339_SIZE], micro[CLOCK_RFC3339_MICRO_SIZE];
    clock_format_rfc3339(ms, seconds);
    clock_format_rfc3339_micro(ms * 1000, micro);
    if (clock_parse_rfc3339(micro, &again) != 0 || again != ms)
        abort();
    if (clock_parse_rfc3339(seconds, &again) != 0 || again > ms || ms - again > 999)
        abort();
    return 0;
}
