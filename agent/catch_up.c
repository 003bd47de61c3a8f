/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/catch_up.h"

#include "common/alloc.h"
#include "common/gtid.h"

/* How old the sets of an agent are at most, if it does not say. */
#define UNKNOWN_AGE_MS 5000

static void drop_goal(struct catch_up *catch_up)
{
    position_pool_unref(steal_ptr(catch_up->positions));
    catch_up->goal = "";
}

static void forget_kept(struct catch_up *catch_up)
{
    position_pool_unref(steal_ptr(catch_up->of_kept));
    catch_up->kept = "";
}

void catch_up_gap(struct catch_up *catch_up, int64_t now_ms)
{
    drop_goal(catch_up);
    forget_kept(catch_up);
    *catch_up = (struct catch_up){.gap_ms = now_ms};
}

static bool holds(enum agent_flavour flavour, const char *received, const char *wanted)
{
    return position_holds(agent_gtid_flavour(flavour), received, wanted);
}

void catch_up_look(struct catch_up *catch_up, enum agent_flavour flavour, const char *before, const char *received,
    bool drops, int64_t now_ms)
{
    if (drops || (!str_empty(before) && !holds(flavour, received, before)))
        catch_up_gap(catch_up, now_ms);
    if (!catch_up->up && !str_empty(catch_up->goal))
        catch_up->up = holds(flavour, received, catch_up->goal);
}

int64_t catch_up_read_ms(const struct agent_status *theirs, int64_t asked_ms)
{
    bool known = theirs->looked_ms > 0 && theirs->looked_ms <= theirs->clock_ms;

    return asked_ms - (known ? theirs->clock_ms - theirs->looked_ms : UNKNOWN_AGE_MS);
}

void catch_up_heard(
    struct catch_up *catch_up, const struct agent_status *theirs, struct position_pool *positions, int64_t asked_ms)
{
    /* One that is not open yet may still have to apply what it was chosen for; a commit that waits for others may not
     * be in its set yet. */
    bool is_open = theirs->writable || theirs->closed_for_room;
    bool tells = theirs->phase == AGENT_PHASE_RUNNING && is_open && theirs->writes_blocked_ms == 0;

    if (catch_up->up || !str_empty(catch_up->goal) || !tells || catch_up_read_ms(theirs, asked_ms) <= catch_up->gap_ms)
        return;
    catch_up->positions = position_pool_ref(positions);
    catch_up->goal = theirs->gtid_executed;
}

void catch_up_other_source(struct catch_up *catch_up)
{
    drop_goal(catch_up);
}

void catch_up_resume(struct catch_up *catch_up, enum agent_flavour flavour, const char *noted, const char *received)
{
    if (holds(flavour, received, noted))
        catch_up_opened(catch_up);
}

void catch_up_kept(struct catch_up *catch_up, enum agent_flavour flavour, const char *noted, const char *received)
{
    if (str_empty(received) || !position_is_whole(received) || !holds(flavour, received, noted))
        return;
    forget_kept(catch_up);
    catch_up->of_kept = position_pool_new(POSITION_TEXT_MAX);
    catch_up->kept = position_take(catch_up->of_kept, received);
}

void catch_up_executed(struct catch_up *catch_up, enum agent_flavour flavour, const char *executed)
{
    if (!catch_up->up && !str_empty(catch_up->kept) && holds(flavour, executed, catch_up->kept))
        catch_up_opened(catch_up);
}

void catch_up_opened(struct catch_up *catch_up)
{
    drop_goal(catch_up);
    catch_up->up = true;
    forget_kept(catch_up);
}
