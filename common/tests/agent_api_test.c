/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

static struct agent_status full_status(void)
{
    struct agent_status status = {
        .instance = "demo-mysql-0",
        .boot_id = "b",
        .sequence = 7,
        .phase = AGENT_PHASE_HUNG,
        .flavour = AGENT_FLAVOUR_PERCONA,
        .version = "8.0.36-28",
        .server_uuid = "u",
        .server_id = UINT32_MAX,
        .uptime_s = 99,
        .ready = true,
        .ready_reason = "a \"reason\"",
        .read_only = true,
        .accounts_applied = true,
        .accounts_hash = "h",
        .named_known = true,
        .named_tls = AGENT_TLS_REQUIRED,
        .mycnf_hash = "m",
        .gtid_executed = "g:1-5",
        .volume_bytes = 1ULL << 50,
        .volume_free_bytes = 1ULL << 40,
        .purge_wish = "0123456789abcdef",
        .purge_until = "binlog.000012",
        .purge_after = "0-1-100",
        .purge_for_room = true,
        .probe_us = 345,
        .certificate_not_after_ms = 1796960588000,
        .replication = {.caught_up = true},
        .took_writes = {5000, 500},
        .event_received = {5100, 10},
        .opening = {5500, 9},
        .opening_epoch = 4,
        .first_commit = {6000, 11},
        .first_commit_epoch = 4,
        .locked_ms = 1500,
        .lock_holder = "thread 17 of root@10.1.2.3",
    };
    agent_status_add_problem(&status, AGENT_PROBLEM_VOLUME_FULL, "%d %%", 3);
    return status;
}

static void test_status_round_trip(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
    struct agent_status status = full_status();
    struct agent_status read = {0};

    UNUSED(unused);
    strbuf_init(&text, AGENT_STATUS_MAX);
    agent_status_encode(&status, &text);
    assert_null(strchr(text.buf, '\n'));
    assert_int_equal(agent_status_decode(text.buf, text.len, positions, &read, NULL), 0);
    assert_true(agent_status_same(&status, &read));
    assert_int_equal(read.sequence, 7);
    assert_int_equal(read.uptime_s, 99);
    assert_int_equal(read.probe_us, 345);
    assert_int_equal(read.server_id, UINT32_MAX);
    assert_string_equal(read.named_tls, "Required");
    assert_true(read.replication.caught_up);
    assert_string_equal(read.purge_until, "binlog.000012");
    assert_string_equal(read.purge_after, "0-1-100");
    assert_true(read.purge_for_room);
    assert_memory_equal(&read.took_writes, &status.took_writes, sizeof(status.took_writes));
    assert_memory_equal(&read.event_received, &status.event_received, sizeof(status.event_received));
    assert_memory_equal(&read.first_commit, &status.first_commit, sizeof(status.first_commit));
    assert_memory_equal(&read.opening, &status.opening, sizeof(status.opening));
    assert_int_equal(read.opening_epoch, 4);
    assert_int_equal(read.locked_ms, 1500);
    assert_string_equal(read.lock_holder, "thread 17 of root@10.1.2.3");
}

/* The largest one that there is: both positions of POSITION_TEXT_MAX. */
static void test_long_positions_go_out_whole(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf text, line;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
    struct agent_status status = full_status(), read = {0};

    UNUSED(unused);
    strbuf_init(&text, POSITION_TEXT_MAX);
    strbuf_init(&line, AGENT_STATUS_MAX);
    for (int i = 0; !text.overflowed; i++)
        strbuf_addf(&text, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-9", i ? "," : "", i);
    status.gtid_executed = text.buf;
    _cleanup_(strbuf_release) struct strbuf other;
    strbuf_init(&other, POSITION_TEXT_MAX);
    strbuf_add(&other, text.buf, text.len - 1);
    strbuf_adds(&other, "8");
    status.gtid_received = other.buf;
    agent_status_encode(&status, &line);
    assert_false(line.overflowed);
    assert_int_equal(agent_status_decode(line.buf, line.len, positions, &read, NULL), 0);
    assert_string_equal(read.gtid_executed, text.buf);
    assert_string_equal(read.gtid_received, other.buf);
    assert_true(position_pool_size(positions) > 2 * POSITION_TEXT_MAX - 100);
}

static void test_status_of_another_age(void **unused)
{
    static const char newer[] = "{\"instance\":\"a\",\"phase\":\"Dreaming\",\"flavour\":\"oracle\",\"whatever\":[1]}";
    struct agent_status status;

    UNUSED(unused);
    assert_int_equal(agent_status_decode(newer, strlen(newer), NULL, &status, NULL), 0);
    assert_string_equal(status.instance, "a");
    assert_int_equal(status.phase, AGENT_PHASE_UNKNOWN);
    assert_int_equal(status.flavour, AGENT_FLAVOUR_UNKNOWN);
    assert_false(status.ready);
}

static void test_what_is_no_status(void **unused)
{
    static const char *const bad[] = {"", "[]", "{", "{\"ready\":1}", "{\"serverId\":-1}", "{\"problems\":{}}", "null"};
    struct agent_status status = {.sequence = 5};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(agent_status_decode(bad[i], strlen(bad[i]), NULL, &status, NULL), -1);
    assert_int_equal(status.sequence, 5);
}

static void test_changes_worth_publishing(void **unused)
{
    struct agent_status a = full_status();
    struct agent_status b = a;

    UNUSED(unused);
    b.sequence++;
    b.uptime_s++;
    b.probe_us *= 2;
    b.took_writes.at_ms++;
    b.event_received.at_ms++;
    b.volume_free_bytes += b.volume_free_bytes / 200;
    assert_true(agent_status_same(&a, &b));
    assert_true(agent_status_digest(&a) == agent_status_digest(&b));
    b.volume_free_bytes += b.volume_free_bytes / 50;
    assert_false(agent_status_same(&a, &b));
    assert_true(agent_status_digest(&a) == agent_status_digest(&b));
    b = a;
    b.phase = AGENT_PHASE_RUNNING;
    assert_false(agent_status_same(&a, &b));
    assert_true(agent_status_digest(&a) != agent_status_digest(&b));
    b = a;
    b.first_commit_epoch++;
    assert_false(agent_status_same(&a, &b));
    assert_true(agent_status_digest(&a) != agent_status_digest(&b));
    b = a;
    b.gtid_executed = "g:1-6";
    assert_false(agent_status_same(&a, &b));
    assert_true(agent_status_digest(&a) != agent_status_digest(&b));
    b = a;
    b.replication.caught_up = false;
    assert_false(agent_status_same(&a, &b));
    b = a;
    b.problems[0].message[0] = '4';
    assert_false(agent_status_same(&a, &b));
    assert_true(agent_status_digest(&a) != agent_status_digest(&b));
    /* What stands behind a text's end does not count, where a text ends does. */
    b = a;
    b.version[sizeof(b.version) - 1] = 'x';
    assert_true(agent_status_digest(&a) == agent_status_digest(&b));
    snprintf(b.ready_reason, sizeof(b.ready_reason), "%s", a.version);
    snprintf(b.version, sizeof(b.version), "%s", a.ready_reason);
    assert_true(agent_status_digest(&a) != agent_status_digest(&b));
}

static void test_problems_are_cut_and_counted(void **unused)
{
    struct agent_status status = {0};
    char text[AGENT_PROBLEM_MESSAGE_SIZE + 100];

    UNUSED(unused);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text + AGENT_PROBLEM_MESSAGE_SIZE - 5, "\xc3\xa4", 2); /* where the cut falls */
    for (int i = 0; i < AGENT_PROBLEMS_MAX + 3; i++)
        agent_status_add_problem(&status, AGENT_PROBLEM_VOLUME_FULL, "%s", text);
    assert_int_equal(status.problem_count, AGENT_PROBLEMS_MAX);
    assert_string_equal(status.problems[0].message + AGENT_PROBLEM_MESSAGE_SIZE - 5, "...");
}

static void test_instance_config(void **unused)
{
    struct agent_instance_config config = {
        .cluster_namespace = (char *)(uintptr_t) "ns",
        .cluster_name = (char *)(uintptr_t) "demo",
        .cluster_uid = (char *)(uintptr_t) "uid",
        .service_domain = (char *)(uintptr_t) "demo-mysql.ns.svc",
        .server_id_base = 4000000000U,
        .replicas = 3,
        .username = (char *)(uintptr_t) "app",
        .require_tls = true,
        .binlog_max_bytes = 1ULL << 33,
        .data_version = (char *)(uintptr_t) "10.11.19-MariaDB",
    };
    _cleanup_(json_decrefp) json_t *document = agent_instance_config_encode(&config);
    struct agent_instance_config read;
    struct error err = ERROR_INIT;

    UNUSED(unused);
    assert_int_equal(agent_instance_config_decode(document, &read, &err), 0);
    assert_string_equal(read.cluster_namespace, "ns");
    assert_string_equal(read.cluster_name, "demo");
    assert_string_equal(read.cluster_uid, "uid");
    assert_string_equal(read.service_domain, "demo-mysql.ns.svc");
    assert_true(read.server_id_base == 4000000000U);
    assert_int_equal(read.replicas, 3);
    assert_string_equal(read.username, "app");
    assert_true(read.require_tls);
    assert_true(read.binlog_max_bytes == 1ULL << 33);
    assert_string_equal(read.data_version, "10.11.19-MariaDB");
    assert_null(read.made_with);
    assert_null(read.database);
    agent_instance_config_release(&read);
    json_put_str(document, "replicas", "three");
    assert_int_equal(agent_instance_config_decode(document, &read, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.message, "replicas"));
}

static void test_accounts_hash(void **unused)
{
    struct agent_account_files files = {.root = "a", .user = "b"};
    struct agent_account_files moved = {.root = "b", .user = "a"};
    struct agent_account_files fewer = {.root = "a"};
    char hash[4][65];

    UNUSED(unused);
    agent_accounts_hash("uid", &files, hash[0]);
    agent_accounts_hash("uid", &moved, hash[1]);
    agent_accounts_hash("uid", &fewer, hash[2]);
    agent_accounts_hash("other", &files, hash[3]);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(strlen(hash[i]), 64);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(hash[i], hash[j]);
    }
    agent_accounts_hash("uid", &files, hash[3]);
    assert_string_equal(hash[0], hash[3]);
}

static void a_problem_of_a_later_version_keeps_its_name(void **unused)
{
    static const char text[] = "{\"problems\":[{\"reason\":\"DiskOnFire\",\"message\":\"hot\"},"
                               "{\"reason\":\"VolumeFull\",\"message\":\"full\"}]}";
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(POSITION_TEXT_MAX);
    _cleanup_(strbuf_release) struct strbuf again;
    struct agent_status status;

    UNUSED(unused);
    strbuf_init(&again, AGENT_STATUS_MAX);
    assert_int_equal(agent_status_decode(text, strlen(text), positions, &status, NULL), 0);
    assert_int_equal(status.problem_count, 2);
    assert_int_equal(status.problems[0].kind, AGENT_PROBLEM_OTHER);
    assert_int_equal(status.problems[1].kind, AGENT_PROBLEM_VOLUME_FULL);
    agent_status_encode(&status, &again);
    assert_non_null(strstr(again.buf, "{\"reason\":\"DiskOnFire\",\"message\":\"hot\"}"));
    for (int i = 1; i < AGENT_PROBLEM_KIND_COUNT; i++)
        assert_true(!str_empty(agent_problem_names[i]));
}

/* Of an agent of an earlier version the newest is read, and an earlier operator reads that of this one. */
static void sets_that_were_set_aside_are_told_newest_first(void **unused)
{
    static const char earlier[] = "{\"setAside\":\"aside-2: 0-1-8\"}";
    const struct agent_status status = {
        .set_aside = {.sets = {"aside-3: 0-1-9", "aside-2: 0-1-8", "aside-1: 0-1-7"}, .more = 2}};
    _cleanup_(strbuf_release) struct strbuf text;
    struct agent_status read = {0};

    UNUSED(unused);
    strbuf_init(&text, AGENT_STATUS_MAX);
    agent_status_encode(&status, &text);
    assert_non_null(strstr(text.buf, "\"setAside\":\"aside-3: 0-1-9\""));
    assert_int_equal(agent_status_decode(text.buf, text.len, NULL, &read, NULL), 0);
    assert_memory_equal(&read.set_aside, &status.set_aside, sizeof(read.set_aside));
    read.set_aside.sets[2][0] = '\0';
    assert_false(agent_status_same(&read, &status));
    assert_int_equal(agent_status_decode(earlier, strlen(earlier), NULL, &read, NULL), 0);
    assert_string_equal(read.set_aside.sets[0], "aside-2: 0-1-8");
    assert_string_equal(read.set_aside.sets[1], "");
}

static void test_last_words_are_read_as_values(void **unused)
{
    static const struct {
        const char *said;
        enum agent_check_fault fault;
        const char *words, *cut;
        size_t adjusted;
    } rows[] = {
        {NULL, AGENT_CHECK_FAULT_MYCNF, "", "", 0},
        {"", AGENT_CHECK_FAULT_MYCNF, "", "", 0},
        {"images.mysql: too old", AGENT_CHECK_FAULT_IMAGE, "too old", "", 21},
        {"images.mysqld: is an option", AGENT_CHECK_FAULT_MYCNF, "images.mysqld: is an option", "", 27},
        {"start: no library", AGENT_CHECK_FAULT_START, "no library", "", 17},
        {"start = 1: unknown", AGENT_CHECK_FAULT_MYCNF, "start = 1: unknown", "", 18},
        {"a = 1\nb = 2", AGENT_CHECK_FAULT_MYCNF, "a = 1\nb = 2", "b = 2", 5},
        {"\nb = 2", AGENT_CHECK_FAULT_MYCNF, "\nb = 2", "b = 2", 0},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *words, *cut;
        assert_int_equal(agent_check_fault_of(rows[i].said, &words), rows[i].fault);
        assert_string_equal(words, rows[i].words);
        assert_int_equal(agent_check_adjusted(rows[i].said, &cut), rows[i].adjusted);
        assert_string_equal(cut, rows[i].cut);
    }
}

static void test_what_init_ends_for(void **state)
{
    static const struct {
        int code;
        const char *said;
        enum agent_init_fault fault;
    } rows[] = {
        {11, "refused", AGENT_INIT_FAULT_MYCNF}, {11, "this image holds neither", AGENT_INIT_FAULT_MYCNF},
        {11, NULL, AGENT_INIT_FAULT_MYCNF}, {12, "no server", AGENT_INIT_FAULT_IMAGE},
        {10, "opening /run/mysqld/my.cnf.new: No space left on device", AGENT_INIT_FAULT_OTHER},
        /* agents that do not tell */
        {1, "8.4.6 refuses my.cnf: unknown variable 'x'", AGENT_INIT_FAULT_MYCNF},
        {1, "this image holds neither mariadbd nor mysqld", AGENT_INIT_FAULT_IMAGE},
        {1, "the data folder was written by version 9; the image holds the older 8.4.6", AGENT_INIT_FAULT_IMAGE},
        {1, "the volume is full", AGENT_INIT_FAULT_OTHER}, {1, "", AGENT_INIT_FAULT_OTHER},
        {1, NULL, AGENT_INIT_FAULT_OTHER},
        {0, "8.4.6 refuses my.cnf: unknown variable 'x'", AGENT_INIT_FAULT_MYCNF}, /* the code is not known */
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (agent_init_fault_of(rows[i].code, rows[i].said) != rows[i].fault)
            fail_msg("%d: %s", rows[i].code, rows[i].said);
    }
    for (int i = 0; i < AGENT_INIT_FAULT_COUNT; i++)
        assert_int_equal(agent_init_fault_of(agent_init_exit_code((enum agent_init_fault)i), NULL), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_round_trip),
        cmocka_unit_test(test_long_positions_go_out_whole),
        cmocka_unit_test(test_status_of_another_age),
        cmocka_unit_test(test_what_is_no_status),
        cmocka_unit_test(test_changes_worth_publishing),
        cmocka_unit_test(test_problems_are_cut_and_counted),
        cmocka_unit_test(a_problem_of_a_later_version_keeps_its_name),
        cmocka_unit_test(test_instance_config),
        cmocka_unit_test(test_accounts_hash),
        cmocka_unit_test(sets_that_were_set_aside_are_told_newest_first),
        cmocka_unit_test(test_last_words_are_read_as_values),
        cmocka_unit_test(test_what_init_ends_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
