/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the newest binary log is being written, as series of looks. */
#include "common/base.h"

#include "agent/log_watch.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/role_status.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/fs.h"

#define MB KM_MIB

/* One look a second, the first at 1 s; the heartbeat has hung since `blocked` s. */
struct series {
    const char *name;
    int blocked;
    struct {
        uint64_t file, log_mb, disk_mb; /* disk: 0 not known */
        bool moves;
    } looks[8];
};

static const struct series table[] = {
    {"nothing is blocked", 0, {{1, 10, 100, false}, {1, 20, 110, false}, {1, 30, 120, false}}},
    {"it grows", 2, {{1, 10, 0, false}, {1, 200, 0, false}, {1, 400, 0, true}, {1, 600, 0, true}}},
    {"clients hang one by one", 2, {{1, 10, 100, false}, {1, 11, 100, false}, {1, 13, 100, false}, {1, 15, 100, false}}},
    {"dead", 2, {{1, 10, 100, false}, {1, 10, 100, false}, {1, 10, 100, false}, {1, 10, 100, false}}},
    {"it grew before the hang only", 2, {{1, 10, 100, false}, {1, 20, 100, false}, {1, 20, 100, false}}},
    {"little was written, others use the disk", 2, {{1, 10, 100, false}, {1, 73, 200, false}, {1, 73, 300, false}}},
    {"the disk takes what the kernel took", 2,
        {{1, 10, 100, false}, {1, 900, 200, false}, {1, 900, 300, true}, {1, 900, 400, true}, {1, 900, 400, false}}},
    {"a disk that tells nothing", 2, {{1, 10, 0, false}, {1, 900, 0, false}, {1, 900, 0, false}}},
    {"longer than a slow disk needs", 2,
        {{1, 10, 100, false}, {1, 80, 200, false}, {1, 80, 300, true}, {1, 80, 400, true}, {1, 80, 500, true},
            {1, 80, 600, true}, {1, 80, 700, false}}},
    {"into a new file", 2, {{1, 900, 100, false}, {2, 0, 100, false}, {2, 500, 300, true}, {2, 500, 400, true}}},
    {"the first look comes late", 1, {{1, 900, 100, false}, {1, 900, 200, false}, {1, 950, 300, true}}},
};

static void a_log_moves_as_in_the_table(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct log_progress progress = {0};
        for (size_t at = 0; at < ARRAY_LEN(table[i].looks) && table[i].looks[at].file; at++) {
            int64_t now_ms = (int64_t)(at + 1) * 1000, blocked_ms = table[i].blocked * 1000;
            struct log_look look = {.at_ms = now_ms,
                .file = table[i].looks[at].file,
                .bytes = table[i].looks[at].log_mb * MB,
                .written = table[i].looks[at].disk_mb * MB};
            bool moves = log_progress_take(&progress, &look, now_ms >= blocked_ms ? blocked_ms : 0);
            if (moves != table[i].looks[at].moves)
                fail_msg("%s: look %zu", table[i].name, at + 1);
        }
    }
}

/* Looks until one finds the log moving; `grow` bytes are added each time. */
static bool is_seen_moving(const char *dir, off_t grow, int64_t for_ms)
{
    char path[128];
    struct loop *loop = loop_new();
    struct beat_state beat = {.wanted = true, .blocked_since_ms = clock_monotonic_ms()};
    struct log_watch *watch = log_watch_new(loop, dir, &beat);
    int64_t end_ms = beat.blocked_since_ms + for_ms;

    snprintf(path, sizeof(path), "%s/binlog.000002", dir);
    for (off_t bytes = grow; !beat.log_ms && clock_monotonic_ms() < end_ms; bytes += grow) {
        assert_int_equal(truncate(path, bytes), 0);
        log_watch_turn(watch, clock_monotonic_ms());
        loop_run_once(loop, 100);
    }
    log_watch_free(watch);
    loop_free(loop);
    return beat.log_ms > 0;
}

static void the_newest_log_is_looked_at(void **state)
{
    UNUSED(state);
    static const char index[] = "./binlog.000001\n./binlog.000002\n";
    char dir[] = "/tmp/log-watch-XXXXXX", path[128];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/binlog.index", dir);
    assert_int_equal(fs_write_file_atomic(path, index, strlen(index), 0600, NULL), 0);
    snprintf(path, sizeof(path), "%s/binlog.000002", dir);
    assert_int_equal(fs_write_file_atomic(path, "", 0, 0600, NULL), 0);
    assert_true(is_seen_moving(dir, 8 * MB, 10000));
    assert_false(is_seen_moving(dir, 0, 2300));
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

/* Until another one than `known` is seen; 0: none was. */
static uint64_t newest_log(const char *dir, struct beat_state *beat, int64_t for_ms)
{
    struct loop *loop = loop_new();
    struct log_watch *watch = log_watch_new(loop, dir, beat);
    uint64_t known = beat->log_file;
    int64_t end_ms = clock_monotonic_ms() + for_ms;

    while (beat->log_file == known && clock_monotonic_ms() < end_ms) {
        log_watch_turn(watch, clock_monotonic_ms());
        loop_run_once(loop, 100);
    }
    log_watch_free(watch);
    loop_free(loop);
    return beat->log_file == known ? 0 : beat->log_file;
}

static void a_new_log_is_seen(void **state)
{
    UNUSED(state);
    static const char one[] = "./binlog.000001\n", two[] = "./binlog.000001\n./binlog.000002\n";
    char dir[] = "/tmp/log-watch-XXXXXX", path[128];
    struct beat_state beat = {.log_wanted = true};
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/binlog.000001", dir);
    assert_int_equal(fs_write_file_atomic(path, "", 0, 0600, NULL), 0);
    snprintf(path, sizeof(path), "%s/binlog.index", dir);
    assert_int_equal(fs_write_file_atomic(path, one, strlen(one), 0600, NULL), 0);
    uint64_t first = newest_log(dir, &beat, 10000);
    assert_true(first > 0);
    snprintf(path, sizeof(path), "%s/binlog.000002", dir);
    assert_int_equal(fs_write_file_atomic(path, "", 0, 0600, NULL), 0);
    snprintf(path, sizeof(path), "%s/binlog.index", dir);
    assert_int_equal(fs_write_file_atomic(path, two, strlen(two), 0600, NULL), 0);
    assert_true(newest_log(dir, &beat, 10000) > 0);
    beat = (struct beat_state){.log_wanted = false}; /* neither heartbeats nor an archive: nobody asks */
    assert_int_equal(newest_log(dir, &beat, 300), 0);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

#define NOW 100000

/* What a primary makes of it. */
static void a_heartbeat_behind_a_large_commit_has_not_stalled(void **unused)
{
    static struct instance_state state;

    UNUSED(unused);
    state.beat = (struct beat_state){.wanted = true, .started_ms = NOW - 1900, .blocked_since_ms = NOW - 8000};
    state.replication.semi_sync_source = true;
    assert_int_equal(role_stalled_ms(&state, NOW), 8000);
    state.beat.log_ms = NOW - 3000;
    assert_int_equal(role_stalled_ms(&state, NOW), 0);
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
    state.beat.log_ms = NOW - 3001; /* it grows no more */
    assert_int_equal(role_stalled_ms(&state, NOW), 3001);
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
    state.beat.log_ms = NOW - 8001; /* of an earlier one */
    assert_int_equal(role_stalled_ms(&state, NOW), 8000);
    state.beat.log_ms = NOW - 10;
    state.replication.waiting_commits = 1; /* commits get into the log, and nobody acknowledges them */
    assert_int_equal(role_stalled_ms(&state, NOW), 0);
    assert_int_equal(role_blocked_ms(&state, NOW), 8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_moves_as_in_the_table),
        cmocka_unit_test(the_newest_log_is_looked_at),
        cmocka_unit_test(a_new_log_is_seen),
        cmocka_unit_test(a_heartbeat_behind_a_large_commit_has_not_stalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
