/* SPDX-License-Identifier: Apache-2.0 */
/* Who lacks what is in the binary logs that the primary of three, shop-mysql-0, wishes to remove. */
#include "common/base.h"

#include "operator/cluster/state/binlog_claims.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/reconcile/cluster_notes.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define A "3e11fa47-71ca-11e1-9e33-c80aa9429562"
#define HOUR_MS (60 * 60 * 1000)

#define CLUSTER                                                                               \
    "{\"spec\":{\"replicas\":3,\"config\":{\"spec\":{\"images\":{\"mysql\":\"mysql:8.4\"}}}," \
    "\"storage\":{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}%s},"                    \
    "\"status\":{\"epoch\":1,\"initialized\":true,\"currentPrimary\":\"shop-mysql-0\"%s}}"
#define OBSERVED                                                                                       \
    "{\"children\":{},\"pods\":{\"0\":{},\"1\":{},\"2\":{}},\"claims\":{\"0\":{},\"1\":{},\"2\":{}}, " \
    "\"agents\":{\"0\":%s,\"1\":%s,\"2\":%s},\"unheardMs\":{\"2\":%d},\"cutOff\":[%s]}"

#define WISH(after) "\"purgeWish\":\"0123456789abcdef\",\"purgeUntil\":\"binlog.000009\",\"purgeAfter\":\"" after "\""
#define MYSQL "\"flavour\":\"mysql\","
#define MARIADB "\"flavour\":\"mariadb\","
#define HAS(position) "{\"gtidExecuted\":\"" position "\"}"
#define ARCHIVES                                                                       \
    ",\"backup\":{\"binlogs\":{\"enabled\":true},\"destination\":{\"s3\":{\"bucket\":" \
    "\"bkt\",\"credentialsSecret\":{\"name\":\"s\"}}}}"
#define ARCHIVED(position) ",\"archive\":{\"task\":\"0123456789abcdef\",\"known\":true,\"untilGtid\":\"" position "\"}"

static const struct {
    const char *what, *spec, *status, *agents[3];
    bool cut_off;
    int unheard_ms;
    bool is_free;
    const char *why, *lapsed;
} rows[] = {
    {"all have it", "", "", {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-90"), HAS(A ":1-100")}, false, 0, true, "", NULL},
    {"MariaDB: all have it", "", "", {"{" MARIADB WISH("0-1-90") "}", HAS("0-1-90"), HAS("0-1-95")}, false, 0, true, "",
        NULL},
    {"MariaDB: by the domain's number, whoever wrote it", "", "",
        {"{" MARIADB WISH("0-1-90") "}", HAS("0-2-93"), HAS("0-2-93")}, false, 0, true, "", NULL},
    {"one lacks some", "", "", {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-89"), HAS(A ":1-100")}, false, 0, false,
        "shop-mysql-1 lacks some of them", NULL},
    {"MariaDB: one lacks some", "", "", {"{" MARIADB WISH("0-1-90,7-1-3") "}", HAS("0-1-90,7-1-3"), HAS("0-1-99,7-1-2")},
        false, 0, false, "shop-mysql-2 lacks some of them", NULL},
    {"one is being copied", "", "",
        {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-90"), "{\"phase\":\"Seeding\",\"seed\":\"Copying\"}"}, false, 0,
        false, "shop-mysql-2 is being copied", NULL},
    {"one was never heard", "", "", {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-90"), "null"}, false, 1000, false,
        "shop-mysql-2 has not been heard", NULL},
    {"one that has it is silent", "", "", {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-90"), HAS(A ":1-90")}, true,
        2 * HOUR_MS, true, "", NULL},
    {"one that lacks some is silent for an hour: there is room", "", "",
        {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-90"), HAS(A ":1-80")}, true, HOUR_MS, false,
        "shop-mysql-2 lacks some of them", NULL},
    {"room is lacking, and it is silent for less", "", "",
        {"{" MYSQL WISH(A ":1-90") ",\"purgeForRoom\":true}", HAS(A ":1-90"), HAS(A ":1-80")}, true, HOUR_MS - 1, false,
        "shop-mysql-2 lacks some of them", NULL},
    {"room is lacking", "", "", {"{" MYSQL WISH(A ":1-90") ",\"purgeForRoom\":true}", HAS(A ":1-90"), HAS(A ":1-80")},
        true, HOUR_MS, true, "", "shop-mysql-2"},
    {"room is lacking, and it was never heard", "", "",
        {"{" MYSQL WISH(A ":1-90") ",\"purgeForRoom\":true}", HAS(A ":1-90"), "null"}, false, HOUR_MS, true, "",
        "shop-mysql-2"},
    {"room is lacking, and it is heard", "", "",
        {"{" MYSQL WISH(A ":1-90") ",\"purgeForRoom\":true}", HAS(A ":1-90"), HAS(A ":1-80")}, false, HOUR_MS, false,
        "shop-mysql-2 lacks some of them", NULL},
    {"a claim lapses, another one counts", "", "",
        {"{" MYSQL WISH(A ":1-90") ",\"purgeForRoom\":true}", HAS(A ":1-80"), HAS(A ":1-80")}, true, HOUR_MS, false,
        "shop-mysql-1 lacks some of them", NULL},
    {"archived", ARCHIVES, "", {"{" MYSQL WISH(A ":1-90") ARCHIVED(A ":1-95") "}", HAS(A ":1-90"), HAS(A ":1-90")},
        false, 0, true, "", NULL},
    {"not archived yet", ARCHIVES, "",
        {"{" MYSQL WISH(A ":1-90") ARCHIVED(A ":1-85") "}", HAS(A ":1-90"), HAS(A ":1-90")}, false, 0, false,
        "they are not archived yet", NULL},
    {"nothing is known of the archive", ARCHIVES, "", {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-90"), HAS(A ":1-90")},
        false, 0, false, "they are not archived yet", NULL},
    {"the archive outlives any lack of room", ARCHIVES, "",
        {"{" MYSQL WISH(A ":1-90") ",\"purgeForRoom\":true" ARCHIVED(A ":1-85") "}", HAS(A ":1-90"), HAS(A ":1-80")},
        true, HOUR_MS, false, "they are not archived yet", NULL},
    {"a position that was too long", "", "", {"{" MYSQL WISH("...") "}", HAS(A ":1-90"), HAS(A ":1-90")}, false, 0,
        false, "it cannot be told what is in them", NULL},
    {"a member whose position was too long", "", "", {"{" MYSQL WISH(A ":1-90") "}", HAS("..."), HAS(A ":1-90")}, false,
        0, false, "shop-mysql-1 lacks some of them", NULL},
    {"restored in place", "", ",\"restoreInPlace\":{\"phase\":\"Restoring\",\"request\":\"a\"}",
        {"{" MYSQL WISH(A ":1-90") "}", HAS(A ":1-90"), HAS(A ":1-90")}, false, 0, false,
        "the cluster is being restored", NULL},
};

static void who_lacks_what(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct binlog_claims claims;
        _cleanup_(freep) char *text = xasprintf(CLUSTER, rows[i].spec, rows[i].status);
        _cleanup_(freep) char *observed_text = xasprintf(OBSERVED, rows[i].agents[0], rows[i].agents[1],
            rows[i].agents[2], rows[i].unheard_ms, rows[i].cut_off ? "2" : "");
        _cleanup_(json_decrefp) json_t *cluster = json_parse(text, strlen(text), NULL);
        _cleanup_(json_decrefp) json_t *observed = json_parse(observed_text, strlen(observed_text), NULL);
        assert_non_null(cluster);
        assert_non_null(observed);
        struct golden *golden = golden_new(cluster, observed);
        binlog_claims_look(&golden->snapshot, &golden->snapshot.members[0], &claims);
        const char *lapsed = claims.lapsed ? claims.lapsed->name : NULL;
        if (!claims.is_wished || claims.is_free != rows[i].is_free || !str_eq(claims.why, rows[i].why) ||
            !lapsed != !rows[i].lapsed || (lapsed && !str_eq(lapsed, rows[i].lapsed)))
            fail_msg("%s: %s, \"%s\", %s", rows[i].what, claims.is_free ? "free" : "claimed", claims.why,
                lapsed ? lapsed : "nobody's lapsed");
        binlog_claims_look(&golden->snapshot, &golden->snapshot.members[1], &claims);
        assert_false(claims.is_wished || claims.is_free);
        golden_free(golden);
    }
}

/* From the first round that does not hear it, whether a pod is there or not; a word ends it. */
static void silence_is_counted_by_rounds(void **state)
{
    static const struct {
        int64_t at_ms;
        bool heard;
        int64_t unheard_ms; /* as the next round sees it */
    } rounds[] = {{1000, true, 0}, {2000, false, 1}, {62000, false, 60000}, {63000, true, 0}, {64000, false, 1}};
    _cleanup_(freep) char *text = xasprintf(CLUSTER, "", "");
    _cleanup_(freep) char *observed_text = xasprintf(OBSERVED, "{}", "{}", "{}", 0, "");
    _cleanup_(json_decrefp) json_t *cluster = json_parse(text, strlen(text), NULL);
    _cleanup_(json_decrefp) json_t *observed = json_parse(observed_text, strlen(observed_text), NULL);
    struct golden *golden = golden_new(cluster, observed);
    struct cluster_orders *orders = xnew(struct cluster_orders);
    struct cluster_memory memory = {0};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        golden->snapshot.members[2].agent_connected = rounds[i].heard;
        cluster_notes_orders(&memory, &golden->snapshot, orders, rounds[i].at_ms);
        cluster_notes_show(&memory, rounds[i].at_ms, &golden->snapshot);
        assert_int_equal(golden->snapshot.members[2].unheard_ms, rounds[i].unheard_ms);
        assert_int_equal(golden->snapshot.members[1].unheard_ms, 0);
    }
    free(orders);
    golden_free(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_lacks_what), cmocka_unit_test(silence_is_counted_by_rounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
