/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/beat_rest.h"

#include <setjmp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/heartbeat_lane.h"
#include "agent/role_notes.h"
#include "agent/volume_try.h"
#include "common/fs.h"
#include "common/strbuf.h"

#define BEGIN 100000
#define BEATS_MAX 80

/* A server, and whoever else uses it. */
struct server {
    uint64_t position, prepares;
    bool unknown; /* it has no such variable */
};

static struct beat_look look_of(const struct server *server)
{
    return (struct beat_look){.known = !server->unknown, .position = server->position, .prepares = server->prepares};
}

static void write_by(struct server *server, uint64_t prepares)
{
    server->position++;
    server->prepares += prepares;
}

/* What happens between one beat and the next, by number; "with" happens during the beat, if that is a row. */
enum happening {
    NOTHING,
    WRITES,         /* somebody commits */
    WRITES_ARIA,    /* likewise, a table without transactions */
    WAITS,          /* a commit has begun and waits for acknowledgements */
    WRITES_WITH,    /* in the moment of the row */
    NEEDS_ROWS,     /* a member of an earlier version asks for its lag */
    LOSES_VARIABLE, /* the server cannot be asked */
    EPOCH,          /* a new one */
};

struct row {
    const char *what;
    unsigned at; /* before this beat */
    enum happening happens;
    const char *expected; /* of each beat from the first on: R a row, f the file */
};

/* Beats of one second: two. Rest begins behind two seconds, and has a row every six. */
static const struct row rows[] = {
    {"nobody writes", 0, NOTHING, "RRRRfffffffffffRfffffffffffRffff"},
    {"somebody writes while it rests", 9, WRITES, "RRRRfffffRRRRfffffffffffR"},
    {"into a table without transactions", 9, WRITES_ARIA, "RRRRfffffRRRRfffffffffffR"},
    {"a commit waits for acknowledgements", 9, WAITS, "RRRRfffffRRRR"},
    {"somebody writes in the moment of the row at rest", 15, WRITES_WITH, "RRRRfffffffffffRRRRRffff"},
    {"a member needs rows", 9, NEEDS_ROWS, "RRRRfffffRRRRRRRRRRRRRRRRRRRRRRRRR"},
    {"the server cannot be asked", 9, LOSES_VARIABLE, "RRRRfffffRRRRRRRRRRRRRRRRRRRRRRRRR"},
    {"a new epoch", 9, EPOCH, "RRRRfffffRRRRfffffffffffR"},
};

static void happen(const struct row *row, struct server *server, struct beat_rest *rest, bool *may_rest)
{
    switch (row->happens) {
    case WRITES:
        write_by(server, 2);
        break;
    case WRITES_ARIA:
        write_by(server, 0);
        break;
    case WAITS:
        server->prepares += 2;
        break;
    case NEEDS_ROWS:
        *may_rest = false;
        break;
    case LOSES_VARIABLE:
        server->unknown = true;
        break;
    case EPOCH:
        *rest = (struct beat_rest){0};
        break;
    default:
        break;
    }
}

static void beats_of(const struct row *row, char ret[static BEATS_MAX + 1])
{
    struct server server = {.position = 5, .prepares = 70};
    struct beat_rest rest = {0};
    size_t count = strlen(row->expected);
    bool may_rest = true;

    for (unsigned i = 0; i < count; i++) {
        int64_t now_ms = BEGIN + (int64_t)i * HEARTBEAT_INTERVAL_MS;
        if (i == row->at)
            happen(row, &server, &rest, &may_rest);
        struct beat_look before = look_of(&server);
        bool is_row = beat_rest_wants_row(&rest, &before, may_rest, now_ms);
        ret[i] = is_row ? 'R' : 'f';
        if (!is_row)
            continue;
        write_by(&server, 2);
        if (i == row->at && row->happens == WRITES_WITH)
            write_by(&server, 2);
        struct beat_look after = look_of(&server);
        beat_rest_note_row(&rest, &before, &after, now_ms);
    }
    ret[count] = '\0';
}

static void test_when_a_row_is_written(void **state)
{
    char beats[BEATS_MAX + 1];

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        beats_of(&rows[i], beats);
        if (strcmp(beats, rows[i].expected) != 0)
            fail_msg("%s: %s instead of %s", rows[i].what, beats, rows[i].expected);
    }
}

/* At rest a day has one row in six seconds: what a row takes, 14,400 times. */
static void test_rows_of_a_day(void **state)
{
    struct server server = {0};
    struct beat_rest rest = {0};
    unsigned count = 0;

    UNUSED(state);
    for (int64_t at_ms = 0; at_ms < INT64_C(24) * 3600 * 1000; at_ms += HEARTBEAT_INTERVAL_MS) {
        struct beat_look before = look_of(&server);
        if (!beat_rest_wants_row(&rest, &before, true, BEGIN + at_ms))
            continue;
        count++;
        write_by(&server, 2);
        struct beat_look after = look_of(&server);
        beat_rest_note_row(&rest, &before, &after, BEGIN + at_ms);
    }
    assert_in_range(count, 14400, 14404);
}

static void test_members_that_need_rows(void **state)
{
    struct instance_state now = {.beat.row_reader_ms = 0};

    UNUSED(state);
    assert_true(role_may_rest(&now, BEGIN));
    now.beat.row_reader_ms = BEGIN;
    assert_false(role_may_rest(&now, BEGIN));
    assert_false(role_may_rest(&now, BEGIN + 9999));
    assert_true(role_may_rest(&now, BEGIN + 10000));
}

/* Cut off, perhaps: a row that waits for it shows that. */
static void test_a_member_that_falls_silent(void **state)
{
    struct instance_state now = {.beat.row_reader_ms = 0};

    UNUSED(state);
    others_room_note(&now.others, "db-mysql-1", &(struct others_word){.pause_ms = 0}, BEGIN);
    others_room_note(&now.others, "db-mysql-2", &(struct others_word){.pause_ms = 1000}, BEGIN + 1000);
    assert_true(role_may_rest(&now, BEGIN + 1499));
    assert_false(role_may_rest(&now, BEGIN + 1500));
    /* It sees the source at rest. */
    others_room_note(&now.others, "db-mysql-1", &(struct others_word){.pause_ms = 250}, BEGIN + 1500);
    assert_true(role_may_rest(&now, BEGIN + 2049));
    assert_false(role_may_rest(&now, BEGIN + 2050));
    assert_true(role_may_rest(&now, BEGIN + 11500)); /* silent for OTHERS_GONE_MS: it is not waited for */
}

/* ---- the file ---- */

static void test_the_volume_is_tried(void **state)
{
    char dir[] = "/tmp/volume-try-XXXXXX", path[128];
    struct agent_paths paths = {.state_dir = dir};
    _cleanup_(strbuf_release) struct strbuf first, second;
    struct stat st;

    UNUSED(state);
    strbuf_init(&first, 128);
    strbuf_init(&second, 128);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(rmdir(dir), 0); /* it makes the folder, too */
    snprintf(path, sizeof(path), "%s/write-try", dir);
    assert_int_equal(volume_try(&paths, NULL), 0);
    assert_int_equal(fs_read_file(path, &first, NULL), 0);
    assert_int_equal(volume_try(&paths, NULL), 0);
    assert_int_equal(fs_read_file(path, &second, NULL), 0);
    assert_string_not_equal(first.buf, second.buf);
    assert_int_equal(first.len, second.len);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(fs_remove_all(path, NULL), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(volume_try(&paths, NULL), -1); /* it is refused */
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_a_row_is_written),
        cmocka_unit_test(test_rows_of_a_day),
        cmocka_unit_test(test_members_that_need_rows),
        cmocka_unit_test(test_a_member_that_falls_silent),
        cmocka_unit_test(test_the_volume_is_tried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
