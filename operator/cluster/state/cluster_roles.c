/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/cluster_roles.h"

#include <stdarg.h>
#include <stdio.h>

#include "operator/cluster/state/member_view.h"

void cluster_intent_say(struct cluster_intent *intent, const char *fmt, ...)
{
    va_list ap;
    if (!str_empty(intent->next_action)) /* the first reason stands */
        return;
    va_start(ap, fmt);
    vsnprintf(intent->next_action, sizeof(intent->next_action), fmt, ap);
    va_end(ap);
}

int64_t cluster_newest_heard_epoch(const struct cluster_snapshot *snapshot)
{
    int64_t newest = MAX_OF(snapshot->heard_epoch, snapshot->seen_epoch);
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_speaks(&snapshot->members[i]))
            newest = MAX_OF(newest, (int64_t)snapshot->members[i].agent->epoch);
    }
    return newest;
}

int64_t cluster_newest_epoch(const struct cluster_snapshot *snapshot)
{
    return MAX_OF(snapshot->last.roles.epoch, cluster_newest_heard_epoch(snapshot));
}
