/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted of relay logs, while a disk is slow. */
#include "common/base.h"

#include "agent/relay_notes.h"

#include <semaphore.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/role_lane.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strbuf.h"
#include "common/tests/http_util.h"

#define RECEIVED "0-1-9"

struct rig {
    char dir[32];
    struct agent_paths paths;
    struct loop *loop;
    struct worker *worker;
    struct relay_notes notes;
    struct instance_state state;
    sem_t disk; /* the worker waits for it */
    int told;
    struct role_result result;
    int results;
};

static void on_notes(void *arg)
{
    ((struct rig *)arg)->told++;
}

static void wait_for_disk(void *arg)
{
    sem_wait(&((struct rig *)arg)->disk);
}

static void slow_disk(struct rig *rig)
{
    const struct worker_job job = {.run = wait_for_disk, .arg = rig};

    assert_int_equal(worker_submit(rig->worker, &job), 0);
}

static int setup(void **ret)
{
    struct rig *rig = xnew(struct rig);

    memcpy(rig->dir, "/tmp/relay-notes-XXXXXX", sizeof("/tmp/relay-notes-XXXXXX"));
    assert_non_null(mkdtemp(rig->dir));
    agent_paths_init(&rig->paths, rig->dir, rig->dir, NULL, NULL, NULL, NULL);
    assert_int_equal(fs_mkdir_all(rig->paths.data_dir, 0700, NULL), 0);
    assert_int_equal(fs_write_file_atomic(rig->paths.server_lock, "000000000000000000000001", 24, 0600, NULL), 0);
    rig->loop = loop_new();
    rig->worker = worker_new(rig->loop, "volume");
    assert_int_equal(sem_init(&rig->disk, 0, 0), 0);
    rig->state.observed.version.flavour = AGENT_FLAVOUR_MARIADB;
    rig->state.replication =
        (struct replication_facts){.seen = true, .gtid_received = RECEIVED, .relay_logs_synced = true};
    rig->state.catch_up.up = true;
    relay_notes_init(&rig->notes, &rig->paths, rig->worker, on_notes, rig);
    catch_up_note_look(
        &rig->notes.catch_up, &rig->state.catch_up, AGENT_FLAVOUR_MARIADB, RECEIVED, clock_monotonic_ms());
    rig->notes.catch_up.known = true;
    *ret = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    worker_free(rig->worker);
    relay_notes_release(&rig->notes);
    loop_free(rig->loop);
    assert_int_equal(fs_remove_all(rig->dir, NULL), 0);
    agent_paths_release(&rig->paths);
    sem_destroy(&rig->disk);
    free(rig);
    return 0;
}

static bool there(const struct rig *rig)
{
    _cleanup_(freep) char *path = relay_keep_proof_path(&rig->paths);

    return fs_exists(path);
}

static void test_a_proof_is_synced_by_the_worker(void **state)
{
    struct rig *rig = *state;

    slow_disk(rig);
    relay_notes_keep(&rig->notes, &rig->state);
    assert_true(there(rig));
    loop_for(rig->loop, 20);
    assert_int_not_equal(catch_up_note_unsynced(&rig->notes.catch_up), 0);
    sem_post(&rig->disk);
    for (int i = 0; i < 500 && catch_up_note_unsynced(&rig->notes.catch_up); i++)
        loop_for(rig->loop, 10);
    assert_int_equal(catch_up_note_unsynced(&rig->notes.catch_up), 0);
}

static void on_result(void *arg, const struct role_result *result)
{
    struct rig *rig = arg;

    rig->result = *result;
    rig->results++;
}

/* Without a server: that is noticed after it. */
static void test_a_change_syncs_that_the_proof_is_gone(void **state)
{
    struct rig *rig = *state;
    struct role_lane *lane = role_lane_new(rig->loop, &rig->paths, "nobody", on_result, rig);

    relay_notes_keep(&rig->notes, &rig->state);
    for (int i = 0; i < 500 && catch_up_note_unsynced(&rig->notes.catch_up); i++)
        loop_for(rig->loop, 10);
    slow_disk(rig);
    rig->state.role.running = ROLE_ACTION_FOLLOW;
    relay_notes_keep(&rig->notes, &rig->state);
    assert_false(there(rig));
    struct role_job job = {.action = ROLE_ACTION_FOLLOW, .note_change = catch_up_note_unsynced(&rig->notes.catch_up)};
    assert_int_not_equal(job.note_change, 0);
    role_lane_start(lane, &job);
    assert_true(loop_until(rig->loop, &rig->results, 1));
    assert_int_not_equal(rig->result.error.kind, ERROR_NONE);
    catch_up_note_synced(&rig->notes.catch_up, rig->result.note_change);
    assert_int_equal(catch_up_note_unsynced(&rig->notes.catch_up), 0);
    sem_post(&rig->disk);
    role_lane_free(lane);
}

static bool noted_as_synced(const struct rig *rig)
{
    _cleanup_(freep) char *path = xasprintf("%s/kube-mysql-relay.json", rig->paths.data_dir);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_KIB);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    return strstr(text.buf, "\"synced\":true") != NULL;
}

static void start(const struct rig *rig)
{
    struct server_version version;

    assert_int_equal(server_version_parse_banner("mysqld Ver 9.7.4 for Linux on x86_64 (MySQL)", &version, NULL), 0);
    assert_non_null(relay_keep_option(&rig->paths, &version));
}

/* SET GLOBAL sync_relay_log: noted for the next start, of each server anew, and not while relay logs are dropped. */
static void test_the_note_for_the_next_start_is_lowered(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(fs_write_file_atomic(rig->paths.run_mycnf, "sync_relay_log=1\n", 17, 0600, NULL), 0);
    start(rig);
    relay_notes_keep(&rig->notes, &rig->state);
    assert_false(relay_notes_is_lowering(&rig->notes));
    rig->state.replication.relay_logs_synced = false;
    rig->state.role.running = ROLE_ACTION_RECOVER;
    relay_notes_keep(&rig->notes, &rig->state);
    assert_false(relay_notes_is_lowering(&rig->notes));
    rig->state.role.running = ROLE_ACTION_NONE;
    for (int told = 1; told <= 2; told++) {
        assert_true(noted_as_synced(rig));
        relay_notes_keep(&rig->notes, &rig->state);
        assert_true(relay_notes_is_lowering(&rig->notes));
        assert_true(loop_until(rig->loop, &rig->told, told));
        assert_false(noted_as_synced(rig));
        relay_notes_keep(&rig->notes, &rig->state);
        assert_false(relay_notes_is_lowering(&rig->notes));
        relay_notes_server_gone(&rig->notes);
        _cleanup_(freep) char *pod = xasprintf("%s/relay-pod", rig->dir);
        assert_int_equal(unlink(pod), 0);
        start(rig); /* drops them, and says so anew */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_proof_is_synced_by_the_worker, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_change_syncs_that_the_proof_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_note_for_the_next_start_is_lowered, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
