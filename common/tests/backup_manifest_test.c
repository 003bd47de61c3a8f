/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a backup exist, and each way in which it must not. */
#include "common/base.h"

#include "common/backup_manifest.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backup_seal.h"
#include "common/json.h"
#include "common/tests/document_util.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const unsigned char user_key[BACKUP_KEY_BYTES] = {9, 8, 7};
static const unsigned char other_key[BACKUP_KEY_BYTES] = {9, 8, 6};

static void make(struct backup_manifest *manifest, bool sealed)
{
    *manifest = (struct backup_manifest){
        .id = "20261121T204512Z-nightly-1",
        .ns = "shop",
        .cluster = "db",
        .cluster_uid = "0f2c",
        .stream = STREAM_METHOD_XBSTREAM,
        .flavour = "mariadb",
        .server_version = "10.11.19-MariaDB",
        .donor = "db-mysql-1",
        .started_ms = 1000,
        .completed_ms = 2000,
        .gtid = "0-1-42",
        .data_bytes = 5000,
        .raw_bytes = 4000,
        .stored_bytes = 1500,
        .part_bytes = 100,
        .piece_bytes = 1000,
    };
    backup_manifest_add_piece(manifest, 1000, SHA_A);
    backup_manifest_add_piece(manifest, 500, SHA_B);
    if (!sealed)
        return;
    manifest->sealed = true;
    backup_key_id(user_key, manifest->key_id);
    memset(manifest->salt, 0x5a, sizeof(manifest->salt));
}

static void encode(bool sealed, struct strbuf *out)
{
    struct backup_manifest manifest;

    make(&manifest, sealed);
    strbuf_init(out, BACKUP_MANIFEST_MAX);
    backup_manifest_encode(&manifest, user_key, out);
    backup_manifest_release(&manifest);
    assert_false(out->overflowed);
}

static void test_golden(void **state)
{
    _cleanup_(strbuf_release) struct strbuf text;

    UNUSED(state);
    encode(false, &text);
    assert_string_equal(text.buf,
        "{\"cluster\":\"db\",\"clusterUID\":\"0f2c\",\"completedMs\":2000,\"compression\":\"zstd\",\"dataBytes\":5000,"
        "\"donor\":\"db-mysql-1\",\"flavour\":\"mariadb\",\"format\":1,\"gtid\":\"0-1-42\","
        "\"id\":\"20261121T204512Z-nightly-1\",\"method\":\"physical\",\"namespace\":\"shop\",\"partBytes\":100,"
        "\"pieceBytes\":1000,\"pieces\":[{\"bytes\":1000,\"sha256\":\"" SHA_A "\"},{\"bytes\":500,\"sha256\":\"" SHA_B
        "\"}],\"rawBytes\":4000,\"serverVersion\":\"10.11.19-MariaDB\",\"startedMs\":1000,\"storedBytes\":1500,"
        "\"stream\":\"xbstream\"}");
}

static void test_round_trip(void **state)
{
    UNUSED(state);
    for (int sealed = 0; sealed < 2; sealed++) {
        _cleanup_(strbuf_release) struct strbuf text;
        _cleanup_(strbuf_release) struct strbuf again;
        struct backup_manifest got;
        encode(sealed, &text);
        assert_int_equal(backup_manifest_decode(text.buf, text.len, sealed ? user_key : NULL, &got, NULL), 0);
        assert_string_equal(got.gtid, "0-1-42");
        assert_int_equal(got.piece_count, 2);
        assert_string_equal(got.pieces[1].sha256, SHA_B);
        assert_int_equal(got.sealed, sealed);
        strbuf_init(&again, BACKUP_MANIFEST_MAX);
        backup_manifest_encode(&got, user_key, &again);
        assert_string_equal(again.buf, text.buf);
        backup_manifest_release(&got);
    }
}

/* What a MySQL cluster has after 400 servers, both ways. */
static void test_many_servers(void **state)
{
    UNUSED(state);
    for (int sealed = 0; sealed < 2; sealed++) {
        _cleanup_(strbuf_release) struct strbuf gtids, text, again;
        struct backup_manifest manifest, got;
        strbuf_init(&gtids, POSITION_TEXT_MAX);
        strbuf_init(&text, BACKUP_MANIFEST_MAX);
        strbuf_init(&again, BACKUP_MANIFEST_MAX);
        document_servers(400, 42, &gtids);
        make(&manifest, sealed);
        manifest.gtid = gtids.buf;
        backup_manifest_encode(&manifest, user_key, &text);
        assert_int_equal(backup_manifest_decode(text.buf, text.len, sealed ? user_key : NULL, &got, NULL), 0);
        assert_string_equal(got.gtid, gtids.buf);
        backup_manifest_encode(&got, user_key, &again);
        assert_string_equal(again.buf, text.buf);
        backup_manifest_release(&got);
        assert_null(got.gtid);
        backup_manifest_release(&manifest);
    }
}

/* NULL removes the member. */
static void assert_refused(bool sealed, const char *key, json_t *value, const char *says)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(strbuf_release) struct strbuf other;
    struct backup_manifest got;
    struct error err = ERROR_INIT;

    encode(sealed, &text);
    strbuf_init(&other, BACKUP_MANIFEST_MAX);
    document_with(&text, key, value, &other);
    assert_int_equal(backup_manifest_decode(other.buf, other.len, sealed ? user_key : NULL, &got, &err), -1);
    assert_non_null(strstr(err.message, says));
    assert_int_equal(err.kind, str_eq(says, "altered") ? ERROR_FORBIDDEN : ERROR_PROTOCOL);
}

static json_t *pieces(int first, int second)
{
    return json_build("[{s:i,s:s},{s:i,s:s}]", "bytes", first, "sha256", SHA_A, "bytes", second, "sha256", SHA_B);
}

static void test_what_is_not_understood(void **state)
{
    UNUSED(state);
    assert_refused(false, "format", json_integer(2), "format");
    assert_refused(false, "format", NULL, "format");
    assert_refused(false, "later", json_true(), "\"later\" is not known");
    assert_refused(false, "method", json_string("psychic"), "method");
    assert_refused(false, "method", NULL, "method");
    assert_refused(false, "stream", json_string(""), "stream");
    assert_refused(false, "compression", json_string("lzma"), "compression");
    assert_refused(false, "gtid", json_integer(1), "gtid");
    assert_refused(false, "gtid", document_long_text(POSITION_TEXT_MAX + 1), "gtid: too long");
    assert_refused(false, "startedMs", json_string("now"), "startedMs");
    assert_refused(false, "completedMs", json_integer(999), "completedMs");
    assert_refused(false, "rawBytes", json_integer(-1), "rawBytes");
}

static void test_names(void **state)
{
    UNUSED(state);
    assert_refused(false, "id", NULL, "id: not a name");
    assert_refused(false, "id", json_string("../other"), "id: not a name");
    assert_refused(false, "id", json_stringn("a\0b", 3), "NUL");
    assert_refused(false, "namespace", json_string("a/b"), "namespace");
    assert_refused(false, "cluster", json_string(".."), "cluster");
}

static void test_sizes(void **state)
{
    UNUSED(state);
    assert_refused(false, "pieces", NULL, "pieces");
    assert_refused(false, "pieces", json_array(), "pieces");
    assert_refused(false, "pieces", json_string("none"), "pieces");
    assert_refused(false, "pieces", pieces(1000, 501), "storedBytes");
    assert_refused(false, "pieces", pieces(999, 501), "pieces[0].bytes");
    assert_refused(false, "pieces", pieces(1000, 1001), "pieces[1].bytes");
    assert_refused(false, "pieces", pieces(1000, 0), "pieces[1]");
    assert_refused(false, "pieces", json_build("[{s:i,s:s}]", "bytes", 1500, "sha256", "AAAA"), "pieces[0]");
    assert_refused(false, "storedBytes", json_integer(1499), "storedBytes");
    assert_refused(false, "partBytes", json_integer(0), "partBytes");
    assert_refused(false, "pieceBytes", json_integer(99), "pieceBytes");
    assert_refused(false, "compression", json_string("none"), "rawBytes");
}

static void test_sealed(void **state)
{
    UNUSED(state);
    assert_refused(true, "salt", json_string("5a"), "salt");
    assert_refused(true, "salt", NULL, "only some");
    assert_refused(true, "mac", NULL, "only some");
    assert_refused(true, "mac", json_string("zz"), "mac");
    assert_refused(true, "keyId", json_string("AFC55239D0CD6092"), "keyId");
    assert_refused(true, "gtid", json_string("0-1-43"), "altered");
    assert_refused(true, "donor", NULL, "altered");
    assert_refused(true, "rawBytes", json_integer(3999), "altered");
    assert_refused(true, "mac", json_string(SHA_A), "altered");
}

static void test_wrong_keys(void **state)
{
    _cleanup_(strbuf_release) struct strbuf sealed;
    _cleanup_(strbuf_release) struct strbuf plain;
    struct backup_manifest got;
    struct error err = ERROR_INIT;

    UNUSED(state);
    encode(true, &sealed);
    encode(false, &plain);
    assert_int_equal(backup_manifest_decode(sealed.buf, sealed.len, other_key, &got, &err), -1);
    assert_int_equal(err.kind, ERROR_FORBIDDEN);
    assert_non_null(strstr(err.message, "another key"));
    /* Somebody without the key cannot put another backup in its place. */
    assert_int_equal(backup_manifest_decode(plain.buf, plain.len, user_key, &got, &err), -1);
    assert_int_equal(err.kind, ERROR_FORBIDDEN);
    /* Without a key at least everything else is checked. */
    assert_int_equal(backup_manifest_decode(sealed.buf, sealed.len, NULL, &got, &err), 0);
    backup_manifest_release(&got);
}

static void test_truncated(void **state)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct backup_manifest got;

    UNUSED(state);
    encode(false, &text);
    for (size_t len = 0; len < text.len; len++)
        assert_int_equal(backup_manifest_decode(text.buf, len, NULL, &got, NULL), -1);
}

static void test_names_of_objects(void **state)
{
    char id[BACKUP_ID_SIZE];
    char name[16];
    _cleanup_(freep) char *long_name = xmalloc(301);
    _cleanup_(strbuf_release) struct strbuf folder;

    UNUSED(state);
    backup_piece_name(0, name);
    assert_string_equal(name, "data-000001");
    backup_piece_name(BACKUP_PIECES_MAX - 1, name);
    assert_string_equal(name, "data-020000");
    backup_id_make(1795293912000, "nightly", 3, id);
    assert_string_equal(id, "20261121T204512Z-nightly-3");
    memset(long_name, 'n', 300);
    long_name[300] = '\0';
    backup_id_make(1795293912000, long_name, 4294967295u, id);
    assert_int_equal(strlen(id), BACKUP_ID_SIZE - 1);
    assert_non_null(strstr(id, "n-4294967295"));
    strbuf_init(&folder, 1000);
    backup_folder_of("shop", "db", "ID", &folder);
    assert_string_equal(folder.buf, "shop/db/backups/ID");
    strbuf_reset(&folder);
    backup_folder_of("shop", "db", NULL, &folder);
    assert_string_equal(folder.buf, "shop/db/backups/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_many_servers),
        cmocka_unit_test(test_what_is_not_understood),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_sealed),
        cmocka_unit_test(test_wrong_keys),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_names_of_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
