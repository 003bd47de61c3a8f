/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
/*
 * A stored backup becomes the data of a new member: a donor with a real server, its backup by `upload` in a folder that
 * `store` serves, a member whose init restores it; and what becomes of backups that somebody has touched, of wrong
 * keys, of small volumes, and of an init that is killed. Likewise in place of data that is there.
 */
#include "common/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/fs.h"
#include "common/subprocess.h"

#define ROWS "20000"
#define FOLDER "prod/demo/backups/"

struct restore_world {
    struct seed_rig *pods; /* donor, member, and `other`: the store */
    struct agent_process store;
    unsigned char key[BACKUP_KEY_BYTES];
};

static void load_data(struct agent_rig *rig)
{
    assert_true(agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD,
        "CREATE DATABASE d; USE d; CREATE TABLE d.big (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(2000));"
        "INSERT INTO d.big (v) SELECT REPEAT(UUID(), 50) FROM seq_1_to_" ROWS ";"
        "CREATE TABLE d.aria (id INT PRIMARY KEY, v INT) ENGINE=Aria; INSERT INTO d.aria VALUES (1, 2);"
        "CREATE USER visitor@'%' IDENTIFIED BY 'visitor-secret'; GRANT SELECT ON d.* TO visitor@'%'",
        NULL));
}

static void start_store(struct restore_world *world)
{
    struct agent_rig *pod = world->pods->other;
    world->store = agent_rig_start(pod, "store");
    assert_true(agent_rig_await(pod, "/ready", 200, 20000));
}

static int setup(void **state)
{
    struct restore_world *world = xnew(struct restore_world);
    world->pods = seed_rig_new(NULL);
    world->pods->other = seed_rig_pod(world->pods, "store-0");
    memset(world->key, 7, sizeof(world->key));
    start_store(world);
    load_data(world->pods->donor);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct restore_world *world = *state;
    agent_rig_kill(&world->store);
    seed_rig_free(world->pods);
    free(world);
    return 0;
}

/* ---- tasks ---- */

static char *task_text(const struct restore_world *world, const char *id, const unsigned char *key, const char *digest)
{
    const struct agent_rig *store = world->pods->other;
    struct backup_task task = {.method = BACKUP_METHOD_PHYSICAL, .compression = BACKUP_COMPRESSION_ZSTD};
    struct strbuf text;

    task.store.is_volume = true;
    task.store.path_style = true;
    task.store.bucket = xstrdup("backup");
    task.store.endpoint = xasprintf("https://localhost:%u", store->tls_port);
    task.store.connect_to = xasprintf("127.0.0.1:%u", store->tls_port);
    task.store.server_name = xstrdup("localhost");
    task.folder = xasprintf(FOLDER "%s", id);
    snprintf(task.id, sizeof(task.id), "%s", id);
    snprintf(task.ns, sizeof(task.ns), "prod");
    snprintf(task.cluster, sizeof(task.cluster), "demo");
    snprintf(task.digest, sizeof(task.digest), "%s", digest);
    task.sealed = key != NULL;
    if (key)
        memcpy(task.key, key, sizeof(task.key));
    strbuf_init(&text, (size_t)BACKUP_TASK_MAX);
    backup_task_encode(&task, &text);
    backup_task_release(&task);
    return strbuf_detach(&text, NULL);
}

static char *donor_position(const struct restore_world *world)
{
    char *position = seed_rig_text(world->pods->donor, "SELECT @@gtid_current_pos");
    position[strcspn(position, "\n")] = '\0';
    return position;
}

/* As the donor's agent does: the tool into `upload`, told what to do and, since nobody writes, at once what the data
 * is. */
static void back_up(struct restore_world *world, const char *id, const unsigned char *key, bool logical)
{
    struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *task = task_text(world, id, key, "");
    _cleanup_(freep) char *position = donor_position(world);
    _cleanup_(freep) char *version = seed_rig_text(donor, "SELECT VERSION()");
    version[strcspn(version, "\n")] = '\0';
    _cleanup_(freep) char *words =
        xasprintf("%s\n{\"commit\":{\"gtid\":\"%s\",\"flavour\":\"mariadb\",\"serverVersion\":\"%s\","
                  "\"donor\":\"demo-mysql-0\",\"dataBytes\":120000000,\"stream\":\"%s\"}}\n",
            task, position, version, logical ? "sql" : "xbstream");
    agent_rig_put(donor, "words", words);
    _cleanup_(freep) char *physical = xasprintf("mariadb-backup --defaults-file=%s/run/my.cnf --backup --stream=xbstream"
                                                " --socket=%s/run/mysqld.sock --user=mysql --datadir=%s/vol/data"
                                                " --target-dir=/tmp 2>%s/tool.log",
        donor->dir, donor->dir, donor->dir, donor->dir);
    _cleanup_(freep) char *dump =
        xasprintf("mariadb-dump --no-defaults --socket=%s/run/mysqld.sock --user=mysql"
                  " --all-databases --single-transaction --routines --events --triggers 2>%s/tool.log",
            donor->dir, donor->dir);
    _cleanup_(freep) char *script =
        xasprintf("set -o pipefail; %s | %s upload --tls-dir=%s/tls 3<%s/words >%s/upload.log 2>&1",
            logical ? dump : physical, donor->binary, donor->dir, donor->dir, donor->dir);
    const char *argv[] = {"setpriv", "--reuid=mysql", "--regid=mysql", "--clear-groups", "bash", "-c", script, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 120000};
    struct error err = ERROR_INIT;
    if (subprocess_run(&options, NULL, NULL, NULL, &err) < 0)
        fail_msg("%s: see %s", err.message, donor->dir);
}

static char *order_text(const char *id, unsigned epoch)
{
    return xasprintf("{\"epoch\":%u,\"seed\":\"restore\",\"restoreId\":\"%s\"}", epoch, id);
}

static void tell(const struct restore_world *world, const char *task)
{
    _cleanup_(strbuf_release) struct strbuf body;
    strbuf_init(&body, KM_MIB);
    int code = agent_rig_restore(world->pods->member, task, &body);
    if (code != 202)
        fail_msg("PUT /v1/restore: %d %s", code, body.buf);
}

static struct agent_process begin(
    struct restore_world *world, const char *id, const unsigned char *key, const char *digest)
{
    struct agent_process init = agent_rig_start(world->pods->member, "init");
    _cleanup_(freep) char *order = order_text(id, 1);
    _cleanup_(freep) char *task = task_text(world, id, key, digest);
    seed_rig_order(world->pods->member, order);
    tell(world, task);
    return init;
}

/* ---- what becomes of it ---- */

static void open_member(struct restore_world *world)
{
    struct agent_rig *member = world->pods->member;
    agent_rig_start(member, "server");
    agent_rig_start(member, "run");
    assert_true(agent_rig_await(member, "/startup", 200, 60000));
    seed_rig_order(member, "{\"epoch\":1,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(member, "\"writable\":true", 20000));
    assert_true(agent_rig_await_status(member, "\"accountsApplied\":true", 20000));
}

static void assert_same_data(const struct restore_world *world, const char *position)
{
    static const char sums[] = "CHECKSUM TABLE d.big, d.aria; SELECT COUNT(*), MIN(id), MAX(id) FROM d.big";
    const struct agent_rig *member = world->pods->member;
    _cleanup_(freep) char *ours = seed_rig_text(world->pods->donor, sums);
    _cleanup_(freep) char *theirs = seed_rig_text(member, sums);
    _cleanup_(freep) char *before = xasprintf("SELECT @@gtid_slave_pos = '%s'", position);
    assert_string_equal(ours, theirs);
    assert_true(seed_rig_is(member, before, "1"));
}

static void assert_no_data(const struct restore_world *world)
{
    const struct agent_rig *member = world->pods->member;
    assert_false(agent_rig_has(member, "vol/data/ibdata1"));
    assert_false(agent_rig_has(member, "vol/data.new/ibdata1"));
}

static void refused(struct restore_world *world, const char *id, const unsigned char *key, const char *digest,
    const char *reason, const char *says)
{
    struct agent_process init = begin(world, id, key, digest);
    _cleanup_(freep) char *shown = xasprintf("\"seedReason\":\"%s\"", reason);
    int code = 0;
    assert_true(agent_rig_await_status(world->pods->member, shown, 30000));
    assert_true(agent_rig_await_status(world->pods->member, says, 1000));
    assert_true(agent_rig_await_status(world->pods->member, "RestoreFailed", 1000));
    assert_no_data(world);
    assert_false(agent_rig_ended(&init, &code));
    agent_rig_kill(&init);
}

static char *stored(const struct restore_world *world, const char *id, const char *object)
{
    return xasprintf("%s/" FOLDER "%s/%s", agent_rig_path(world->pods->other, "vol"), id, object);
}

/* ---- stories ---- */

static void test_same_rows_position_and_new_accounts(void **state)
{
    struct restore_world *world = *state;
    const struct agent_rig *member = world->pods->member;
    _cleanup_(freep) char *position = donor_position(world);

    back_up(world, "b1", world->key, false);
    agent_rig_put(world->pods->member, "accounts/monitor", "of-the-new-cluster");
    struct agent_process init = begin(world, "b1", world->key, "");
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_false(agent_rig_has(member, "vol/data.new"));
    assert_true(agent_rig_file_says(member, "vol/data/kube-mysql-seed.json", position));
    /* I9: of the keys nothing is anywhere. */
    _cleanup_(freep) char *key =
        xasprintf("grep -rq 'BwcHBwcH' %s/vol/.kube-mysql %s/init.log", member->dir, member->dir);
    const char *argv[] = {"sh", "-c", key, NULL};
    struct subprocess_options options = {.argv = argv};
    struct subprocess_result result;
    assert_int_equal(subprocess_run(&options, NULL, NULL, &result, NULL), -1);
    open_member(world);
    assert_same_data(world, position);
    /* The accounts are those of this cluster, the application's came with the data. */
    assert_true(agent_rig_sql(member, "monitor", "of-the-new-cluster", "SELECT 1", NULL));
    assert_false(agent_rig_sql(member, "monitor", "pw-monitor'\\", "SELECT 1", NULL));
    assert_true(agent_rig_sql(member, "visitor", "visitor-secret", "SELECT COUNT(*) FROM d.big", NULL));
    assert_true(agent_rig_sql(member, "root", SEED_RIG_ROOT_PASSWORD, "INSERT INTO d.aria VALUES (2, 3)", NULL));
}

static void test_logical(void **state)
{
    struct restore_world *world = *state;
    _cleanup_(freep) char *position = donor_position(world);

    back_up(world, "b1", NULL, true);
    struct agent_process init = begin(world, "b1", NULL, "");
    assert_int_equal(agent_rig_wait(&init), 0);
    open_member(world);
    assert_same_data(world, position);
    assert_true(agent_rig_sql(world->pods->member, "visitor", "visitor-secret", "SELECT COUNT(*) FROM d.big", NULL));
}

static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    unsigned char byte = 0;
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void digest_of(const char *path, char out[static 65])
{
    struct strbuf text;
    strbuf_init(&text, (size_t)BACKUP_MANIFEST_MAX);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    tls_sha256_hex(text.buf, text.len, out);
    strbuf_release(&text);
}

static void test_touched_backups(void **state)
{
    struct restore_world *world = *state;

    for (int sealed = 0; sealed < 2; sealed++) {
        const unsigned char *key = sealed ? world->key : NULL;
        _cleanup_(freep) char *one = xasprintf("one-%d", sealed);
        _cleanup_(freep) char *two = xasprintf("two-%d", sealed);
        back_up(world, one, key, false);
        back_up(world, two, key, false);
        _cleanup_(freep) char *piece = stored(world, one, "data-000001");
        _cleanup_(freep) char *kept = xasprintf("%s.kept", piece);
        _cleanup_(freep) char *others = stored(world, two, "data-000001");
        _cleanup_(freep) char *manifest = stored(world, one, "manifest.json");
        off_t size = size_of(piece);
        const off_t places[] = {0, size / 2, size - 1};
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
            flip(piece, places[i]);
            refused(world, one, key, "", "BackupDamaged", i == 1 && !sealed ? "damaged" : "");
            flip(piece, places[i]);
        }
        assert_int_equal(rename(piece, kept), 0);
        refused(world, one, key, "", "BackupDamaged", "data-000001 is missing");
        assert_int_equal(rename(others, piece), 0);
        refused(world, one, key, "", "BackupDamaged", "");
        assert_int_equal(truncate(piece, size / 2), 0);
        refused(world, one, key, "", "BackupDamaged", "");
        assert_int_equal(rename(kept, piece), 0);
        /* It is not another one that is restored under the name that was chosen. */
        refused(world, one, key, "00", "BackupDamaged", "not the one that was chosen");
        char digest[65];
        digest_of(manifest, digest);
        flip(manifest, size_of(manifest) / 2);
        refused(world, one, key, digest, "BackupDamaged", "not the one that was chosen");
        assert_int_equal(unlink(manifest), 0);
        refused(world, one, key, "", "BackupMissing", "manifest.json");
    }
}

/* What is said before data is touched. */
static void test_what_does_not_fit(void **state)
{
    struct restore_world *world = *state;
    unsigned char wrong[BACKUP_KEY_BYTES] = {1};

    back_up(world, "b1", world->key, false);
    refused(world, "b1", wrong, "", "KeyInvalid", "key");
    refused(world, "b1", NULL, "", "KeyInvalid", "encrypted");
    back_up(world, "b2", NULL, false);
    refused(world, "b2", world->key, "", "KeyInvalid", "not encrypted");
    seed_rig_limit_volume(world->pods, "100M");
    refused(world, "b2", NULL, "", "VolumeTooSmall", "too small");
}

/* Another key by another task, without another order: goes on at once. */
static void test_mended_by_another_task(void **state)
{
    struct restore_world *world = *state;
    unsigned char wrong[BACKUP_KEY_BYTES] = {1};

    back_up(world, "b1", world->key, false);
    struct agent_process init = begin(world, "b1", wrong, "");
    assert_true(agent_rig_await_status(world->pods->member, "\"seedGaveUp\":true", 30000));
    _cleanup_(freep) char *task = task_text(world, "b1", world->key, "");
    tell(world, task);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->pods->member, "vol/data/ibdata1"));
}

/* What makes another restore of it, though the order's id is the same, ends an attempt that waits for its store: it
 * must not come to its end. */
static void test_another_task_in_the_midst(void **state)
{
    struct restore_world *world = *state;

    back_up(world, "b1", NULL, false);
    assert_int_equal(kill(world->store.inner, SIGSTOP), 0);
    struct agent_process init = begin(world, "b1", NULL, "");
    assert_true(agent_rig_await_status(world->pods->member, "\"seedAttempts\":1", 30000));
    _cleanup_(freep) char *other = task_text(world, "b1", NULL, "00");
    tell(world, other);
    assert_int_equal(kill(world->store.inner, SIGCONT), 0);
    assert_true(agent_rig_await_status(world->pods->member, "not the one that was chosen", 30000));
    assert_no_data(world);
    _cleanup_(freep) char *task = task_text(world, "b1", NULL, "");
    tell(world, task);
    assert_int_equal(agent_rig_wait(&init), 0);
}

static void test_store_goes_and_comes(void **state)
{
    struct restore_world *world = *state;

    back_up(world, "b1", NULL, false);
    agent_rig_kill(&world->store);
    struct agent_process init = begin(world, "b1", NULL, "");
    usleep(500 * 1000);
    assert_no_data(world);
    start_store(world);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->pods->member, "vol/data/ibdata1"));
}

static void test_killed_at_each_stage(void **state)
{
    static const unsigned moments_ms[] = {0, 50, 100, 200, 300, 400, 600, 800, 1000, 1400, 1800};
    struct restore_world *world = *state;
    struct agent_rig *member = world->pods->member;
    _cleanup_(freep) char *position = donor_position(world);
    unsigned halves = 0;

    back_up(world, "b1", world->key, false);
    for (size_t i = 0; i < ARRAY_LEN(moments_ms) && !agent_rig_has(member, "vol/data/ibdata1"); i++) {
        struct agent_process init = begin(world, "b1", world->key, "");
        usleep(moments_ms[i] * 1000);
        agent_rig_kill(&init);
        halves += agent_rig_has(member, "vol/data.new");
        assert_true(!agent_rig_has(member, "vol/data") || agent_rig_has(member, "vol/data/kube-mysql-seed.json"));
    }
    assert_true(halves > 0); /* otherwise the test proved nothing */
    if (!agent_rig_has(member, "vol/data/ibdata1")) {
        struct agent_process init = begin(world, "b1", world->key, "");
        assert_int_equal(agent_rig_wait(&init), 0);
    } else
        assert_int_equal(agent_rig_init(member), 0);
    assert_false(agent_rig_has(member, "vol/data.new"));
    open_member(world);
    assert_same_data(world, position);
}

static void test_who_may_tell(void **state)
{
    struct restore_world *world = *state;
    _cleanup_(strbuf_release) struct strbuf body;
    struct agent_process init = agent_rig_start(world->pods->member, "init");

    strbuf_init(&body, KM_MIB);
    assert_true(agent_rig_await_status(world->pods->member, "\"phase\":\"Seeding\"", 20000));
    assert_int_equal(agent_rig_restore(world->pods->member, "{}", &body), 400);
    assert_int_equal(agent_rig_tls(world->pods->member, "tls/tls", "/v1/restore", "{}", &body), 405);
    agent_rig_kill(&init);
}

/* ---- in place ---- */

/* The member has a database of its own; its pod has ended. */
static void put_old_data(struct restore_world *world)
{
    struct agent_rig *member = world->pods->member;
    seed_rig_start_primary(member);
    assert_true(agent_rig_sql(member, "root", SEED_RIG_ROOT_PASSWORD,
        "CREATE DATABASE old; CREATE TABLE old.t (id INT PRIMARY KEY); INSERT INTO old.t VALUES (42)", NULL));
    agent_rig_kill(&member->agent);
    agent_rig_kill(&member->server);
}

static struct agent_process begin_beside(struct restore_world *world, const char *id)
{
    struct agent_process init = agent_rig_start(world->pods->member, "init");
    _cleanup_(freep) char *order =
        xasprintf("{\"epoch\":2,\"seed\":\"restoreBeside\",\"restoreId\":\"%s\",\"restoreNumber\":1}", id);
    _cleanup_(freep) char *task = task_text(world, id, NULL, "");
    seed_rig_order(world->pods->member, order);
    tell(world, task);
    return init;
}

static void serve_again(struct restore_world *world)
{
    struct agent_rig *member = world->pods->member;
    agent_rig_start(member, "server");
    agent_rig_start(member, "run");
    assert_true(agent_rig_await(member, "/startup", 200, 60000));
    seed_rig_order(member, "{\"epoch\":3,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(member, "\"writable\":true", 20000));
}

static void assert_old_data(struct restore_world *world)
{
    struct agent_rig *member = world->pods->member;
    assert_true(seed_rig_is(member, "SELECT id FROM old.t", "42"));
    assert_true(agent_rig_sql(member, "root", SEED_RIG_ROOT_PASSWORD, "INSERT INTO old.t VALUES (43)", NULL));
    assert_false(agent_rig_has(member, "vol/data.before"));
    assert_false(agent_rig_has(member, "vol/data.restored"));
    assert_false(agent_rig_has(member, "vol/data.new"));
}

static void end_with_old_data(struct restore_world *world, struct agent_process *init)
{
    seed_rig_order(world->pods->member, "{\"epoch\":3,\"seed\":\"keep\"}");
    assert_int_equal(agent_rig_wait(init), 0);
    serve_again(world);
    assert_old_data(world);
}

static void test_in_place(void **state)
{
    struct restore_world *world = *state;
    struct agent_rig *member = world->pods->member;
    _cleanup_(freep) char *position = donor_position(world);

    back_up(world, "b1", NULL, false);
    put_old_data(world);
    struct agent_process init = begin_beside(world, "b1");
    assert_true(agent_rig_await_status(member, "\"besideNumber\":1", 60000));
    assert_true(agent_rig_has(member, "vol/data/old")); /* nothing has changed so far */
    seed_rig_order(member, "{\"epoch\":3,\"seed\":\"takeRestored\",\"restoreNumber\":1}");
    assert_int_equal(agent_rig_wait(&init), 0);
    serve_again(world);
    assert_same_data(world, position);
    assert_true(agent_rig_await_status(member, "\"restoredNumber\":1", 5000));
    assert_true(agent_rig_await_status(member, "\"dataBefore\":true", 5000));
    assert_true(agent_rig_has(member, "vol/data.before/old"));
    seed_rig_order(member, "{\"epoch\":3,\"role\":\"primary\",\"dropBefore\":true}");
    for (int i = 0; i < 100 && agent_rig_has(member, "vol/data.before"); i++)
        usleep(100 * 1000);
    assert_false(agent_rig_has(member, "vol/data.before"));
    assert_true(agent_rig_sql(member, "root", SEED_RIG_ROOT_PASSWORD, "INSERT INTO d.aria VALUES (2, 3)", NULL));
}

/* Given up although it is there: it goes, and the old data serves. */
static void test_in_place_given_up(void **state)
{
    struct restore_world *world = *state;

    back_up(world, "b1", NULL, true);
    put_old_data(world);
    struct agent_process init = begin_beside(world, "b1");
    assert_true(agent_rig_await_status(world->pods->member, "\"besideNumber\":1", 60000));
    end_with_old_data(world, &init);
}

static void test_in_place_of_a_truncated_backup(void **state)
{
    struct restore_world *world = *state;

    back_up(world, "b1", NULL, false);
    _cleanup_(freep) char *piece = stored(world, "b1", "data-000001");
    assert_int_equal(truncate(piece, size_of(piece) / 2), 0);
    put_old_data(world);
    struct agent_process init = begin_beside(world, "b1");
    assert_true(agent_rig_await_status(world->pods->member, "\"seedReason\":\"BackupDamaged\"", 30000));
    assert_true(agent_rig_await_status(world->pods->member, "data-000001", 1000));
    end_with_old_data(world, &init);
}

static void test_in_place_on_a_small_volume(void **state)
{
    struct restore_world *world = *state;

    back_up(world, "b1", NULL, false);
    seed_rig_limit_volume(world->pods, "300M");
    put_old_data(world);
    struct agent_process init = begin_beside(world, "b1");
    assert_true(agent_rig_await_status(world->pods->member, "\"seedReason\":\"VolumeTooSmall\"", 30000));
    end_with_old_data(world, &init);
}

/* I8, I10: until it is taken the old data is whole under its name, and afterwards it is whole beside the new. */
static void test_in_place_killed_at_each_stage(void **state)
{
    static const unsigned moments_ms[] = {0, 50, 100, 200, 300, 400, 600, 800, 1000, 1400, 1800};
    struct restore_world *world = *state;
    struct agent_rig *member = world->pods->member;
    _cleanup_(freep) char *position = donor_position(world);
    unsigned halves = 0;

    back_up(world, "b1", NULL, false);
    put_old_data(world);
    for (size_t i = 0; i < ARRAY_LEN(moments_ms) && !agent_rig_has(member, "vol/data.restored"); i++) {
        struct agent_process init = begin_beside(world, "b1");
        usleep(moments_ms[i] * 1000);
        agent_rig_kill(&init);
        halves += agent_rig_has(member, "vol/data.new");
        assert_true(agent_rig_has(member, "vol/data/ibdata1") && agent_rig_has(member, "vol/data/old/t.ibd"));
    }
    assert_true(halves > 0); /* otherwise the test proved nothing */
    struct agent_process init = begin_beside(world, "b1");
    assert_true(agent_rig_await_status(member, "\"besideNumber\":1", 60000));
    agent_rig_kill(&init);
    init = begin_beside(world, "b1"); /* it waits on, without another copy */
    assert_true(agent_rig_await_status(member, "the word to take it", 20000));
    seed_rig_order(member, "{\"epoch\":3,\"seed\":\"takeRestored\",\"restoreNumber\":1}");
    agent_rig_kill(&init);
    for (int i = 0; i < 2; i++) { /* said once more to one that has taken it: nothing more happens */
        init = agent_rig_start(member, "init");
        seed_rig_order(member, "{\"epoch\":3,\"seed\":\"takeRestored\",\"restoreNumber\":1}");
        assert_int_equal(agent_rig_wait(&init), 0);
        assert_true(agent_rig_has(member, "vol/data.before/old/t.ibd"));
    }
    serve_again(world);
    assert_same_data(world, position);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_rows_position_and_new_accounts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_logical, setup, teardown),
        cmocka_unit_test_setup_teardown(test_touched_backups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mended_by_another_task, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_task_in_the_midst, setup, teardown),
        cmocka_unit_test_setup_teardown(test_store_goes_and_comes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_at_each_stage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_may_tell, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place_of_a_truncated_backup, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place_on_a_small_volume, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place_killed_at_each_stage, setup, teardown),
    };
    return agent_rig_possible() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
