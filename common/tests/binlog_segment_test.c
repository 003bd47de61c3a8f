/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a segment exist, its name, and each way in which it must not be believed. */
#include "common/base.h"

#include "common/binlog_segment.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backup_seal.h"
#include "common/json.h"
#include "common/tests/document_util.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define UUID "3e11fa47-71ca-11e1-9e33-c80aa9429562"
#define NAME "0000000007-0000000012-20261121T204512Z"
#define NAME_MS 1795293912000

static const unsigned char user_key[BACKUP_KEY_BYTES] = {9, 8, 7};
static const unsigned char other_key[BACKUP_KEY_BYTES] = {9, 8, 6};

static struct binlog_segment make(bool sealed)
{
    struct binlog_segment segment = {
        .name = {.epoch = 7, .sequence = 12, .archived_ms = NAME_MS},
        .ns = "shop",
        .cluster = "db",
        .cluster_uid = "0f2c",
        .writer = "db-mysql-1",
        .flavour = "mariadb",
        .server_version = "10.11.19-MariaDB",
        .after = "0-1-42",
        .until = "0-1-50",
        .previous = SHA_A,
        .first_ms = 1795293900000,
        .last_ms = 1795293899000, /* clocks go back */
        .count = 8,
        .raw_bytes = 4000,
        .stored_bytes = 1500,
        .sha256 = SHA_B,
    };

    if (sealed) {
        segment.sealed = true;
        backup_key_id(user_key, segment.key_id);
        memset(segment.salt, 0x5a, sizeof(segment.salt));
    }
    return segment;
}

static void encode(bool sealed, struct strbuf *out)
{
    struct binlog_segment segment = make(sealed);

    strbuf_init(out, BINLOG_SEGMENT_META_MAX);
    binlog_segment_encode(&segment, user_key, out);
    assert_false(out->overflowed);
}

static void test_golden(void **state)
{
    _cleanup_(strbuf_release) struct strbuf text;

    UNUSED(state);
    encode(false, &text);
    assert_string_equal(text.buf,
        "{\"after\":\"0-1-42\",\"archivedMs\":1795293912000,\"cluster\":\"db\",\"clusterUID\":\"0f2c\","
        "\"compression\":\"zstd\",\"epoch\":7,\"firstMs\":1795293900000,\"flavour\":\"mariadb\",\"format\":1,"
        "\"lastMs\":1795293899000,\"namespace\":\"shop\",\"previous\":\"" SHA_A "\",\"rawBytes\":4000,\"sequence\":12,"
        "\"serverVersion\":\"10.11.19-MariaDB\",\"sha256\":\"" SHA_B "\",\"storedBytes\":1500,\"transactions\":8,"
        "\"until\":\"0-1-50\",\"writer\":\"db-mysql-1\"}");
}

static void test_round_trip(void **state)
{
    UNUSED(state);
    for (int sealed = 0; sealed < 2; sealed++) {
        _cleanup_(strbuf_release) struct strbuf text;
        struct binlog_segment segment = make(sealed);
        _cleanup_(position_pool_unrefp) struct position_pool *positions =
            position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
        struct binlog_segment got;
        encode(sealed, &text);
        assert_int_equal(binlog_segment_decode(text.buf, text.len, sealed ? user_key : NULL, positions, &got, NULL), 0);
        assert_memory_equal(&got.name, &segment.name, sizeof(got.name));
        assert_string_equal(got.writer, segment.writer);
        assert_string_equal(got.after, segment.after);
        assert_string_equal(got.until, segment.until);
        assert_string_equal(got.previous, segment.previous);
        assert_true(got.first_ms == segment.first_ms && got.last_ms == segment.last_ms && got.count == 8);
        assert_int_equal(got.sealed, sealed);
        assert_memory_equal(got.salt, segment.salt, sizeof(got.salt));
    }
}

/* What a MySQL cluster has after 400 servers, both ways. */
static void test_many_servers(void **state)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    _cleanup_(strbuf_release) struct strbuf text, again, after, until;
    struct binlog_segment segment = make(true);
    struct binlog_segment got;

    UNUSED(state);
    strbuf_init(&after, POSITION_TEXT_MAX);
    strbuf_init(&until, POSITION_TEXT_MAX);
    document_servers(400, 41, &after);
    document_servers(400, 42, &until);
    assert_true(after.len > 16000);
    snprintf(segment.flavour, sizeof(segment.flavour), "mysql");
    segment.after = after.buf;
    segment.until = until.buf;
    strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
    strbuf_init(&again, BINLOG_SEGMENT_META_MAX);
    binlog_segment_encode(&segment, user_key, &text);
    assert_int_equal(binlog_segment_decode(text.buf, text.len, user_key, positions, &got, NULL), 0);
    assert_string_equal(got.after, after.buf);
    assert_string_equal(got.until, until.buf);
    binlog_segment_encode(&got, user_key, &again);
    assert_string_equal(again.buf, text.buf);
}

/* The longest positions that a segment can have still fit. */
static void test_largest(void **state)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    _cleanup_(strbuf_release) struct strbuf text, after, until;
    struct binlog_segment segment = make(true);
    struct binlog_segment got;

    UNUSED(state);
    snprintf(segment.flavour, sizeof(segment.flavour), "percona");
    strbuf_init(&after, POSITION_TEXT_MAX);
    strbuf_init(&until, POSITION_TEXT_MAX);
    strbuf_addf(&after, "%s:1", UUID);
    strbuf_addf(&until, "%s:1-2", UUID);
    for (unsigned number = 10001; until.len + 6 <= POSITION_TEXT_MAX; number += 2) {
        strbuf_addf(&after, ":%u", number);
        strbuf_addf(&until, ":%u", number);
    }
    segment.after = after.buf;
    segment.until = until.buf;
    strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
    binlog_segment_encode(&segment, user_key, &text);
    assert_false(text.overflowed);
    assert_int_equal(binlog_segment_decode(text.buf, text.len, user_key, positions, &got, NULL), 0);
    assert_string_equal(got.after, after.buf);
    assert_string_equal(got.until, until.buf);
}

/* NULL removes the member. */
static void assert_refused(bool sealed, const char *key, json_t *value, const char *says)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(strbuf_release) struct strbuf other;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment got;
    struct error err = ERROR_INIT;

    encode(sealed, &text);
    strbuf_init(&other, BINLOG_SEGMENT_META_MAX);
    document_with(&text, key, value, &other);
    assert_int_equal(binlog_segment_decode(other.buf, other.len, sealed ? user_key : NULL, positions, &got, &err), -1);
    assert_non_null(strstr(err.message, says));
    assert_int_equal(err.kind, str_eq(says, "altered") ? ERROR_FORBIDDEN : ERROR_PROTOCOL);
}

static void test_what_is_not_understood(void **state)
{
    UNUSED(state);
    assert_refused(false, "format", json_integer(2), "format");
    assert_refused(false, "format", NULL, "format");
    assert_refused(false, "later", json_true(), "\"later\" is not known");
    assert_refused(false, "compression", json_string("lzma"), "compression");
    assert_refused(false, "compression", NULL, "compression");
    assert_refused(false, "flavour", json_string("oracle"), "flavour");
    assert_refused(false, "flavour", NULL, "flavour");
    assert_refused(false, "until", json_integer(1), "until");
    assert_refused(false, "until", document_long_text(POSITION_TEXT_MAX + 1), "until: too long");
    assert_refused(false, "after", document_long_text((size_t)(65 * KM_KIB)), "after: too long");
    assert_refused(false, "firstMs", json_string("now"), "firstMs");
    assert_refused(false, "gap", json_integer(1), "gap");
}

static void test_names_in_it(void **state)
{
    UNUSED(state);
    assert_refused(false, "namespace", json_string("a/b"), "namespace: not a name");
    assert_refused(false, "cluster", NULL, "cluster: not a name");
    assert_refused(false, "clusterUID", json_string(".."), "clusterUID: not a name");
    assert_refused(false, "writer", json_stringn("a\0b", 3), "NUL");
    assert_refused(false, "sequence", json_integer(0), "sequence");
    assert_refused(false, "sequence", json_integer(10000000000), "sequence");
    assert_refused(false, "epoch", json_integer(10000000000), "epoch");
    assert_refused(false, "chainEpoch", json_integer(8), "chainEpoch");
    assert_refused(false, "archivedMs", json_integer(NAME_MS + 1), "archivedMs");
    assert_refused(false, "archivedMs", json_integer(INT64_MAX), "archivedMs");
}

static void test_contents(void **state)
{
    UNUSED(state);
    assert_refused(false, "firstMs", json_integer(1), "firstMs: no whole second");
    assert_refused(false, "lastMs", json_integer(1795293912001), "lastMs: no whole second");
    assert_refused(false, "transactions", json_integer(0), "transactions");
    assert_refused(false, "rawBytes", NULL, "rawBytes");
    assert_refused(false, "storedBytes", json_integer(-1), "storedBytes");
    assert_refused(false, "storedBytes", NULL, "storedBytes");
    assert_refused(false, "compression", json_string("none"), "rawBytes");
    assert_refused(false, "sha256", json_string("AAAA"), "sha256");
    assert_refused(false, "sha256", NULL, "sha256");
    assert_refused(false, "previous", NULL, "previous: is missing");
    assert_refused(false, "previous", json_string("AAAA"), "previous");
    assert_refused(false, "sequence", json_integer(1), "previous: an epoch's first");
    assert_refused(false, "after", json_string("yesterday"), "after");
    assert_refused(false, "until", json_string("0-1-42"), "until: not more");
    assert_refused(false, "until", json_string("0-1-41"), "until: not more");
    assert_refused(false, "after", json_string("0-1-42,1-1-3"), "until: not more");
    assert_refused(false, "flavour", json_string("mysql"), "after");
}

static void test_sealed(void **state)
{
    UNUSED(state);
    assert_refused(true, "salt", json_string("5a"), "salt");
    assert_refused(true, "salt", NULL, "only some");
    assert_refused(true, "mac", NULL, "only some");
    assert_refused(true, "mac", json_string("zz"), "mac");
    assert_refused(true, "keyId", json_string("AFC55239D0CD6092"), "keyId");
    assert_refused(true, "until", json_string("0-1-51"), "altered");
    assert_refused(true, "after", json_string("0-1-41"), "altered");
    assert_refused(true, "sequence", json_integer(13), "altered");
    assert_refused(true, "previous", json_string(SHA_B), "altered");
    assert_refused(true, "sha256", json_string(SHA_A), "altered");
    assert_refused(true, "gap", json_true(), "altered");
    assert_refused(true, "writer", NULL, "altered");
    assert_refused(true, "mac", json_string(SHA_A), "altered");
}

static void test_wrong_keys(void **state)
{
    _cleanup_(strbuf_release) struct strbuf sealed;
    _cleanup_(strbuf_release) struct strbuf plain;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment got;
    struct error err = ERROR_INIT;

    UNUSED(state);
    encode(true, &sealed);
    encode(false, &plain);
    assert_int_equal(binlog_segment_decode(sealed.buf, sealed.len, other_key, positions, &got, &err), -1);
    assert_int_equal(err.kind, ERROR_FORBIDDEN);
    assert_non_null(strstr(err.message, "another key"));
    assert_int_equal(binlog_segment_decode(plain.buf, plain.len, user_key, positions, &got, &err), -1);
    assert_int_equal(err.kind, ERROR_FORBIDDEN);
    /* Without a key at least everything else is checked. */
    assert_int_equal(binlog_segment_decode(sealed.buf, sealed.len, NULL, positions, &got, &err), 0);
}

static void test_truncated_and_too_large(void **state)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(freep) char *large = xmalloc(BINLOG_SEGMENT_META_MAX + 1);
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment got;
    struct error err = ERROR_INIT;

    UNUSED(state);
    encode(false, &text);
    for (size_t len = 0; len < text.len; len++)
        assert_int_equal(binlog_segment_decode(text.buf, len, NULL, positions, &got, NULL), -1);
    memset(large, ' ', BINLOG_SEGMENT_META_MAX + 1);
    memcpy(large, text.buf, text.len);
    assert_int_equal(binlog_segment_decode(large, BINLOG_SEGMENT_META_MAX, NULL, positions, &got, NULL), 0);
    assert_int_equal(binlog_segment_decode(large, BINLOG_SEGMENT_META_MAX + 1, NULL, positions, &got, &err), -1);
    assert_non_null(strstr(err.message, "too many"));
}

static void test_names_of_objects(void **state)
{
    const struct binlog_segment_name name = {.epoch = 7, .sequence = 12, .archived_ms = NAME_MS};
    struct binlog_segment_name got;
    char text[BINLOG_SEGMENT_NAME_SIZE];
    bool is_meta = false;
    _cleanup_(strbuf_release) struct strbuf folder;

    UNUSED(state);
    binlog_segment_name_print(&name, text);
    assert_string_equal(text, NAME);
    assert_true(binlog_segment_name_parse(NAME ".json", &got, &is_meta));
    assert_memory_equal(&got, &name, sizeof(got));
    assert_true(is_meta);
    assert_true(binlog_segment_name_parse(NAME ".log", &got, &is_meta));
    assert_false(is_meta);
    assert_true(binlog_segment_name_parse("9999999999-9999999999-99991231T235959Z.log", &got, &is_meta));
    assert_true(got.epoch == 9999999999 && got.sequence == 9999999999);
    strbuf_init(&folder, 1000);
    binlog_folder_of("shop", "db", "0f2c", &folder);
    assert_string_equal(folder.buf, "shop/db/binlogs/0f2c");
}

static void test_what_is_no_name(void **state)
{
    static const char *const bad[] = {
        "",
        ".json",
        NAME,
        NAME ".jso",
        NAME ".json2",
        NAME ".log.json",
        "x" NAME ".json",
        "000000000a-0000000012-20261121T204512Z.json",
        "0000000007-0000000000-20261121T204512Z.json",
        "0000000007_0000000012-20261121T204512Z.json",
        "0000000007-0000000012-20261121T204512z.json",
        "0000000007-0000000012-20261321T204512Z.json",
        "0000000007-0000000012-20260230T204512Z.json",
        "0000000007-0000000012-19691231T235959Z.json",
        "0000000007-0000000012-2026-121T204512Z.json",
        "0000000007-0000000012-20261121T204560Z.json",
        "00000000007-000000012-20261121T204512Z.json",
    };
    struct binlog_segment_name got;
    bool is_meta = false;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (binlog_segment_name_parse(bad[i], &got, &is_meta))
            fail_msg("%s was taken for a name", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_many_servers),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_what_is_not_understood),
        cmocka_unit_test(test_names_in_it),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_sealed),
        cmocka_unit_test(test_wrong_keys),
        cmocka_unit_test(test_truncated_and_too_large),
        cmocka_unit_test(test_names_of_objects),
        cmocka_unit_test(test_what_is_no_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
