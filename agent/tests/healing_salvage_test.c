/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/healing.h"
#include "agent/instance_state.h"
#include "common/agent_order.h"

static struct agent_order salvages_under(uint64_t epoch)
{
    return (struct agent_order){
        .role = AGENT_ROLE_PRIMARY, .epoch = epoch, .salvage_host = "db-0.db", .salvage_agent_port = 9443};
}

static enum salvage_step wished(uint64_t opened_epoch, const struct agent_order *order)
{
    struct instance_state state = {.role.opened_epoch = opened_epoch};

    healing_note_ordered(&state, order, false);
    return state.healing.salvage;
}

static void the_binary_logs_of_the_lost_primary_are_asked_for(void **state)
{
    UNUSED(state);
    struct agent_order order = salvages_under(5);

    assert_int_equal(wished(0, &order), SALVAGE_ASK);
    assert_int_equal(wished(4, &order), SALVAGE_ASK);
}

static void a_primary_without_such_an_order_asks_nobody(void **state)
{
    UNUSED(state);
    struct agent_order order = {.role = AGENT_ROLE_PRIMARY, .epoch = 5};

    assert_int_equal(wished(0, &order), SALVAGE_NONE);
}

/* The same order comes again when its server was started again, and the lost primary runs by then. */
static void a_primary_that_was_open_under_this_epoch_asks_no_more(void **state)
{
    UNUSED(state);
    struct agent_order order = salvages_under(5);

    assert_int_equal(wished(5, &order), SALVAGE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_binary_logs_of_the_lost_primary_are_asked_for),
        cmocka_unit_test(a_primary_without_such_an_order_asks_nobody),
        cmocka_unit_test(a_primary_that_was_open_under_this_epoch_asks_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
