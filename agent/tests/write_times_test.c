/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/write_times.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/agent_decide.h"
#include "agent/heartbeat_lane.h"
#include "agent/instance_state.h"

#define NOW 1000000
#define BEFORE (NOW - 500) /* when the look before began */
#define STARTED (NOW - 4)

/* A primary, as it was at the look before and is now. */
static void a_primary_takes_writes_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        bool seen, was_open, is_open;
        bool semi_sync;
        uint32_t waiting;
        uint64_t acknowledged_before, acknowledged;
        int64_t beat_blocked_ms; /* for so long */
        int64_t at_ms, span_ms;  /* 0: as it was */
    } rows[] = {
        {"open", true, true, true, false, 0, 0, 0, 0, STARTED, PROBE_INTERVAL_MS},
        {"just opened", true, false, true, true, 0, 0, 0, 0, STARTED, PROBE_INTERVAL_MS},
        {"just closed", true, true, false, true, 0, 0, 0, 0, STARTED, 4},
        {"closed before", true, false, false, true, 0, 0, 0, 0, 0, 0},
        {"never seen before", false, false, true, true, 0, 0, 0, 0, STARTED, PROBE_INTERVAL_MS},
        {"commits wait, others have got through", true, true, true, true, 3, 10, 12, 0, STARTED, PROBE_INTERVAL_MS},
        {"commits wait, none has got through", true, true, true, true, 3, 10, 10, 0, 0, 0},
        {"commits wait, as far as the first look tells", false, false, true, true, 3, 0, 10, 0, 0, 0},
        {"commits that need not wait do not count", true, true, true, false, 3, 10, 10, 0, STARTED, PROBE_INTERVAL_MS},
        {"closed while none got through", true, true, false, true, 3, 10, 10, 0, 0, 0},
        {"the heartbeat is late", true, true, true, true, 0, 10, 12, 600, 0, 0},
        {"closed while it is late", true, true, false, true, 0, 10, 12, 600, 0, 0},
        {"the heartbeat is on its way", true, true, true, true, 0, 10, 12, 400, STARTED, PROBE_INTERVAL_MS},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state now = {.replication_ms = BEFORE,
            .replication = {.seen = rows[i].seen,
                .read_only = !rows[i].was_open,
                .acknowledged = rows[i].acknowledged_before},
            .writes.took = {.at_ms = 7, .span_ms = 8},
            .beat = {.wanted = true, .blocked_since_ms = rows[i].beat_blocked_ms ? NOW - rows[i].beat_blocked_ms : 0}};
        const struct replication_facts facts = {.seen = true,
            .read_only = !rows[i].is_open,
            .semi_sync_source = rows[i].semi_sync,
            .waiting_commits = rows[i].waiting,
            .acknowledged = rows[i].acknowledged};
        write_times_look(&now, &facts, STARTED, NOW);
        int64_t at_ms = rows[i].at_ms ? rows[i].at_ms : 7, span_ms = rows[i].at_ms ? rows[i].span_ms : 8;
        if (now.writes.took.at_ms != at_ms || now.writes.took.span_ms != span_ms)
            fail_msg(
                "%s: %lld + %lld", rows[i].name, (long long)now.writes.took.at_ms, (long long)now.writes.took.span_ms);
    }
}

/* Its heartbeat is late from 600 ms after its beginning on; then it is closed, and has none. */
static void a_close_is_no_sign_of_writes_that_a_lock_held_up(void **state)
{
    static const struct {
        const char *name;
        bool locked;   /* the heartbeat was seen to wait for somebody's lock */
        bool beats;    /* ordered to have heartbeats */
        int64_t at_ms; /* after the close; the look before was at BEFORE */
        int64_t span_ms;
    } rows[] = {
        {"locked", true, true, BEFORE - 600 - HEARTBEAT_INTERVAL_MS, HEARTBEAT_INTERVAL_MS},
        {"late for another reason", false, true, BEFORE - 100, PROBE_INTERVAL_MS},
        {"it needs no heartbeats any more, and goes on", false, false, STARTED, PROBE_INTERVAL_MS},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state now = {.replication = {.seen = true},
            .writes.took = {.at_ms = BEFORE - 100, .span_ms = PROBE_INTERVAL_MS},
            .beat = {.wanted = true, .blocked_since_ms = BEFORE - 600},
            .role.order = {.role = AGENT_ROLE_PRIMARY, .heartbeat = true}};
        struct replication_facts facts = {.seen = true, .beat_locked = rows[i].locked};
        write_times_look(&now, &facts, BEFORE, BEFORE);
        now.beat = (struct beat_state){.wanted = false};
        now.role.order.heartbeat = false;
        if (rows[i].beats)
            now.role.order.role = AGENT_ROLE_REPLICA;
        write_times_look(&now, &facts, STARTED - 1, STARTED); /* on its way, and the look still saw it wait */
        facts.beat_locked = false;
        facts.read_only = rows[i].beats;
        write_times_look(&now, &facts, STARTED, NOW);
        if (now.writes.took.at_ms != rows[i].at_ms || now.writes.took.span_ms != rows[i].span_ms)
            fail_msg(
                "%s: %lld + %lld", rows[i].name, (long long)now.writes.took.at_ms, (long long)now.writes.took.span_ms);
    }
}

static void a_replica_receives_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        bool seen, was_configured, is_configured;
        uint64_t position_before, position;
        const char *received_before, *received;
        int64_t written_ms;
        int64_t at_ms, span_ms; /* 0: as it was */
    } rows[] = {
        {"an event, and the file says when", true, true, true, 1, 2, "0-1-7", "0-1-8", NOW - 100, NOW - 100, 10},
        {"just now", true, true, true, 1, 2, "0-1-7", "0-1-8", NOW - 3, NOW - 3, 3},
        {"nothing came, whatever was written", true, true, true, 1, 1, "0-1-7", "0-1-8", NOW - 100, 0, 0},
        {"an event, and the file is not known", true, true, true, 1, 2, "0-1-7", "0-1-8", 0, BEFORE, 500},
        {"an event, and the file is older: of another one", true, true, true, 1, 2, "0-1-7", "0-1-8", BEFORE - 1,
            BEFORE, 500},
        {"an event, and a file of the future", true, true, true, 1, 2, "0-1-7", "0-1-8", NOW + 5, BEFORE, 500},
        {"the first look", false, true, true, 0, 2, "0-1-7", "0-1-8", NOW - 100, 0, 0},
        {"it has begun to follow", true, false, true, 0, 2, "0-1-7", "0-1-8", NOW - 100, 0, 0},
        {"it has connected anew", true, true, true, 1, 2, "0-1-7", "0-1-7", NOW - 100, 0, 0},
        {"what it holds is not told", true, true, true, 1, 2, "0-1-7", POSITION_TOO_LONG, NOW - 100, NOW - 100, 10},
        {"it was not told", true, true, true, 1, 2, POSITION_TOO_LONG, "0-1-7", NOW - 100, NOW - 100, 10},
        {"it follows no more", true, true, false, 1, 0, "0-1-7", "0-1-8", NOW - 100, 0, 0},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state now = {.replication_ms = BEFORE,
            .replication = {.seen = rows[i].seen,
                .read_only = true,
                .configured = rows[i].was_configured,
                .stream_position = rows[i].position_before,
                .gtid_received = rows[i].received_before},
            .writes.received = {.at_ms = 7, .span_ms = 8}};
        const struct replication_facts facts = {.seen = true,
            .read_only = true,
            .configured = rows[i].is_configured,
            .stream_position = rows[i].position,
            .gtid_received = rows[i].received,
            .relay_written_ms = rows[i].written_ms};
        write_times_look(&now, &facts, STARTED, NOW);
        int64_t at_ms = rows[i].at_ms ? rows[i].at_ms : 7, span_ms = rows[i].at_ms ? rows[i].span_ms : 8;
        if (now.writes.received.at_ms != at_ms || now.writes.received.span_ms != span_ms)
            fail_msg("%s: %lld + %lld", rows[i].name, (long long)now.writes.received.at_ms,
                (long long)now.writes.received.span_ms);
    }
}

static void an_opening_is_told_with_its_epoch(void **state)
{
    struct instance_state now = {.writes = {.first = {5, 6}, .first_epoch = 3}};
    struct agent_status status = {.epoch = 4};

    UNUSED(state);
    write_times_fill(&now, &status);
    assert_int_equal(status.opening_epoch, 0);
    write_times_opened(&now, 4, STARTED, NOW);
    write_times_fill(&now, &status);
    assert_int_equal(status.opening.at_ms, STARTED);
    assert_int_equal(status.opening.span_ms, NOW - STARTED);
    assert_int_equal(status.opening_epoch, 4);
    assert_int_equal(status.first_commit_epoch, 0); /* of the opening before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_primary_takes_writes_as_in_the_table),
        cmocka_unit_test(a_close_is_no_sign_of_writes_that_a_lock_held_up),
        cmocka_unit_test(a_replica_receives_as_in_the_table),
        cmocka_unit_test(an_opening_is_told_with_its_epoch),
    };

    return cmocka_run_group_tests_name("write_times", tests, NULL, NULL);
}
