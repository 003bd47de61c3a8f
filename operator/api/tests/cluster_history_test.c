/* SPDX-License-Identifier: Apache-2.0 */
/* status.history: what ended is added once, ten at most, and comes back as it was written. */
#include "common/base.h"

#include "operator/api/cluster_history.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

#define AT_MS INT64_C(1767323045000)

static struct cluster_role_status led_by(const char *primary, int64_t epoch)
{
    struct cluster_role_status roles = {.epoch = epoch};
    snprintf(roles.current_primary, sizeof(roles.current_primary), "%s", primary);
    return roles;
}

static void begin(struct cluster_role_status *roles, const char *from, const char *to, bool failover)
{
    snprintf(roles->transition.from, sizeof(roles->transition.from), "%s", from);
    snprintf(roles->transition.to, sizeof(roles->transition.to), "%s", to);
    roles->transition.failover = failover;
}

/* The writes of one failover: begun, chosen, done. */
static void a_failover_is_one_entry(void **state)
{
    UNUSED(state);
    struct cluster_history history = {.count = 0};
    struct cluster_role_status before = led_by("a-0", 1), begun = led_by("a-0", 2), chosen = led_by("a-1", 3);
    struct cluster_role_status done = led_by("a-1", 3);
    begin(&begun, "a-0", "", true);
    begin(&chosen, "a-0", "a-1", true);
    done.last_failover = (struct cluster_failover){"a-0", "a-1", TRANSITION_SERVER_DOWN, "its server ended", "",
        .epoch = 3, .started_ms = AT_MS, .finished_ms = AT_MS + 400, .writes_blocked_ms = 380};
    cluster_history_note(&history, &before, &begun, AT_MS);
    cluster_history_note(&history, &begun, &chosen, AT_MS);
    assert_int_equal(history.count, 0);
    cluster_history_note(&history, &chosen, &done, AT_MS + 400);
    assert_int_equal(history.count, 1);
    assert_int_equal(history.list[0].kind, CLUSTER_CHANGE_FAILOVER);
    assert_string_equal(history.list[0].from, "a-0");
    assert_string_equal(history.list[0].to, "a-1");
    assert_string_equal(history.list[0].evidence, "its server ended");
    assert_int_equal(history.list[0].writes_blocked_ms, 380);
    cluster_history_note(&history, &done, &done, AT_MS + 500);
    assert_int_equal(history.count, 1);
    struct cluster_role_status completed = done;
    completed.last_failover.writes_blocked_ms = 410; /* the first commit of a client was heard of */
    cluster_history_note(&history, &done, &completed, AT_MS + 600);
    assert_int_equal(history.count, 1);
    assert_int_equal(history.list[0].writes_blocked_ms, 410);
}

static void a_first_primary_and_a_switchover_are_entries(void **state)
{
    UNUSED(state);
    struct cluster_history history = {.count = 0};
    struct cluster_role_status none = {.epoch = 0}, first = led_by("a-0", 1), moves = led_by("a-1", 2);
    struct cluster_role_status moved = led_by("a-1", 2);
    begin(&moves, "a-0", "a-1", false);
    moved.last_switchover =
        (struct cluster_switchover){"a-0", "a-1", TRANSITION_ROLL, AT_MS, AT_MS + 90, .writes_blocked_ms = 57};
    cluster_history_note(&history, &none, &first, AT_MS - 1000);
    cluster_history_note(&history, &first, &moves, AT_MS);
    cluster_history_note(&history, &moves, &moved, AT_MS + 90);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.list[0].kind, CLUSTER_CHANGE_SWITCHOVER);
    assert_int_equal(history.list[0].reason, TRANSITION_ROLL);
    assert_int_equal(history.list[0].epoch, 2);
    assert_int_equal(history.list[1].kind, CLUSTER_CHANGE_ELECTION);
    assert_string_equal(history.list[1].from, "");
    assert_string_equal(history.list[1].to, "a-0");
    assert_int_equal(history.list[1].finished_ms, AT_MS - 1000);
    assert_int_equal(history.list[1].writes_blocked_ms, -1);
    struct cluster_role_status completed = moved;
    completed.last_switchover.writes_blocked_ms = 77;
    cluster_history_note(&history, &moved, &completed, AT_MS + 600);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.list[0].writes_blocked_ms, 77);
    assert_int_equal(history.list[1].writes_blocked_ms, -1);
}

/* a-1 was opened after all, and lost before anybody saw that: the write that gives it up tells of both. */
static void a_failover_that_nobody_saw_end_is_an_entry(void **state)
{
    UNUSED(state);
    struct cluster_history history = {.count = 0};
    struct cluster_role_status chosen = led_by("a-1", 3), given_up = led_by("a-1", 4), open = given_up;
    begin(&chosen, "a-0", "a-1", true);
    chosen.transition.reason = TRANSITION_SERVER_DOWN;
    chosen.transition.epoch = 3;
    chosen.transition.started_ms = AT_MS;
    chosen.transition.last_write_ms = AT_MS - 100;
    begin(&given_up, "a-1", "", true);
    begin(&open, "a-1", "", true);
    given_up.transition.last_write_ms = AT_MS - 100;
    open.transition.last_write_ms = AT_MS + 24000;
    cluster_history_note(&history, &chosen, &given_up, AT_MS + 60000);
    assert_int_equal(history.count, 0);
    cluster_history_note(&history, &chosen, &open, AT_MS + 60000);
    assert_int_equal(history.count, 1);
    assert_int_equal(history.list[0].kind, CLUSTER_CHANGE_FAILOVER);
    assert_string_equal(history.list[0].from, "a-0");
    assert_string_equal(history.list[0].to, "a-1");
    assert_int_equal(history.list[0].reason, TRANSITION_SERVER_DOWN);
    assert_int_equal(history.list[0].epoch, 3);
    assert_int_equal(history.list[0].finished_ms, 0);
    assert_int_equal(history.list[0].writes_blocked_ms, -1);
    open.transition.unseen_finished_ms = AT_MS + 9000;
    open.transition.unseen_blocked_ms = 9200; /* a client had committed there */
    cluster_history_note(&history, &chosen, &open, AT_MS + 60000);
    assert_int_equal(history.list[0].finished_ms, AT_MS + 9000);
    assert_int_equal(history.list[0].writes_blocked_ms, 9200);
    given_up.transition.last_write_span_ms = 20000; /* it was open, and perhaps nobody had come yet */
    cluster_history_note(&history, &chosen, &given_up, AT_MS + 60000);
    assert_int_equal(history.count, 3);
    assert_int_equal(history.list[0].finished_ms, 0);
}

/* A failover is completed although something has come after it. */
static void an_entry_that_is_not_the_latest_is_completed(void **state)
{
    UNUSED(state);
    struct cluster_role_status roles = led_by("a-1", 3);
    struct cluster_history history = {.count = 2,
        .list = {{.kind = CLUSTER_CHANGE_OUTAGE, .finished_ms = AT_MS + 900, .writes_blocked_ms = 77},
            {.kind = CLUSTER_CHANGE_FAILOVER, .finished_ms = AT_MS, .writes_blocked_ms = 380}}};
    roles.last_failover = (struct cluster_failover){
        "a-0", "a-1", TRANSITION_SERVER_DOWN, .epoch = 3, .finished_ms = AT_MS, .writes_blocked_ms = 410};
    roles.last_outage = (struct cluster_outage){"a-1", 3, AT_MS + 800, AT_MS + 900, -1, .gap = {0}};
    cluster_history_note(&history, &roles, &roles, AT_MS + 1000);
    assert_int_equal(history.list[1].writes_blocked_ms, 410);
    assert_int_equal(history.list[0].writes_blocked_ms, -1);
}

static void an_outage_is_one_entry(void **state)
{
    UNUSED(state);
    struct cluster_history history = {.count = 0};
    struct cluster_role_status before = led_by("a-0", 3), over = before;
    over.last_outage = (struct cluster_outage){"a-0", 3, AT_MS, AT_MS + 900, 60000, .gap = {0}};
    cluster_history_note(&history, &before, &over, AT_MS + 900);
    cluster_history_note(&history, &over, &over, AT_MS + 950);
    assert_int_equal(history.count, 1);
    assert_int_equal(history.list[0].kind, CLUSTER_CHANGE_OUTAGE);
    assert_string_equal(history.list[0].from, "a-0");
    assert_string_equal(history.list[0].to, "a-0");
    assert_int_equal(history.list[0].writes_blocked_ms, 60000);
    before = over;
    over.last_outage.writes_blocked_ms = 60110;
    cluster_history_note(&history, &before, &over, AT_MS + 1500);
    assert_int_equal(history.count, 1);
    assert_int_equal(history.list[0].writes_blocked_ms, 60110);
}

static void ten_stay_and_come_back(void **state)
{
    UNUSED(state);
    struct cluster_history history = {.count = 0}, read;
    for (int i = 0; i < 14; i++) {
        char name[16], next[16];
        snprintf(name, sizeof(name), "a-%d", i);
        snprintf(next, sizeof(next), "a-%d", i + 1);
        struct cluster_role_status before = led_by(name, i), now = led_by(next, i + 1);
        cluster_history_note(&history, &before, &now, AT_MS + i);
    }
    assert_int_equal(history.count, CLUSTER_HISTORY_MAX);
    assert_string_equal(history.list[0].to, "a-14");
    assert_string_equal(history.list[CLUSTER_HISTORY_MAX - 1].to, "a-5");
    history.list[3].may_have_lost = true;
    _cleanup_(json_decrefp) json_t *written = cluster_history_encode(&history);
    json_array_insert_new(written, 0, json_string("no object"));
    cluster_history_decode(written, &(struct cluster_role_status){.epoch = 0}, &read);
    _cleanup_(json_decrefp) json_t *again = cluster_history_encode(&read);
    json_array_remove(written, 0);
    assert_true(json_equal(written, again));
    json_array_append_new(written, json_object()); /* more than there is room for */
    cluster_history_decode(written, &(struct cluster_role_status){.epoch = 0}, &read);
    assert_int_equal(read.count, CLUSTER_HISTORY_MAX);
}

static void an_earlier_version_knew_the_last_ones(void **state)
{
    UNUSED(state);
    struct cluster_history read;
    struct cluster_role_status roles = {.epoch = 3};
    cluster_history_decode(NULL, &roles, &read);
    assert_int_equal(read.count, 0);
    assert_null(cluster_history_encode(&read));
    roles.last_failover = (struct cluster_failover){"a-0", "a-1", TRANSITION_SERVER_DOWN, "", "", .finished_ms = AT_MS};
    roles.last_switchover =
        (struct cluster_switchover){"a-1", "a-0", TRANSITION_ROLL, AT_MS, AT_MS + 90, .writes_blocked_ms = 5};
    cluster_history_decode(NULL, &roles, &read);
    assert_int_equal(read.count, 2);
    assert_int_equal(read.list[0].kind, CLUSTER_CHANGE_SWITCHOVER);
    roles.last_failover.finished_ms = AT_MS + 1000;
    cluster_history_decode(NULL, &roles, &read);
    assert_int_equal(read.list[0].kind, CLUSTER_CHANGE_FAILOVER);
}

/* "Failover a-0 a-0" alone says nothing. */
static void a_primary_that_was_opened_again_is_told_as_that(void **state)
{
    UNUSED(state);
    static const struct {
        enum cluster_change_kind kind;
        const char *from, *to, *message;
        int64_t finished_ms;
    } cases[] = {
        {CLUSTER_CHANGE_FAILOVER, "a-0", "a-0", "a-0 was opened again: nobody else could take over", AT_MS},
        {CLUSTER_CHANGE_FAILOVER, "a-0", "a-1", NULL, AT_MS},
        {CLUSTER_CHANGE_FAILOVER, "a-0", "a-1",
            "a-1 was opened, and lost before an operator saw it open; for how long writes waited is in the next entry",
            0},
        {CLUSTER_CHANGE_FAILOVER, "", "", NULL, AT_MS},
        {CLUSTER_CHANGE_OUTAGE, "a-0", "a-0", "a-0 took no writes when an operator began to lead, and was opened again",
            AT_MS},
        {CLUSTER_CHANGE_ELECTION, "a-0", "a-0", NULL, AT_MS},
        {CLUSTER_CHANGE_UNKNOWN, "a-0", "a-0", NULL, AT_MS},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster_history history = {.count = 1}, read;
        history.list[0] = (struct cluster_change){
            .kind = cases[i].kind, .finished_ms = cases[i].finished_ms, .writes_blocked_ms = -1};
        snprintf(history.list[0].from, sizeof(history.list[0].from), "%s", cases[i].from);
        snprintf(history.list[0].to, sizeof(history.list[0].to), "%s", cases[i].to);
        _cleanup_(json_decrefp) json_t *written = cluster_history_encode(&history);
        const char *message = json_path_str(json_array_get(written, 0), "message", NULL);
        assert_true(cases[i].message ? str_eq(message, cases[i].message) : !message);
        cluster_history_decode(written, &(struct cluster_role_status){.epoch = 0}, &read);
        _cleanup_(json_decrefp) json_t *again = cluster_history_encode(&read);
        assert_true(json_equal(written, again));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failover_is_one_entry),
        cmocka_unit_test(a_first_primary_and_a_switchover_are_entries),
        cmocka_unit_test(a_primary_that_was_opened_again_is_told_as_that),
        cmocka_unit_test(a_failover_that_nobody_saw_end_is_an_entry),
        cmocka_unit_test(an_outage_is_one_entry),
        cmocka_unit_test(an_entry_that_is_not_the_latest_is_completed),
        cmocka_unit_test(ten_stay_and_come_back),
        cmocka_unit_test(an_earlier_version_knew_the_last_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
