/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates: what is made is accepted, and each kind of wrong one is named. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/tests/http_util.h"

static const char *const names[] = {"db.ns.svc", "*.db.ns.svc", NULL};
static const char *const inside_wildcard[] = {"db-0.db.ns.svc", NULL};
static const char *const elsewhere[] = {"db.other.svc", NULL};
static const char *const too_deep[] = {"a.b.db.ns.svc", NULL};
static const char *const with_comma[] = {"a,DNS:evil.test", NULL};
static const char *const evil[] = {"evil.test", NULL};

static void test_issue_and_check(void **state)
{
    UNUSED(state);
    const int64_t now_ms = clock_realtime_ms();
    struct error err = ERROR_INIT;
    struct tls_keypair ca = test_ca("ca");
    struct tls_keypair other = test_ca("other");
    struct tls_keypair leaf = test_leaf(&ca, names);
    const struct tls_keypair mixed = {.key_pem = ca.key_pem, .cert_pem = leaf.cert_pem};
    struct tls_cert_info info = {0};
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, names, now_ms, &info, &err), 0);
    assert_true(info.not_after_ms > now_ms && !info.is_ca && strlen(info.fingerprint_sha256) == 64);
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, inside_wildcard, now_ms, NULL, &err), 0);
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, elsewhere, now_ms, NULL, &err), -1);
    assert_non_null(strstr(err.message, "db.other.svc"));
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, too_deep, now_ms, NULL, &err), -1);
    assert_int_equal(tls_cert_check(&leaf, other.cert_pem, names, now_ms, NULL, &err), -1);
    assert_int_equal(tls_cert_check(&leaf, "", names, now_ms, NULL, &err), -1);
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, names, now_ms + 3601000, NULL, &err), -1);
    assert_non_null(strstr(err.message, "expired"));
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, names, now_ms - 120000, NULL, &err), -1);
    assert_int_equal(tls_cert_check(&mixed, ca.cert_pem, names, now_ms, NULL, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    tls_keypair_release(&ca);
    tls_keypair_release(&other);
    tls_keypair_release(&leaf);
}

static void test_names_are_not_a_language(void **state)
{
    UNUSED(state);
    struct tls_keypair ca = test_ca("ca");
    struct tls_keypair leaf = test_leaf(&ca, with_comma);
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, evil, clock_realtime_ms(), NULL, NULL), -1);
    tls_keypair_release(&leaf);
    tls_keypair_release(&ca);
}

static void test_inspect(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct tls_cert_info ca_info;
    struct tls_cert_info leaf_info;
    struct tls_keypair ca = test_ca("ca");
    struct tls_keypair leaf = test_leaf(&ca, names);
    assert_int_equal(tls_cert_inspect(ca.cert_pem, &ca_info, &err), 0);
    assert_int_equal(tls_cert_inspect(leaf.cert_pem, &leaf_info, &err), 0);
    assert_true(ca_info.is_ca);
    assert_false(leaf_info.is_ca);
    assert_int_equal(strlen(leaf_info.fingerprint_sha256), 64);
    assert_string_not_equal(ca_info.fingerprint_sha256, leaf_info.fingerprint_sha256);
    assert_int_equal(leaf_info.not_after_ms - leaf_info.not_before_ms, 3660000);
    assert_in_range(leaf_info.not_after_ms, clock_realtime_ms() + 3500000, clock_realtime_ms() + 3601000);
    assert_int_equal(tls_cert_inspect("nonsense", &leaf_info, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(tls_cert_inspect(NULL, &leaf_info, &err), -1);
    tls_keypair_release(&ca);
    tls_keypair_release(&leaf);
}

static void test_issue_needs_a_ca(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct tls_keypair a = test_ca("a");
    struct tls_keypair b = test_ca("b");
    struct tls_keypair out = {.key_pem = NULL};
    const struct tls_keypair mixed = {.key_pem = a.key_pem, .cert_pem = b.cert_pem};
    const struct tls_keypair empty = {.key_pem = NULL};
    const struct tls_cert_request request = {.common_name = "x", .not_after_ms = 1};
    assert_int_equal(tls_issue(&mixed, &request, &out, &err), -1);
    assert_int_equal(tls_issue(&empty, &request, &out, &err), -1);
    assert_null(out.key_pem);
    tls_keypair_release(&a);
    tls_keypair_release(&b);
}

static void test_text(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {
        "a", "ab=c", "=aaa", "a===", "====", "ab c", "ab\nc", "YQ==YQ==", "\xff\xff\xff\xff"};
    static const char *const plain[] = {"", "a", "ab", "abc", "abcd"};
    static const char *const coded[] = {"", "YQ==", "YWI=", "YWJj", "YWJjZA=="};
    struct error err = ERROR_INIT;
    char hex[65];
    size_t len = 9;
    tls_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        char *text = tls_base64_encode(plain[i], strlen(plain[i]));
        assert_string_equal(text, coded[i]);
        char *back = tls_base64_decode(text, strlen(text), &len, &err);
        assert_string_equal(back, plain[i]);
        assert_int_equal(len, strlen(plain[i]));
        free(text);
        free(back);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_null(tls_base64_decode(bad[i], strlen(bad[i]), &len, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void test_password(void **state)
{
    UNUSED(state);
    size_t counts[256] = {0};
    char *password = tls_random_password(62000);
    assert_int_equal(strlen(password), 62000);
    for (size_t i = 0; password[i]; i++)
        counts[(unsigned char)password[i]]++;
    size_t kinds = 0;
    for (size_t i = 0; i < 256; i++) {
        if (counts[i] == 0)
            continue;
        kinds++;
        assert_in_range(counts[i], 750, 1250); /* 1000 expected, 8 standard deviations */
    }
    assert_int_equal(kinds, 62);
    char *again = tls_random_password(24);
    char *other = tls_random_password(24);
    assert_string_not_equal(again, other);
    secret_free(password);
    secret_free(again);
    secret_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_issue_and_check),
        cmocka_unit_test(test_names_are_not_a_language),
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_issue_needs_a_ca),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
