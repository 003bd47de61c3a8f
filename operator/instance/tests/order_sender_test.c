/* SPDX-License-Identifier: Apache-2.0 */
/* Orders on their way to an agent, along with its status stream. */
#include "common/base.h"

#include "operator/instance/order_sender.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/instance/tests/watch_rig_util.h"

static void an_order_is_given_until_the_status_shows_it(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17];
    struct agent_order order = watch_rig_order_of(1);
    agent_order_hash(&order, hash);
    watch_rig_start(rig, WATCH_RIG_SERVER);
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_run_for(rig, 50);
    assert_int_equal(rig->puts, 0); /* it has not spoken yet */
    watch_rig_say_order(rig, "boot1", "");
    RUN_UNTIL(rig, rig->puts == 1);
    assert_string_equal(rig->put_hash, hash);
    watch_rig_say_order(rig, "boot1", ""); /* was under way when the order came */
    watch_rig_run_for(rig, 200);
    assert_int_equal(rig->puts, 1);
    RUN_UNTIL(rig, rig->puts == 2); /* taken up, but never shown: once more */
    watch_rig_say_order(rig, "boot1", hash);
    agent_watch_order(rig->watch, &order);
    watch_rig_run_for(rig, 2 * ORDER_SENDER_GRACE_MS);
    assert_int_equal(rig->puts, 2);
    watch_rig_say_order(rig, "boot1", "f00d"); /* somebody else's */
    RUN_UNTIL(rig, rig->puts == 3);
    assert_string_equal(agent_watch_order_error(rig->watch), "");
}

static void a_new_order_is_given_at_once(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17];
    struct agent_order first = watch_rig_order_of(1), second = watch_rig_order_of(2);
    watch_rig_start_with(rig, "");
    rig->put_answer = 500;
    rig->put_text = "not now";
    agent_watch_order(rig->watch, &first);
    RUN_UNTIL(rig, rig->puts >= 6); /* the back-off is at its longest */
    assert_string_equal(agent_watch_order_error(rig->watch), "the order was answered 500: not now");
    rig->put_answer = 0;
    int puts = rig->puts;
    int64_t before_ms = clock_monotonic_ms();
    agent_watch_order(rig->watch, &second);
    RUN_UNTIL(rig, rig->puts > puts);
    assert_true(clock_monotonic_ms() - before_ms < 1000);
    agent_order_hash(&second, hash);
    assert_string_equal(rig->put_hash, hash);
    assert_string_equal(agent_watch_order_error(rig->watch), "");
}

/* What it was told before may be wrong by now: only a fresh decision is sent. */
static void a_restarted_agent_is_told_what_is_wanted_then(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17];
    struct agent_order order = watch_rig_order_of(1);
    agent_order_hash(&order, hash);
    watch_rig_start_with(rig, "");
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 1);
    watch_rig_say_order(rig, "boot1", hash);
    watch_rig_run_for(rig, 100);
    http_stream_abort(steal_ptr(rig->stream));
    RUN_UNTIL(rig, rig->stream);
    assert_int_equal(rig->puts, 1);
    watch_rig_say_order(rig, "boot2", "");
    watch_rig_run_for(rig, 200);
    assert_int_equal(rig->puts, 1);
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 2);
    assert_string_equal(rig->put_hash, hash);
}

/* Its server has ended: nobody has decided yet that it is to open once more. */
static void an_order_that_was_dropped_is_not_given_again(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17];
    struct agent_order order = watch_rig_order_of(1);
    agent_order_hash(&order, hash);
    watch_rig_start_with(rig, "");
    agent_watch_order(rig->watch, &order);
    agent_watch_repeat_order(rig->watch, true);
    RUN_UNTIL(rig, rig->puts == 1);
    watch_rig_say_order(rig, "boot1", hash);
    RUN_UNTIL(rig, rig->puts == 2); /* a sign of life */
    watch_rig_say_order(rig, "boot1", "");
    watch_rig_run_for(rig, 2 * ORDER_SENDER_REPEAT_MS);
    assert_int_equal(rig->puts, 2);
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 3);
    assert_string_equal(rig->put_hash, hash);
}

/* No status shows that, so an order that is in force is given once more, until the agent has taken it up. */
static void that_nobody_stays_is_given_once(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17], with[17];
    struct agent_order order = watch_rig_order_of(1);
    agent_order_hash(&order, hash);
    watch_rig_start_with(rig, "");
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 1);
    watch_rig_say_order(rig, "boot1", hash);
    watch_rig_run_for(rig, 100);
    order.nobody_stays = true;
    agent_order_hash(&order, with);
    assert_string_equal(with, hash);
    rig->put_answer = 500;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 2);
    assert_true(rig->put_last);
    rig->put_answer = 0;
    RUN_UNTIL(rig, rig->puts == 3);
    agent_watch_order(rig->watch, &order);
    watch_rig_say_order(rig, "boot1", hash);
    watch_rig_run_for(rig, 200);
    assert_int_equal(rig->puts, 3);
    order.nobody_stays = false;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 4);
    assert_false(rig->put_last);
}

static void say_stopped(struct watch_rig *rig, const char *hash, bool keeps_stopped)
{
    struct agent_status status = {.phase = AGENT_PHASE_DOWN, .keeps_stopped = keeps_stopped};
    snprintf(status.boot_id, sizeof(status.boot_id), "boot1");
    snprintf(status.order_hash, sizeof(status.order_hash), "%s", hash);
    watch_rig_tell(rig, &status);
}

/* Another operator has told it, or this one before it was started anew: its status says what is so. */
static void an_aside_that_is_shown_is_taken_back(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17];
    struct agent_order order = watch_rig_order_of(1);
    agent_order_hash(&order, hash);
    watch_rig_start_with(rig, hash);
    say_stopped(rig, hash, true);
    order.keep_stopped = true;
    agent_watch_order(rig->watch, &order);
    watch_rig_run_for(rig, 200);
    assert_int_equal(rig->puts, 0);
    order.keep_stopped = false;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 1);
    say_stopped(rig, hash, false);
    watch_rig_run_for(rig, 200);
    assert_int_equal(rig->puts, 1);
    order.leave_threads = true; /* an agent of an earlier version does not show it */
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 2);
    say_stopped(rig, hash, false);
    watch_rig_run_for(rig, 2 * ORDER_SENDER_GRACE_MS);
    assert_int_equal(rig->puts, 2);
}

/* Another time is another wish, which the hash of the order does not show. */
static void each_wish_to_open_for_root_is_told(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17];
    struct agent_order order = watch_rig_order_of(1);
    agent_order_hash(&order, hash);
    watch_rig_start_with(rig, hash);
    watch_rig_say_order(rig, "boot1", hash);
    for (uint32_t i = 1; i <= 3; i++) {
        order.root_until_ms = i < 3 ? 1800000000000ULL + 1000 * i : 0;
        order.root_ms = i < 3 ? 60000 : 0;
        agent_watch_order(rig->watch, &order);
        RUN_UNTIL(rig, rig->puts == (int)i);
        order.root_ms /= 2; /* as time passes */
        agent_watch_order(rig->watch, &order);
        watch_rig_say_order(rig, "boot1", hash);
        watch_rig_run_for(rig, 200);
        assert_int_equal(rig->puts, i);
    }
}

/* Orders never overtake each other. */
static void one_order_at_a_time(void **state)
{
    struct watch_rig *rig = *state;
    char hash[17];
    struct agent_order first = watch_rig_order_of(1), second = watch_rig_order_of(2), third = watch_rig_order_of(3);
    watch_rig_start_with(rig, "");
    rig->hold_puts = true;
    agent_watch_order(rig->watch, &first);
    RUN_UNTIL(rig, rig->held);
    agent_watch_order(rig->watch, &second);
    agent_watch_order(rig->watch, &third);
    watch_rig_say_order(rig, "boot1", "");
    watch_rig_run_for(rig, 200);
    assert_int_equal(rig->puts, 1);
    rig->hold_puts = false;
    rig->put_answer = 409; /* of the first order: says nothing about the third */
    watch_rig_answer_put(rig, steal_ptr(rig->held));
    rig->put_answer = 0;
    RUN_UNTIL(rig, rig->puts == 2);
    agent_order_hash(&third, hash);
    assert_string_equal(rig->put_hash, hash);
    uint64_t epoch;
    assert_false(agent_watch_order_refused(rig->watch, &epoch));
}

static void a_refused_order_is_told_and_not_repeated(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_order order = watch_rig_order_of(3);
    uint64_t epoch = 0;
    watch_rig_start_with(rig, "");
    int news = rig->news;
    rig->put_answer = 409;
    rig->put_text = "{\"epoch\":17}";
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->news == news + 1);
    assert_true(agent_watch_order_refused(rig->watch, &epoch));
    assert_int_equal(epoch, 17);
    assert_string_equal(agent_watch_order_error(rig->watch), "the order was refused: this member has seen epoch 17");
    watch_rig_say_order(rig, "boot1", "");
    agent_watch_order(rig->watch, &order);
    watch_rig_run_for(rig, 500);
    assert_int_equal(rig->puts, 1);
    rig->put_answer = 0;
    order.epoch = 18;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 2);
    assert_false(agent_watch_order_refused(rig->watch, &epoch));
}

/* By whatever way an order would go out: a try again, a repetition, news of the agent, another order (I2). */
static void who_does_not_lead_says_nothing(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_order first = watch_rig_order_of(1), second = watch_rig_order_of(2);
    watch_rig_start_with(rig, "");
    rig->put_answer = 500;
    agent_watch_order(rig->watch, &first);
    agent_watch_repeat_order(rig->watch, true);
    RUN_UNTIL(rig, rig->puts == 1);
    rig->muzzled = true;
    watch_rig_run_for(rig, 300);
    int puts = rig->puts; /* one may have been under way */
    watch_rig_say_order(rig, "boot2", "");
    watch_rig_run_for(rig, 2 * ORDER_SENDER_REPEAT_MS);
    agent_watch_order(rig->watch, &second);
    watch_rig_run_for(rig, 300);
    assert_int_equal(rig->puts, puts);
    rig->muzzled = false;
    watch_rig_say_order(rig, "boot3", "");
    RUN_UNTIL(rig, rig->puts > puts);
}

static void no_order_no_request(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_order order = watch_rig_order_of(1);
    watch_rig_start_with(rig, "f00d");
    watch_rig_run_for(rig, 100);
    assert_int_equal(rig->puts, 0);
    rig->put_answer = 500;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 1);
    watch_rig_run_for(rig, 20);
    agent_watch_order(rig->watch, NULL);
    int puts = rig->puts;
    watch_rig_run_for(rig, 1000);
    assert_int_equal(rig->puts, puts);
    assert_string_equal(agent_watch_order_error(rig->watch), "");
}

static void it_can_be_freed_with_an_order_under_way(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_order order = watch_rig_order_of(1);
    watch_rig_start_with(rig, "");
    rig->hold_puts = true;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->held);
    agent_watch_free(steal_ptr(rig->watch));
    watch_rig_answer_put(rig, steal_ptr(rig->held));
    watch_rig_run_for(rig, 50);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, watch_rig_set_up, watch_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(an_order_is_given_until_the_status_shows_it),
        RIG_TEST(a_new_order_is_given_at_once),
        RIG_TEST(a_restarted_agent_is_told_what_is_wanted_then),
        RIG_TEST(an_order_that_was_dropped_is_not_given_again),
        RIG_TEST(that_nobody_stays_is_given_once),
        RIG_TEST(an_aside_that_is_shown_is_taken_back),
        RIG_TEST(each_wish_to_open_for_root_is_told),
        RIG_TEST(one_order_at_a_time),
        RIG_TEST(a_refused_order_is_told_and_not_repeated),
        RIG_TEST(who_does_not_lead_says_nothing),
        RIG_TEST(no_order_no_request),
        RIG_TEST(it_can_be_freed_with_an_order_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
