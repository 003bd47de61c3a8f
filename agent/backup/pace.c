/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/pace.h"

int64_t pace_take(struct pace *pace, uint64_t rate, size_t len, int64_t now_us)
{
    if (rate == 0)
        return 0;
    if (now_us < pace->next_us)
        return pace->next_us - now_us;
    const int64_t from_us = now_us - pace->next_us <= PACE_SLACK_US ? pace->next_us : now_us;
    pace->next_us = from_us + (int64_t)((double)len * 1e6 / (double)rate);
    return 0;
}
