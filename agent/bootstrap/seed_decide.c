/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/seed_decide.h"

static struct seed_decision say(enum seed_act act, const char *fmt, ...) KM_PRINTF(2, 3);
static struct seed_decision say(enum seed_act act, const char *fmt, ...)
{
    struct seed_decision decision = {.act = act};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(decision.message, sizeof(decision.message), fmt, ap);
    va_end(ap);
    return decision;
}

static struct seed_decision act(enum seed_act act)
{
    return (struct seed_decision){.act = act};
}

static struct seed_decision wait_for_order(const struct agent_order *order, bool has_data, enum agent_mark mark)
{
    const char *what = has_data ? "holds a database" : "is empty";
    const char *marked = mark == AGENT_MARK_NONE ? "" : ", marked ";

    return say(SEED_ACT_WAIT, "the volume %s%s%s; waiting for %s what to do with it", what, marked,
        agent_mark_names[mark], order ? "the operator to say" : "the operator's order");
}

static struct seed_decision keep(const struct agent_order *order, bool has_data)
{
    if (!has_data)
        return say(SEED_ACT_REFUSE, "ordered to keep the data, but the volume is empty");
    if (order->mark != AGENT_MARK_NONE)
        return say(SEED_ACT_REFUSE, "ordered to keep the data and to mark it \"%s\": one or the other",
            agent_mark_names[order->mark]);
    return act(SEED_ACT_KEEP);
}

static struct seed_decision restore(const struct agent_order *order, bool has_data, const char *task)
{
    bool beside = order->seed == AGENT_SEED_RESTORE_BESIDE;

    if (!beside && has_data && !order->replace)
        return say(SEED_ACT_REFUSE,
            "ordered to restore %.100s, but the volume holds a database and the order does not say \"replace\"; it is left alone",
            order->restore_id);
    if (!str_eq(task, order->restore_id))
        return say(SEED_ACT_WAIT, "ordered to restore %.100s; waiting to be told where it is stored", order->restore_id);
    return act(SEED_ACT_RESTORE);
}

static struct seed_decision restore_beside(const struct agent_order *order, const struct seed_facts *facts)
{
    if (facts->beside == order->restore_number)
        return say(SEED_ACT_WAIT, "backup %.100s is restored beside the data; waiting for the word to take it",
            order->restore_id);
    return restore(order, facts->has_data, facts->task);
}

struct seed_decision seed_decide(const struct agent_order *order, const struct seed_facts *facts)
{
    switch (order ? order->seed : AGENT_SEED_NONE) {
    case AGENT_SEED_KEEP:
        return keep(order, facts->has_data);
    case AGENT_SEED_INITIALISE:
        if (facts->has_data)
            return say(SEED_ACT_REFUSE, "ordered to make a new database, but the volume holds one; it is left alone");
        return act(SEED_ACT_INITIALISE);
    case AGENT_SEED_CLONE:
        if (facts->has_data && !order->replace)
            return say(SEED_ACT_REFUSE,
                "ordered to clone from %.100s, but the volume holds a database and the order does not say \"replace\"; it is left alone",
                order->donor_host);
        return act(SEED_ACT_CLONE);
    case AGENT_SEED_RESTORE:
        return restore(order, facts->has_data, facts->task);
    case AGENT_SEED_RESTORE_BESIDE:
        return restore_beside(order, facts);
    case AGENT_SEED_TAKE_RESTORED:
        return act(SEED_ACT_TAKE);
    default:
        return wait_for_order(order, facts->has_data, facts->mark);
    }
}
