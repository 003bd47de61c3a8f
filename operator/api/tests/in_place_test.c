/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation restore-in-place: what is read of it and what is refused; and what the status keeps of it. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/in_place_status.h"
#include "operator/api/in_place_wish.h"

#define UUID "3E11FA47-71CA-11E1-9E33-C80AA9429562"

static void test_wishes(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text, *backup;
        enum restore_point point;
        int64_t until_ms;
        const char *until_gtid;
    } rows[] = {
        {"nightly", "nightly", RESTORE_POINT_NONE, 0, NULL},
        {"db-final.2", "db-final.2", RESTORE_POINT_NONE, 0, NULL},
        {"nightly@latest", "nightly", RESTORE_POINT_LATEST, 0, NULL},
        {"nightly@2026-11-21T12:00:00Z", "nightly", RESTORE_POINT_TIME, 1795262400000, NULL},
        {"nightly@0-1-4711", "nightly", RESTORE_POINT_GTID, 0, "0-1-4711"},
        {"nightly@" UUID ":1-5", "nightly", RESTORE_POINT_GTID, 0, UUID ":1-5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct in_place_wish wish;
        in_place_wish_read(rows[i].text, &wish);
        assert_string_equal(wish.problem, "");
        assert_int_equal(wish.spec.source, RESTORE_SOURCE_BACKUP);
        assert_string_equal(wish.spec.backup, rows[i].backup);
        assert_int_equal(wish.spec.point, rows[i].point);
        assert_int_equal(wish.spec.until_ms, rows[i].until_ms);
        assert_true(str_eq(wish.spec.until_gtid, rows[i].until_gtid) || wish.spec.until_gtid == rows[i].until_gtid);
        in_place_wish_release(&wish);
    }
}

static void test_no_wishes(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"Nightly", "is no name"},
        {"@latest", "is no name"},
        {"a b", "is no name"},
        {"nightly@", "neither a time"},
        {"nightly@noon", "neither a time"},
        {"nightly@2026-11-21 12:00", "neither a time"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct in_place_wish wish;
        in_place_wish_read(rows[i].text, &wish);
        assert_null(wish.document);
        assert_null(wish.spec.document);
        if (!strstr(wish.problem, rows[i].says) || !strstr(wish.problem, "kubemysql.dev/restore-in-place"))
            fail_msg("%s: %s", rows[i].text, wish.problem);
        in_place_wish_release(&wish);
    }
    struct in_place_wish none;
    in_place_wish_read(NULL, &none);
    assert_string_equal(none.text, "");
    assert_string_equal(none.problem, "");
    in_place_wish_release(&none);
    char *text = xmalloc(IN_PLACE_WISH_SIZE + 1);
    memset(text, 'a', IN_PLACE_WISH_SIZE);
    text[IN_PLACE_WISH_SIZE] = '\0';
    in_place_wish_read(text, &none);
    assert_non_null(strstr(none.problem, "too long"));
    in_place_wish_release(&none);
    free(text);
}

static void test_status(void **state)
{
    UNUSED(state);
    static const char text[] =
        "{\"phase\":\"Reseeding\",\"wish\":\"nightly@latest\",\"member\":\"shop-mysql-1\",\"reason\":\"Because\","
        "\"message\":\"of it\",\"number\":3,\"taken\":2,\"takenEpoch\":41,\"stale\":[0,2],\"startTime\":\"2026-11-21T12:00:00Z\","
        "\"completionTime\":\"2026-11-21T12:05:00Z\",\"source\":{\"phase\":\"Restoring\",\"backup\":\"b-1\"}}";
    struct cluster_in_place in_place, copy;
    _cleanup_(json_decrefp) json_t *json = json_parse(text, strlen(text), NULL);
    cluster_in_place_decode(json, &in_place);
    assert_int_equal(in_place.phase, IN_PLACE_PHASE_RESEEDING);
    assert_int_equal(in_place.stale, 5);
    assert_int_equal(in_place.taken_epoch, 41);
    assert_string_equal(in_place.source.backup, "b-1");
    cluster_in_place_copy(&in_place, &copy);
    cluster_in_place_release(&in_place);
    _cleanup_(json_decrefp) json_t *again = cluster_in_place_encode(&copy);
    assert_true(json_equal(json, again));
    cluster_in_place_release(&copy);
    assert_null(cluster_in_place_encode(&copy));
    cluster_in_place_decode(NULL, &copy);
    assert_int_equal(copy.phase, IN_PLACE_PHASE_NONE);
    /* Of a newer operator: nobody else is opened. */
    _cleanup_(json_decrefp) json_t *newer = json_build("{s:s}", "phase", "Polishing");
    cluster_in_place_decode(newer, &copy);
    assert_int_equal(copy.phase, IN_PLACE_PHASE_TAKING);
}

static void test_history(void **state)
{
    UNUSED(state);
    char name[64];
    cluster_history_name("0f2c", 0, name, sizeof(name));
    assert_string_equal(name, "0f2c");
    cluster_history_name("0f2c", 12, name, sizeof(name));
    assert_string_equal(name, "0f2c-r12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_no_wishes),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
