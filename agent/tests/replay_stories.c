/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/replay_stories.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/binlog_tail.h"
#include "agent/backup/replay_process.h"
#include "agent/backup/replay_word.h"
#include "agent/bootstrap/seed_position.h"
#include "agent/tests/replay_rig.h"
#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/backup_pack.h"
#include "common/backup_seal.h"
#include "common/backup_task.h"
#include "common/binlog_segment.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/gtid.h"
#include "common/sha256.h"
#include "common/tls.h"

#define LOG_MAX ((size_t)(128 * KM_MIB))

/* ---- the donor ---- */

static void sql_on(const struct agent_rig *rig, const char *sql)
{
    if (!agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD, sql, NULL))
        fail_msg("refused: %s", sql);
}

/* Root may not make triggers where there is a binary log. */
static void owner_sql_on(const struct agent_rig *rig, const char *sql)
{
    if (!agent_rig_owner_sql(rig, sql, NULL))
        fail_msg("refused: %s", sql);
}

/* A whole second of the server's clock that lies between what was written before and what is written after. */
static int64_t moment_of(const struct agent_rig *rig)
{
    sleep(2);
    _cleanup_(freep) char *text = seed_rig_text(rig, "SELECT UNIX_TIMESTAMP()");
    sleep(2);
    return strtoll(text, NULL, 10) * 1000;
}

static void insert_rows(const struct agent_rig *rig, int from, int to)
{
    struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    for (int id = from; id <= to; id++)
        strbuf_addf(&sql, "INSERT INTO d.t VALUES (%d, REPEAT('row %d ', 50));", id, id);
    sql_on(rig, sql.buf);
    strbuf_release(&sql);
}

static const char schema[] =
    "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(2000));"
    "CREATE TABLE d.audit (n INT PRIMARY KEY AUTO_INCREMENT, id INT);"
    "CREATE TRIGGER d.t_in AFTER INSERT ON d.t FOR EACH ROW INSERT INTO d.audit (id) VALUES (NEW.id);"
    "CREATE TABLE d.parent (id INT PRIMARY KEY); CREATE TABLE d.child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) "
    "REFERENCES d.parent (id) ON DELETE CASCADE); INSERT INTO d.parent VALUES (1), (2), (3);"
    "INSERT INTO d.child VALUES (10, 1), (20, 2), (21, 2), (30, 3)";

/* What replicates in ways of its own. */
static const char changes[] =
    "DELETE FROM d.parent WHERE id = 2; CREATE TABLE d.copy (id INT PRIMARY KEY) SELECT id FROM d.t WHERE id < 5;"
    "ALTER TABLE d.child ADD COLUMN note VARCHAR(20) DEFAULT 'added'; UPDATE d.child SET note = 'seen' WHERE id = 30;"
    "START TRANSACTION; INSERT INTO d.child (id, p) VALUES (11, 1); INSERT INTO d.parent VALUES (4);"
    "INSERT INTO d.child (id, p) VALUES (40, 4); COMMIT; CREATE USER later@'%' IDENTIFIED BY 'later-secret';"
    "GRANT SELECT ON d.* TO later@'%'; DROP TRIGGER d.t_in";

/* ---- store and backup ---- */

static void back_up(const struct replay_world *world)
{
    const struct replay_target none = {0};
    _cleanup_(freep) char *task = replay_task_text(world, &none);
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    int code = agent_rig_tls(world->pods->donor, "operator", "/v1/backups", task, &body);
    if (code != 202)
        fail_msg("%d: %s", code, body.buf);
    assert_true(agent_rig_await_status(world->pods->donor, "\"state\":\"Completed\"", 120000));
}

/* ---- the archive ---- */

static char *object_path(const struct replay_world *world, const struct binlog_segment_name *name, const char *ending)
{
    char printed[BINLOG_SEGMENT_NAME_SIZE];

    binlog_segment_name_print(name, printed);
    return xasprintf("%s/" REPLAY_FOLDER "/%s%s", agent_rig_path(world->pods->other, "vol"), printed, ending);
}

static void write_object(const struct replay_world *world, const char *path, const struct strbuf *data)
{
    const struct agent_rig *store = world->pods->other;
    static const char *const dirs[] = {"vol/prod", "vol/prod/demo", "vol/prod/demo/binlogs", "vol/" REPLAY_FOLDER};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        if (fs_mkdir_all(agent_rig_path(store, dirs[i]), 0700, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(chown(agent_rig_path(store, dirs[i]), store->uid, store->gid), 0);
    }
    if (fs_write_file_atomic(path, data->buf, data->len, 0600, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(chown(path, store->uid, store->gid), 0);
}

static void read_tail(
    const struct replay_world *world, const struct agent_rig *rig, const char *after, struct strbuf *log)
{
    _cleanup_(freep) char *executed = replay_position_of(world, rig);
    const struct binlog_wish wish = {
        .data_dir = agent_rig_path(rig, "vol/data"),
        .flavour = world->flavour,
        .choice = BINLOG_BEYOND,
        .gtids = after,
        .max_bytes = LOG_MAX,
        .executed = executed,
        .relay = true,
    };
    static char buffer[64 * 1024];
    struct error err = ERROR_INIT;
    _cleanup_(binlog_tail_freep) struct binlog_tail *tail = binlog_tail_plan(&wish, &err);
    ssize_t n = tail ? 0 : -1;

    while (tail && (n = binlog_tail_read(tail, buffer, sizeof(buffer), &err)) > 0)
        strbuf_add(log, buffer, (size_t)n);
    if (n < 0)
        fail_msg("%s", err.message);
}

struct sight {
    struct binlog_segment *segment;
    struct gtid_set *set;
};

static int on_seen(void *arg, const struct binlog_transaction *one, struct error *err)
{
    struct sight *sight = arg;

    UNUSED(err);
    gtid_set_add(sight->set, &one->gtid);
    if (sight->segment->count++ == 0)
        sight->segment->first_ms = one->at_s * 1000;
    sight->segment->last_ms = one->at_s * 1000;
    return 0;
}

static void look_at_log(struct replay_world *world, const struct strbuf *log, struct binlog_segment *segment)
{
    const char *path = agent_rig_path(world->pods->donor, "tail.log");
    struct sight sight = {.segment = segment, .set = gtid_set_parse(world->flavour, segment->after, NULL)};
    struct binlog_head head;
    struct error err = ERROR_INIT;

    assert_int_equal(fs_write_file_atomic(path, log->buf, log->len, 0600, NULL), 0);
    if (binlog_file_scan(path, world->flavour, &head, on_seen, &sight, &err) < 0)
        fail_msg("%s", err.message);
    binlog_head_release(&head);
    assert_true(segment->count > 0);
    segment->until = position_print(world->positions, sight.set);
    gtid_set_free(sight.set);
}

static void pack_log(
    const struct replay_world *world, const struct strbuf *log, struct binlog_segment *segment, struct strbuf *out)
{
    const struct pack_options options = {.compression = segment->compression, .key = world->key, .salt = segment->salt};
    struct pack_writer *writer = pack_writer_new(&options);

    for (size_t at = 0; at < log->len; at += PACK_FEED_MAX)
        pack_writer_add(writer, log->buf + at, MIN_OF(PACK_FEED_MAX, log->len - at), out);
    pack_writer_end(writer, out);
    pack_writer_free(writer);
    segment->raw_bytes = log->len;
    segment->stored_bytes = out->len;
    tls_sha256_hex(out->buf, out->len, segment->sha256);
}

/* Everything beyond `after` (NULL: the segment before) that the member has in its binary logs. */
static const struct binlog_segment *archive(
    struct replay_world *world, const struct agent_rig *rig, uint64_t epoch, const char *after)
{
    struct binlog_segment *segment = &world->segments[world->count++];
    const struct binlog_segment *before = world->count > 1 ? segment - 1 : NULL;
    bool first = !before || before->name.epoch != epoch;
    struct strbuf log, packed, meta;

    strbuf_init(&log, LOG_MAX);
    strbuf_init(&packed, LOG_MAX);
    strbuf_init(&meta, BINLOG_SEGMENT_META_MAX);
    *segment = (struct binlog_segment){
        .name = {epoch, first ? 1 : before->name.sequence + 1, clock_realtime_ms() / 1000 * 1000},
        .ns = "prod",
        .cluster = "demo",
        .cluster_uid = REPLAY_UID,
        .writer = "demo-mysql-0",
        .server_version = "1.2.3",
        .compression = BACKUP_COMPRESSION_ZSTD,
        .sealed = true};
    snprintf(segment->flavour, sizeof(segment->flavour), replay_is_mysql(world) ? "mysql" : "mariadb");
    if (!world->positions)
        world->positions = position_pool_new((size_t)(16 * KM_MIB));
    segment->after = position_take(world->positions, after ? after : before ? before->until : "");
    if (!first)
        memcpy(segment->previous, world->last_sha256, sizeof(segment->previous));
    backup_key_id(world->key, segment->key_id);
    memset(segment->salt, (int)world->count, sizeof(segment->salt));
    read_tail(world, rig, segment->after, &log);
    look_at_log(world, &log, segment);
    pack_log(world, &log, segment, &packed);
    binlog_segment_encode(segment, world->key, &meta);
    tls_sha256_hex(meta.buf, meta.len, world->last_sha256);
    _cleanup_(freep) char *log_path = object_path(world, &segment->name, ".log");
    _cleanup_(freep) char *meta_path = object_path(world, &segment->name, ".json");
    write_object(world, log_path, &packed);
    write_object(world, meta_path, &meta);
    strbuf_release(&log);
    strbuf_release(&packed);
    strbuf_release(&meta);
    return segment;
}

/* ---- the member ---- */

static void assert_no_data(const struct replay_world *world)
{
    const struct agent_rig *member = world->pods->member;

    assert_false(agent_rig_has(member, "vol/data/ibdata1"));
    assert_false(agent_rig_has(member, "vol/data.new/ibdata1"));
}

static void refused(struct replay_world *world, const struct replay_target *target, const char *reason, const char *says)
{
    /* "": whichever */
    _cleanup_(freep) char *shown = xasprintf("\"seedReason\":\"%s", reason);
    int code = 0;

    replay_new_member(world);
    struct agent_process init = replay_begin(world, target);
    assert_true(agent_rig_await_status(world->pods->member, shown, 90000));
    assert_true(agent_rig_await_status(world->pods->member, says, 1000));
    assert_true(agent_rig_await_status(world->pods->member, "RestoreFailed", 1000));
    assert_no_data(world);
    assert_false(agent_rig_ended(&init, &code));
    agent_rig_kill(&init);
}

/* What a member that was cloned had before it was opened. MariaDB's server is only told of it then. */
static char *inherited_by(const struct replay_world *world, const struct agent_rig *rig)
{
    struct error err = ERROR_INIT;
    char *gtid = NULL;

    if (replay_is_mysql(world))
        return replay_position_of(world, rig);
    if (seed_position_find(agent_rig_path(rig, "vol/data"), &gtid, &err) < 0)
        fail_msg("%s", err.message);
    return gtid;
}

/* ---- stories ---- */

/* Everything, a time, a GTID. */
static void test_exactly_there(void **state)
{
    struct replay_world *world = *state;
    const struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *begins = replay_position_of(world, donor);

    insert_rows(donor, 1, 5);
    back_up(world);
    insert_rows(donor, 6, 10);
    archive(world, donor, 1, begins);
    insert_rows(donor, 11, 15);
    int64_t moment_ms = moment_of(donor);
    insert_rows(donor, 16, 17);
    _cleanup_(freep) char *gtid = replay_position_of(world, donor);
    insert_rows(donor, 18, 20);
    sql_on(donor, "FLUSH BINARY LOGS");
    owner_sql_on(donor, changes);
    archive(world, donor, 1, NULL);
    sql_on(donor, "FLUSH BINARY LOGS");
    insert_rows(donor, 21, 30);
    const struct binlog_segment *last = archive(world, donor, 1, NULL);

    replay_restore(world, &(struct replay_target){.replay = true});
    _cleanup_(freep) char *theirs = replay_sums_of(donor);
    _cleanup_(freep) char *ours = replay_sums_of(world->pods->member);
    assert_string_equal(theirs, ours);
    replay_assert_holds(world, last->until);
    assert_true(agent_rig_sql(world->pods->member, "later", "later-secret", "SELECT COUNT(*) FROM d.t", NULL));
    sql_on(world->pods->member, "INSERT INTO d.t VALUES (1000, 'goes on')");

    replay_restore(world, &(struct replay_target){.replay = true, .until_ms = moment_ms});
    replay_assert_rows(world->pods->member, 15, 15);
    replay_restore(world, &(struct replay_target){.replay = true, .until_gtid = gtid});
    replay_assert_rows(world->pods->member, 17, 17);
    replay_assert_holds(world, gtid);
    replay_restore(world, &(struct replay_target){0});
    replay_assert_rows(world->pods->member, 5, 5);
}

/* MySQL: more servers than positions of earlier versions could name, from the backup to the target. */
static void test_many_servers(void **state)
{
    struct replay_world *world = *state;
    const struct agent_rig *donor = world->pods->donor;

    if (!replay_is_mysql(world))
        return;
    assert_true(agent_rig_add_servers(donor, 400));
    _cleanup_(freep) char *begins = replay_position_of(world, donor);
    assert_true(strlen(begins) > 15000);
    insert_rows(donor, 1, 5);
    back_up(world);
    insert_rows(donor, 6, 10);
    _cleanup_(freep) char *gtids = replay_position_of(world, donor);
    insert_rows(donor, 11, 15);
    const struct binlog_segment *last = archive(world, donor, 1, begins);
    replay_restore(world, &(struct replay_target){.replay = true, .until_gtid = gtids});
    replay_assert_rows(world->pods->member, 10, 10);
    replay_assert_holds(world, gtids);
    replay_restore(world, &(struct replay_target){.replay = true});
    replay_assert_rows(world->pods->member, 15, 15);
    replay_assert_holds(world, last->until);
}

/* In place of data that is there, which is kept beside it. */
static void test_in_place(void **state)
{
    struct replay_world *world = *state;
    const struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *begins = replay_position_of(world, donor);

    insert_rows(donor, 1, 5);
    back_up(world);
    insert_rows(donor, 6, 10);
    _cleanup_(freep) char *gtid = replay_position_of(world, donor);
    insert_rows(donor, 11, 15);
    archive(world, donor, 1, begins);
    replay_new_member(world);
    struct agent_rig *member = world->pods->member;
    seed_rig_start_primary(member);
    sql_on(member, "CREATE DATABASE old");
    agent_rig_kill(&member->agent);
    agent_rig_kill(&member->server);
    struct agent_process init = replay_begin_as(world, &(struct replay_target){.replay = true, .until_gtid = gtid},
        "{\"epoch\":1,\"seed\":\"restoreBeside\",\"restoreId\":\"" REPLAY_BACKUP "\",\"restoreNumber\":4}");
    assert_true(agent_rig_await_status(member, "\"besideNumber\":4", REPLAY_ENDS_S * 1000));
    assert_true(agent_rig_has(member, "vol/data/old"));
    seed_rig_order(member, "{\"epoch\":1,\"seed\":\"takeRestored\",\"restoreNumber\":4}");
    assert_int_equal(agent_rig_wait(&init), 0);
    replay_open_member(world);
    replay_assert_rows(member, 10, 10);
    replay_assert_holds(world, gtid);
    assert_true(agent_rig_await_status(member, "\"restoredNumber\":4", 5000));
    assert_true(agent_rig_has(member, "vol/data.before/old"));
    sql_on(member, "INSERT INTO d.t VALUES (1000, 'goes on')");
}

/* What the old primary had at its end, and the new one never. */
static void test_across_a_failover(void **state)
{
    struct replay_world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *begins = replay_position_of(world, donor);

    back_up(world);
    insert_rows(donor, 1, 5);
    struct agent_process init = seed_rig_clone(world->pods, donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    insert_rows(donor, 6, 9); /* lost */
    archive(world, donor, 1, begins);
    struct agent_rig *heir = steal_ptr(world->pods->member);
    agent_rig_start(heir, "server");
    agent_rig_start(heir, "run");
    assert_true(agent_rig_await(heir, "/startup", 200, 60000));
    _cleanup_(freep) char *inherited = inherited_by(world, heir);
    seed_rig_order(heir, "{\"epoch\":2,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(heir, "\"writable\":true", 20000));
    insert_rows(heir, 106, 110);
    int64_t moment_ms = moment_of(heir);
    insert_rows(heir, 111, 112);
    const struct binlog_segment *last = archive(world, heir, 2, inherited);

    replay_restore(world, &(struct replay_target){.replay = true, .until_ms = moment_ms});
    replay_assert_rows(world->pods->member, 10, 110);
    replay_restore(world, &(struct replay_target){.replay = true});
    replay_assert_rows(world->pods->member, 12, 112);
    assert_true(seed_rig_is(world->pods->member, "SELECT COUNT(*) FROM d.t WHERE id BETWEEN 6 AND 105", "0"));
    replay_assert_holds(world, last->until);
    agent_rig_free(heir);
}

static void flip(const char *path, bool at_end)
{
    struct stat st;
    unsigned char byte = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    off_t at = at_end ? st.st_size - 1 : st.st_size / 2;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void swap(const char *a, const char *b)
{
    assert_int_equal(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE), 0);
}

static void test_refused(void **state)
{
    struct replay_world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    const struct replay_target all = {.replay = true};
    unsigned char wrong[BACKUP_KEY_BYTES] = {1};
    char name[BINLOG_SEGMENT_NAME_SIZE];

    int64_t before_ms = moment_of(donor);
    insert_rows(donor, 1, 2);
    _cleanup_(freep) char *begins = replay_position_of(world, donor);
    back_up(world);
    for (int i = 0; i < 3; i++) {
        insert_rows(donor, 10 + i, 10 + i);
        archive(world, donor, 1, i ? NULL : begins);
        sleep(1); /* names differ */
    }
    const struct binlog_segment_name *middle = &world->segments[1].name;
    _cleanup_(freep) char *log = object_path(world, middle, ".log");
    _cleanup_(freep) char *meta = object_path(world, middle, ".json");
    _cleanup_(freep) char *last_log = object_path(world, &world->segments[2].name, ".log");
    _cleanup_(freep) char *last_meta = object_path(world, &world->segments[2].name, ".json");
    _cleanup_(freep) char *kept = xasprintf("%s.kept", log);
    binlog_segment_name_print(middle, name);

    for (int at_end = 0; at_end < 2; at_end++) {
        flip(log, at_end);
        refused(world, &all, "BackupDamaged", name);
        flip(log, at_end);
        flip(meta, at_end);
        refused(world, &all, at_end ? "BackupDamaged" : "", name);
        flip(meta, at_end);
    }
    swap(log, last_log);
    refused(world, &all, "BackupDamaged", name);
    swap(log, last_log);
    swap(meta, last_meta);
    refused(world, &all, "BackupDamaged", name);
    swap(meta, last_meta);
    assert_int_equal(rename(log, kept), 0);
    refused(world, &all, "GapInArchive", name);
    assert_int_equal(rename(kept, log), 0);
    assert_int_equal(rename(meta, kept), 0);
    refused(world, &all, "GapInArchive", "0000000001-0000000002 is missing");
    assert_int_equal(rename(kept, meta), 0);
    refused(world, &(struct replay_target){.replay = true, .key = wrong}, "KeyInvalid", "key");
    refused(world, &(struct replay_target){.replay = true, .until_ms = clock_realtime_ms() + 3600 * 1000},
        "TargetNotCovered", "does not reach");
    refused(world, &(struct replay_target){.replay = true, .until_ms = before_ms}, "BackupTooNew", "older backup");
    /* A primary that had purged its logs before they were archived. */
    insert_rows(donor, 20, 20);
    _cleanup_(freep) char *beyond = replay_position_of(world, donor);
    insert_rows(donor, 21, 21);
    archive(world, donor, 2, beyond);
    refused(world, &all, "GapInArchive", "gap");
    replay_restore(world, &(struct replay_target){.replay = true, .until_ms = world->segments[1].first_ms});
}

/* More than lies on the volume at once: three transactions, each larger than a batch. */
static void test_many_batches(void **state)
{
    struct replay_world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *begins = replay_position_of(world, donor);
    const struct replay_target all = {.replay = true};
    unsigned most = 0;
    int code = -1;

    insert_rows(donor, 1, 70);
    sql_on(donor, "CREATE TABLE d.big (id INT PRIMARY KEY AUTO_INCREMENT, v MEDIUMBLOB)");
    back_up(world);
    for (int i = 0; i < 3; i++) {
        sql_on(donor, "INSERT INTO d.big (v) SELECT REPEAT(UUID(), 29000) FROM d.t");
        archive(world, donor, 1, i ? NULL : begins);
    }
    replay_new_member(world);
    struct agent_process init = replay_begin(world, &all);
    for (int i = 0; i < REPLAY_ENDS_S * 100 && !agent_rig_ended(&init, &code); i++) {
        unsigned batches = 0;
        for (uint64_t number = 1; number <= 3; number++) {
            _cleanup_(freep) char *path = replay_batch_path("vol/data.new", number);
            batches += agent_rig_has(world->pods->member, path);
        }
        most = MAX_OF(most, batches);
        usleep(10 * 1000);
    }
    assert_int_equal(code, 0);
    assert_in_range(most, 0, REPLAY_BATCHES_AHEAD); /* one that is applied at once may not be seen */
    assert_true(agent_rig_file_says(world->pods->member, "init.log", "segments=1 of=3"));
    assert_true(agent_rig_file_says(world->pods->member, "init.log", "segments=2 of=3"));
    assert_true(agent_rig_file_says(world->pods->member, "init.log", "segments=3 of=3"));
    replay_open_member(world);
    static const char sums[] = "CHECKSUM TABLE d.big; SELECT COUNT(*) FROM d.big";
    _cleanup_(freep) char *theirs = seed_rig_text(donor, sums);
    _cleanup_(freep) char *ours = seed_rig_text(world->pods->member, sums);
    assert_string_equal(theirs, ours);
}

/* Until the file is there, or init has ended. */
static bool await_file(const struct replay_world *world, struct agent_process *init, const char *name)
{
    int code = 0;

    for (int i = 0; i < REPLAY_ENDS_S * 500 && !agent_rig_ended(init, &code); i++) {
        if (agent_rig_has(world->pods->member, name))
            return true;
        usleep(2000);
    }
    return false;
}

/* Whatever is there when init ends, the next one begins anew and comes to the same. */
static void test_killed(void **state)
{
    /* The backup comes; the server runs on it; a relay log is executed. */
    static const struct {
        const char *file;
        useconds_t later_us;
    } moments[] = {{"vol/data.new", 0}, {"run/load.sock", 20000}, {"vol/data.new/relaylog-replay.index", 0},
        {"vol/data.new/relaylog-replay.index", 20000}};
    struct replay_world *world = *state;
    const struct agent_rig *donor = world->pods->donor;
    const struct replay_target all = {.replay = true};
    _cleanup_(freep) char *begins = replay_position_of(world, donor);

    back_up(world);
    for (int i = 0; i < 20; i++)
        insert_rows(donor, 1 + i * 100, 100 + i * 100);
    archive(world, donor, 1, begins);
    replay_new_member(world);
    struct agent_rig *member = world->pods->member;
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        assert_false(agent_rig_has(member, "vol/data"));
        struct agent_process init = replay_begin(world, &all);
        assert_true(await_file(world, &init, moments[i].file));
        usleep(moments[i].later_us);
        agent_rig_kill(&init);
        unlink(agent_rig_path(member, "run/load.sock"));
    }
    if (!agent_rig_has(member, "vol/data")) { /* else the last one was through before it could be killed */
        struct agent_process init = replay_begin(world, &all);
        assert_int_equal(agent_rig_wait(&init), 0);
    }
    replay_open_member(world);
    replay_assert_rows(member, 2000, 2000);
}

/* ---- life ---- */

struct prestate {
    const char *root;
    enum backup_method method;
};

static int setup(void **state)
{
    const struct prestate *prestate = *state;
    struct replay_world *world = replay_world_new(prestate->root, prestate->method);

    owner_sql_on(world->pods->donor, schema);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    replay_world_free(*state);
    return 0;
}

#define STORY(test) cmocka_unit_test_prestate_setup_teardown(test, setup, teardown, &prestate)

int replay_stories_run(const char *root, enum backup_method method)
{
    struct prestate prestate = {root, method};

    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        STORY(test_many_batches),
        STORY(test_exactly_there),
        STORY(test_many_servers),
        STORY(test_in_place),
        STORY(test_across_a_failover),
        STORY(test_refused),
        STORY(test_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
