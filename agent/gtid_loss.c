/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/gtid_loss.h"

#include "agent/mysql/row_value.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/strbuf.h"

static enum gtid_flavour kind_of(enum agent_flavour flavour)
{
    return flavour == AGENT_FLAVOUR_MARIADB ? GTID_MARIADB : GTID_MYSQL;
}

static bool can_be_compared(const char *position)
{
    return !str_empty(position) && position_is_whole(position);
}

/* What a has and b has not; NULL: it cannot be told. */
static struct gtid_set *beyond(enum gtid_flavour kind, const char *a, const char *b)
{
    _cleanup_(gtid_set_freep) struct gtid_set *of_a = position_parse(kind, a);
    _cleanup_(gtid_set_freep) struct gtid_set *of_b = position_parse(kind, b);

    return of_a && of_b ? gtid_set_subtract(of_a, of_b) : NULL;
}

static void print(const struct gtid_set *set, char *ret, size_t size)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    gtid_set_print(set, &text);
    row_value_copy(ret, size, text.buf);
}

static bool is_lacking(const struct gtid_loss *loss)
{
    return !str_empty(loss->had) || *loss->unsent;
}

static void note_since(struct gtid_loss *loss, int64_t now_ms)
{
    if (!is_lacking(loss))
        loss->since_ms = 0;
    else if (!loss->since_ms)
        loss->since_ms = now_ms;
}

static void drop_had(struct gtid_loss *loss)
{
    position_pool_unref(steal_ptr(loss->of_had));
    loss->had = "";
    loss->again = false;
}

static void drop_base(struct gtid_loss *loss)
{
    position_pool_unref(steal_ptr(loss->of_base));
    position_pool_unref(steal_ptr(loss->of_here));
    loss->base = loss->here = NULL;
}

/* MariaDB: the position of a domain has gone back, or there is none of any domain. One that is gone alone was deleted by
 * hand (FLUSH BINARY LOGS DELETE_DOMAIN_ID). */
static bool has_gone_back(const struct gtid_set *before, const struct gtid_set *now)
{
    struct gtid_one one;

    if (gtid_set_is_empty(now))
        return true;
    for (size_t i = 0; gtid_set_position(now, i, &one); i++) {
        one.number++;
        if (gtid_set_contains(before, &one))
            return true;
    }
    return false;
}

static bool is_lost(enum gtid_flavour kind, const char *before, const char *now)
{
    _cleanup_(gtid_set_freep) struct gtid_set *of_before = position_parse(kind, before);
    _cleanup_(gtid_set_freep) struct gtid_set *of_now = position_parse(kind, now);

    if (!of_before || !of_now)
        return false;
    if (kind == GTID_MARIADB)
        return has_gone_back(of_before, of_now);
    _cleanup_(gtid_set_freep) struct gtid_set *lost = gtid_set_subtract(of_before, of_now);
    return !gtid_set_is_empty(lost);
}

/* Less of it is lacking than before. A person gives it all back at once (SET GLOBAL gtid_purged). */
static bool is_executed_again(const struct gtid_loss *loss, const char *before, const char *now)
{
    _cleanup_(gtid_set_freep) struct gtid_set *lacked = beyond(GTID_MYSQL, loss->had, before);
    _cleanup_(gtid_set_freep) struct gtid_set *lacks = beyond(GTID_MYSQL, loss->had, now);

    return lacked && lacks && !gtid_set_is_empty(lacks) && gtid_set_compare(lacks, lacked) == GTID_SUBSET;
}

static void look_again(
    struct gtid_loss *loss, enum gtid_flavour kind, const struct replication_facts *before, const char *executed)
{
    loss->again = loss->again || kind == GTID_MARIADB || is_executed_again(loss, before->gtid_executed, executed);
    if (!loss->again && position_holds(kind, executed, loss->had))
        drop_had(loss);
}

void gtid_loss_look(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *before,
    const struct replication_facts *facts, int64_t now_ms)
{
    enum gtid_flavour kind = kind_of(flavour);

    if (!before->seen || !position_is_whole(before->gtid_executed) || !position_is_whole(facts->gtid_executed))
        return;
    if (!str_empty(loss->had))
        look_again(loss, kind, before, facts->gtid_executed);
    else if (!str_empty(before->gtid_executed) && is_lost(kind, before->gtid_executed, facts->gtid_executed)) {
        loss->of_had = position_pool_ref(before->positions);
        loss->had = before->gtid_executed;
    }
    note_since(loss, now_ms);
}

/* What the source has not need not be here either. */
static void drop_what_does_not_count(
    struct gtid_loss *loss, enum gtid_flavour kind, const char *executed, const char *theirs)
{
    _cleanup_(gtid_set_freep) struct gtid_set *had = position_parse(kind, loss->had);
    _cleanup_(gtid_set_freep) struct gtid_set *source = position_parse(kind, theirs);
    _cleanup_(gtid_set_freep) struct gtid_set *here = position_parse(kind, executed);

    if (str_empty(loss->had) || loss->again || !had || !source || !here)
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *both = gtid_set_intersect(had, source);
    _cleanup_(gtid_set_freep) struct gtid_set *lacking = gtid_set_subtract(both, here);
    if (gtid_set_is_empty(lacking))
        drop_had(loss);
}

/* What comes in the order of the source's log. A set that was emptied may still be whole in the relay logs. */
static const char *in_order(const struct replication_facts *facts)
{
    return facts->applies_in_order ? facts->gtid_executed : facts->gtid_received;
}

static void take_base(struct gtid_loss *loss, const struct replication_facts *facts, const char *theirs,
    struct position_pool *positions, int64_t now_ms)
{
    drop_base(loss);
    loss->of_base = position_pool_ref(positions);
    loss->base = theirs;
    loss->of_here = position_pool_ref(facts->positions);
    loss->here = in_order(facts);
    loss->base_ms = now_ms;
}

/* Something has come that the source had not when its set was read, and has now: what was written here is no news. */
static bool has_news(const struct gtid_loss *loss, const char *here, const char *theirs)
{
    _cleanup_(gtid_set_freep) struct gtid_set *more = beyond(GTID_MYSQL, here, loss->here);
    _cleanup_(gtid_set_freep) struct gtid_set *sent = beyond(GTID_MYSQL, theirs, loss->base);

    if (!more || !sent)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *news = gtid_set_intersect(more, sent);
    return !gtid_set_is_empty(news);
}

void gtid_loss_heard(struct gtid_loss *loss, enum agent_flavour flavour, const struct replication_facts *facts,
    bool connected, const char *theirs, struct position_pool *positions, int64_t now_ms)
{
    if (!can_be_compared(theirs)) {
        drop_base(loss);
        return;
    }
    drop_what_does_not_count(loss, kind_of(flavour), facts->gtid_executed, theirs);
    note_since(loss, now_ms);
    if (!connected || flavour == AGENT_FLAVOUR_MARIADB || !position_is_whole(in_order(facts))) {
        drop_base(loss);
        return;
    }
    if (!loss->base) {
        take_base(loss, facts, theirs, positions, now_ms);
        return;
    }
    if (now_ms - loss->base_ms < GTID_LOSS_JUDGE_MS || !has_news(loss, in_order(facts), theirs))
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *lacking = beyond(GTID_MYSQL, loss->base, in_order(facts));
    loss->found = lacking && !gtid_set_is_empty(lacking) ? loss->found + 1 : 0;
    if (loss->found == 0)
        loss->unsent[0] = '\0';
    else if (loss->found > 1)
        print(lacking, loss->unsent, sizeof(loss->unsent));
    note_since(loss, now_ms);
    take_base(loss, facts, theirs, positions, now_ms);
}

void gtid_loss_parted(struct gtid_loss *loss)
{
    drop_base(loss);
    loss->found = 0;
}

void gtid_loss_other_source(struct gtid_loss *loss)
{
    gtid_loss_parted(loss);
    loss->unsent[0] = '\0';
    if (!is_lacking(loss))
        loss->since_ms = 0;
}

void gtid_loss_server_gone(struct gtid_loss *loss)
{
    drop_had(loss);
    gtid_loss_other_source(loss);
}

void gtid_loss_text(
    const struct gtid_loss *loss, enum agent_flavour flavour, const char *executed, char *ret, size_t size)
{
    snprintf(ret, size, "%s", loss->unsent);
    if (*ret || str_empty(loss->had))
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *lost = beyond(kind_of(flavour), loss->had, executed);
    if (lost && !gtid_set_is_empty(lost))
        print(lost, ret, size);
    else
        snprintf(ret, size, "some were executed again");
}
