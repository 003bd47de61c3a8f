/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/gtid_loss.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/position.h"

#define A "aaaaaaaa-0000-0000-0000-000000000000"
#define B "bbbbbbbb-0000-0000-0000-000000000000"
#define MYSQL AGENT_FLAVOUR_MYSQL
#define MARIADB AGENT_FLAVOUR_MARIADB
#define LOOK_MS 1000

struct story {
    struct gtid_loss loss;
    enum agent_flavour flavour;
    uint64_t connection;
    int64_t now_ms;
};

static struct story begin(enum agent_flavour flavour)
{
    return (struct story){.flavour = flavour, .connection = 7, .now_ms = 100000};
}

static void look_at(struct story *story, int64_t pause_ms, const char *executed, const char *received)
{
    struct replication_facts facts = {.seen = true, .connection = story->connection};

    story->now_ms += pause_ms;
    facts.begun_ms = story->now_ms;
    facts.positions = position_pool_new(KM_KIB);
    facts.gtid_executed = position_take(facts.positions, executed);
    facts.gtid_received = position_take(facts.positions, received);
    gtid_loss_look(&story->loss, story->flavour, &facts);
    replication_facts_release(&facts);
}

static void look(struct story *story, const char *executed)
{
    look_at(story, LOOK_MS, executed, executed);
}

static void hear(struct story *story, const char *theirs)
{
    gtid_loss_heard(&story->loss, story->flavour, theirs);
}

/* As often as it takes. */
static void look_on(struct story *story, const char *executed)
{
    for (int i = 0; i < GTID_LOSS_LOOKS; i++)
        look(story, executed);
}

/* Nothing is said before the last of those looks, nor before the source is heard. */
static void test_an_emptied_set_is_said(void **unused)
{
    struct story story = begin(MYSQL);

    UNUSED(unused);
    look(&story, A ":1-50," B ":1-3");
    for (int i = 0; i < GTID_LOSS_LOOKS; i++) {
        hear(&story, A ":1-60," B ":1-3");
        assert_string_equal(story.loss.lacking, "");
        look(&story, i ? A ":51-60" : "");
        assert_string_equal(story.loss.lacking, "");
    }
    hear(&story, A ":1-60," B ":1-3");
    assert_string_equal(story.loss.lacking, A ":1-50," B ":1-3");
    look(&story, A ":51-70");
    assert_string_equal(story.loss.lacking, A ":1-50," B ":1-3");
    /* A person gives it back. */
    look(&story, A ":1-70");
    hear(&story, A ":1-70," B ":1-3");
    assert_string_equal(story.loss.lacking, B ":1-3");
    look(&story, A ":1-70," B ":1-3");
    assert_string_equal(story.loss.lacking, "");
    hear(&story, A ":1-70," B ":1-3");
    assert_string_equal(story.loss.lacking, "");
    gtid_loss_forget(&story.loss);
}

/* A look or some that have found nothing, or an older set, are no proof, nor are many in a moment. */
static void test_some_looks_prove_nothing(void **unused)
{
    struct story story = begin(MYSQL);

    UNUSED(unused);
    look(&story, A ":1-50");
    for (int i = 1; i < GTID_LOSS_LOOKS; i++) {
        look(&story, i % 2 ? "" : A ":1-40");
        hear(&story, A ":1-60");
        assert_string_equal(story.loss.lacking, "");
    }
    look(&story, A ":1-51");
    assert_null(story.loss.had);
    for (int i = 0; i < 5 * GTID_LOSS_LOOKS; i++)
        look_at(&story, GTID_LOSS_MS / (6 * GTID_LOSS_LOOKS), "", "");
    hear(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, "");
    gtid_loss_forget(&story.loss);
}

/* What was executed after the last look before it was emptied is lost as well, and nothing tells of that but the relay
 * logs. What they hold and is yet to be applied is no loss. */
static void test_what_no_look_has_seen_is_lost_as_well(void **unused)
{
    struct story story = begin(MYSQL);

    UNUSED(unused);
    look(&story, A ":1-50");
    for (int i = 0; i < GTID_LOSS_LOOKS; i++)
        look_at(&story, LOOK_MS, A ":53", A ":20-55");
    hear(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, A ":1-50");
    look_at(&story, LOOK_MS, A ":1-50:53-60", A ":1-60"); /* what is reported as lost is given back */
    hear(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, A ":51-52");
    look(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, "");
    /* A set that is whole before anything was said, though something waits to be applied. */
    look_at(&story, LOOK_MS, A ":1-20", A ":1-80");
    for (int i = 0; i < 2 * GTID_LOSS_LOOKS; i++)
        look_at(&story, LOOK_MS, A ":1-60", A ":1-80");
    hear(&story, A ":1-90");
    assert_string_equal(story.loss.lacking, "");
    gtid_loss_forget(&story.loss);
}

/* It may be another server, or an older state of it, that another connection leads to. */
static void test_another_connection_is_compared_with_nothing(void **unused)
{
    struct story story = begin(MYSQL);

    UNUSED(unused);
    look(&story, A ":1-50");
    story.connection++;
    look_on(&story, A ":1-40");
    look_on(&story, A ":1-41");
    hear(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, "");
    /* Nor is what was found over one gone on with over the next. */
    for (int i = 0; i < 3; i++) {
        look(&story, "");
        look(&story, "");
        story.connection++;
    }
    look_on(&story, "");
    hear(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, "");
    /* A look that tells no connection. */
    story.connection = 0;
    look(&story, A ":1-50");
    look_on(&story, "");
    hear(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, "");
    gtid_loss_forget(&story.loss);
}

/* What was said once holds until it is whole, or the server ends. */
static void test_what_was_said_outlives_a_connection(void **unused)
{
    struct story story = begin(MYSQL);

    UNUSED(unused);
    look(&story, A ":1-50");
    look_on(&story, A ":51");
    hear(&story, A ":1-51");
    assert_string_equal(story.loss.lacking, A ":1-50");
    story.connection++;
    look(&story, A ":51-52");
    hear(&story, A ":1-52");
    assert_string_equal(story.loss.lacking, A ":1-50");
    gtid_loss_forget(&story.loss);
    look_on(&story, A ":51-52");
    hear(&story, A ":1-52");
    assert_string_equal(story.loss.lacking, "");
    gtid_loss_forget(&story.loss);
}

/* An errant transaction that somebody has taken out of the set by hand is lost to nobody. */
static void test_what_the_source_has_not_need_not_be_there(void **unused)
{
    struct story story = begin(MYSQL);

    UNUSED(unused);
    look(&story, A ":1-50," B ":1");
    look_on(&story, A ":1-50");
    hear(&story, A ":1-60");
    assert_string_equal(story.loss.lacking, "");
    hear(&story, A ":1-60," B ":1");
    assert_string_equal(story.loss.lacking, B ":1");
    hear(&story, ""); /* it does not tell */
    assert_string_equal(story.loss.lacking, B ":1");
    gtid_loss_forget(&story.loss);
}

/* It lags, or a long set is not told: nothing goes back. */
static void test_a_sound_replica(void **unused)
{
    struct story story = begin(MYSQL);

    UNUSED(unused);
    look_on(&story, A ":1-50");
    look_on(&story, A ":1-50:60");
    look_on(&story, A ":1-60");
    hear(&story, A ":1-90");
    assert_null(story.loss.had);
    look_on(&story, POSITION_TOO_LONG);
    look_on(&story, A ":1-50");
    hear(&story, A ":1-90");
    assert_null(story.loss.had);
    gtid_loss_forget(&story.loss);
}

static void test_positions_of_mariadb(void **unused)
{
    struct story story = begin(MARIADB);

    UNUSED(unused);
    look(&story, "0-1-100,2-1-7");
    look(&story, "0-2-101,2-1-7");
    look_on(&story, "0-2-102"); /* a domain was deleted */
    assert_null(story.loss.had);
    look_on(&story, "");
    hear(&story, "0-2-110");
    assert_string_equal(story.loss.lacking, "0-2-102");
    look(&story, "0-2-30"); /* sent again from the beginning */
    hear(&story, "0-2-110");
    assert_string_equal(story.loss.lacking, "0-2-102");
    look(&story, "0-2-102");
    assert_string_equal(story.loss.lacking, "");
    gtid_loss_forget(&story.loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_emptied_set_is_said),
        cmocka_unit_test(test_some_looks_prove_nothing),
        cmocka_unit_test(test_what_no_look_has_seen_is_lost_as_well),
        cmocka_unit_test(test_another_connection_is_compared_with_nothing),
        cmocka_unit_test(test_what_was_said_outlives_a_connection),
        cmocka_unit_test(test_what_the_source_has_not_need_not_be_there),
        cmocka_unit_test(test_a_sound_replica),
        cmocka_unit_test(test_positions_of_mariadb),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
