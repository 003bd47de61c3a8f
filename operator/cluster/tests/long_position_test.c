/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of 400 server UUIDs, from what an agent says to what the next primary is told. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define SERVERS 400
#define UUID "0000-71ca-11e1-9e33-c80aa9429562"

/* The last transactions are of server number `writer`, `more` beyond what all have. */
static char *position_of(int writer, int more)
{
    struct strbuf text;
    strbuf_init(&text, POSITION_TEXT_MAX);
    for (int i = 0; i < SERVERS; i++)
        strbuf_addf(&text, "%s%04d" UUID ":1-%d", i ? "," : "", i, 10000000 + i + (i == writer ? more : 0));
    assert_false(text.overflowed);
    return strbuf_detach(&text, NULL);
}

static json_t *agent_of(const char *role, const char *position, bool is_old)
{
    json_t *agent = json_build("{s:s, s:s, s:s, s:s, s:s}", "role", role, "flavour", "mysql", "version", "8.4.3",
        "gtidExecuted", position, "gtidReceived", position);
    if (!is_old)
        json_put_int(agent, "positionMax", (int64_t)POSITION_TEXT_MAX);
    return agent;
}

static json_t *cluster_of(json_t *status)
{
    static const char base[] = "{\"config\": {\"spec\": {\"images\": {\"mysql\": \"mysql:8.4\"}}}, \"replicas\": 3, "
                               "\"storage\": {\"resources\": {\"requests\": {\"storage\": \"1Gi\"}}}}";
    json_t *spec = json_parse(base, strlen(base), NULL);
    return json_build("{s:{s:i, s:{s:s}}, s:o, s:o}", "metadata", "generation", 2, "annotations",
        "kubemysql.dev/switchover-to", "1", "spec", spec, "status", status);
}

static struct golden *golden_of(json_t *status, json_t *agents)
{
    _cleanup_(json_decrefp) json_t *cluster = cluster_of(status);
    _cleanup_(json_decrefp) json_t *observed = json_build("{s:{}, s:{s:{}, s:{}, s:{}}, s:{s:{}, s:{}, s:{}}, s:o}",
        "children", "pods", "0", "1", "2", "claims", "0", "1", "2", "agents", agents);
    struct golden *golden = golden_new(cluster, observed);
    if (!golden->snapshot.usable)
        fail_msg("%s", golden->snapshot.message);
    return golden;
}

/* As it is written, stored and read in the next round. */
static void intend_and_read(const struct golden *golden, struct cluster_intent *intent, struct cluster_status *ret)
{
    struct cluster_status status;
    cluster_intend(&golden->snapshot, false, intent);
    cluster_status_copy(&golden->snapshot.last, &status);
    cluster_intent_apply(&golden->snapshot, intent, &status);
    _cleanup_(json_decrefp) json_t *json = cluster_status_encode(&status);
    cluster_status_decode(json, ret);
    cluster_status_release(&status);
}

/* Through the body of PUT /v1/role. */
static void check_told(const struct golden *golden, int member, const char *position)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(POSITION_TEXT_MAX);
    _cleanup_(strbuf_release) struct strbuf body;
    struct cluster_orders *orders = xnew(struct cluster_orders);
    struct agent_order told;
    strbuf_init(&body, AGENT_ORDER_MAX);
    golden_order(&golden->snapshot, orders);
    assert_true(orders->given[member]);
    agent_order_encode(&orders->orders[member], &body);
    free(orders);
    assert_false(body.overflowed);
    assert_int_equal(agent_order_decode(body.buf, body.len, positions, &told, NULL), 0);
    assert_int_equal(told.role, AGENT_ROLE_PRIMARY);
    assert_string_equal(told.wait_for, position);
}

static json_t *status_of(const char *json)
{
    return json_parse(json, strlen(json), NULL);
}

static void a_switchover_begins(void **state)
{
    UNUSED(state);
    _cleanup_(freep) char *all = position_of(7, 0);
    struct golden *golden =
        golden_of(status_of("{\"epoch\":1,\"initialized\":true,\"currentPrimary\":\"shop-mysql-0\",\"semiSync\":true}"),
            json_build("{s:o, s:o, s:o}", "0", agent_of("primary", all, false), "1", agent_of("replica", all, false),
                "2", agent_of("replica", all, false)));
    struct cluster_intent intent;
    struct cluster_status next;
    intend_and_read(golden, &intent, &next);
    golden_free(golden);
    assert_string_equal(next.roles.transition.to, "shop-mysql-1");
    assert_int_equal(next.roles.reigns.count, 2);
    assert_string_equal(next.roles.reigns.list[0].floor, all);
    cluster_status_release(&next);
}

/* The old primary is closed: its position is what the target has to reach. */
static void a_target_is_told_all_of_it(void **state)
{
    UNUSED(state);
    _cleanup_(freep) char *all = position_of(7, 0);
    json_t *fenced = agent_of("", all, false);
    json_put_int(fenced, "epoch", 2);
    json_put_bool(fenced, "writable", false);
    struct golden *golden = golden_of(
        status_of("{\"epoch\":2,\"initialized\":true,\"currentPrimary\":\"shop-mysql-1\",\"semiSync\":true,"
                  "\"transition\":{\"from\":\"shop-mysql-0\",\"to\":\"shop-mysql-1\",\"epoch\":2,\"kind\":\"Switchover\","
                  "\"startedAt\":\"2026-02-02T02:39:50.000Z\"}}"),
        json_build("{s:o, s:o, s:o}", "0", fenced, "1", agent_of("replica", all, false), "2",
            agent_of("replica", all, false)));
    check_told(golden, 1, all);
    golden_free(golden);
}

static struct golden *lost_primary(const char *floor, const char *most, const char *less, bool is_old)
{
    json_t *status = status_of(
        "{\"epoch\":3,\"initialized\":true,\"currentPrimary\":\"shop-mysql-0\",\"semiSync\":true,"
        "\"transition\":{\"from\":\"shop-mysql-0\",\"epoch\":3,\"kind\":\"Failover\",\"reason\":\"ServerDown\","
        "\"startedAt\":\"2026-02-02T02:39:50.000Z\"}}");
    json_put(status, "reigns",
        json_build("[{s:i, s:s, s:s, s:s, s:b}]", "epoch", 2, "primary", "shop-mysql-0", "origin", "0007" UUID, "floor",
            floor, "opened", 1));
    json_t *agents = json_build(
        "{s:n, s:o, s:o}", "0", "1", agent_of("replica", most, is_old), "2", agent_of("replica", less, is_old));
    for (int i = 1; i < 3; i++) {
        json_t *agent = json_object_get(agents, i == 1 ? "1" : "2");
        json_put_str(agent, "receiver", "");
        json_put_str(agent, "sourceHost", "");
        json_put_int(agent, "epoch", 3);
    }
    return golden_of(status, agents);
}

/* Who has one transaction more of 400 servers is chosen, and is told to have all of that. */
static void a_failover_chooses_who_has_most(void **state)
{
    UNUSED(state);
    _cleanup_(freep) char *floor = position_of(7, 0), *less = position_of(7, 4), *most = position_of(7, 5);
    struct golden *golden = lost_primary(floor, most, less, false);
    struct cluster_intent intent;
    struct cluster_status next;
    intend_and_read(golden, &intent, &next);
    assert_string_equal(next.roles.transition.to, "shop-mysql-1");
    assert_string_equal(next.roles.transition.position, most);
    assert_string_equal(next.roles.reigns.list[0].floor, most);
    cluster_status_release(&golden->snapshot.last);
    golden->snapshot.last = next;
    check_told(golden, 1, most);
    golden_free(golden);
}

/* One of an earlier version would cut what it is told, and never open. */
static void agents_of_earlier_versions_are_not_told(void **state)
{
    UNUSED(state);
    _cleanup_(freep) char *floor = position_of(7, 0), *most = position_of(7, 5);
    struct golden *golden = lost_primary(floor, most, most, true);
    struct cluster_intent intent;
    struct cluster_status next;
    intend_and_read(golden, &intent, &next);
    assert_string_equal(next.roles.transition.to, "");
    assert_non_null(strstr(next.roles.transition.waits_for, "earlier version"));
    /* Nor if somebody has chosen it all the same. */
    struct cluster_orders *orders = xnew(struct cluster_orders);
    snprintf(next.roles.transition.to, sizeof(next.roles.transition.to), "shop-mysql-1");
    snprintf(next.roles.current_primary, sizeof(next.roles.current_primary), "shop-mysql-1");
    next.roles.transition.position = position_take(next.positions, most);
    cluster_status_release(&golden->snapshot.last);
    golden->snapshot.last = next;
    golden_order(&golden->snapshot, orders);
    assert_false(orders->given[1]);
    free(orders);
    golden_free(golden);
}

static void what_an_agent_can_be_told(void **state)
{
    static const struct {
        uint32_t max;
        size_t len;
        bool can;
    } rows[] = {{0, 0, true}, {0, POSITION_OLD_MAX, true}, {0, POSITION_OLD_MAX + 1, false},
        {65536, POSITION_OLD_MAX + 1, true}, {65536, 65536, true}, {3000, 3001, false}, {1, POSITION_OLD_MAX, true}};
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct agent_status agent = {.position_max = rows[i].max};
        struct cluster_member member = {.agent = &agent};
        _cleanup_(freep) char *text = xcalloc(1, rows[i].len + 1);
        memset(text, '1', rows[i].len);
        assert_int_equal(member_can_be_told(&member, text), rows[i].can);
    }
    struct agent_status agent = {.position_max = 65536};
    struct cluster_member member = {.agent = &agent};
    assert_false(member_can_be_told(&member, POSITION_TOO_LONG));
    assert_true(member_can_be_told(&member, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_switchover_begins),
        cmocka_unit_test(a_target_is_told_all_of_it),
        cmocka_unit_test(a_failover_chooses_who_has_most),
        cmocka_unit_test(agents_of_earlier_versions_are_not_told),
        cmocka_unit_test(what_an_agent_can_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
