/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a backup can become this member's data, what follows from a failure, and the two children that bring it: with
 * others in their places. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/bootstrap/restore_check.h"
#include "agent/bootstrap/restore_stream.h"
#include "common/agent_api.h"
#include "common/tests/http_util.h"

/* ---- what fits ---- */

static void test_manifest_fits_server(void **state)
{
    static const struct {
        const char *flavour, *version;
        enum stream_method stream;
        const char *server, *comment;
        const char *says; /* "": it fits */
    } rows[] = {
        {"mariadb", "10.11.6-MariaDB-log", STREAM_METHOD_XBSTREAM, "10.11.19-MariaDB", "MariaDB", ""},
        {"mariadb", "10.11.19-MariaDB", STREAM_METHOD_SQL, "10.11.6-MariaDB", "MariaDB", ""},
        {"mysql", "9.7.1", STREAM_METHOD_SQL, "9.7.4", "MySQL", ""},
        {"percona", "8.4.2-2", STREAM_METHOD_SQL, "8.4.3", "MySQL", ""},
        {"mariadb", "10.6.18-MariaDB", STREAM_METHOD_XBSTREAM, "10.11.19-MariaDB", "MariaDB",
            "holds the newer 10.11.19"},
        {"mariadb", "11.4.2-MariaDB", STREAM_METHOD_SQL, "10.11.19-MariaDB", "MariaDB", "holds the older 10.11.19"},
        {"mysql", "8.0.36", STREAM_METHOD_SQL, "10.11.19-MariaDB", "MariaDB", "cannot be restored here"},
        {"mariadb", "10.11.19-MariaDB", STREAM_METHOD_SQL, "9.7.4", "MySQL", "cannot be restored here"},
        {"mysql", "9.7.4", STREAM_METHOD_XBSTREAM, "9.7.4", "MySQL", "cannot unpack"},
        {"mariadb", "10.11.19-MariaDB", STREAM_METHOD_BINLOG, "10.11.19-MariaDB", "MariaDB", "cannot unpack"},
        {"mysql", "9.7.4", STREAM_METHOD_TAR, "9.7.4", "MySQL", ""},
        {"mysql", "8.0.36", STREAM_METHOD_TAR, "8.0.41", "MySQL", ""},
        {"percona", "8.0.36-28", STREAM_METHOD_TAR, "8.0.36", "MySQL", ""},
        {"mysql", "8.0.41", STREAM_METHOD_TAR, "8.0.36", "MySQL", "the older 8.0.36: MySQL's files cannot go back"},
        {"mysql", "8.0.41", STREAM_METHOD_TAR, "8.4.3", "MySQL", "holds the newer 8.4.3"},
        {"mysql", "8.0.41", STREAM_METHOD_TAR, "10.11.19-MariaDB", "MariaDB", "cannot be restored here"},
        {"mariadb", "10.11.19-MariaDB", STREAM_METHOD_TAR, "10.11.19-MariaDB", "MariaDB", "cannot unpack"},
        {"mysql", "nonsense", STREAM_METHOD_SQL, "9.7.4", "MySQL", "server version"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct backup_manifest manifest = {.stream = rows[i].stream};
        struct server_version server;
        struct error err = ERROR_INIT;
        snprintf(manifest.flavour, sizeof(manifest.flavour), "%s", rows[i].flavour);
        snprintf(manifest.server_version, sizeof(manifest.server_version), "%s", rows[i].version);
        assert_int_equal(server_version_parse(rows[i].server, rows[i].comment, &server, NULL), 0);
        int rc = restore_check_manifest(&manifest, &server, true, &err);
        if (rc != (*rows[i].says ? -1 : 0) || !strstr(err.message, rows[i].says))
            fail_msg("row %zu: %d \"%s\"", i, rc, err.message);
        assert_int_equal(err.kind, rc < 0 ? ERROR_INVALID : ERROR_NONE);
    }
}

/* Files of a MariaDB need its tools; statements, and MySQL's files, do not. */
static void test_files_need_a_tool(void **state)
{
    static const struct {
        const char *flavour, *version;
        enum stream_method stream;
        bool fits;
    } rows[] = {
        {"mariadb", "10.11.19-MariaDB", STREAM_METHOD_XBSTREAM, false},
        {"mariadb", "10.11.19-MariaDB", STREAM_METHOD_SQL, true},
        {"mysql", "9.7.4", STREAM_METHOD_TAR, true},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct backup_manifest manifest = {.stream = rows[i].stream};
        struct server_version server;
        struct error err = ERROR_INIT;
        snprintf(manifest.flavour, sizeof(manifest.flavour), "%s", rows[i].flavour);
        snprintf(manifest.server_version, sizeof(manifest.server_version), "%s", rows[i].version);
        assert_int_equal(server_version_parse(rows[i].version, "", &server, NULL), 0);
        assert_int_equal(restore_check_manifest(&manifest, &server, false, &err), rows[i].fits ? 0 : -1);
        assert_int_equal(strstr(err.message, "this image has no mariadb-backup") != NULL, !rows[i].fits);
        /* The first attempt fails, and there is no second one. */
        assert_true(rows[i].fits || restore_classify(RESTORE_AT_CHECK, &err).retry == RESTORE_GIVE_UP);
    }
}

static void test_what_follows_from_a_failure(void **state)
{
    static const struct {
        enum restore_place place;
        enum error_kind kind;
        enum restore_retry retry;
        enum restore_reason reason;
    } rows[] = {
        {RESTORE_AT_MANIFEST, ERROR_UNAVAILABLE, RESTORE_RETRY, RESTORE_REASON_STORE_UNAVAILABLE},
        {RESTORE_AT_MANIFEST, ERROR_TIMEOUT, RESTORE_RETRY, RESTORE_REASON_STORE_UNAVAILABLE},
        {RESTORE_AT_MANIFEST, ERROR_FORBIDDEN, RESTORE_RETRY_SLOWLY, RESTORE_REASON_STORE_REFUSED},
        {RESTORE_AT_MANIFEST, ERROR_NOT_FOUND, RESTORE_RETRY_SLOWLY, RESTORE_REASON_BACKUP_MISSING},
        {RESTORE_AT_CHECK, ERROR_FORBIDDEN, RESTORE_GIVE_UP, RESTORE_REASON_KEY_INVALID},
        {RESTORE_AT_CHECK, ERROR_PROTOCOL, RESTORE_GIVE_UP, RESTORE_REASON_BACKUP_DAMAGED},
        {RESTORE_AT_CHECK, ERROR_INVALID, RESTORE_GIVE_UP, RESTORE_REASON_SERVER_MISMATCH},
        {RESTORE_AT_CHECK, ERROR_TOO_LARGE, RESTORE_RETRY_SLOWLY, RESTORE_REASON_VOLUME_TOO_SMALL},
        {RESTORE_AT_MANIFEST, ERROR_UNAUTHORIZED, RESTORE_RETRY_SLOWLY, RESTORE_REASON_STORE_REFUSED},
        {RESTORE_AT_DATA, ERROR_UNAUTHORIZED, RESTORE_GIVE_UP, RESTORE_REASON_KEY_INVALID},
        {RESTORE_AT_DATA, ERROR_PROTOCOL, RESTORE_GIVE_UP, RESTORE_REASON_BACKUP_DAMAGED},
        {RESTORE_AT_DATA, ERROR_NOT_FOUND, RESTORE_RETRY_SLOWLY, RESTORE_REASON_BACKUP_MISSING},
        {RESTORE_AT_DATA, ERROR_UNAVAILABLE, RESTORE_RETRY, RESTORE_REASON_STORE_UNAVAILABLE},
        {RESTORE_AT_TOOLS, ERROR_IO, RESTORE_RETRY, RESTORE_REASON_TOOL_FAILED},
        {RESTORE_AT_TOOLS, ERROR_INVALID, RESTORE_RETRY, RESTORE_REASON_TOOL_FAILED},
        {RESTORE_AT_COPY, ERROR_INVALID, RESTORE_GIVE_UP, RESTORE_REASON_COPY_UNUSABLE},
        {RESTORE_AT_COPY, ERROR_PROTOCOL, RESTORE_GIVE_UP, RESTORE_REASON_BACKUP_DAMAGED},
        {RESTORE_AT_COPY, ERROR_IO, RESTORE_RETRY, RESTORE_REASON_TOOL_FAILED},
        {RESTORE_AT_COPY, ERROR_TOO_LARGE, RESTORE_RETRY_SLOWLY, RESTORE_REASON_VOLUME_TOO_SMALL},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {.kind = rows[i].kind};
        struct restore_failure failure = restore_classify(rows[i].place, &err);
        if (failure.retry != rows[i].retry || failure.reason != rows[i].reason)
            fail_msg("row %zu: %d %s", i, failure.retry, restore_reason_name(failure.reason));
    }
}

static void test_full_volume(void **state)
{
    static const struct {
        enum restore_place place;
        uint64_t free;
        enum error_kind kind, becomes;
    } rows[] = {
        {RESTORE_AT_TOOLS, RESTORE_FULL_BYTES - 1, ERROR_IO, ERROR_TOO_LARGE},
        {RESTORE_AT_TOOLS, RESTORE_FULL_BYTES, ERROR_IO, ERROR_IO},
        {RESTORE_AT_COPY, 0, ERROR_INVALID, ERROR_TOO_LARGE},
        {RESTORE_AT_COPY, 0, ERROR_CANCELLED, ERROR_CANCELLED},
        {RESTORE_AT_DATA, 0, ERROR_UNAVAILABLE, ERROR_UNAVAILABLE},
        {RESTORE_AT_MANIFEST, 0, ERROR_FORBIDDEN, ERROR_FORBIDDEN},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = ERROR_INIT;
        error_set(&err, rows[i].kind, "the tool's words");
        restore_check_full(rows[i].place, rows[i].free, &err);
        if (err.kind != rows[i].becomes || !strstr(err.message, "the tool's words"))
            fail_msg("row %zu: %s", i, err.message);
        assert_true(!strstr(err.message, "are left on the volume") == (err.kind == rows[i].kind));
    }
}

/* ---- the children ---- */

struct verdict {
    int done;
    enum restore_place place;
    struct error error;
};

static void on_done(void *arg, const struct error *err, enum restore_place place)
{
    struct verdict *verdict = arg;

    verdict->done++;
    verdict->place = place;
    if (err)
        verdict->error = *err;
}

static struct verdict play(const char *download, const char *tool, uint64_t *ret_bytes)
{
    const char *const giving[] = {"/bin/sh", "-c", download, NULL};
    const char *const taking[] = {"/bin/sh", "-c", tool, NULL};
    struct verdict verdict = {0};
    struct error err = ERROR_INIT;
    struct loop *loop = loop_new();
    const struct restore_stream_options options = {.loop = loop,
        .download = giving,
        .tool = taking,
        .task = "{\"secret\":1}",
        .task_len = 12,
        .done = on_done,
        .arg = &verdict};
    struct restore_stream *stream = restore_stream_start(&options, &err);

    assert_non_null(stream);
    assert_true(loop_until(loop, &verdict.done, 1));
    if (ret_bytes)
        *ret_bytes = restore_stream_bytes(stream);
    restore_stream_free(stream);
    loop_for(loop, 20);
    assert_int_equal(verdict.done, 1);
    loop_free(loop);
    return verdict;
}

static void test_children(void **state)
{
    static const struct {
        const char *download, *tool;
        enum error_kind kind;
        enum restore_place place;
        const char *says;
    } rows[] = {
        /* The task comes by descriptor 3 and the data arrives. */
        {"read -r t <&3; [ \"$t\" = '{\"secret\":1}' ] && echo data", "read -r x; [ \"$x\" = data ]", ERROR_NONE,
            RESTORE_AT_DATA, ""},
        /* What came looks whole to the tool, and is not. */
        {"echo half; echo '{\"state\":\"Failed\",\"errorReason\":\"Damaged\",\"message\":\"data-000002 is damaged\"}' >&2;"
         " echo '{\"msg\":\"the agent ends\"}' >&2; exit 1",
            "cat >/dev/null", ERROR_PROTOCOL, RESTORE_AT_DATA, "data-000002 is damaged"},
        {"echo '{\"state\":\"Failed\",\"errorReason\":\"StoreRefused\",\"message\":\"data-000003: gone\"}' >&2; exit 1",
            "cat >/dev/null; exit 1", ERROR_FORBIDDEN, RESTORE_AT_DATA, "data-000003"},
        {"kill -9 $$", "cat >/dev/null", ERROR_UNAVAILABLE, RESTORE_AT_DATA, "signal 9"},
        {"echo x; sleep 0.2; exit 7", "cat >/dev/null; exit 3", ERROR_UNAVAILABLE, RESTORE_AT_DATA, "status 7"},
        /* A tool that breaks off takes the download with it: its own words count. */
        {"head -c 3000000 /dev/zero", "head -c 5 >/dev/null; echo no space left >&2; exit 4", ERROR_IO,
            RESTORE_AT_TOOLS, "no space left"},
        /* The tool chokes on what is known to be damaged only later. */
        {"echo bad; sleep 0.3; head -c 300000 /dev/zero; echo '{\"state\":\"Failed\",\"errorReason\":\"Damaged\",\"message\":"
         "\"data-000001 is damaged\"}' >&2; exit 1",
            "read -r x; echo invalid checksum >&2; exit 1", ERROR_PROTOCOL, RESTORE_AT_DATA, "data-000001 is damaged"},
        {"sleep 0.5", "echo cannot begin >&2; exit 5", ERROR_IO, RESTORE_AT_TOOLS, "cannot begin"},
        {"head -c 3000000 /dev/zero", "head -c 100 >/dev/null", ERROR_IO, RESTORE_AT_TOOLS, "status 0"},
        {"echo all", "exit 6", ERROR_IO, RESTORE_AT_TOOLS, "status 6"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct verdict verdict = play(rows[i].download, rows[i].tool, NULL);
        if (verdict.error.kind != rows[i].kind || verdict.place != rows[i].place ||
            !strstr(verdict.error.message, rows[i].says))
            fail_msg(
                "row %zu: %s at %d: %s", i, error_kind_name(verdict.error.kind), verdict.place, verdict.error.message);
    }
    uint64_t bytes = 0;
    play("echo '{\"state\":\"Running\",\"rawBytes\":12345}' >&2; sleep 0.1; echo x", "cat >/dev/null", &bytes);
    assert_int_equal(bytes, 12345);
}

static void test_failures_that_a_child_says(void **state)
{
    static const struct {
        const char *said;
        enum restore_reason reason;
        enum restore_retry retry;
    } rows[] = {
        {"GapInArchive", RESTORE_REASON_GAP_IN_ARCHIVE, RESTORE_GIVE_UP},
        {"BackupTooNew", RESTORE_REASON_BACKUP_TOO_NEW, RESTORE_GIVE_UP},
        {"BackupDamaged", RESTORE_REASON_BACKUP_DAMAGED, RESTORE_GIVE_UP},
        {"TargetNotCovered", RESTORE_REASON_TARGET_NOT_COVERED, RESTORE_RETRY_SLOWLY},
        {"StoreUnavailable", RESTORE_REASON_STORE_UNAVAILABLE, RESTORE_RETRY},
        {"Cancelled", RESTORE_REASON_TOOL_FAILED, RESTORE_RETRY},
        {"", RESTORE_REASON_TOOL_FAILED, RESTORE_RETRY},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct restore_failure failure = restore_failure_of(restore_reason_parse(rows[i].said));
        assert_int_equal(failure.reason, rows[i].reason);
        assert_int_equal(failure.retry, rows[i].retry);
    }
}

static void test_reasons_have_names(void **state)
{
    UNUSED(state);
    for (int reason = 0; reason < RESTORE_REASON_COUNT; reason++)
        assert_int_equal(restore_reason_parse(restore_reason_name((enum restore_reason)reason)), reason);
    assert_int_equal(restore_reason_parse(NULL), RESTORE_REASON_NONE);
    assert_int_equal(restore_reason_parse("OfANewerAgent"), RESTORE_REASON_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures_that_a_child_says),
        cmocka_unit_test(test_reasons_have_names),
        cmocka_unit_test(test_manifest_fits_server),
        cmocka_unit_test(test_files_need_a_tool),
        cmocka_unit_test(test_what_follows_from_a_failure),
        cmocka_unit_test(test_full_volume),
        cmocka_unit_test(test_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
