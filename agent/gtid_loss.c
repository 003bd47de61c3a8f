/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/gtid_loss.h"

#include "agent/mysql/row_value.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/strbuf.h"

static void forget_had(struct gtid_loss *loss)
{
    position_pool_unref(steal_ptr(loss->of_had));
    position_pool_unref(steal_ptr(loss->of_wanted));
    loss->had = loss->wanted = NULL;
    loss->looks = 0;
    loss->lacking[0] = '\0';
}

static void keep_latest(struct gtid_loss *loss, const struct replication_facts *facts)
{
    position_pool_unref(loss->of_latest);
    loss->of_latest = position_pool_ref(facts->positions);
    loss->latest = str_or_empty(facts->gtid_executed);
    loss->latest_ms = facts->begun_ms;
    loss->connection = facts->connection;
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

static bool is_lost(enum gtid_flavour kind, const char *before, const char *now)
{
    _cleanup_(gtid_set_freep) struct gtid_set *had = position_parse(kind, before);
    _cleanup_(gtid_set_freep) struct gtid_set *has = position_parse(kind, now);

    if (!had || !has)
        return false;
    if (kind == GTID_MARIADB)
        return has_gone_back(had, has);
    enum gtid_relation relation = gtid_set_compare(had, has);
    return relation != GTID_EQUAL && relation != GTID_SUBSET;
}

static void begin_loss(struct gtid_loss *loss, enum gtid_flavour kind, const struct replication_facts *facts)
{
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = position_parse(kind, loss->latest);
    _cleanup_(gtid_set_freep) struct gtid_set *received = position_parse(kind, facts->gtid_received);

    loss->of_had = position_pool_ref(loss->of_latest);
    loss->had = loss->latest;
    loss->of_wanted = position_pool_new(POSITION_TEXT_MAX);
    if (wanted && received && kind == GTID_MYSQL)
        gtid_set_unite(wanted, received);
    loss->wanted = wanted ? position_print(loss->of_wanted, wanted) : "";
    loss->found_ms = facts->begun_ms;
    loss->looks = 1;
}

/* Nothing of it is lacking any more, or that is not known. */
static bool is_over(
    const struct gtid_loss *loss, enum gtid_flavour kind, const struct replication_facts *facts, bool goes_on)
{
    bool is_said = *loss->lacking != '\0';

    if (is_lost(kind, loss->had, facts->gtid_executed))
        return !is_said && !goes_on;
    return !is_said || !is_lost(kind, loss->wanted, facts->gtid_executed);
}

void gtid_loss_look(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *facts)
{
    enum gtid_flavour kind = agent_gtid_flavour(flavour);
    bool goes_on = facts->connection && facts->connection == loss->connection;

    if (!facts->seen || !position_is_whole(facts->gtid_executed)) {
        gtid_loss_forget(loss);
        return;
    }
    if (loss->had && is_over(loss, kind, facts, goes_on))
        forget_had(loss);
    else if (loss->had)
        loss->looks++;
    else if (goes_on && is_lost(kind, loss->latest, facts->gtid_executed))
        begin_loss(loss, kind, facts);
    keep_latest(loss, facts);
}

/* What of that the source has, and this server has not. False: nothing. MariaDB names the last transaction of a domain,
 * and what is lacking ends there. */
static bool name_lacking(
    struct gtid_loss *loss, enum gtid_flavour kind, const char *wanted, const struct gtid_set *theirs)
{
    _cleanup_(gtid_set_freep) struct gtid_set *all = position_parse(kind, wanted);
    _cleanup_(gtid_set_freep) struct gtid_set *has = position_parse(kind, loss->latest);
    _cleanup_(gtid_set_freep) struct gtid_set *both = all ? gtid_set_intersect(all, theirs) : NULL;
    _cleanup_(gtid_set_freep) struct gtid_set *lacking = both && has ? gtid_set_subtract(both, has) : NULL;
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    if (lacking)
        gtid_set_print(lacking, &text);
    row_value_copy(loss->lacking, sizeof(loss->lacking), str_or_empty(text.buf));
    return *loss->lacking != '\0';
}

void gtid_loss_heard(struct gtid_loss *loss, enum agent_flavour flavour, const char *theirs)
{
    enum gtid_flavour kind = agent_gtid_flavour(flavour);
    bool is_said = *loss->lacking != '\0';
    bool is_sure = loss->looks >= GTID_LOSS_LOOKS && loss->latest_ms - loss->found_ms >= GTID_LOSS_MS;
    _cleanup_(gtid_set_freep) struct gtid_set *source = NULL;

    if (!loss->had || !is_sure || str_empty(theirs))
        return;
    source = position_parse(kind, theirs);
    if (source && !name_lacking(loss, kind, loss->had, source) && is_said)
        (void)name_lacking(loss, kind, loss->wanted, source);
}

void gtid_loss_forget(struct gtid_loss *loss)
{
    position_pool_unref(loss->of_latest);
    position_pool_unref(loss->of_had);
    position_pool_unref(loss->of_wanted);
    *loss = (struct gtid_loss){0};
}
