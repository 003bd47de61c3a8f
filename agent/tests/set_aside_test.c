/* SPDX-License-Identifier: Apache-2.0 */
/* What is set aside is whole, or it is not there. */
#include "common/base.h"

#include "agent/set_aside.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"
#include "agent/gtid_loss_note.h"
#include "agent/set_aside_judge.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"

struct world {
    struct binlog_double logs;
    struct agent_paths paths;
    struct error error;
    struct agent_set_asides sets;
};

static int set_up(void **state)
{
    struct world *w = xnew(struct world);

    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of write() */
    binlog_double_init(&w->logs, GTID_MARIADB);
    agent_paths_init(&w->paths, w->logs.dir, w->logs.dir, NULL, NULL, NULL, NULL);
    free(w->paths.data_dir);
    w->paths.data_dir = xstrdup(w->logs.dir);
    *state = w;
    return 0;
}

static int set_up_mysql(void **state)
{
    int rc = set_up(state);
    struct world *w = *state;

    binlog_double_release(&w->logs);
    binlog_double_init(&w->logs, GTID_MYSQL);
    agent_paths_release(&w->paths);
    agent_paths_init(&w->paths, w->logs.dir, w->logs.dir, NULL, NULL, NULL, NULL);
    free(w->paths.data_dir);
    w->paths.data_dir = xstrdup(w->logs.dir);
    return rc;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    agent_paths_release(&w->paths);
    binlog_double_release(&w->logs);
    free(w);
    return 0;
}

static int make_within(struct world *w, uint64_t room_bytes, uint64_t max_bytes, const char *behind)
{
    const struct set_aside_wish wish = {.paths = &w->paths,
        .flavour = AGENT_FLAVOUR_MARIADB,
        .epoch = 3,
        .errant = "",
        .behind = behind,
        .reason = "a test",
        .room_bytes = room_bytes,
        .max_bytes = max_bytes};

    error_clear(&w->error);
    return set_aside_make(&wish, &w->sets, &w->error);
}

/* The volume is full behind that many bytes of a file. */
static int make(struct world *w, rlim_t room)
{
    struct rlimit before;
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = MIN_OF(room, before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int rc = make_within(w, 0, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    return rc;
}

static size_t count_sets(const struct world *w)
{
    _cleanup_(freep) char *top = xasprintf("%s/set-aside", w->paths.state_dir);
    DIR *dir = opendir(top);
    size_t count = 0;

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void write_logs(struct world *w)
{
    binlog_double_rotate(&w->logs, "0-1-7");
    for (unsigned i = 8; i < 20; i++) {
        char gtid[32];
        snprintf(gtid, sizeof(gtid), "0-1-%u", i);
        binlog_double_add(&w->logs, gtid, 1000000, 30000);
    }
}

static void test_whole(void **state)
{
    struct world *w = *state;

    write_logs(w);
    if (make(w, RLIM_INFINITY) < 0)
        fail_msg("%s", w->error.message);
    assert_int_equal(count_sets(w), 1);
    assert_non_null(strstr(w->sets.sets[0], "0-1-19"));
}

/* Wherever the room ends: in what stdio buffers, and in what it hands to the kernel at once. */
static void test_no_room(void **state)
{
    static const rlim_t rooms[] = {0, 1, 4096, 100000, (rlim_t)128 * 1024, 300000};
    struct world *w = *state;

    write_logs(w);
    for (size_t i = 0; i < ARRAY_LEN(rooms); i++) {
        if (make(w, rooms[i]) == 0)
            fail_msg("with room for %lu bytes: %s", (unsigned long)rooms[i], w->sets.sets[0]);
        assert_int_equal(count_sets(w), 0);
    }
}

/* As they are: the logs cannot be taken apart. */
static void test_no_room_for_raw_logs(void **state)
{
    static const rlim_t rooms[] = {4096, 16384, 100000, 300000};
    struct world *w = *state;

    write_logs(w);
    binlog_double_rotate(&w->logs, "0-1-19");
    _cleanup_(freep) char *newest = xasprintf("%s/binlog.%06u", w->logs.dir, w->logs.newest);
    assert_int_equal(fs_write_file_atomic(newest, "what is this?", 13, 0600, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(rooms); i++) {
        if (make(w, rooms[i]) == 0)
            fail_msg("with room for %lu bytes: %s", (unsigned long)rooms[i], w->sets.sets[0]);
        assert_int_equal(count_sets(w), 0);
    }
    if (make(w, RLIM_INFINITY) < 0)
        fail_msg("%s", w->error.message);
    assert_int_equal(count_sets(w), 1);
}

/* Twelve transactions of more than 30000 bytes each. */
static void test_a_volume_that_is_nearly_full(void **state)
{
    struct world *w = *state;

    write_logs(w);
    assert_int_equal(make_within(w, 1000, 0, NULL), -1); /* not even the newest one */
    assert_non_null(strstr(w->error.message, "12 transactions have no room"));
    assert_int_equal(make_within(w, 100000, 0, "0-1-7"), -1); /* they are known to be what the others lack */
    assert_non_null(strstr(w->error.message, "transactions have no room"));
    assert_int_equal(count_sets(w), 0);
    if (make_within(w, 100000, 0, NULL) < 0) /* the newest that have room */
        fail_msg("%s", w->error.message);
    assert_int_equal(count_sets(w), 1);
}

static void test_what_is_known_and_has_room(void **state)
{
    struct world *w = *state;

    write_logs(w);
    if (make_within(w, 100000, 0, "0-1-17") < 0)
        fail_msg("%s", w->error.message);
    assert_int_equal(count_sets(w), 1);
}

/* It is the limit of a set that leaves the oldest out. */
static void test_more_than_a_set_may_hold(void **state)
{
    struct world *w = *state;

    write_logs(w);
    if (make_within(w, 0, 100000, "0-1-7") < 0)
        fail_msg("%s", w->error.message);
    assert_non_null(strstr(w->sets.sets[0], "(cut)"));
}

static void test_raw_logs_on_a_volume_that_is_nearly_full(void **state)
{
    struct world *w = *state;

    write_logs(w);
    binlog_double_rotate(&w->logs, "0-1-19");
    _cleanup_(freep) char *newest = xasprintf("%s/binlog.%06u", w->logs.dir, w->logs.newest);
    assert_int_equal(fs_write_file_atomic(newest, "what is this?", 13, 0600, NULL), 0);
    assert_int_equal(make_within(w, 12, 0, NULL), -1);
    assert_int_equal(count_sets(w), 0);
    if (make_within(w, 13, 0, NULL) < 0)
        fail_msg("%s", w->error.message);
    assert_int_equal(count_sets(w), 1);
}

static void folder_of(const char *text, char ret[static AGENT_SET_ASIDE_SIZE])
{
    snprintf(ret, AGENT_SET_ASIDE_SIZE, "%.*s", (int)strcspn(text, ":"), text);
}

/* The files stay, and so does the entry of the set before. */
static void test_taken_back(void **state)
{
    static const char known[] = "# transactions: 0-7-7\n0-7-7\n";
    struct world *w = *state;
    char folder[AGENT_SET_ASIDE_SIZE];
    _cleanup_(freep) char *older = xasprintf("%s/set-aside/2000-01-01T00-00-00Z-epoch1", w->paths.state_dir);
    _cleanup_(freep) char *list = xasprintf("%s/transactions.txt", older);
    _cleanup_(strbuf_release) struct strbuf gtids;

    strbuf_init(&gtids, KM_MIB);
    write_logs(w);
    assert_int_equal(make(w, RLIM_INFINITY), 0);
    folder_of(w->sets.sets[0], folder);
    assert_int_equal(set_aside_gtids(&w->paths, folder, AGENT_FLAVOUR_MARIADB, &gtids, &w->error), 0);
    assert_true(str_starts_with(gtids.buf, "0-1-8\n0-1-9\n"));
    assert_int_equal(fs_mkdir_all(older, 0700, NULL), 0);
    assert_int_equal(fs_write_file_atomic(list, known, strlen(known), 0600, NULL), 0);
    assert_int_equal(set_aside_take_back(&w->paths, folder, 4, &w->error), 0);
    set_aside_list(&w->paths, &w->sets);
    assert_string_equal(w->sets.sets[0], "2000-01-01T00-00-00Z-epoch1: 0-7-7");
    folder_of(w->sets.sets[0], folder);
    assert_int_equal(set_aside_take_back(&w->paths, folder, 4, &w->error), 0);
    set_aside_list(&w->paths, &w->sets);
    assert_string_equal(w->sets.sets[0], "");
    assert_int_equal(count_sets(w), 2);
}

static void put_set(struct world *w, const char *folder, const char *gtids)
{
    _cleanup_(freep) char *path = xasprintf("%s/set-aside/%s", w->paths.state_dir, folder);
    _cleanup_(freep) char *list = xasprintf("%s/transactions.txt", path);
    _cleanup_(freep) char *text = xasprintf("# transactions: %s\n%s\n", gtids, gtids);

    assert_int_equal(fs_mkdir_all(path, 0700, NULL), 0);
    assert_int_equal(fs_write_file_atomic(list, text, strlen(text), 0600, NULL), 0);
}

/* Newest first; whoever sets aside keeps no more than that, so the rest was put there by somebody else. */
static void test_all_are_named(void **state)
{
    static const char *const folders[] = {"2026-01-01T00-00-00Z-epoch1", "2026-01-02T00-00-00Z-epoch2",
        "2026-01-03T00-00-00Z-epoch3", "2026-01-04T00-00-00Z-epoch4", "copy-by-hand"};
    struct world *w = *state;

    set_aside_list(&w->paths, &w->sets);
    assert_string_equal(w->sets.sets[0], "");
    for (size_t i = 0; i < 2; i++)
        put_set(w, folders[i], "0-7-7");
    set_aside_list(&w->paths, &w->sets);
    assert_string_equal(w->sets.sets[0], "2026-01-02T00-00-00Z-epoch2: 0-7-7");
    assert_string_equal(w->sets.sets[1], "2026-01-01T00-00-00Z-epoch1: 0-7-7");
    assert_string_equal(w->sets.sets[2], "");
    assert_int_equal(w->sets.more, 0);
    for (size_t i = 2; i < ARRAY_LEN(folders); i++)
        put_set(w, folders[i], "0-7-8");
    set_aside_list(&w->paths, &w->sets);
    assert_string_equal(w->sets.sets[0], "copy-by-hand: 0-7-8");
    assert_string_equal(w->sets.sets[2], "2026-01-03T00-00-00Z-epoch3: 0-7-8");
    assert_int_equal(w->sets.more, 2);
    assert_int_equal(set_aside_take_back(&w->paths, folders[2], 4, &w->error), 0);
    set_aside_list(&w->paths, &w->sets);
    assert_string_equal(w->sets.sets[2], "2026-01-02T00-00-00Z-epoch2: 0-7-7");
    assert_int_equal(w->sets.more, 1);
}

/* More lines than may be asked about, and one interval. */
static void test_a_long_list_of_mysql(void **state)
{
    static const char uuid[] = "8829f773-0000-4000-8000-000000000001";
    struct world *w = *state;
    _cleanup_(strbuf_release) struct strbuf list;
    _cleanup_(strbuf_release) struct strbuf gtids;

    strbuf_init(&list, KM_MIB);
    strbuf_init(&gtids, SET_ASIDE_JUDGED_MAX);
    for (int i = 14037; i <= 22707; i++)
        strbuf_addf(&list, "%s%s:%d", list.len ? "\n" : "", uuid, i);
    put_set(w, "2026-01-01T00-00-00Z-epoch1", list.buf);
    assert_int_equal(
        set_aside_gtids(&w->paths, "2026-01-01T00-00-00Z-epoch1", AGENT_FLAVOUR_MYSQL, &gtids, &w->error), 0);
    assert_string_equal(gtids.buf, "8829f773-0000-4000-8000-000000000001:14037-22707");
    put_set(w, "2026-01-01T00-00-00Z-epoch1", "what is this");
    strbuf_reset(&gtids);
    assert_int_equal(
        set_aside_gtids(&w->paths, "2026-01-01T00-00-00Z-epoch1", AGENT_FLAVOUR_MYSQL, &gtids, &w->error), -1);
    assert_int_equal(w->error.kind, ERROR_INVALID);
}

static void keep(struct world *w, uint64_t epoch, const char *errant)
{
    const struct set_aside_wish wish = {
        .paths = &w->paths, .flavour = AGENT_FLAVOUR_MYSQL, .epoch = epoch, .errant = errant, .reason = "a test"};

    if (set_aside_make(&wish, &w->sets, &w->error) < 0)
        fail_msg("%s", w->error.message);
}

static void add_byte(const struct world *w)
{
    char folder[AGENT_SET_ASIDE_SIZE];

    folder_of(w->sets.sets[0], folder);
    _cleanup_(freep) char *path = xasprintf("%s/set-aside/%s/binlog.000001", w->paths.state_dir, folder);
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
}

/* A running member sets aside, receives more, and is replaced by `init`, which would set the same aside. */
static void test_the_same_transactions_are_kept_once(void **state)
{
    static const char source[] = "8829f773-0000-4000-8000-000000000001:";
    static const char errant[] = "8829f773-0000-4000-8000-000000000002:1";
    static const char more[] = "8829f773-0000-4000-8000-000000000002:1-2";
    struct world *w = *state;
    _cleanup_(freep) char *before = xasprintf("%s1-7", source);
    _cleanup_(freep) char *eight = xasprintf("%s8", source);
    _cleanup_(freep) char *nine = xasprintf("%s9", source);

    binlog_double_rotate(&w->logs, before);
    binlog_double_add(&w->logs, eight, 1000000, 300);
    binlog_double_add(&w->logs, errant, 1000000, 300);
    keep(w, 3, errant);
    assert_int_equal(count_sets(w), 1);
    binlog_double_add(&w->logs, nine, 1000001, 300);
    keep(w, 4, errant);
    assert_int_equal(count_sets(w), 1);
    assert_non_null(strstr(w->sets.sets[0], "-epoch3: "));
    binlog_double_add(&w->logs, "8829f773-0000-4000-8000-000000000002:2", 1000002, 300);
    keep(w, 5, more);
    assert_int_equal(count_sets(w), 2);
    assert_non_null(strstr(w->sets.sets[0], "-epoch5: "));
    binlog_double_add(&w->logs, "8829f773-0000-4000-8000-000000000001:10", 1000003, 300);
    add_byte(w); /* of the same GTIDs, and not the same */
    keep(w, 6, more);
    assert_int_equal(count_sets(w), 3);
}

/* What is not listed as a whole is not judged. */
static void test_lists_that_are_not_whole(void **state)
{
    static const char *const lists[] = {"# transactions: 0-1-8\n# no room for 3 older ones\n0-1-8\n",
        "# transactions: 0-1-8\n0-1-8\n# and 7 more\n",
        "# transactions: ?\n# the newest binary logs are kept as they are: they are encrypted\n",
        "# transactions: ?\n# reason: nothing is listed\n"};
    struct world *w = *state;
    _cleanup_(freep) char *folder = xasprintf("%s/set-aside/x", w->paths.state_dir);
    _cleanup_(freep) char *list = xasprintf("%s/transactions.txt", folder);

    assert_int_equal(fs_mkdir_all(folder, 0700, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        _cleanup_(strbuf_release) struct strbuf gtids;
        strbuf_init(&gtids, KM_MIB);
        assert_int_equal(fs_write_file_atomic(list, lists[i], strlen(lists[i]), 0600, NULL), 0);
        error_clear(&w->error);
        assert_int_equal(set_aside_gtids(&w->paths, "x", AGENT_FLAVOUR_MARIADB, &gtids, &w->error), -1);
        assert_int_equal(w->error.kind, ERROR_INVALID);
    }
}

static void set_back(struct world *w, bool was_open)
{
    const struct gtids_lost lost = {.is_lost = true, .was_open = was_open};

    assert_int_equal(gtid_loss_note_write(&w->paths, &lost, &w->error), 0);
}

static int read_newest(struct world *w, struct strbuf *ret)
{
    char folder[AGENT_SET_ASIDE_SIZE];

    folder_of(w->sets.sets[0], folder);
    error_clear(&w->error);
    return set_aside_gtids(&w->paths, folder, AGENT_FLAVOUR_MARIADB, ret, &w->error);
}

/* Behind a position that was set back the others hold other transactions under the same numbers: what a primary wrote
 * is kept although they seem to have it, and nothing is taken back. */
static void test_numbers_that_prove_nothing(void **state)
{
    struct world *w = *state;
    _cleanup_(strbuf_release) struct strbuf gtids;

    strbuf_init(&gtids, KM_MIB);
    write_logs(w);
    set_back(w, false);
    assert_int_equal(set_aside_before_replacing(&w->paths, AGENT_FLAVOUR_MARIADB, 3, "0-1-249", &w->sets, &w->error), 0);
    assert_string_equal(w->sets.sets[0], "");
    assert_int_equal(set_aside_before_replacing(&w->paths, AGENT_FLAVOUR_MARIADB, 3, "0-1-15", &w->sets, &w->error), 0);
    assert_int_equal(read_newest(w, &gtids), -1);
    assert_int_equal(w->error.kind, ERROR_INVALID);
    set_back(w, true);
    assert_int_equal(set_aside_before_replacing(&w->paths, AGENT_FLAVOUR_MARIADB, 4, "0-1-249", &w->sets, &w->error), 0);
    assert_non_null(strstr(w->sets.sets[0], "epoch4: "));
    assert_non_null(strstr(w->sets.sets[0], "0-1-19"));
    assert_int_equal(read_newest(w, &gtids), -1);
    assert_int_equal(w->error.kind, ERROR_INVALID);
    assert_non_null(strstr(w->error.message, "its numbers prove nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_long_list_of_mysql, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lists_that_are_not_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_that_prove_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_same_transactions_are_kept_once, set_up_mysql, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room_for_raw_logs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_volume_that_is_nearly_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_known_and_has_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_than_a_set_may_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_raw_logs_on_a_volume_that_is_nearly_full, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
