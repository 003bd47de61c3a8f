/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/hearing.h"

#include "common/hashmap.h"

void hearing_operator(struct hearing *hearing, int64_t as_of_ms, int64_t now_ms)
{
    if (as_of_ms > 0 && as_of_ms <= now_ms)
        hearing->operator_ms = MAX_OF(hearing->operator_ms, as_of_ms);
}

/* A newcomer takes the place of the one that has been silent for longest. */
void hearing_member(struct hearing *hearing, const char *name, int64_t as_of_ms, int64_t now_ms)
{
    uint64_t who = hash64(HASH64_INIT, name, strlen(name));
    size_t place = 0;

    if (as_of_ms <= 0 || as_of_ms > now_ms)
        return;
    for (size_t i = 0; i < HEARING_MEMBERS_MAX; i++) {
        if (hearing->members[i].ms && hearing->members[i].who == who) {
            hearing->members[i].ms = MAX_OF(hearing->members[i].ms, as_of_ms);
            return;
        }
        if (hearing->members[i].ms < hearing->members[place].ms)
            place = i;
    }
    hearing->members[place].who = who;
    hearing->members[place].ms = as_of_ms;
}

bool hearing_is_alone(const struct hearing *hearing, int64_t limit_ms, uint32_t members, int64_t now_ms)
{
    uint32_t heard = 0;

    if (hearing->operator_ms && now_ms - hearing->operator_ms < limit_ms)
        return false;
    for (size_t i = 0; i < HEARING_MEMBERS_MAX; i++)
        heard += hearing->members[i].ms && now_ms - hearing->members[i].ms < limit_ms;
    return heard < MAX_OF(members, 1U);
}
