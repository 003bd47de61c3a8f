/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that is killed and comes back beside the same server. */
#include "common/base.h"

#include "agent/catch_up_note.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

#define NOW 1000000
#define MARIADB AGENT_FLAVOUR_MARIADB
#define LONG "0-1-1,1-1-1,2-1-1..."

enum { KEPT = -1 };

/* The name of a process is SERVER_RUN_SIZE - 1 characters long. */
static void start_server(const struct agent_paths *paths, int number)
{
    char name[SERVER_RUN_SIZE];

    snprintf(name, sizeof(name), "%024d", number);
    assert_int_equal(fs_write_file_atomic(paths->server_lock, name, number ? sizeof(name) - 1 : 0, 0600, NULL), 0);
}

static void release_catch_up(struct catch_up *catch_up)
{
    catch_up_gap(catch_up, NOW); /* forgets positions */
}

static struct catch_up started(void)
{
    struct catch_up catch_up = {0};

    catch_up_gap(&catch_up, NOW);
    return catch_up;
}

/* An agent's life beside server number `before`: what it had received was proven, or not; killed in the middle of a
 * change, or not. */
static void live(const struct agent_paths *paths, int before, bool up, bool changing, const char *received)
{
    _cleanup_(release_catch_up) struct catch_up catch_up = started();
    _cleanup_(catch_up_note_release) struct catch_up_note note = {.paths = NULL};

    start_server(paths, before);
    catch_up_note_init(&note, paths);
    catch_up_note_look(&note, &catch_up, MARIADB, received, NOW);
    catch_up_note_keep(&note, catch_up.up, received);
    catch_up.up = up;
    catch_up_note_look(&note, &catch_up, MARIADB, received, NOW);
    catch_up_note_keep(&note, catch_up.up, received);
    if (changing)
        catch_up_note_keep(&note, false, received);
}

static void test_what_outlives_an_agent(void **unused)
{
    static const struct {
        int before; /* 0: a server without a name */
        bool proven, changing;
        const char *received;
        int starts,
            starts_meanwhile; /* KEPT: the same server; before the next agent, and before its first look has ended */
        const char *seen;
        bool up;
        bool past; /* another process may go on with its relay logs */
    } rows[] = {
        {1, true, false, "0-1-9", KEPT, KEPT, "0-1-9", true, false},
        {1, true, false, "0-1-9", KEPT, KEPT, "0-1-12", true, false},
        {1, true, false, "0-1-9", KEPT, KEPT, "0-1-8", false, false},
        {1, false, false, "0-1-9", KEPT, KEPT, "0-1-9", false, false},
        {1, true, true, "0-1-9", KEPT, KEPT, "0-1-9", false, false},
        {1, true, false, "0-1-9", 2, KEPT, "0-1-9", false, true},
        {1, true, false, "0-1-9", KEPT, 2, "0-1-9", false, true},
        {1, true, false, "0-1-9", 2, 1, "0-1-9", false, true},
        {1, true, false, "0-1-9", 0, KEPT, "0-1-9", false, true},
        {1, true, true, "0-1-9", 2, KEPT, "0-1-9", false, false},
        {1, false, false, "0-1-9", 2, KEPT, "0-1-9", false, false},
        {0, true, false, "0-1-9", KEPT, KEPT, "0-1-9", false, false},
        {1, true, false, "", KEPT, KEPT, "", false, false},
        {1, true, false, LONG, KEPT, KEPT, LONG, false, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dir[] = "/tmp/catch-up-note-XXXXXX";
        assert_non_null(mkdtemp(dir));
        _cleanup_(freep) char *lock = xasprintf("%s/server.lock", dir);
        struct agent_paths paths = {.run_dir = dir, .server_lock = lock};
        _cleanup_(release_catch_up) struct catch_up catch_up = started();
        _cleanup_(catch_up_note_release) struct catch_up_note note = {.paths = NULL};
        live(&paths, rows[i].before, rows[i].proven, rows[i].changing, rows[i].received);
        if (rows[i].starts != KEPT)
            start_server(&paths, rows[i].starts);
        catch_up_note_init(&note, &paths);
        if (rows[i].starts_meanwhile != KEPT)
            start_server(&paths, rows[i].starts_meanwhile);
        catch_up_note_look(&note, &catch_up, MARIADB, rows[i].seen, NOW);
        catch_up_note_keep(&note, catch_up.up, rows[i].seen);
        if (catch_up.up != rows[i].up || note.is_there != (rows[i].up || rows[i].past) ||
            (*note.past.server != '\0') != rows[i].past)
            fail_msg("row %zu", i);
        assert_int_equal(fs_remove_all(dir, NULL), 0);
    }
}

/* A change of role that begins before the first look: whatever it drops, the note is of the time before. */
static void test_a_change_before_the_first_look(void **unused)
{
    char dir[] = "/tmp/catch-up-note-XXXXXX", lock[] = "/tmp/catch-up-note-XXXXXX/server.lock";
    struct agent_paths paths = {.run_dir = dir, .server_lock = lock};
    _cleanup_(release_catch_up) struct catch_up catch_up = started();
    _cleanup_(catch_up_note_release) struct catch_up_note note = {.paths = NULL};

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    memcpy(lock, dir, strlen(dir));
    live(&paths, 1, true, false, "0-1-9");
    catch_up_note_init(&note, &paths);
    catch_up_note_keep(&note, false, "");
    catch_up_note_look(&note, &catch_up, MARIADB, "0-1-9", NOW);
    assert_false(catch_up.up);
    catch_up_note_release(&note);
    catch_up_note_init(&note, &paths);
    catch_up_note_look(&note, &catch_up, MARIADB, "0-1-9", NOW);
    assert_false(catch_up.up);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

/* Should nobody else notice that the server is another one. */
static void test_another_server_is_a_gap(void **unused)
{
    char dir[] = "/tmp/catch-up-note-XXXXXX", lock[] = "/tmp/catch-up-note-XXXXXX/server.lock";
    struct agent_paths paths = {.run_dir = dir, .server_lock = lock};
    _cleanup_(release_catch_up) struct catch_up catch_up = {.up = true};
    _cleanup_(catch_up_note_release) struct catch_up_note note = {.paths = NULL};

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    memcpy(lock, dir, strlen(dir));
    start_server(&paths, 1);
    catch_up_note_init(&note, &paths);
    catch_up_note_look(&note, &catch_up, MARIADB, "0-1-9", NOW);
    assert_true(catch_up.up);
    start_server(&paths, 2);
    catch_up_note_look(&note, &catch_up, MARIADB, "0-1-9", NOW + 1);
    assert_false(catch_up.up);
    assert_true(catch_up.gap_ms == NOW + 1);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

/* Of server number 1, of which everything up to 0-1-9 was proven; number 2 follows it. */
static void test_relay_logs_outlive_a_server(void **unused)
{
    static const struct {
        bool same_agent, spent, another_boot, synced;
        const char *received, *executed;
        bool up;
    } rows[] = {
        {false, false, false, false, "0-1-12", "0-1-12", true},
        {true, false, false, false, "0-1-12", "0-1-12", true},
        {true, false, false, false, "0-1-12", "0-1-11", false}, /* still to be applied */
        {true, false, false, false, "0-1-8", "0-1-8", false},   /* less than there was */
        {true, false, false, false, "0-1-9...", "0-1-12", false},
        {true, true, false, false, "0-1-12", "0-1-12", false}, /* something else was begun */
        {false, false, true, false, "0-1-12", "0-1-12", false},
        {false, false, true, true, "0-1-12", "0-1-12", true},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dir[] = "/tmp/catch-up-note-XXXXXX";
        assert_non_null(mkdtemp(dir));
        _cleanup_(freep) char *lock = xasprintf("%s/server.lock", dir);
        struct agent_paths paths = {.run_dir = dir, .server_lock = lock};
        _cleanup_(release_catch_up) struct catch_up catch_up = started();
        _cleanup_(catch_up_note_release) struct catch_up_note note = {.paths = NULL};
        start_server(&paths, 1);
        catch_up_note_init(&note, &paths);
        note.synced = rows[i].synced;
        catch_up_note_look(&note, &catch_up, MARIADB, "0-1-9", NOW);
        catch_up_note_keep(&note, true, "0-1-9");
        start_server(&paths, 2);
        if (!rows[i].same_agent) {
            catch_up_note_release(&note);
            catch_up_note_init(&note, &paths);
        }
        if (rows[i].another_boot)
            snprintf(note.boot, sizeof(note.boot), "another");
        catch_up_note_look(&note, &catch_up, MARIADB, rows[i].executed, NOW);
        catch_up_note_keep(&note, catch_up.up, rows[i].executed);
        if (rows[i].spent) {
            catch_up_note_spend(&note);
            catch_up_note_keep(&note, catch_up.up, rows[i].executed);
            assert_false(note.is_there);
        }
        catch_up_note_relay_logs_kept(&note, &catch_up, MARIADB, rows[i].received);
        assert_false(catch_up.up);
        catch_up_executed(&catch_up, MARIADB, rows[i].executed);
        if (catch_up.up != rows[i].up)
            fail_msg("row %zu", i);
        catch_up_note_keep(&note, catch_up.up, rows[i].executed);
        assert_true(note.is_there == !rows[i].spent);
        assert_int_equal(fs_remove_all(dir, NULL), 0);
    }
}

/* What is changed where relay logs are synced is to be on the disk; the owner sees to that. */
static void test_what_is_to_be_synced(void **unused)
{
    static const struct {
        bool before, now; /* relay logs are synced: at the first keep, then */
        bool found;       /* the note is there at the beginning, of another server */
        bool up;          /* after `now` */
        bool first, then; /* it is to be synced */
    } rows[] = {
        {false, false, true, true, false, false}, {false, false, false, false, false, false},
        {true, true, true, true, true, false},  /* written */
        {true, true, true, false, true, true},  /* removed */
        {false, true, true, true, false, true}, /* raised */
        {true, false, true, true, true, true},  /* lowered */
        {true, false, true, false, true, true},
        {true, true, false, true, true, false}, /* whoever removed it may not have come to sync it */
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dir[] = "/tmp/catch-up-note-XXXXXX";
        assert_non_null(mkdtemp(dir));
        _cleanup_(freep) char *lock = xasprintf("%s/server.lock", dir);
        struct agent_paths paths = {.run_dir = dir, .server_lock = lock};
        _cleanup_(release_catch_up) struct catch_up catch_up = started();
        _cleanup_(catch_up_note_release) struct catch_up_note note = {.paths = NULL};
        if (rows[i].found)
            live(&paths, 2, true, false, "0-1-9");
        start_server(&paths, 1);
        catch_up_note_init(&note, &paths);
        catch_up_note_look(&note, &catch_up, MARIADB, "0-1-9", NOW);
        note.synced = rows[i].before;
        catch_up_note_keep(&note, rows[i].found, "0-1-9");
        if ((catch_up_note_unsynced(&note) != 0) != rows[i].first)
            fail_msg("row %zu, first", i);
        assert_int_equal(catch_up_note_sync(&paths), 0);
        catch_up_note_synced(&note, catch_up_note_unsynced(&note));
        assert_int_equal(catch_up_note_unsynced(&note), 0);
        note.synced = rows[i].now;
        catch_up_note_keep(&note, rows[i].found && rows[i].up, "0-1-9");
        if ((catch_up_note_unsynced(&note) != 0) != rows[i].then)
            fail_msg("row %zu, then", i);
        assert_int_equal(fs_remove_all(dir, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_outlives_an_agent),
        cmocka_unit_test(test_a_change_before_the_first_look),
        cmocka_unit_test(test_another_server_is_a_gap),
        cmocka_unit_test(test_relay_logs_outlive_a_server),
        cmocka_unit_test(test_what_is_to_be_synced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
