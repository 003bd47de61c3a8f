/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/gtid.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"

#define U1 "3e11fa47-71ca-11e1-9e33-c80aa9429562"
#define U2 "4e11fa47-71ca-11e1-9e33-c80aa9429562"
#define U3 "5e11fa47-71ca-11e1-9e33-c80aa9429562"

static struct gtid_set *parse(enum gtid_flavour flavour, const char *text)
{
    struct error err = ERROR_INIT;
    struct gtid_set *set = gtid_set_parse(flavour, text, &err);
    assert_string_equal(err.message, "");
    assert_non_null(set);
    return set;
}

static char *print(const struct gtid_set *set)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    gtid_set_print(set, &out);
    return strbuf_detach(&out, NULL);
}

static void assert_prints(const struct gtid_set *set, const char *expected)
{
    char *text = print(set);
    assert_string_equal(text, expected);
    free(text);
}

static void test_canonical_form(void **state)
{
    UNUSED(state);
    static const struct {
        enum gtid_flavour flavour;
        const char *text;
        const char *canonical;
        uint64_t count;
    } cases[] = {
        {GTID_MYSQL, NULL, "", 0},
        {GTID_MYSQL, "", "", 0},
        {GTID_MYSQL, " ,\n, ", "", 0},
        {GTID_MYSQL, U1 ":1", U1 ":1", 1},
        {GTID_MYSQL, "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5", U1 ":1-5", 5},
        {GTID_MYSQL, U1 ":5-7:1-4", U1 ":1-7", 7},
        {GTID_MYSQL, U1 ":1-5:3-9:20:21", U1 ":1-9:20-21", 11},
        {GTID_MYSQL, U1 ":3-9:1-20:4", U1 ":1-20", 20},
        {GTID_MYSQL, U2 ":1-3,\n" U1 " : 1 - 5 : 7 ,", U1 ":1-5:7," U2 ":1-3", 9},
        {GTID_MYSQL, U1 ":1-3," U1 ":4-6", U1 ":1-6", 6},
        {GTID_MYSQL, U1 ":1-9223372036854775806", U1 ":1-9223372036854775806", INT64_MAX - 1},
        {GTID_MYSQL, U1 ":Blue:1-2:4:red:7:1-3", U1 ":blue:1-2:4:red:1-3:7", 7},
        {GTID_MYSQL, U1 ":_x1:5," U1 ":1-2," U1 ":_x1:6", U1 ":1-2:_x1:5-6", 4},
        {GTID_MYSQL, U1 ":1:a:1," U2 ":1:a:1", U1 ":1:a:1," U2 ":1:a:1", 4},
        {GTID_MARIADB, "", "", 0},
        {GTID_MARIADB, "0-1-100", "0-1-100", 100},
        {GTID_MARIADB, "1-2-33, 0-1-100\n", "0-1-100,1-2-33", 133},
        {GTID_MARIADB, "0-1-100,0-2-105,0-3-7", "0-2-105", 105},
        {GTID_MARIADB, "0-1-0", "", 0},
        {GTID_MARIADB, "4294967295-4294967295-18446744073709551614,1-1-5",
            "1-1-5,4294967295-4294967295-18446744073709551614", UINT64_MAX},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gtid_set *set = parse(cases[i].flavour, cases[i].text);
        assert_prints(set, cases[i].canonical);
        assert_true(gtid_set_count(set) == cases[i].count);
        assert_int_equal(gtid_set_is_empty(set), cases[i].count == 0);
        struct gtid_set *again = parse(cases[i].flavour, cases[i].canonical);
        assert_int_equal(gtid_set_compare(set, again), GTID_EQUAL);
        gtid_set_free(again);
        gtid_set_free(set);
    }
    gtid_set_free(NULL);
}

static void test_malformed(void **state)
{
    UNUSED(state);
    static const struct {
        enum gtid_flavour flavour;
        const char *text;
    } cases[] = {
        {GTID_MYSQL, "x"},
        {GTID_MYSQL, U1},
        {GTID_MYSQL, U1 ":"},
        {GTID_MYSQL, U1 ":0"},
        {GTID_MYSQL, U1 ":5-3"},
        {GTID_MYSQL, U1 ":1-"},
        {GTID_MYSQL, U1 ":-1"},
        {GTID_MYSQL, U1 ":1 2"},
        {GTID_MYSQL, U1 ":9223372036854775807"},
        {GTID_MYSQL, U1 ":99999999999999999999999"},
        {GTID_MYSQL, U1 ":tag"},
        {GTID_MYSQL, U1 ":tag:"},
        {GTID_MYSQL, U1 ":tag:tag2:1"},
        {GTID_MYSQL, U1 ":1:"},
        {GTID_MYSQL, U1 ":t-g:1"},
        {GTID_MYSQL, U1 ":a23456789012345678901234567890123:1"},
        {GTID_MYSQL, "3e11fa47:1"},
        {GTID_MYSQL, "0-1-100"},
        {GTID_MARIADB, "0"},
        {GTID_MARIADB, "0-1"},
        {GTID_MARIADB, "0-1-"},
        {GTID_MARIADB, "0-1-1-1"},
        {GTID_MARIADB, "4294967296-1-1"},
        {GTID_MARIADB, "0-4294967296-1"},
        {GTID_MARIADB, "0-1-18446744073709551615"},
        {GTID_MARIADB, "0-1-1 0-1-2"},
        {GTID_MARIADB, U1 ":1"},
        {GTID_MARIADB, "a-b-c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = ERROR_INIT;
        assert_null(gtid_set_parse(cases[i].flavour, cases[i].text, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    struct gtid_set *longest_tag = parse(GTID_MYSQL, U1 ":a2345678901234567890123456789012:1");
    gtid_set_free(longest_tag);
}

static void test_limits(void **state)
{
    UNUSED(state);
    struct strbuf text;
    strbuf_init(&text, 2 * GTID_TEXT_MAX);
    strbuf_adds(&text, U1);
    for (int i = 1; i <= GTID_INTERVALS_MAX; i++)
        strbuf_addf(&text, ":%d", i * 2);
    struct gtid_set *set = parse(GTID_MYSQL, text.buf);
    assert_int_equal(gtid_set_count(set), GTID_INTERVALS_MAX);
    gtid_set_free(set);
    struct error err = ERROR_INIT;
    strbuf_adds(&text, ":1");
    assert_null(gtid_set_parse(GTID_MYSQL, text.buf, &err));
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    strbuf_reset(&text);
    while (text.len <= GTID_TEXT_MAX)
        strbuf_addc(&text, ' ');
    error_clear(&err);
    assert_null(gtid_set_parse(GTID_MYSQL, text.buf, &err));
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    strbuf_truncate(&text, GTID_TEXT_MAX);
    gtid_set_free(parse(GTID_MYSQL, text.buf));
    strbuf_release(&text);
}

static void test_compare_and_subtract(void **state)
{
    UNUSED(state);
    static const struct {
        enum gtid_flavour flavour;
        const char *a, *b;
        enum gtid_relation relation;
        const char *a_minus_b;
    } cases[] = {
        {GTID_MYSQL, "", "", GTID_EQUAL, ""},
        {GTID_MYSQL, "", U1 ":1", GTID_SUBSET, ""},
        {GTID_MYSQL, U1 ":1-5", U1 ":1-5", GTID_EQUAL, ""},
        {GTID_MYSQL, U1 ":1-5", U1 ":1-7", GTID_SUBSET, ""},
        {GTID_MYSQL, U1 ":1-9", U1 ":3:5-6", GTID_SUPERSET, U1 ":1-2:4:7-9"},
        {GTID_MYSQL, U1 ":1-9", U1 ":9-12", GTID_DIVERGED, U1 ":1-8"},
        {GTID_MYSQL, U1 ":5-9", U1 ":1-6", GTID_DIVERGED, U1 ":7-9"},
        {GTID_MYSQL, U1 ":1-2:5-6:9", U1 ":2-5:8-10", GTID_DIVERGED, U1 ":1:6"},
        {GTID_MYSQL, U1 ":1-9," U2 ":1-3", U1 ":1-9", GTID_SUPERSET, U2 ":1-3"},
        {GTID_MYSQL, U1 ":1-9," U3 ":1", U1 ":1-10," U2 ":4", GTID_DIVERGED, U3 ":1"},
        {GTID_MYSQL, U1 ":1-5:tag:1-3", U1 ":1-5", GTID_SUPERSET, U1 ":tag:1-3"},
        {GTID_MYSQL, U1 ":1-5", U1 ":tag:1-5", GTID_DIVERGED, U1 ":1-5"},
        {GTID_MYSQL, U1 ":3:6:9", U1 ":1-9", GTID_SUBSET, ""},
        {GTID_MARIADB, "0-1-100", "0-1-100", GTID_EQUAL, ""},
        {GTID_MARIADB, "0-1-100", "0-2-101", GTID_SUBSET, ""},
        {GTID_MARIADB, "0-1-100", "0-2-100", GTID_DIVERGED, "0-1-100"},
        {GTID_MARIADB, "0-1-100,1-1-5", "0-1-100", GTID_SUPERSET, "1-1-5"},
        {GTID_MARIADB, "0-1-100,1-1-5", "0-1-101,1-1-4", GTID_DIVERGED, "1-1-5"},
        {GTID_MARIADB, "", "2-1-1", GTID_SUBSET, ""},
    };
    static const enum gtid_relation mirrored[] = {
        [GTID_EQUAL] = GTID_EQUAL, [GTID_SUBSET] = GTID_SUPERSET, [GTID_SUPERSET] = GTID_SUBSET, [GTID_DIVERGED] = GTID_DIVERGED};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gtid_set *a = parse(cases[i].flavour, cases[i].a), *b = parse(cases[i].flavour, cases[i].b);
        assert_int_equal(gtid_set_compare(a, b), cases[i].relation);
        assert_int_equal(gtid_set_compare(b, a), mirrored[cases[i].relation]);
        struct gtid_set *rest = gtid_set_subtract(a, b);
        assert_prints(rest, cases[i].a_minus_b);
        gtid_set_free(rest);
        gtid_set_free(a);
        gtid_set_free(b);
    }
}

/* ---- laws, against a model: one bit per transaction of three sources, numbers 1 to 20 ------------------------- */

enum { SOURCES = 3, NUMBERS = 20 };
static const char *const source_names[SOURCES] = {U1, U1 ":tag", U2};

struct model {
    uint32_t bits[SOURCES];
};

static struct model random_model(uint64_t *random_state)
{
    struct model model;
    for (int s = 0; s < SOURCES; s++) {
        uint64_t r = random_next(random_state);
        model.bits[s] = (uint32_t)(r & (r >> 20) & ((1u << NUMBERS) - 1));
        if (r >> 62 == 0)
            model.bits[s] = 0;
    }
    return model;
}

static struct gtid_set *set_of(const struct model *model)
{
    struct strbuf text;
    strbuf_init(&text, 1 << 16);
    for (int s = SOURCES - 1; s >= 0; s--) {
        for (unsigned n = NUMBERS; n >= 1; n--) {
            if (model->bits[s] >> (n - 1) & 1)
                strbuf_addf(&text, "%s:%u,", source_names[s], n);
        }
    }
    struct gtid_set *set = parse(GTID_MYSQL, text.buf);
    strbuf_release(&text);
    return set;
}

static enum gtid_relation model_compare(const struct model *a, const struct model *b)
{
    bool more = false, less = false;
    for (int s = 0; s < SOURCES; s++) {
        more = more || (a->bits[s] & ~b->bits[s]);
        less = less || (b->bits[s] & ~a->bits[s]);
    }
    return more && less ? GTID_DIVERGED : more ? GTID_SUPERSET : less ? GTID_SUBSET : GTID_EQUAL;
}

static void test_intersect_and_unite(void **state)
{
    static const struct {
        enum gtid_flavour flavour;
        const char *a, *b, *both, *any;
    } cases[] = {
        {GTID_MARIADB, "0-1-5,2-1-9", "0-2-7,1-1-1", "0-1-5", "0-2-7,1-1-1,2-1-9"},
        {GTID_MARIADB, "0-1-7", "0-1-7", "0-1-7", "0-1-7"},
        {GTID_MARIADB, "0-1-7", "0-2-7", "0-1-6", "0-2-7"},
        {GTID_MARIADB, "0-1-1", "0-2-1", "", "0-2-1"},
        {GTID_MARIADB, "", "0-2-7", "", "0-2-7"},
        {GTID_MYSQL, U1 ":1-5:9", U1 ":4-9", U1 ":4-5:9", U1 ":1-9"},
        {GTID_MYSQL, U1 ":1-5", U2 ":1-5", "", U1 ":1-5," U2 ":1-5"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gtid_set *a = parse(cases[i].flavour, cases[i].a), *b = parse(cases[i].flavour, cases[i].b);
        struct gtid_set *both = gtid_set_intersect(a, b);
        assert_prints(both, cases[i].both);
        gtid_set_unite(a, b);
        assert_prints(a, cases[i].any);
        struct gtid_one one = {0};
        size_t positions = 0;
        while (cases[i].flavour == GTID_MARIADB && gtid_set_position(a, positions, &one)) {
            assert_true(gtid_set_contains(a, &one));
            one.number++;
            assert_false(gtid_set_contains(a, &one));
            positions++;
        }
        assert_true(cases[i].flavour == GTID_MYSQL || gtid_set_is_empty(a) || positions > 0);
        gtid_set_free(both);
        gtid_set_free(b);
        gtid_set_free(a);
    }
}

static void test_laws(void **state)
{
    UNUSED(state);
    uint64_t random_state = 42;
    for (int round = 0; round < 3000; round++) {
        struct model a = random_model(&random_state), b = random_model(&random_state), difference, common, any;
        if (round % 4 == 0) { /* make subsets common */
            for (int s = 0; s < SOURCES; s++)
                b.bits[s] |= a.bits[s];
        }
        uint64_t count = 0;
        for (int s = 0; s < SOURCES; s++) {
            difference.bits[s] = a.bits[s] & ~b.bits[s];
            common.bits[s] = a.bits[s] & b.bits[s];
            any.bits[s] = a.bits[s] | b.bits[s];
            count += (uint64_t)__builtin_popcount(difference.bits[s]);
        }
        struct gtid_set *sa = set_of(&a), *sb = set_of(&b), *expected = set_of(&difference);
        struct gtid_set *got = gtid_set_subtract(sa, sb);
        assert_int_equal(gtid_set_compare(sa, sb), model_compare(&a, &b));
        assert_int_equal(gtid_set_compare(got, expected), GTID_EQUAL);
        assert_int_equal(gtid_set_count(got), count);
        char *text = print(expected);
        assert_prints(got, text);
        free(text);
        struct gtid_set *in_both = set_of(&common), *in_any = set_of(&any), *got_both = gtid_set_intersect(sa, sb);
        assert_int_equal(gtid_set_compare(got_both, in_both), GTID_EQUAL);
        gtid_set_unite(sa, sb);
        assert_int_equal(gtid_set_compare(sa, in_any), GTID_EQUAL);
        gtid_set_free(got_both);
        gtid_set_free(in_both);
        gtid_set_free(in_any);
        gtid_set_free(got);
        gtid_set_free(expected);
        gtid_set_free(sb);
        gtid_set_free(sa);
    }
}

static void test_a_state_that_lacks(void **state)
{
    UNUSED(state);
    static const struct {
        const char *state, *wanted;
        bool lacks;
    } cases[] = {
        {"0-1-722,0-2-724", "0-1-723", true},
        {"0-1-722,0-2-723", "0-1-723", true},
        {"0-2-724,0-1-723", "0-1-723", false},
        {"0-1-730,0-2-724", "0-1-723", false},
        {"0-2-724", "0-1-723", false}, /* it may have come by a copy */
        {"", "0-1-723", false},
        {"0-1-722", "", false},
        {"1-1-722,0-2-724", "0-1-723", false},
        {"0-1-5, 1-1-722,\n1-2-900", "0-1-5,1-1-723", true},
        {"0-1-5,1-1-723", "0-1-5,1-1-723", false},
        {"0-1-x", "0-1-5", false},
        {"nonsense", "0-1-5", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gtid_set *wanted = parse(GTID_MARIADB, cases[i].wanted);
        assert_int_equal(gtid_state_lacks(cases[i].state, wanted), cases[i].lacks);
        gtid_set_free(wanted);
    }
    struct gtid_set *wanted = parse(GTID_MARIADB, "0-1-5");
    assert_false(gtid_state_lacks(NULL, wanted));
    gtid_set_free(wanted);
}

static void test_of_source(void **state)
{
    static const struct {
        const char *set, *uuid, *expected;
    } rows[] = {
        {"aaaaaaaa-71ca-11e1-9e33-c80aa9429562:1-5,bbbbbbbb-71ca-11e1-9e33-c80aa9429562:7",
            "aaaaaaaa-71ca-11e1-9e33-c80aa9429562", "aaaaaaaa-71ca-11e1-9e33-c80aa9429562:1-5"},
        {"aaaaaaaa-71ca-11e1-9e33-c80aa9429562:1-5:tag:1-2", "AAAAAAAA-71ca-11e1-9e33-c80aa9429562",
            "aaaaaaaa-71ca-11e1-9e33-c80aa9429562:1-5:tag:1-2"},
        {"aaaaaaaa-71ca-11e1-9e33-c80aa9429562:1-5", "cccccccc-71ca-11e1-9e33-c80aa9429562", ""},
        {"aaaaaaaa-71ca-11e1-9e33-c80aa9429562:1-5", "", ""},
        {"aaaaaaaa-71ca-11e1-9e33-c80aa9429562:1-5", "aaaaaaaa", ""},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, KM_KIB);
        struct gtid_set *set = gtid_set_parse(GTID_MYSQL, rows[i].set, NULL);
        struct gtid_set *part = gtid_set_of_source(set, rows[i].uuid);
        gtid_set_print(part, &text);
        assert_string_equal(str_or_empty(text.buf), rows[i].expected);
        gtid_set_free(part);
        gtid_set_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_form),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_compare_and_subtract),
        cmocka_unit_test(test_intersect_and_unite),
        cmocka_unit_test(test_a_state_that_lacks),
        cmocka_unit_test(test_of_source),
        cmocka_unit_test(test_laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
