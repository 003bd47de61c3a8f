/* SPDX-License-Identifier: Apache-2.0 */
/* In which order orders and looks count. */
#include "common/base.h"

#include "agent/role_keeper.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"
#include "agent/bootstrap/volume_mark.h"
#include "agent/gtid_loss_note.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/position.h"
#include "common/strbuf.h"

struct world {
    struct binlog_double logs; /* the data folder */
    struct agent_paths paths;
    struct loop *loop;
    struct instance_state state;
    struct role_keeper *keeper;
};

/* Of one order. */
struct answer {
    bool come;
    enum error_kind kind;
};

static void on_change(void *arg)
{
    UNUSED(arg);
}

static void on_answer(void *arg, uint64_t epoch, const struct error *error)
{
    struct answer *answer = arg;

    UNUSED(epoch);
    answer->come = true;
    answer->kind = error->kind;
}

static int set_up(void **state)
{
    struct error err = ERROR_INIT;
    struct world *w = xnew(struct world);

    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    binlog_double_init(&w->logs, GTID_MARIADB);
    binlog_double_rotate(&w->logs, "0-1-7");
    binlog_double_add(&w->logs, "0-1-8", 1000000, 30000);
    agent_paths_init(&w->paths, w->logs.dir, w->logs.dir, NULL, NULL, NULL, NULL);
    free(w->paths.data_dir);
    w->paths.data_dir = xstrdup(w->logs.dir);
    w->loop = loop_new();
    w->state.observed.version.flavour = AGENT_FLAVOUR_MARIADB;
    w->keeper = role_keeper_new(w->loop, &w->paths, "agent", &w->state, on_change, w, &err);
    if (!w->keeper)
        fail_msg("%s", err.message);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    role_keeper_free(w->keeper);
    loop_free(w->loop);
    agent_paths_release(&w->paths);
    binlog_double_release(&w->logs);
    free(w);
    return 0;
}

static void wait_for(struct world *w, const struct answer *answer)
{
    for (int i = 0; i < 3000 && !answer->come; i++)
        loop_run_once(w->loop, 10);
    assert_true(answer->come);
}

static struct agent_order follow_order(bool reseed)
{
    struct agent_order order = {.epoch = 3, .role = AGENT_ROLE_REPLICA, .wait_for = "", .beyond = ""};

    snprintf(order.source_host, sizeof(order.source_host), "db-0.db");
    order.source_port = 3306;
    order.mark = reseed ? AGENT_MARK_RESEED : AGENT_MARK_NONE;
    order.set_aside = reseed;
    return order;
}

static enum agent_mark mark_of(const struct world *w)
{
    struct error err = ERROR_INIT;
    enum agent_mark mark = AGENT_MARK_NONE;

    if (volume_mark_read(&w->paths, &mark, &err) < 0)
        fail_msg("%s", err.message);
    return mark;
}

static void test_marked_once_all_is_set_aside(void **state)
{
    struct world *w = *state;
    struct answer answer = {.come = false};
    const struct agent_order order = follow_order(true);

    role_keeper_order(w->keeper, &order, on_answer, &answer);
    wait_for(w, &answer);
    assert_int_equal(answer.kind, ERROR_NONE);
    assert_int_equal(mark_of(w), AGENT_MARK_RESEED);
}

/* The operator has taken back that the data is to be replaced: it may hold the only other copy of a commit. */
static void test_overtaken_while_transactions_are_set_aside(void **state)
{
    struct world *w = *state;
    struct answer first = {.come = false}, last = {.come = false};
    const struct agent_order reseed = follow_order(true), follow = follow_order(false);

    role_keeper_order(w->keeper, &reseed, on_answer, &first);
    role_keeper_order(w->keeper, &follow, on_answer, &last);
    wait_for(w, &last);
    wait_for(w, &first);
    assert_int_equal(last.kind, ERROR_NONE);
    assert_int_equal(first.kind, ERROR_UNAVAILABLE);
    assert_int_equal(mark_of(w), AGENT_MARK_NONE);
    assert_int_equal(w->state.role.order.mark, AGENT_MARK_NONE);
}

/* What is of an epoch of the past is refused, and overtakes nobody. */
static void test_not_overtaken_by_an_order_of_the_past(void **state)
{
    struct world *w = *state;
    struct answer before = {.come = false}, first = {.come = false}, last = {.come = false};
    const struct agent_order reseed = follow_order(true);
    struct agent_order follow = follow_order(false);

    role_keeper_order(w->keeper, &follow, on_answer, &before);
    wait_for(w, &before);
    follow.epoch = 2;
    role_keeper_order(w->keeper, &reseed, on_answer, &first);
    role_keeper_order(w->keeper, &follow, on_answer, &last);
    wait_for(w, &last);
    wait_for(w, &first);
    assert_int_equal(last.kind, ERROR_CONFLICT);
    assert_int_equal(first.kind, ERROR_NONE);
    assert_int_equal(mark_of(w), AGENT_MARK_RESEED);
}

static void look(struct world *w, int64_t begun_ms, const char *executed)
{
    struct replication_facts facts = {.seen = true, .begun_ms = begun_ms, .read_only = true};

    facts.positions = position_pool_new(KM_KIB);
    facts.gtid_executed = facts.gtid_received = position_take(facts.positions, executed);
    role_keeper_observed(w->keeper, &facts, begun_ms);
    replication_facts_release(&facts);
}

/* Looks come from two threads. A look that began earlier does not replace what is known; but what the next server has
 * is taken, whatever it is. */
static void test_an_older_look_replaces_no_newer_one(void **state)
{
    struct world *w = *state;

    w->state.role.has_order = true;
    w->state.role.order.role = AGENT_ROLE_NONE;
    w->state.role.running = ROLE_ACTION_CLOSE;
    look(w, 2000, "0-1-9");
    look(w, 1990, "0-1-7");
    assert_string_equal(w->state.replication.gtid_executed, "0-1-9");
    assert_int_equal(w->state.replication_ms, 2000);
    look(w, 2000, "0-1-10");
    look(w, 2500, "0-1-11");
    assert_string_equal(w->state.replication.gtid_executed, "0-1-11");
    role_keeper_server_gone(w->keeper);
    look(w, 2600, "0-1-8");
    assert_string_equal(w->state.replication.gtid_executed, "0-1-8");
}

static void look_on(struct world *w, const char *executed, bool read_only)
{
    struct replication_facts facts = {.seen = true, .read_only = read_only, .connection = 3};

    facts.begun_ms = clock_monotonic_ms();
    facts.positions = position_pool_new(KM_KIB);
    facts.gtid_executed = position_take(facts.positions, executed);
    role_keeper_observed(w->keeper, &facts, facts.begun_ms);
    replication_facts_release(&facts);
    role_keeper_turn(w->keeper, AGENT_PHASE_RUNNING, clock_monotonic_ms());
}

static void begin_anew(struct world *w)
{
    struct error err = ERROR_INIT;

    role_keeper_free(w->keeper);
    w->state = (struct instance_state){.observed = {.version = {.flavour = AGENT_FLAVOUR_MARIADB}}};
    w->keeper = role_keeper_new(w->loop, &w->paths, "agent", &w->state, on_change, w, &err);
    if (!w->keeper)
        fail_msg("%s", err.message);
}

/* The next agent knows it, also that the server was open, and so does whoever sets aside. Other data is sound. */
static void test_a_position_that_was_set_back_is_noted(void **state)
{
    struct world *w = *state;

    look_on(w, "0-1-90", false);
    look_on(w, "0-1-8", false);
    assert_true(w->state.loss.lost.is_lost);
    for (int i = 0; i < 3000 && !gtid_loss_note_read(&w->paths).was_open; i++)
        loop_run_once(w->loop, 10);
    begin_anew(w);
    assert_true(w->state.loss.lost.is_lost && w->state.loss.lost.was_open);
    assert_string_equal(w->state.loss.lost.lacking, "0-1-90");
    str_replace(&w->paths.data_dir, w->paths.data_new_dir);
    begin_anew(w);
    assert_false(w->state.loss.lost.is_lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_marked_once_all_is_set_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overtaken_while_transactions_are_set_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_overtaken_by_an_order_of_the_past, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_older_look_replaces_no_newer_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_position_that_was_set_back_is_noted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
