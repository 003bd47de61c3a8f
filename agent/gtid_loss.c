/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/gtid_loss.h"

#include "agent/mysql/row_value.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/strbuf.h"

static void keep_latest(struct gtid_loss *loss, const struct replication_facts *facts)
{
    position_pool_unref(loss->of_latest);
    loss->of_latest = position_pool_ref(facts->positions);
    loss->latest = facts->gtid_executed;
    loss->connection = facts->connection;
    loss->oldest_log = facts->oldest_log;
    memcpy(loss->first_logged, facts->first_logged, sizeof(loss->first_logged));
}

static void forget_reset(struct gtid_loss *loss)
{
    position_pool_unref(steal_ptr(loss->of_before));
    loss->before_reset = NULL;
}

/* MariaDB: the position of a domain has gone back, or there is none of any domain. A single domain that is gone was
 * deleted by hand (FLUSH BINARY LOGS DELETE_DOMAIN_ID). */
static bool has_gone_back(const struct gtid_set *before, const struct gtid_set *now)
{
    struct gtid_one one;

    if (gtid_set_is_empty(now))
        return !gtid_set_is_empty(before);
    for (size_t i = 0; gtid_set_position(now, i, &one); i++) {
        one.number++;
        if (gtid_set_contains(before, &one))
            return true;
    }
    return false;
}

static bool is_less(enum gtid_flavour kind, const struct gtid_set *had, const struct gtid_set *has)
{
    if (kind == GTID_MARIADB)
        return has_gone_back(had, has);
    enum gtid_relation relation = gtid_set_compare(had, has);
    return relation != GTID_EQUAL && relation != GTID_SUBSET;
}

/* MariaDB names the last transaction of a domain, and what is lacking ends there. */
static void name_lacking(struct gtid_loss *loss, const struct gtid_set *had, const struct gtid_set *has)
{
    _cleanup_(gtid_set_freep) struct gtid_set *lacking = gtid_set_subtract(had, has);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    gtid_set_print(lacking, &text);
    row_value_copy(loss->lost.lacking, sizeof(loss->lost.lacking), str_or_empty(text.buf));
}

/* What was lost first is named. */
static bool find_loss(struct gtid_loss *loss, enum gtid_flavour kind, const char *now)
{
    if (loss->lost.is_lost || str_eq(loss->latest, now))
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *had = position_parse(kind, loss->latest);
    _cleanup_(gtid_set_freep) struct gtid_set *has = position_parse(kind, now);
    if (!had || !has || !is_less(kind, had, has))
        return false;
    loss->lost.is_lost = true;
    name_lacking(loss, had, has);
    return true;
}

/* Purging goes on to later logs, and the first transaction of a log stays. */
static bool logs_were_taken(const struct gtid_loss *loss, const struct replication_facts *facts)
{
    if (!loss->oldest_log || !facts->oldest_log || facts->oldest_log > loss->oldest_log)
        return false;
    return facts->oldest_log < loss->oldest_log ||
        (*loss->first_logged && !str_eq(loss->first_logged, facts->first_logged));
}

/* Behind RESET MASTER: the first transaction is one that had been executed before. */
static bool find_repeated(struct gtid_loss *loss, enum gtid_flavour kind, const struct replication_facts *facts)
{
    if (!loss->before_reset && logs_were_taken(loss, facts)) {
        loss->before_reset = loss->latest;
        loss->of_before = position_pool_ref(loss->of_latest);
    }
    if (!loss->before_reset || !*facts->first_logged)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *had = position_parse(kind, loss->before_reset);
    _cleanup_(gtid_set_freep) struct gtid_set *first = position_parse(kind, facts->first_logged);
    enum gtid_relation relation = had && first ? gtid_set_compare(first, had) : GTID_DIVERGED;

    forget_reset(loss);
    if ((relation != GTID_SUBSET && relation != GTID_EQUAL) || loss->lost.is_lost)
        return false;
    loss->lost.is_lost = true;
    snprintf(loss->lost.lacking, sizeof(loss->lost.lacking), "%s and what follows it", facts->first_logged);
    return true;
}

bool gtid_loss_look(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *facts)
{
    bool goes_on = loss->latest && facts->connection && facts->connection == loss->connection;
    bool is_open = !facts->read_only;
    bool changed = false;

    if (!facts->seen || !facts->gtid_executed || !position_is_whole(facts->gtid_executed))
        return false;
    if (!goes_on)
        forget_reset(loss);
    else if (!find_loss(loss, agent_gtid_flavour(flavour), facts->gtid_executed))
        changed = find_repeated(loss, agent_gtid_flavour(flavour), facts);
    else
        changed = true;
    if (loss->lost.is_lost && is_open && !loss->lost.was_open)
        changed = loss->lost.was_open = true;
    if (goes_on || is_open || facts->configured)
        keep_latest(loss, facts);
    return changed;
}

void gtid_loss_server_gone(struct gtid_loss *loss)
{
    position_pool_unref(steal_ptr(loss->of_latest));
    forget_reset(loss);
    loss->latest = NULL;
    loss->connection = 0;
}
