/* SPDX-License-Identifier: Apache-2.0 */
/* The preStop hooks of a pod with a real server and its agent: what they wait for, and what ends the wait. */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/agent_rig.h"
#include "common/alloc.h"
#include "common/clock.h"

#define LONG_MS 60000
#define WATCH_MS 1000 /* a hook that has not ended for so long waits */
#define INSTANCE                                                                                                 \
    "{\"namespace\":\"ns\",\"cluster\":\"demo\",\"clusterUID\":\"u-1\",\"serviceDomain\":\"demo-mysql.ns.svc\"," \
    "\"serverIdBase\":1000,\"replicas\":%d}"

static void put_instance(const struct agent_rig *rig, int replicas)
{
    _cleanup_(freep) char *text = xasprintf(INSTANCE, replicas);
    agent_rig_put(rig, "config/instance.json", text);
}

static int setup(void **state)
{
    struct agent_rig *rig = agent_rig_new();
    *state = rig;
    put_instance(rig, 3);
    if (agent_rig_init(rig) != 0)
        return -1;
    agent_rig_start(rig, "run");
    agent_rig_start(rig, "server");
    return 0;
}

static int teardown(void **state)
{
    agent_rig_free(*state);
    return 0;
}

static bool role_is(const struct agent_rig *rig, const char *text, int wanted_code)
{
    _cleanup_(strbuf_release) struct strbuf body;
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;
    int code = 0;
    strbuf_init(&body, KM_MIB);
    while (clock_monotonic_ms() < end_ms) {
        strbuf_reset(&body);
        code = agent_rig_get(rig, "/role", &body);
        if (code == wanted_code && str_starts_with(body.buf, text))
            return true;
        usleep(50000);
    }
    printf("/role: %d %s\n", code, body.buf);
    return false;
}

static void order(const struct agent_rig *rig, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf body;
    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_order(rig, text, &body), 200);
}

static bool ended_within(struct agent_process *process, int64_t ms)
{
    int64_t end_ms = clock_monotonic_ms() + ms;
    int code = -1;
    while (!agent_rig_ended(process, &code)) {
        if (clock_monotonic_ms() > end_ms)
            return false;
        usleep(20000);
    }
    assert_int_equal(code, 0);
    return true;
}

static void test_without_an_order_nothing_is_waited_for(void **state)
{
    struct agent_rig *rig = *state;
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Running\"", LONG_MS));
    assert_true(role_is(rig, "none alone", 404));
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_true(ended_within(&hook, LONG_MS));
}

static void test_a_primary_waits_until_it_is_none(void **state)
{
    struct agent_rig *rig = *state;
    order(rig, "{\"epoch\":2,\"role\":\"primary\"}");
    assert_true(role_is(rig, "primary", 200));
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_false(ended_within(&hook, WATCH_MS));
    order(rig, "{\"epoch\":3,\"role\":\"replica\",\"sourceHost\":\"127.0.0.1\",\"sourcePort\":1,\"sourceAgentPort\":1}");
    assert_true(ended_within(&hook, 5000));
    assert_true(role_is(rig, "replica", 404));
}

/* As the file says that was mounted before others were added. */
static void test_a_cluster_that_was_of_one_waits(void **state)
{
    struct agent_rig *rig = *state;
    put_instance(rig, 1);
    order(rig, "{\"epoch\":4,\"role\":\"primary\",\"semiSync\":true,\"acks\":1}");
    assert_true(agent_rig_await_status(rig, "\"semiSync\":true", LONG_MS));
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_false(ended_within(&hook, WATCH_MS));
    order(rig, "{\"epoch\":5,\"role\":\"replica\",\"sourceHost\":\"127.0.0.1\",\"sourcePort\":1,\"sourceAgentPort\":1}");
    assert_true(ended_within(&hook, 5000));
    put_instance(rig, 3);
}

static void test_a_closed_primary_waits_for_a_while(void **state)
{
    struct agent_rig *rig = *state;
    order(rig, "{\"epoch\":6}");
    assert_true(role_is(rig, "fenced", 404));
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_false(ended_within(&hook, WATCH_MS));
    assert_true(ended_within(&hook, LONG_MS));
}

/* The order has the same hash. The hook closes the server for writes first, so that the volume holds every acknowledged
 * transaction. */
static void test_a_primary_that_nobody_could_replace_is_closed_at_once(void **state)
{
    struct agent_rig *rig = *state;
    order(rig, "{\"epoch\":7,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(rig, "\"writable\":true", LONG_MS));
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_false(ended_within(&hook, WATCH_MS));
    order(rig, "{\"epoch\":7,\"role\":\"primary\",\"nobodyStays\":true}");
    assert_true(ended_within(&hook, 5000));
    assert_true(role_is(rig, "primary closed alone last", 200));
    assert_true(agent_rig_await_status(rig, "\"readOnly\":true", 5000));
}

static void test_a_primary_that_nobody_moves_is_closed(void **state)
{
    struct agent_rig *rig = *state;
    order(rig, "{\"epoch\":8,\"role\":\"primary\"}");
    assert_true(role_is(rig, "primary closed alone", 200)); /* by the hook before */
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_true(ended_within(&hook, LONG_MS));
    assert_true(role_is(rig, "primary closed", 200));
}

static void test_a_cluster_of_one_does_not_wait(void **state)
{
    struct agent_rig *rig = *state;
    order(rig, "{\"epoch\":9,\"role\":\"primary\"}");
    assert_true(role_is(rig, "primary", 200));
    put_instance(rig, 1);
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_true(ended_within(&hook, 5000));
}

static void test_the_agent_outlives_the_server(void **state)
{
    struct agent_rig *rig = *state;
    struct agent_process hook = agent_rig_start(rig, "linger");
    assert_false(ended_within(&hook, WATCH_MS));
    kill(rig->server.inner, SIGTERM);
    agent_rig_wait(&rig->server);
    assert_true(ended_within(&hook, 5000));
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Down\"", 5000));
    hook = agent_rig_start(rig, "linger");
    assert_true(ended_within(&hook, 5000));
}

/* The pod was deleted by force: the hooks had a second. The agent, told to end, closes the server, which ends its
 * clients, and tells of it. */
static void test_an_agent_that_is_ended_before_its_server_still_hands_over(void **state)
{
    struct agent_rig *rig = *state;
    agent_rig_kill(&rig->agent);
    agent_rig_wait(&rig->server);
    rig->server = agent_rig_start(rig, "server");
    rig->agent = agent_rig_start(rig, "run");
    put_instance(rig, 3);
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Running\"", LONG_MS));
    order(rig, "{\"epoch\":10,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(rig, "\"writable\":true", LONG_MS));
    struct agent_process hook = agent_rig_start(rig, "pre-stop");
    assert_false(ended_within(&hook, WATCH_MS));
    kill(rig->agent.inner, SIGTERM);
    order(rig, "{\"epoch\":11}");
    assert_true(agent_rig_await_status(rig, "\"readyReason\":\"it is fenced\"", 1000));
    int code = -1;
    int64_t end_ms = clock_monotonic_ms() + 5000;
    while (!agent_rig_ended(&rig->agent, &code) && clock_monotonic_ms() < end_ms)
        usleep(20000);
    assert_int_equal(code, 0);
    agent_rig_kill(&hook);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_an_order_nothing_is_waited_for),
        cmocka_unit_test(test_a_primary_waits_until_it_is_none),
        cmocka_unit_test(test_a_cluster_that_was_of_one_waits),
        cmocka_unit_test(test_a_closed_primary_waits_for_a_while),
        cmocka_unit_test(test_a_primary_that_nobody_could_replace_is_closed_at_once),
        cmocka_unit_test(test_a_primary_that_nobody_moves_is_closed),
        cmocka_unit_test(test_a_cluster_of_one_does_not_wait),
        cmocka_unit_test(test_the_agent_outlives_the_server),
        cmocka_unit_test(test_an_agent_that_is_ended_before_its_server_still_hands_over),
    };

    return agent_rig_possible() ? cmocka_run_group_tests(tests, setup, teardown) : 77;
}
