/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_order.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/agent_api.h"

static const struct agent_order replica = {
    .epoch = 1ULL << 40,
    .role = AGENT_ROLE_REPLICA,
    .source_host = "c1-mysql-0.c1-mysql.ns.svc",
    .source_port = 3306,
    .source_agent_port = 8443,
    .await_source = true,
    .rotate = true,
    .semi_sync = true,
    .max_lag_seconds = 10,
    .drain_ms = 500,
    .seed = AGENT_SEED_CLONE,
    .replace = true,
    .donor_host = "c1-mysql-2.c1-mysql.ns.svc",
    .donor_port = 3306,
    .donor_agent_port = 8443,
    .mark = AGENT_MARK_RESEED,
};

static void an_order_survives_the_wire(void **state)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(POSITION_TEXT_MAX);
    struct agent_order read;
    char hash[17], hash_of_read[17];

    UNUSED(state);
    strbuf_init(&text, AGENT_ORDER_MAX);
    agent_order_encode(&replica, &text);
    assert_int_equal(agent_order_decode(text.buf, text.len, positions, &read, NULL), 0);
    agent_order_hash(&replica, hash);
    agent_order_hash(&read, hash_of_read);
    assert_string_equal(hash, hash_of_read);
    assert_true(read.epoch == replica.epoch);
    assert_int_equal(read.role, AGENT_ROLE_REPLICA);
    assert_string_equal(read.source_host, replica.source_host);
    assert_true(read.await_source && read.rotate);
    assert_int_equal(read.seed, AGENT_SEED_CLONE);
    assert_true(read.replace);
    assert_int_equal(read.mark, AGENT_MARK_RESEED);
}

static void every_member_counts_in_the_hash(void **state)
{
    struct agent_order other = replica;
    char a[17], b[17];

    UNUSED(state);
    agent_order_hash(&replica, a);
    other.epoch++;
    agent_order_hash(&other, b);
    assert_string_not_equal(a, b);
    other = replica;
    other.acks = 1;
    agent_order_hash(&other, b);
    assert_string_not_equal(a, b);
}

/* Agents of all versions make the hash of what they read. */
static void the_text_of_an_order_stays_what_it_is(void **state)
{
    static const struct {
        struct agent_order order;
        const char *text, *hash;
    } cases[] = {
        {{.epoch = 0}, "{}", "08f44b07b5901a25"},
        {{.epoch = 7, .heartbeat = true}, "{\"epoch\":7,\"heartbeat\":true}", "558e72d4dc4d0c0f"},
        {{.epoch = 7, .role = AGENT_ROLE_PRIMARY, .wait_for = "0-1-7", .semi_sync = true, .acks = UINT32_MAX},
            "{\"epoch\":7,\"role\":\"primary\",\"waitFor\":\"0-1-7\",\"semiSync\":true,\"acks\":4294967295}",
            "59bcfa6714c3d689"},
        {{.epoch = UINT64_MAX, .role = AGENT_ROLE_COUNT}, "{\"epoch\":-1}", "de307ae618c55652"},
        {{.epoch = 7, .source_host = "a\"b\\c\n\001\177é", .source_port = 3306},
            "{\"epoch\":7,\"sourceHost\":\"a\\\"b\\\\c\\n\\u0001\177é\",\"sourcePort\":3306}", "2d773ab23f97e4e3"},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        char hash[17];
        strbuf_init(&text, AGENT_ORDER_MAX);
        agent_order_encode(&cases[i].order, &text);
        assert_string_equal(text.buf, cases[i].text);
        agent_order_hash(&cases[i].order, hash);
        assert_string_equal(hash, cases[i].hash);
    }
}

static void what_is_no_order(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        {"", "order"},
        {"[]", "JSON object"},
        {"{}", "epoch"},
        {"{\"epoch\":-1}", "epoch"},
        {"{\"epoch\":\"7\"}", "epoch"},
        {"{\"epoch\":7,\"role\":\"replica\",\"sourceHost\":\"a\"}", "sourcePort"},
        {"{\"epoch\":7,\"role\":\"primary\",\"salvageHost\":\"a\"}", "salvageAgentPort"},
        {"{\"epoch\":7,\"seed\":\"clone\"}", "donorHost"},
        {"{\"epoch\":7,\"seed\":\"restore\"}", "restoreId"},
        {"{\"epoch\":7,\"seed\":\"restoreBeside\",\"restoreNumber\":1}", "restoreId"},
        {"{\"epoch\":7,\"seed\":\"restoreBeside\",\"restoreId\":\"b1\"}", "restoreNumber"},
        {"{\"epoch\":7,\"seed\":\"takeRestored\"}", "restoreNumber"},
    };
    struct agent_order order = {.epoch = 3};
    struct error err;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        error_clear(&err);
        assert_int_equal(agent_order_decode(bad[i].text, strlen(bad[i].text), NULL, &order, &err), -1);
        assert_non_null(strstr(err.message, bad[i].says));
    }
    assert_int_equal(order.epoch, 3);
}

/* What matters only until the server is open: the order that follows is the same one. */
static void the_way_to_the_opening_does_not_count_in_the_hash(void **state)
{
    struct agent_order order = {.epoch = 7, .role = AGENT_ROLE_PRIMARY};
    char a[17], b[17];

    UNUSED(state);
    agent_order_hash(&order, a);
    order.wait_for = "0-1-7";
    snprintf(order.salvage_host, sizeof(order.salvage_host), "c1-mysql-0");
    order.salvage_agent_port = 8443;
    agent_order_hash(&order, b);
    assert_string_equal(a, b);
}

/* An earlier version's agent leaves it unread: its hash must be the operator's. */
static void what_is_set_aside_does_not_count_in_the_hash(void **state)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_ORDER_POSITIONS_MAX);
    struct agent_order order = replica, read;
    char a[17], b[17];

    UNUSED(state);
    strbuf_init(&text, AGENT_ORDER_MAX);
    agent_order_hash(&order, a);
    order.beyond = "0-1-7,0-2-9";
    agent_order_hash(&order, b);
    assert_string_equal(a, b);
    agent_order_encode(&order, &text);
    assert_int_equal(agent_order_decode(text.buf, text.len, positions, &read, NULL), 0);
    assert_string_equal(read.beyond, "0-1-7,0-2-9");
}

/* What root may do for a while, too. Each wish is another aside, as a status shows it back. */
static void a_wish_to_open_for_root_does_not_count_in_the_hash(void **state)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct agent_order order = {.epoch = 7, .role = AGENT_ROLE_PRIMARY}, read;
    struct agent_status status = {.root_until_ms = 1800000000000};
    char a[17], b[17];

    UNUSED(state);
    strbuf_init(&text, AGENT_ORDER_MAX);
    agent_order_hash(&order, a);
    order.root_until_ms = 1800000000000;
    order.root_ms = 60000;
    agent_order_hash(&order, b);
    assert_string_equal(a, b);
    agent_order_encode(&order, &text);
    assert_int_equal(agent_order_decode(text.buf, text.len, NULL, &read, NULL), 0);
    assert_true(read.root_until_ms == 1800000000000 && read.root_ms == 60000);
    assert_int_equal(agent_order_asides(&read), agent_status_asides(&status));
    read.root_until_ms += 1000;
    assert_int_not_equal(agent_order_asides(&read), agent_status_asides(&status));
    read.root_until_ms = 0;
    assert_int_equal(agent_order_asides(&read), 0);
}

static void a_replica_may_follow_nobody(void **state)
{
    static const char text[] = "{\"epoch\":7,\"role\":\"replica\"}";
    struct agent_order order;

    UNUSED(state);
    assert_int_equal(agent_order_decode(text, strlen(text), NULL, &order, NULL), 0);
    assert_int_equal(order.role, AGENT_ROLE_REPLICA);
    assert_string_equal(order.source_host, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_survives_the_wire),
        cmocka_unit_test(every_member_counts_in_the_hash),
        cmocka_unit_test(the_way_to_the_opening_does_not_count_in_the_hash),
        cmocka_unit_test(what_is_set_aside_does_not_count_in_the_hash),
        cmocka_unit_test(a_wish_to_open_for_root_does_not_count_in_the_hash),
        cmocka_unit_test(a_replica_may_follow_nobody),
        cmocka_unit_test(the_text_of_an_order_stays_what_it_is),
        cmocka_unit_test(what_is_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
