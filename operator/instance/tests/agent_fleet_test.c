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
    struct agent_fleet_member members[] = {{.name = "m-0", .target = watch_rig_target_of(rig, WATCH_RIG_SERVER)},
        {.name = "m-1", .target = watch_rig_target_of(rig, "m-1.shop-mysql.ns1.svc")}};
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
    const struct agent_fleet_member member = {.name = "m-0", .target = watch_rig_target_of(rig, WATCH_RIG_SERVER)};
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

/* ---- a pod that was deleted by force ---- */

#define OLD_UID "0b000000-0000-4000-8000-000000000001"
#define NEW_UID "0b000000-0000-4000-8000-000000000002"
#define KEY "ns1/shop"

static struct agent_fleet_member member_of(const struct watch_rig *rig, const char *uid, bool keep)
{
    struct agent_fleet_member member = {"m-0", watch_rig_target_of(rig, WATCH_RIG_SERVER), keep};
    member.target.pod = "m-0";
    member.target.uid = uid;
    return member;
}

static void say_as(struct watch_rig *rig, const char *uid, const char *reason)
{
    char line[256];
    snprintf(line, sizeof(line),
        "{\"phase\":\"Running\",\"instance\":\"m-0\",\"podUid\":\"%s\",\"readyReason\":\"%s\"}\n", uid, reason);
    watch_rig_say(rig, line);
}

static struct agent_fleet *fleet_with_old_pod(struct watch_rig *rig, struct fleet_news *news)
{
    struct agent_fleet *fleet = agent_fleet_new(rig->loop, rig->http, on_fleet_news, news);
    const struct agent_fleet_member member = member_of(rig, OLD_UID, false);
    agent_fleet_sync(fleet, KEY, &member, 1);
    RUN_UNTIL(rig, rig->stream);
    say_as(rig, OLD_UID, "old");
    RUN_UNTIL(rig, news->count == 1);
    assert_int_equal(agent_fleet_departed_ms(fleet, KEY, "m-0"), -1);
    return fleet;
}

/* Its word and its order, while the pod that has its name is there already. */
static void who_was_deleted_by_force_is_heard_to_its_end(void **state)
{
    struct watch_rig *rig = *state;
    struct fleet_news news = {.count = 0};
    struct agent_order order = watch_rig_order_of(1);
    struct agent_fleet *fleet = fleet_with_old_pod(rig, &news);
    struct agent_fleet_member member = {.name = "m-0", .keep = true}; /* no address yet */
    agent_fleet_sync(fleet, KEY, &member, 1);
    assert_true(agent_fleet_departed_ms(fleet, KEY, "m-0") >= 0);
    assert_true(agent_watch_is_for(agent_fleet_get(fleet, KEY, "m-0"), OLD_UID));
    member = member_of(rig, NEW_UID, true);
    agent_fleet_sync(fleet, KEY, &member, 1);
    agent_fleet_order(fleet, KEY, "m-0", &order);
    RUN_UNTIL(rig, rig->puts == 1);
    assert_string_equal(rig->put_to, "m-0 " OLD_UID);
    assert_int_equal(rig->streams, 1);
    say_as(rig, OLD_UID, "fenced");
    RUN_UNTIL(rig, str_eq(agent_fleet_status(fleet, KEY, "m-0")->ready_reason, "fenced"));
    agent_fleet_free(fleet);
}

static void its_last_word_stands_until_the_next_pod_speaks(void **state)
{
    struct watch_rig *rig = *state;
    struct fleet_news news = {.count = 0};
    struct agent_fleet *fleet = fleet_with_old_pod(rig, &news);
    struct agent_fleet_member member = member_of(rig, NEW_UID, true);
    agent_fleet_sync(fleet, KEY, &member, 1);
    int before = news.count;
    http_stream_abort(steal_ptr(rig->stream));
    RUN_UNTIL(rig, news.count > before);
    agent_fleet_sync(fleet, KEY, &member, 1);
    assert_false(agent_watch_connected(agent_fleet_get(fleet, KEY, "m-0")));
    assert_string_equal(agent_fleet_status(fleet, KEY, "m-0")->ready_reason, "old");
    RUN_UNTIL(rig, str_eq(rig->status_to, "m-0 " NEW_UID) && rig->stream);
    say_as(rig, NEW_UID, "new");
    RUN_UNTIL(rig, agent_fleet_departed_ms(fleet, KEY, "m-0") < 0);
    assert_string_equal(agent_fleet_status(fleet, KEY, "m-0")->ready_reason, "new");
    agent_fleet_free(fleet);
}

static void nobody_is_kept_who_need_not_be(void **state)
{
    struct watch_rig *rig = *state;
    struct fleet_news news = {.count = 0};
    struct agent_fleet *fleet = fleet_with_old_pod(rig, &news);
    struct agent_fleet_member member = member_of(rig, NEW_UID, false);
    agent_fleet_sync(fleet, KEY, &member, 1);
    assert_true(agent_watch_is_for(agent_fleet_get(fleet, KEY, "m-0"), NEW_UID));
    assert_null(agent_fleet_status(fleet, KEY, "m-0"));
    agent_fleet_free(fleet);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, watch_rig_set_up, watch_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_fleet_keeps_opens_and_closes_streams),
        RIG_TEST(a_fleet_hands_on_words_and_orders),
        RIG_TEST(who_was_deleted_by_force_is_heard_to_its_end),
        RIG_TEST(its_last_word_stands_until_the_next_pod_speaks),
        RIG_TEST(nobody_is_kept_who_need_not_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
