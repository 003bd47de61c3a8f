#include "common/base.h"

#include "agent/catch_up.h"

#include "common/gtid.h"

/* How old the sets of an agent are at most, if it does not say. */
#define UNKNOWN_AGE_MS 5000

void catch_up_gap(struct catch_up *catch_up, int64_t now_ms)
{
    *catch_up = (struct catch_up){.gap_ms = now_ms};
}

/* False also if that cannot be told: a text was cut. */
static bool holds(enum agent_flavour flavour, const char *received, const char *wanted)
{
    enum gtid_flavour kind = flavour == AGENT_FLAVOUR_MARIADB ? GTID_MARIADB : GTID_MYSQL;

    if (strcmp(received, wanted) == 0)
        return true;
    _cleanup_(gtid_set_freep) struct gtid_set *a = gtid_set_parse(kind, wanted, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *b = gtid_set_parse(kind, received, NULL);
    if (!a || !b)
        return false;
    enum gtid_relation relation = gtid_set_compare(a, b);
    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

void catch_up_look(
    struct catch_up *catch_up, enum agent_flavour flavour, const char *before, const char *received, int64_t now_ms)
{
    if (*before && !holds(flavour, received, before))
        catch_up_gap(catch_up, now_ms);
    if (!catch_up->up && *catch_up->goal)
        catch_up->up = holds(flavour, received, catch_up->goal);
}

int64_t catch_up_read_ms(const struct agent_status *theirs, int64_t asked_ms)
{
    bool known = theirs->looked_ms > 0 && theirs->looked_ms <= theirs->clock_ms;

    return asked_ms - (known ? theirs->clock_ms - theirs->looked_ms : UNKNOWN_AGE_MS);
}

void catch_up_heard(struct catch_up *catch_up, const struct agent_status *theirs, int64_t asked_ms)
{
    /* One that is not open yet may still have to apply what it was chosen for; a commit that waits for others may not be in its set yet. */
    bool tells = theirs->phase == AGENT_PHASE_RUNNING && theirs->writable && theirs->writes_blocked_ms == 0;

    if (catch_up->up || *catch_up->goal || !tells || catch_up_read_ms(theirs, asked_ms) <= catch_up->gap_ms)
        return;
    memcpy(catch_up->goal, theirs->gtid_executed, sizeof(catch_up->goal));
}

void catch_up_other_source(struct catch_up *catch_up)
{
    catch_up->goal[0] = '\0';
}

void catch_up_resume(struct catch_up *catch_up, enum agent_flavour flavour, const char *noted, const char *received)
{
    if (holds(flavour, received, noted))
        catch_up_opened(catch_up);
}

void catch_up_kept(struct catch_up *catch_up, enum agent_flavour flavour, const char *noted, const char *received)
{
    if (*received && !strstr(received, "...") && holds(flavour, received, noted)) /* cut */
        snprintf(catch_up->kept, sizeof(catch_up->kept), "%s", received);
}

void catch_up_executed(struct catch_up *catch_up, enum agent_flavour flavour, const char *executed)
{
    if (!catch_up->up && *catch_up->kept && holds(flavour, executed, catch_up->kept))
        catch_up_opened(catch_up);
}

void catch_up_opened(struct catch_up *catch_up)
{
    catch_up->up = true;
    catch_up->goal[0] = '\0';
    catch_up->kept[0] = '\0';
}
