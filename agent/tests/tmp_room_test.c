/* SPDX-License-Identifier: Apache-2.0 */
/* The bound, and whose connection is ended beyond it. */
#include "common/base.h"

#include "agent/tmp_room.h"

#include <setjmp.h>
#include <cmocka.h>

#define NOW INT64_C(1000000)
#define MIB(n) ((uint64_t)(n)*KM_MIB)
#define GIB(n) ((uint64_t)(n)*1024 * KM_MIB)

static void the_bound_is_as_in_the_table(void **state)
{
    static const struct {
        uint64_t volume, ephemeral, bound;
    } rows[] = {
        {0, 0, 0}, /* not known: nobody is ended */
        {GIB(1), 0, MIB(256)},
        {MIB(400), 0, MIB(256)},
        {GIB(20), 0, GIB(5)},
        {GIB(1000), 0, GIB(10)},
        {GIB(1000), GIB(4), GIB(3)},
        {0, MIB(100), MIB(75)},
        {GIB(1), GIB(100), GIB(75)},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (tmp_room_bound(rows[i].volume, rows[i].ephemeral) != rows[i].bound)
            fail_msg("row %zu", i + 1);
    }
}

static void old_looks_tell_nothing(void **state)
{
    struct tmp_look look = {0};

    UNUSED(state);
    assert_false(tmp_room_knows(&look, NOW));
    look.at_ms = NOW - TMP_LOOK_OLD_MS + 1;
    assert_true(tmp_room_knows(&look, NOW));
    look.at_ms = NOW - TMP_LOOK_OLD_MS;
    assert_false(tmp_room_knows(&look, NOW));
    look.at_ms = NOW + 1; /* of before the node was started anew */
    assert_false(tmp_room_knows(&look, NOW));
}

/* 320 MiB in all; thread 11 wrote 200 of them in the last two seconds, 12 wrote 90 before, 13 wrote 5, and 14 has
 * written all the time. */
static const struct tmp_look before = {.at_ms = NOW - 2000,
    .bytes = MIB(120),
    .writer_count = 2,
    .writers = {{12, MIB(90), NOW - 60000}, {14, MIB(30), NOW - 2000}}};
static const struct tmp_look lately = {.at_ms = NOW - 250,
    .bytes = MIB(310),
    .writer_count = 3,
    .writers = {{11, MIB(190), NOW - 250}, {14, MIB(225), NOW - 250}, {12, MIB(90), NOW - 60000}}};
static const struct tmp_look seen = {.at_ms = NOW,
    .bytes = MIB(320),
    .writer_count = 4,
    .writers = {{14, MIB(230), NOW}, {11, MIB(200), NOW}, {12, MIB(90), NOW - 60000}, {13, MIB(5), NOW}}};

/* id, thread, user, age_ms, bytes, makes_files, runs, may_end */
static const struct tmp_client filler = {1, 11, "app", 9000, 0, false, true, true};
static const struct tmp_client waiting_filler = {2, 11, "app", 9000, 0, true, true, false};
static const struct tmp_client sleeping_filler = {3, 11, "app", 9000, 0, false, false, true};
static const struct tmp_client newcomer = {4, 12, "app", 1000, 0, false, true, true};
static const struct tmp_client minute_old = {5, 12, "app", 90000, 0, false, true, true};
static const struct tmp_client small_one = {6, 13, "app", 99000, 0, false, true, true};
static const struct tmp_client committer = {13, 14, "app", 20, 0, false, true, true};
static const struct tmp_client long_sorter = {7, 0, "app", 50000, 0, true, true, true};
static const struct tmp_client sorter = {8, 0, "app", 40000, 0, true, true, true};
static const struct tmp_client counted = {9, 0, "app", 10, MIB(50), false, false, true};
static const struct tmp_client counted_most = {10, 0, "app", 10, MIB(70), false, true, true};
static const struct tmp_client counted_replica = {11, 0, "", 10, MIB(200), true, true, false};
static const struct tmp_client counted_little = {12, 0, "app", 10, MIB(5), false, true, true};

static void one_is_chosen_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        const struct tmp_client *clients[4];
        uint64_t id; /* 0: nobody */
        enum tmp_evidence evidence;
        bool is_mapped; /* no thread has written */
    } rows[] = {
        {"nobody is there", {NULL}, 0, TMP_EVIDENCE_NONE, false},
        {"by its thread", {&committer, &filler, &minute_old, &long_sorter}, 1, TMP_EVIDENCE_THREAD, false},
        {"the second, where the first may not be ended", {&waiting_filler, &minute_old}, 5, TMP_EVIDENCE_THREAD, false},
        {"nobody, where the first may not be ended", {&waiting_filler, &newcomer}, 0, TMP_EVIDENCE_NONE, false},
        {"its thread wrote for another one", {&newcomer, &committer}, 0, TMP_EVIDENCE_NONE, false},
        {"who sleeps fills nothing", {&sleeping_filler}, 0, TMP_EVIDENCE_NONE, false},
        {"it has but a small part", {&small_one}, 0, TMP_EVIDENCE_NONE, false},
        {"by its statement, the one that runs for longest", {&sorter, &long_sorter, &small_one}, 7,
            TMP_EVIDENCE_STATEMENT, true},
        {"nobody by the statement, where threads wrote it", {&waiting_filler, &long_sorter}, 0, TMP_EVIDENCE_NONE,
            false},
        {"nobody makes files", {&filler, &small_one}, 0, TMP_EVIDENCE_NONE, true},
        {"by the server's count", {&filler, &counted, &counted_most, &counted_replica}, 10, TMP_EVIDENCE_SERVER, false},
        {"by the server's count, also who sleeps", {&counted, &counted_little}, 9, TMP_EVIDENCE_SERVER, false},
        {"the server counts little", {&counted_little}, 0, TMP_EVIDENCE_NONE, false},
    };

    struct tmp_history history = {0}, mapped = {.count = 1, .looks = {{.at_ms = NOW, .bytes = MIB(320)}}};

    UNUSED(state);
    tmp_history_add(&history, &before);
    tmp_history_add(&history, &lately);
    tmp_history_add(&history, &seen);
    tmp_history_add(&history, &seen);
    assert_int_equal(history.count, 3);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tmp_client clients[4];
        size_t count = 0;
        for (; count < 4 && rows[i].clients[count]; count++)
            clients[count] = *rows[i].clients[count];
        struct tmp_choice choice = tmp_room_choose(rows[i].is_mapped ? &mapped : &history, clients, count, NOW);
        bool is_right = choice.evidence == rows[i].evidence &&
            (choice.evidence == TMP_EVIDENCE_NONE || clients[choice.client].id == rows[i].id);
        if (!is_right)
            fail_msg("%s", rows[i].name);
    }
}

static void the_next_one_is_waited_for(void **state)
{
    static const struct {
        const char *name;
        int64_t ago_ms, look_ago_ms;
        uint64_t mib;
        bool is_there, waits;
    } rows[] = {
        {"the look was before", 1000, 1100, 320, false, true},
        {"it has but just gone", 1900, 0, 320, false, true},
        {"it has gone", 3000, 0, 320, false, false},
        {"it is there still", 3000, 0, 320, true, true},
        {"it is there, and they grow on", 3000, 0, 350, true, false},
        {"it is there for too long", TMP_GONE_MAX_MS, 0, 320, true, false},
    };

    UNUSED(state);
    assert_false(tmp_room_waits(&(struct tmp_ended){0}, &seen, true, NOW));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tmp_ended ended = {.id = 1, .at_ms = NOW - rows[i].ago_ms, .bytes = MIB(320)};
        struct tmp_look look = {.at_ms = NOW - rows[i].look_ago_ms, .bytes = MIB(rows[i].mib)};
        if (tmp_room_waits(&ended, &look, rows[i].is_there, NOW) != rows[i].waits)
            fail_msg("%s", rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_as_in_the_table),
        cmocka_unit_test(old_looks_tell_nothing),
        cmocka_unit_test(one_is_chosen_as_in_the_table),
        cmocka_unit_test(the_next_one_is_waited_for),
    };

    return cmocka_run_group_tests_name("tmp_room", tests, NULL, NULL);
}
