/* SPDX-License-Identifier: Apache-2.0 */
/* What is removed of an archive by the whole operator, and what stays. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/binlog_segment.h"
#include "common/clock.h"
#include "operator/tests/archive_world.h"

static void put_segment(struct operator_world *world, uint64_t sequence, const char *after, int64_t archived_ms)
{
    struct binlog_segment segment = {.name = {1, sequence, archived_ms / 1000 * 1000},
        .count = 1,
        .raw_bytes = 100,
        .stored_bytes = 50,
        .first_ms = 1000,
        .last_ms = 1000};
    char name[BINLOG_SEGMENT_NAME_SIZE];
    struct strbuf text;
    const char *uid = world_str(world, PATH_CLUSTER, "metadata.uid");
    snprintf(segment.ns, sizeof(segment.ns), "ns1");
    snprintf(segment.cluster, sizeof(segment.cluster), "shop");
    snprintf(segment.cluster_uid, sizeof(segment.cluster_uid), "%s", uid);
    snprintf(segment.writer, sizeof(segment.writer), "shop-mysql-0");
    snprintf(segment.flavour, sizeof(segment.flavour), "mariadb");
    snprintf(segment.server_version, sizeof(segment.server_version), "11.4");
    segment.after = after;
    segment.until = "0-1-9999";
    memset(segment.sha256, 'a', 64);
    if (sequence > 1)
        memset(segment.previous, 'b', 64);
    binlog_segment_name_print(&segment.name, name);
    _cleanup_(freep) char *meta = xasprintf("ns1/shop/binlogs/%s/%s.json", uid, name);
    _cleanup_(freep) char *log = xasprintf("ns1/shop/binlogs/%s/%s.log", uid, name);
    strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
    binlog_segment_encode(&segment, NULL, &text);
    s3_double_put(archive_world_bucket(), meta, text.buf, text.len);
    s3_double_put(archive_world_bucket(), log, "x", 1);
    strbuf_release(&text);
}

static void put_manifest(struct operator_world *world, const char *id, const char *gtid)
{
    struct backup_manifest manifest = {.method = BACKUP_METHOD_PHYSICAL,
        .stream = STREAM_METHOD_XBSTREAM,
        .started_ms = 1000,
        .completed_ms = 2000,
        .data_bytes = 99,
        .raw_bytes = 20,
        .stored_bytes = 10,
        .part_bytes = BACKUP_PART_BYTES,
        .piece_bytes = BACKUP_PIECE_BYTES};
    struct strbuf text;
    snprintf(manifest.id, sizeof(manifest.id), "%s", id);
    snprintf(manifest.ns, sizeof(manifest.ns), "ns1");
    snprintf(manifest.cluster, sizeof(manifest.cluster), "shop");
    snprintf(manifest.cluster_uid, sizeof(manifest.cluster_uid), "%s", world_str(world, PATH_CLUSTER, "metadata.uid"));
    snprintf(manifest.flavour, sizeof(manifest.flavour), "mariadb");
    snprintf(manifest.server_version, sizeof(manifest.server_version), "11.4");
    manifest.gtid = gtid;
    backup_manifest_add_piece(&manifest, 10, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    strbuf_init(&text, KM_MIB);
    backup_manifest_encode(&manifest, NULL, &text);
    _cleanup_(freep) char *name = xasprintf("ns1/shop/backups/%s/manifest.json", id);
    s3_double_put(archive_world_bucket(), name, text.buf, text.len);
    strbuf_release(&text);
    backup_manifest_release(&manifest);
}

static bool has_segment(struct operator_world *world, uint64_t sequence, int64_t archived_ms)
{
    const struct binlog_segment_name name = {1, sequence, archived_ms / 1000 * 1000};
    char text[BINLOG_SEGMENT_NAME_SIZE];
    size_t len;
    const char *uid = world_str(world, PATH_CLUSTER, "metadata.uid");
    binlog_segment_name_print(&name, text);
    _cleanup_(freep) char *meta = xasprintf("ns1/shop/binlogs/%s/%s.json", uid, text);
    _cleanup_(freep) char *log = xasprintf("ns1/shop/binlogs/%s/%s.log", uid, text);
    bool has_meta = s3_double_get(archive_world_bucket(), meta, &len),
         has_log = s3_double_get(archive_world_bucket(), log, &len);
    assert_true(has_log || !has_meta); /* it goes first */
    return has_meta || has_log;
}

#define OLD_MS 1700000000000

/* Segment N begins behind transaction 10 * (N - 1). */
static bool fill_archive(struct operator_world *world)
{
    char after[32];
    for (uint64_t sequence = 1; sequence <= 20; sequence++) {
        snprintf(after, sizeof(after), "0-1-%llu", (unsigned long long)(sequence - 1) * 10);
        put_segment(world, sequence, sequence > 1 ? after : "", OLD_MS);
    }
    put_manifest(world, "20231114T000000Z-a-1", "0-1-55"); /* there is no MysqlBackup of it any more */
    archive_world_put_backup(world, "later", "0-1-125", clock_realtime_ms() - HOUR_MS);
    return true;
}

/* 0-1-55 is in the middle of segment 6. */
static bool five_are_gone(struct operator_world *world)
{
    return !has_segment(world, 5, OLD_MS) && has_segment(world, 6, OLD_MS) && has_segment(world, 20, OLD_MS);
}

static bool lose_stored_backup(struct operator_world *world)
{
    UNUSED(world);
    s3_double_put(
        archive_world_bucket(), "ns1/shop/backups/20231114T000000Z-a-1/manifest.json", "{}", 2); /* cannot be read */
    return true;
}

static bool still_only_five(struct operator_world *world)
{
    return five_are_gone(world) && world_is_quiet(world, 300);
}

static bool replace_stored_backup(struct operator_world *world)
{
    put_manifest(world, "20231114T000000Z-a-1", "0-1-140");
    return true;
}

static bool twelve_are_gone(struct operator_world *world)
{
    return !has_segment(world, 12, OLD_MS) && has_segment(world, 13, OLD_MS) && has_segment(world, 20, OLD_MS);
}

static bool go_on(struct operator_world *world)
{
    archive_world_remove_backup(world, "later");
    archive_world_put_backup(world, "latest", "0-1-190", clock_realtime_ms() - HOUR_MS);
    put_manifest(world, "20231114T000000Z-a-1", "0-1-195");
    return true;
}

static bool nineteen_are_gone(struct operator_world *world)
{
    return !has_segment(world, 19, OLD_MS) && has_segment(world, 20, OLD_MS);
}

static void test_retention(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {fill_archive, five_are_gone, lose_stored_backup, still_only_five,
        replace_stored_backup, twelve_are_gone, go_on, nineteen_are_gone, role_story_settled, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    world->sweep_ms = 30;
    operator_world_run(world, steps);
    archive_world_free(world);
}

static bool fill_young_archive(struct operator_world *world)
{
    put_segment(world, 1, "", OLD_MS);
    put_segment(world, 2, "0-1-10", clock_realtime_ms());
    world->numbers[0] = clock_realtime_ms();
    put_segment(world, 3, "0-1-20", world->numbers[0]);
    archive_world_put_backup(world, "later", "0-1-125", clock_realtime_ms() - HOUR_MS);
    s3_double_fail(archive_world_bucket(), S3_FAULT_500, 0, 5, false);
    return true;
}

static bool only_the_old_one_is_gone(struct operator_world *world)
{
    return !has_segment(world, 1, OLD_MS) && has_segment(world, 3, world->numbers[0]) && world_is_quiet(world, 200);
}

/* What is young stays, and a store that fails is asked again. */
static void test_young_segments_stay(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, fill_young_archive, only_the_old_one_is_gone, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    world->sweep_ms = 30;
    operator_world_run(world, steps);
    archive_world_free(world);
}

static bool no_backup_is_left(struct operator_world *world)
{
    for (uint64_t sequence = 1; sequence <= 3; sequence++)
        put_segment(world, sequence, "", OLD_MS);
    return true;
}

static bool all_stay(struct operator_world *world)
{
    return has_segment(world, 1, OLD_MS) && world_is_quiet(world, 200);
}

static void test_without_a_backup_all_stay(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, no_backup_is_left, all_stay, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    world->sweep_ms = 30;
    operator_world_run(world, steps);
    archive_world_free(world);
}

/* ---- positions that are too long to be told ---- */

/* Of a MariaDB with many domains. */
static char *long_position(unsigned number)
{
    struct strbuf text;
    strbuf_init(&text, POSITION_TEXT_MAX);
    strbuf_addf(&text, "0-1-%u", number);
    for (int domain = 1; domain < 400; domain++)
        strbuf_addf(&text, ",%d-1-1", domain);
    return strbuf_detach(&text, NULL);
}

static bool fill_with_long_ones(struct operator_world *world)
{
    char after[32];
    for (uint64_t sequence = 1; sequence <= 20; sequence++) {
        snprintf(after, sizeof(after), "0-1-%llu", (unsigned long long)(sequence - 1) * 10);
        put_segment(world, sequence, sequence > 1 ? after : "", OLD_MS);
    }
    struct archive_report *report = &world_agent(world, 0)->archive.report;
    report->from_epoch = 1;
    report->from_sequence = 13;
    report->from_ms = OLD_MS;
    snprintf(report->from_gtid, sizeof(report->from_gtid), POSITION_TOO_LONG);
    world->numbers[0] = clock_realtime_ms() / 1000 * 1000 - HOUR_MS;
    archive_world_put_backup(world, "later", POSITION_TOO_LONG, world->numbers[0]);
    return true;
}

static bool nothing_is_removed(struct operator_world *world)
{
    return has_segment(world, 1, OLD_MS) && world_is_quiet(world, 300);
}

static bool put_its_manifest(struct operator_world *world)
{
    _cleanup_(freep) char *gtid = long_position(125);
    put_manifest(world, "later", gtid);
    return true;
}

/* The segment that is named as the chain's first begins with 0-1-120. */
static bool is_recoverable(struct operator_world *world)
{
    char when[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(world->numbers[0], when);
    return twelve_are_gone(world) && str_eq(role_story_status(world, "backup.recoverableFrom"), when);
}

/* The manifest says what the status cannot; without it nothing is removed. */
static void test_long_positions(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, fill_with_long_ones, nothing_is_removed, put_its_manifest,
        is_recoverable, role_story_settled, NULL};
    struct operator_world *world = archive_world_new(1, ARCHIVE_WORLD_ARCHIVES);
    world->sweep_ms = 30;
    operator_world_run(world, steps);
    archive_world_free(world);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retention),
        cmocka_unit_test(test_young_segments_stay),
        cmocka_unit_test(test_without_a_backup_all_stay),
        cmocka_unit_test(test_long_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
