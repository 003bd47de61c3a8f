/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/root_wish.h"

#include "common/agent_order.h"
#include "operator/api/names.h"

#define HOW ANNOTATION_OPEN_FOR_ROOT_UNTIL ": "
#define SECOND_MS 1000

static void say_invalid(const struct cluster_snapshot *snapshot, struct root_wish *ret)
{
    snprintf(ret->why, sizeof(ret->why),
        HOW "must be a time such as 2026-11-27T12:00:00Z, at most ten minutes ahead, not \"%.40s\"",
        snapshot->open_for_root_until);
}

static void say_too_far(int64_t until_ms, struct root_wish *ret)
{
    char from[CLOCK_RFC3339_SIZE], until[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(until_ms - AGENT_ROOT_MAX_MS, from);
    clock_format_rfc3339(until_ms, until);
    snprintf(ret->why, sizeof(ret->why), HOW "%s is more than ten minutes ahead, so it does not count before %s", until,
        from);
}

void root_wish_read(const struct cluster_snapshot *snapshot, struct root_wish *ret)
{
    int64_t until_ms = 0;
    *ret = (struct root_wish){.until_ms = 0};
    if (str_empty(snapshot->open_for_root_until))
        return;
    if (clock_parse_rfc3339(snapshot->open_for_root_until, &until_ms) < 0) {
        say_invalid(snapshot, ret);
        return;
    }
    until_ms -= until_ms % SECOND_MS;
    int64_t left_ms = until_ms - snapshot->now_ms;
    if (left_ms <= 0)
        return;
    if (left_ms > AGENT_ROOT_MAX_MS) {
        ret->again_ms = left_ms - AGENT_ROOT_MAX_MS;
        say_too_far(until_ms, ret);
        return;
    }
    ret->until_ms = until_ms;
    ret->left_ms = left_ms;
    clock_format_rfc3339(until_ms, ret->text);
}
