/* SPDX-License-Identifier: Apache-2.0 */
/* For how long a change of primaries held writes up, as agents' words tell it. */
#include "common/base.h"

#include "operator/cluster/failover/write_gap_times.h"

#include <setjmp.h>
#include <cmocka.h>

#define NOW INT64_C(1767323045000)
#define HEARD_MS (NOW - 4000) /* what an operator before has noted */
#define STARTED (NOW - 200)
#define MEMBERS 3

/* Of one member. Moments are ages at its last word, which is `word_ms` old; 0: it does not tell. */
struct word {
    int64_t word_ms;
    int64_t took_ms, took_span_ms, received_ms, received_span_ms;
};

static struct agent_moment moment(int64_t age_ms, int64_t span_ms)
{
    return (struct agent_moment){.at_ms = age_ms > 0 ? 50000 - age_ms : 0, .span_ms = span_ms};
}

static void put_words(
    struct cluster_snapshot *snapshot, struct agent_status agents[static MEMBERS], const struct word words[MEMBERS])
{
    snapshot->now_ms = NOW;
    snapshot->member_count = MEMBERS;
    for (int i = 0; i < MEMBERS; i++) {
        struct cluster_member *member = &snapshot->members[i];
        snprintf(member->name, sizeof(member->name), "db-%d", i);
        agents[i] = (struct agent_status){.clock_ms = 50000 + i, /* each has a clock of its own */
            .took_writes = moment(words[i].took_ms, words[i].took_span_ms),
            .event_received = moment(words[i].received_ms, words[i].received_span_ms)};
        agents[i].took_writes.at_ms += agents[i].took_writes.at_ms ? i : 0;
        agents[i].event_received.at_ms += agents[i].event_received.at_ms ? i : 0;
        member->agent = words[i].word_ms < 0 ? NULL : &agents[i];
        member->silent_ms = words[i].word_ms < 0 ? INT64_MAX : words[i].word_ms;
    }
}

/* From db-0 to db-1. */
static void the_last_write_is_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        bool failover;
        struct word words[MEMBERS];
        int64_t ago_ms, span_ms; /* before NOW; 0: not known */
    } rows[] = {
        {"nobody tells", true, {{.word_ms = 5}, {.word_ms = 5}, {.word_ms = 5}}, 0, 0},
        {"nobody is there", true, {{-1, 0, 0, 0, 0}, {-1, 0, 0, 0, 0}, {-1, 0, 0, 0, 0}}, 0, 0},
        {"the lost one's last look", true, {{5, 495, 500, 0, 0}, {.word_ms = 5}, {.word_ms = 5}}, 500, 300},
        {"it has been silent for long", true, {{2000, 500, 500, 0, 0}, {.word_ms = 5}, {.word_ms = 5}}, 2500, 500},
        {"a survivor received more", true, {{5, 495, 500, 0, 0}, {10, 0, 0, 240, 10}, {5, 0, 0, 400, 300}}, 250, 10},
        {"the other survivor", true, {{5, 495, 500, 0, 0}, {10, 0, 0, 440, 10}, {0, 0, 0, 300, 10}}, 300, 10},
        {"a survivor that was cut off before", true, {{5, 395, 500, 0, 0}, {10, 0, 0, 9000, 10}, {.word_ms = 5}}, 400,
            200},
        {"it was lost before that was noticed", true, {{5, 145, 500, 0, 0}, {.word_ms = 5}, {.word_ms = 5}}, 200, 0},
        {"a target that was open, too", true, {{9000, 500, 500, 0, 0}, {0, 700, 500, 0, 0}, {.word_ms = 5}}, 700, 500},
        {"switchover: the closing", false, {{20, 60, 40, 0, 0}, {0, 10, 500, 0, 0}, {0, 0, 0, 5, 10}}, 80, 40},
        {"switchover: the new one received more", false, {{20, 60, 40, 0, 0}, {0, 10, 500, 70, 10}, {0, 0, 0, 5, 10}},
            70, 10},
        {"switchover: nobody tells of the old one", false, {{.word_ms = 5}, {0, 10, 500, 0, 0}, {0, 0, 0, 5, 10}}, 0, 0},
        {"switchover: commits had waited before", false, {{20, 8000, 500, 0, 0}, {.word_ms = 5}, {.word_ms = 5}}, 8020,
            500},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct cluster_snapshot snapshot;
        static struct agent_status agents[MEMBERS];
        struct cluster_transition transition = {
            .from = "db-0", .to = "db-1", .failover = rows[i].failover, .started_ms = STARTED};
        put_words(&snapshot, agents, rows[i].words);
        write_gap_note_last_write(&snapshot, &transition);
        int64_t at_ms = rows[i].ago_ms ? NOW - rows[i].ago_ms : 0;
        if (transition.last_write_ms != at_ms || transition.last_write_span_ms != rows[i].span_ms)
            fail_msg("%s: %lld ms before, + %lld", rows[i].name, (long long)(NOW - transition.last_write_ms),
                (long long)transition.last_write_span_ms);
    }
}

/* What the operator before had heard of the lost one, which is silent now, and what a survivor tells that was not heard
 * then: the later one counts. Not where the one that is lost now is another one. */
static void the_later_word_counts(void **state)
{
    static struct cluster_snapshot snapshot;
    static struct agent_status agents[MEMBERS];
    static const struct word words[MEMBERS] = {{-1, 0, 0, 0, 0}, {5, 0, 0, 24000, 10}, {.word_ms = 5}};
    static const struct word more[MEMBERS] = {{-1, 0, 0, 0, 0}, {5, 0, 0, 24000, 10}, {5, 0, 0, 2995, 10}};
    struct cluster_transition transition = {
        .from = "db-0", .failover = true, .started_ms = STARTED, .last_write_ms = HEARD_MS, .last_write_span_ms = 100};

    UNUSED(state);
    put_words(&snapshot, agents, words);
    write_gap_note_last_write(&snapshot, &transition);
    assert_int_equal(transition.last_write_ms, HEARD_MS);
    put_words(&snapshot, agents, more);
    write_gap_note_last_write(&snapshot, &transition);
    assert_int_equal(transition.last_write_ms, NOW - 3000);
    assert_int_equal(transition.last_write_span_ms, 10);
}

static void what_was_noted_of_another_stays(void **state)
{
    static struct cluster_snapshot snapshot;
    static struct agent_status agents[MEMBERS];
    static const struct word words[MEMBERS] = {{5, 100, 500, 0, 0}, {.word_ms = 5}, {.word_ms = 5}};
    struct cluster_transition transition = {
        .from = "db-0", .failover = true, .started_ms = STARTED, .last_write_ms = HEARD_MS, .last_write_span_ms = 100};
    snprintf(transition.before, sizeof(transition.before), "db-2");

    UNUSED(state);
    put_words(&snapshot, agents, words);
    write_gap_note_last_write(&snapshot, &transition);
    assert_int_equal(transition.last_write_ms, HEARD_MS);
    assert_int_equal(write_gap_last_write_ms(&transition), NOW - 3950);
}

/* The failover from db-0 to db-1 is given up, as db-1 is lost. The last write on db-0 was 4 s ago. Where no client's
 * commit on db-1 is told, clients may have waited since then. */
static void the_next_one_may_have_been_open_unseen_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        uint64_t applied_epoch, opening_epoch;
        int64_t opening_ms; /* age; 0: not told */
        uint64_t first_epoch;
        struct word words[MEMBERS];
        int64_t ago_ms, span_ms;
    } rows[] = {
        {"nothing shows it", 4, 4, 0, 0, {{5, 3990, 500, 0, 0}, {5, 9000, 500, 0, 0}, {5, 0, 0, 100, 10}}, 4000, 100},
        {"its heartbeat", 5, 4, 0, 0, {{5, 3990, 500, 0, 0}, {5, 9000, 500, 0, 0}, {5, 0, 0, 1000, 10}}, 4000, 3005},
        {"its opening", 4, 5, 0, 0, {{5, 3990, 500, 0, 0}, {5, 700, 500, 0, 0}, {.word_ms = 5}}, 4000, 3795},
        {"it took writes", 4, 4, 0, 0, {{5, 3990, 500, 0, 0}, {5, 100, 500, 0, 0}, {.word_ms = 5}}, 4000, 4000},
        {"it has been silent since", 5, 4, 0, 0, {{5, 3990, 500, 0, 0}, {2000, 100, 500, 0, 0}, {.word_ms = 5}}, 4000,
            2400},
        {"and nobody tells more", 5, 5, 0, 0, {{5, 3990, 500, 0, 0}, {.word_ms = 5}, {5, 0, 0, 9000, 10}}, 4000, 505},
        {"somebody has committed there", 5, 5, 900, 5, {{5, 3990, 500, 0, 0}, {5, 700, 500, 0, 0}, {.word_ms = 5}}, 705,
            500},
        {"somebody has, under another epoch", 5, 5, 900, 4, {{5, 3990, 500, 0, 0}, {5, 700, 500, 0, 0}, {.word_ms = 5}},
            4000, 3795},
        {"it was open for long", 5, 5, 700 + WRITE_GAP_SOON_MS + 1, 0,
            {{5, 3990, 500, 0, 0}, {5, 700, 500, 0, 0}, {.word_ms = 5}}, 705, 500},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct cluster_snapshot snapshot;
        static struct agent_status agents[MEMBERS];
        struct cluster_transition transition = {.from = "db-0",
            .to = "db-1",
            .failover = true,
            .epoch = 5,
            .started_ms = STARTED,
            .last_write_ms = HEARD_MS,
            .last_write_span_ms = 100};
        put_words(&snapshot, agents, rows[i].words);
        agents[1].opening_epoch = rows[i].opening_epoch;
        agents[1].opening = moment(rows[i].opening_ms, 10);
        agents[1].first_commit = moment(800, 10);
        agents[1].first_commit_epoch = rows[i].first_epoch;
        agents[2].replication.applied_epoch = rows[i].applied_epoch;
        write_gap_renew_last_write(&snapshot, &transition);
        if (transition.last_write_ms != NOW - rows[i].ago_ms || transition.last_write_span_ms != rows[i].span_ms)
            fail_msg("%s: %lld ms before, + %lld", rows[i].name, (long long)(NOW - transition.last_write_ms),
                (long long)transition.last_write_span_ms);
        /* What waited until that commit is told with the failover that is given up. */
        if ((transition.unseen_finished_ms > 0) != (rows[i].first_epoch == 5) ||
            transition.unseen_blocked_ms != (rows[i].first_epoch == 5 ? 4000 - 50 - 801 : 0))
            fail_msg("%s: told with the one before: %lld ms", rows[i].name, (long long)transition.unseen_blocked_ms);
    }
}

/* db-1 became primary, and is lost now. The last sign of a write is its own, 300 ms ago. */
static void nobody_may_have_written_since_the_change_before_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        int64_t finished_ms; /* age */
        const char *to;
        enum write_gap_until until;
        uint64_t first_epoch;
        int64_t ago_ms, span_ms;
    } rows[] = {
        {"nobody's commit was seen", 2000, "db-1", WRITE_GAP_UNTIL_OPENING, 0, 2000 + 9000 + 30, 10730 + 10},
        {"nor can be told any more", 2000, "db-1", WRITE_GAP_UNTIL_NOT_SEEN, 0, 2000 + 9000 + 30, 10730 + 10},
        {"somebody's was", 2000, "db-1", WRITE_GAP_UNTIL_FIRST_COMMIT, 0, 300, 10},
        {"somebody's is told now", 2000, "db-1", WRITE_GAP_UNTIL_OPENING, 6, 300, 10},
        {"another one became primary", 2000, "db-2", WRITE_GAP_UNTIL_OPENING, 0, 300, 10},
        {"it has served for long", WRITE_GAP_SOON_MS + 301, "db-1", WRITE_GAP_UNTIL_OPENING, 0, 300, 10},
        {"it was long ago", WRITE_GAP_COMPLETE_MS, "db-1", WRITE_GAP_UNTIL_OPENING, 0, 300, 10},
        {"the beginning was not known", 2000, "db-1", WRITE_GAP_UNTIL_UNKNOWN, 0, 300, 10},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int kind = 0; kind < 3; kind++) {
            static struct cluster_snapshot snapshot;
            static struct agent_status agents[MEMBERS];
            static const struct word words[MEMBERS] = {{.word_ms = 5}, {5, 295, 10, 0, 0}, {.word_ms = 5}};
            struct cluster_transition transition = {.from = "db-1",
                .failover = true,
                .started_ms = STARTED,
                .last_write_ms = NOW - 300,
                .last_write_span_ms = 10};
            const struct write_gap gap = {.opened_ms = 9000, .uncertainty_ms = 30, .until = rows[i].until};
            int64_t end_ms = NOW - rows[i].finished_ms;
            put_words(&snapshot, agents, words);
            agents[1].first_commit = moment(800, 10);
            agents[1].first_commit_epoch = rows[i].first_epoch;
            struct cluster_role_status *roles = &snapshot.last.roles;
            *roles = (struct cluster_role_status){.epoch = 6};
            if (kind == 0) {
                roles->last_failover = (struct cluster_failover){.epoch = 6, .finished_ms = end_ms, .gap = gap};
                snprintf(roles->last_failover.to, sizeof(roles->last_failover.to), "%s", rows[i].to);
            } else if (kind == 1) {
                roles->last_switchover = (struct cluster_switchover){.epoch = 6, .finished_ms = end_ms, .gap = gap};
                snprintf(roles->last_switchover.to, sizeof(roles->last_switchover.to), "%s", rows[i].to);
            } else {
                roles->last_outage = (struct cluster_outage){.epoch = 6, .finished_ms = end_ms, .gap = gap};
                snprintf(roles->last_outage.primary, sizeof(roles->last_outage.primary), "%s", rows[i].to);
            }
            write_gap_go_on(&snapshot, &transition);
            if (transition.last_write_ms != NOW - rows[i].ago_ms || transition.last_write_span_ms != rows[i].span_ms)
                fail_msg("%s (%d): %lld ms before, + %lld", rows[i].name, kind,
                    (long long)(NOW - transition.last_write_ms), (long long)transition.last_write_span_ms);
        }
    }
}

/* db-1 is open, under epoch 5; the change began 76 s ago. Times are ages; 0: not told. */
static void the_end_is_when_it_was_opened_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        int64_t last_ms, last_span_ms;
        uint64_t opening_epoch;
        int64_t opening_ms, opening_span_ms;
        int64_t first_ms, first_span_ms;
        bool seen_closed;
        int64_t finished_ms; /* age */
        int64_t blocked_ms, opened_ms, uncertainty_ms;
        enum write_gap_until until;
    } rows[] = {
        {"we saw it closed before", 77000, 10, 0, 0, 0, 0, 0, true, 0, 76995, 76995, 25, WRITE_GAP_UNTIL_OPENING},
        {"its agent tells, too", 77000, 10, 5, 12, 8, 0, 0, true, 4, 76991, 76991, 25, WRITE_GAP_UNTIL_OPENING},
        {"of another epoch", 77000, 10, 4, 9000, 8, 0, 0, true, 0, 76995, 76995, 25, WRITE_GAP_UNTIL_OPENING},
        {"another operator had opened it", 77000, 10, 5, 24008, 8, 0, 0, false, 24000, 52995, 52995, 25,
            WRITE_GAP_UNTIL_OPENING},
        {"and the first commit is told", 77000, 10, 5, 24008, 8, 23900, 20, false, 24000, 53105, 52995, 35,
            WRITE_GAP_UNTIL_FIRST_COMMIT},
        {"its agent was restarted, and so tells nothing", 77000, 10, 0, 0, 0, 0, 0, false, 38000, 38995, 38995, 38025,
            WRITE_GAP_UNTIL_OPENING},
        {"an agent that tells the first commit only", 77000, 10, 0, 0, 0, 24000, 20, false, 49990, 53005, 27005, 35,
            WRITE_GAP_UNTIL_FIRST_COMMIT},
        {"an opening that is told as before the change", 77000, 10, 5, 80000, 8, 0, 0, false, 76000, 995, 995, 25,
            WRITE_GAP_UNTIL_OPENING},
        {"the last write is not known", 0, 0, 0, 0, 0, 0, 0, false, 0, -1, 0, 0, WRITE_GAP_UNTIL_UNKNOWN},
        {"nor when we saw it closed", 0, 0, 0, 0, 0, 0, 0, true, 0, -1, 0, 0, WRITE_GAP_UNTIL_UNKNOWN},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct cluster_snapshot snapshot = {.now_ms = NOW};
        const struct agent_status agent = {.clock_ms = 500000,
            .opening = {rows[i].opening_ms ? 500000 - rows[i].opening_ms : 0, rows[i].opening_span_ms},
            .opening_epoch = rows[i].opening_epoch,
            .first_commit = {rows[i].first_ms ? 500000 - rows[i].first_ms : 0, rows[i].first_span_ms},
            .first_commit_epoch = rows[i].first_ms ? 5 : 0};
        const struct cluster_member to = {.name = "db-1", .agent = &agent, .silent_ms = 0};
        const struct write_gap_change change = {.to = &to,
            .epoch = 5,
            .started_ms = NOW - 76000,
            .last_write = {rows[i].last_ms ? NOW - rows[i].last_ms : 0, rows[i].last_span_ms},
            .seen_closed = rows[i].seen_closed};
        const struct write_gap_end end = write_gap_end(&snapshot, &change);
        if (end.finished_ms != NOW - rows[i].finished_ms || end.blocked_ms != rows[i].blocked_ms ||
            end.gap.opened_ms != rows[i].opened_ms || end.gap.uncertainty_ms != rows[i].uncertainty_ms ||
            end.gap.until != rows[i].until)
            fail_msg("%s: %lld ms ago, after %lld ms, %lld until the opening, ± %lld", rows[i].name,
                (long long)(NOW - end.finished_ms), (long long)end.blocked_ms, (long long)end.gap.opened_ms,
                (long long)end.gap.uncertainty_ms);
    }
}

/* An operator that came later hears at once of the opening, 75 s ago, and of a commit 74 s after it. */
static void a_client_that_had_not_tried_ends_nothing(void **state)
{
    static struct cluster_snapshot snapshot = {.now_ms = NOW};
    struct agent_status agent = {.clock_ms = 500000,
        .opening = {425000, 0},
        .opening_epoch = 5,
        .first_commit = {499000, 0},
        .first_commit_epoch = 5};
    const struct cluster_member to = {.name = "db-1", .agent = &agent, .silent_ms = 0};
    const struct write_gap_change change = {
        .to = &to, .epoch = 5, .started_ms = NOW - 76000, .last_write = {.at_ms = NOW - 77000}};

    UNUSED(state);
    agent.first_commit_idle_ms = WRITE_GAP_IDLE_MAX_MS;
    assert_int_equal(write_gap_end(&snapshot, &change).gap.until, WRITE_GAP_UNTIL_FIRST_COMMIT);
    agent.first_commit_idle_ms++;
    const struct write_gap_end end = write_gap_end(&snapshot, &change);
    assert_int_equal(end.gap.until, WRITE_GAP_UNTIL_OPENING);
    assert_int_equal(end.blocked_ms, 2000);
    assert_int_equal(end.gap.uncertainty_ms, WRITE_GAP_SLACK_MS);
}

/* The failover to db-1 ended 100 ms ago, 300 ms after the last write. */
static void the_first_commit_completes_it_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        uint64_t epoch;
        int64_t first_ms, span_ms; /* age */
        int64_t idle_ms;
        int64_t finished_ago_ms;
        enum write_gap_until until;
        bool completes;
        int64_t blocked_ms, route_ms, uncertainty_ms;
    } rows[] = {
        {"a commit after the opening", 5, 80, 20, 20, 100, WRITE_GAP_UNTIL_OPENING, true, 330, 30, 40},
        {"before we heard of the opening", 5, 120, 10, 0, 100, WRITE_GAP_UNTIL_OPENING, true, 285, 0, 35},
        {"17 s later: by a route that was loaded late, or nobody had tried", 5, 100, 20, 17000, 17100,
            WRITE_GAP_UNTIL_OPENING, true, 300 + 17010 - 8500, 8510, 30 + 10 + 8500},
        {"17 s later, and commits had waited for 15 of them", 5, 100, 20, 2000, 17100, WRITE_GAP_UNTIL_OPENING, true,
            300 + 17010, 17010, 30 + 10},
        {"a minute later, still", 5, 100, 20, 60000, 60100, WRITE_GAP_UNTIL_OPENING, true, 300 + 60010 - 30000, 30010,
            30 + 10 + 30000},
        {"more than a minute later: nobody had tried", 5, 100, 20, 60001, 60101, WRITE_GAP_UNTIL_OPENING, false, 0, 0,
            0},
        {"ten minutes later, and commits had waited", 5, 80, 20, 4000, 600000, WRITE_GAP_UNTIL_OPENING, true, 600230,
            599930, 40},
        {"it was not known who looks for it", 5, 80, 20, 20, 100, WRITE_GAP_UNTIL_NOT_SEEN, true, 330, 30, 40},
        {"nobody has committed", 0, 0, 0, 0, 100, WRITE_GAP_UNTIL_OPENING, false, 0, 0, 0},
        {"of another opening", 6, 80, 20, 0, 100, WRITE_GAP_UNTIL_OPENING, false, 0, 0, 0},
        {"it is complete already", 5, 80, 20, 0, 100, WRITE_GAP_UNTIL_FIRST_COMMIT, false, 0, 0, 0},
        {"the beginning is not known", 5, 80, 20, 0, 100, WRITE_GAP_UNTIL_UNKNOWN, false, 0, 0, 0},
        {"too late", 5, 80, 20, 0, WRITE_GAP_COMPLETE_MS, WRITE_GAP_UNTIL_OPENING, false, 0, 0, 0},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct cluster_snapshot snapshot = {.now_ms = NOW};
        const struct agent_status agent = {.clock_ms = 50000,
            .first_commit = moment(rows[i].first_ms, rows[i].span_ms),
            .first_commit_idle_ms = rows[i].idle_ms,
            .first_commit_epoch = rows[i].epoch};
        const struct cluster_member primary = {.name = "db-1", .agent = &agent, .silent_ms = 0};
        const struct write_gap gap = {.opened_ms = 300, .uncertainty_ms = 30, .until = rows[i].until};
        struct cluster_role_status roles = {.last_failover = {.to = "db-1",
                                                .epoch = 5,
                                                .finished_ms = NOW - rows[i].finished_ago_ms,
                                                .writes_blocked_ms = 300,
                                                .gap = gap},
            .last_switchover = {.to = "db-1", .epoch = 4, .finished_ms = NOW - 5000, .writes_blocked_ms = 7}};
        write_gap_complete(&snapshot, &primary, &roles);
        const struct cluster_failover *done = &roles.last_failover;
        bool is_right = rows[i].completes
            ? done->gap.until == WRITE_GAP_UNTIL_FIRST_COMMIT && done->writes_blocked_ms == rows[i].blocked_ms &&
                done->gap.route_ms == rows[i].route_ms && done->gap.uncertainty_ms == rows[i].uncertainty_ms
            : done->writes_blocked_ms == 300 && write_gap_same(&done->gap, &gap);
        if (!is_right || roles.last_switchover.writes_blocked_ms != 7)
            fail_msg("%s: %lld ms, %lld of them after the opening, ± %lld", rows[i].name,
                (long long)done->writes_blocked_ms, (long long)done->gap.route_ms, (long long)done->gap.uncertainty_ms);
    }
}

static void a_switchover_is_completed_too(void **state)
{
    static struct cluster_snapshot snapshot = {.now_ms = NOW};
    const struct agent_status agent = {.clock_ms = 50000, .first_commit = moment(80, 20), .first_commit_epoch = 4};
    const struct cluster_member primary = {.name = "db-1", .agent = &agent, .silent_ms = 0};
    struct cluster_role_status roles = {
        .last_switchover = {.to = "db-1",
            .epoch = 4,
            .finished_ms = NOW - 100,
            .writes_blocked_ms = 50,
            .gap = {.opened_ms = 50, .uncertainty_ms = 30, .until = WRITE_GAP_UNTIL_OPENING}}};

    UNUSED(state);
    write_gap_complete(&snapshot, &primary, &roles);
    assert_int_equal(roles.last_switchover.writes_blocked_ms, 80);
    assert_int_equal(roles.last_switchover.gap.until, WRITE_GAP_UNTIL_FIRST_COMMIT);
    assert_int_equal(roles.last_switchover.gap.route_ms, 30);
    roles.last_switchover.gap.until = WRITE_GAP_UNTIL_OPENING;
    roles.last_switchover.to[3] = '2'; /* the primary has changed since */
    roles.last_switchover.writes_blocked_ms = 50;
    write_gap_complete(&snapshot, &primary, &roles);
    assert_int_equal(roles.last_switchover.writes_blocked_ms, 50);
}

/* The failover to db-1 ended 100 ms ago. Its agent speaks, and tells no first commit. */
static void the_end_is_not_known_once_nobody_looks_for_it(void **state)
{
    static const struct {
        const char *name;
        bool is_silent;
        uint64_t opening_epoch;
        enum write_gap_until before, until;
        int64_t blocked_ms;
    } rows[] = {
        {"it is looked for", false, 5, WRITE_GAP_UNTIL_OPENING, WRITE_GAP_UNTIL_OPENING, 300},
        {"its agent was restarted", false, 0, WRITE_GAP_UNTIL_OPENING, WRITE_GAP_UNTIL_NOT_SEEN, -1},
        {"it was opened anew", false, 6, WRITE_GAP_UNTIL_OPENING, WRITE_GAP_UNTIL_NOT_SEEN, -1},
        {"the opening was told later", false, 5, WRITE_GAP_UNTIL_NOT_SEEN, WRITE_GAP_UNTIL_OPENING, 300},
        {"it is silent", true, 0, WRITE_GAP_UNTIL_OPENING, WRITE_GAP_UNTIL_OPENING, 300},
        {"it is complete", false, 0, WRITE_GAP_UNTIL_FIRST_COMMIT, WRITE_GAP_UNTIL_FIRST_COMMIT, 300},
        {"an earlier version told it", false, 0, WRITE_GAP_UNTIL_UNKNOWN, WRITE_GAP_UNTIL_UNKNOWN, 300},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct cluster_snapshot snapshot = {.now_ms = NOW};
        const struct agent_status agent = {.clock_ms = 50000, .opening_epoch = rows[i].opening_epoch};
        const struct cluster_member primary = {
            .name = "db-1", .agent = &agent, .agent_connected = !rows[i].is_silent, .silent_ms = 0};
        struct cluster_role_status roles = {.last_failover = {.to = "db-1",
                                                .epoch = 5,
                                                .finished_ms = NOW - 100,
                                                .writes_blocked_ms = 300,
                                                .gap = {.opened_ms = 300, .until = rows[i].before}}};
        write_gap_complete(&snapshot, &primary, &roles);
        const struct cluster_failover *done = &roles.last_failover;
        if (done->gap.until != rows[i].until || done->writes_blocked_ms != rows[i].blocked_ms)
            fail_msg("%s: %d, %lld ms", rows[i].name, (int)done->gap.until, (long long)done->writes_blocked_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_write_is_as_in_the_table),
        cmocka_unit_test(the_later_word_counts),
        cmocka_unit_test(what_was_noted_of_another_stays),
        cmocka_unit_test(the_next_one_may_have_been_open_unseen_as_in_the_table),
        cmocka_unit_test(the_end_is_when_it_was_opened_as_in_the_table),
        cmocka_unit_test(a_client_that_had_not_tried_ends_nothing),
        cmocka_unit_test(the_first_commit_completes_it_as_in_the_table),
        cmocka_unit_test(a_switchover_is_completed_too),
        cmocka_unit_test(nobody_may_have_written_since_the_change_before_as_in_the_table),
        cmocka_unit_test(the_end_is_not_known_once_nobody_looks_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
