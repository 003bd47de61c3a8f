/* SPDX-License-Identifier: Apache-2.0 */
/* Several streams together. */
#include "common/base.h"

#include "operator/instance/agent_fleet.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/instance/tests/watch_rig_util.h"

struct fleet_news {
    int count;
    char key[64];
};

static void on_fleet_news(void *arg, const char *cluster_key)
{
    struct fleet_news *news = arg;
    news->count++;
    snprintf(news->key, sizeof(news->key), "%s", cluster_key);
}

static void a_fleet_keeps_opens_and_closes_streams(void **state)
{
    struct watch_rig *rig = *state;
    struct fleet_news news = {.count = 0};
    struct agent_fleet *fleet = agent_fleet_new(rig->loop, rig->http, on_fleet_news, &news);
    struct agent_fleet_member members[] = {{"m-0", watch_rig_target_of(rig, WATCH_RIG_SERVER)},
        {"m-1", watch_rig_target_of(rig, "m-1.shop-mysql.ns1.svc")}};
    agent_fleet_sync(fleet, "ns1/shop", members, 2);
    assert_int_equal(agent_fleet_count(fleet), 2);
    RUN_UNTIL(rig, rig->streams == 2);
    watch_rig_say_status(rig, "x", "");
    RUN_UNTIL(rig, news.count == 1);
    assert_string_equal(news.key, "ns1/shop");
    const struct agent_watch *kept = agent_fleet_get(fleet, "ns1/shop", "m-0");
    agent_fleet_sync(fleet, "ns1/shop", members, 1);
    assert_ptr_equal(agent_fleet_get(fleet, "ns1/shop", "m-0"), kept);
    assert_null(agent_fleet_get(fleet, "ns1/shop", "m-1"));
    assert_int_equal(agent_fleet_count(fleet), 1);
    /* New certificates: a new stream. */
    http_tls_unref(rig->pki.client_tls);
    rig->pki.client_tls = agent_pki_client_tls(&rig->pki);
    members[0].target = watch_rig_target_of(rig, WATCH_RIG_SERVER);
    agent_fleet_sync(fleet, "ns1/shop", members, 1);
    RUN_UNTIL(rig, rig->streams == 3);
    assert_null(agent_fleet_status(fleet, "ns1/shop", "m-0")); /* what the old one said is gone with it */
    agent_fleet_sync(fleet, "ns1/shop", NULL, 0);
    assert_int_equal(agent_fleet_count(fleet), 0);
    assert_null(agent_fleet_get(fleet, "ns1/shop", "m-0"));
    agent_fleet_sync(fleet, "ns1/other", members, 1);
    agent_fleet_free(fleet);
}

static void a_fleet_hands_on_words_and_orders(void **state)
{
    struct watch_rig *rig = *state;
    struct fleet_news news = {.count = 0};
    struct agent_order order = watch_rig_order_of(1);
    struct agent_fleet *fleet = agent_fleet_new(rig->loop, rig->http, on_fleet_news, &news);
    const struct agent_fleet_member member = {"m-0", watch_rig_target_of(rig, WATCH_RIG_SERVER)};
    agent_fleet_order(fleet, "ns1/shop", "m-0", &order);
    agent_fleet_sync(fleet, "ns1/shop", &member, 1);
    agent_fleet_order(fleet, "ns1/shop", "m-1", &order);
    assert_null(agent_fleet_status(fleet, "ns1/shop", "m-0"));
    RUN_UNTIL(rig, rig->stream);
    watch_rig_say_status(rig, "starting", "");
    RUN_UNTIL(rig, news.count == 1);
    assert_string_equal(agent_fleet_status(fleet, "ns1/shop", "m-0")->ready_reason, "starting");
    assert_null(agent_fleet_status(fleet, "ns1/shop", "m-1"));
    assert_null(agent_fleet_status(fleet, "ns1/other", "m-0"));
    assert_int_equal(rig->puts, 0);
    agent_fleet_order(fleet, "ns1/shop", "m-0", &order);
    RUN_UNTIL(rig, rig->puts == 1);
    agent_fleet_free(fleet);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, watch_rig_set_up, watch_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_fleet_keeps_opens_and_closes_streams),
        RIG_TEST(a_fleet_hands_on_words_and_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
