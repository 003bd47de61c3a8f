/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/zones.h"

#include <setjmp.h>
#include <cmocka.h>

#define BLOCK 512

struct archive {
    char bytes[8 * BLOCK];
    size_t len;
};

static void add_member(
    struct archive *archive, const char *name, char type, const char *link, const void *data, size_t len)
{
    char *head = archive->bytes + archive->len;

    snprintf(head, 100, "%s", name);
    snprintf(head + 124, 12, "%011zo", len);
    head[156] = type;
    snprintf(head + 157, 100, "%s", link);
    if (len)
        memcpy(head + BLOCK, data, len);
    archive->len += BLOCK + (len + BLOCK - 1) / BLOCK * BLOCK;
}

/* Two types, two changes: CET from the beginning of 1970, CEST from 1980-04-06 01:00 UTC. */
static size_t make_zone(unsigned char *out)
{
    static const unsigned char head[] = {'T', 'Z', 'i', 'f', '2', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0,                                              /* version */
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,             /* of UT, standard, leap */
        0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 9,             /* times, types, chars */
        0, 0, 0, 0, 0x13, 0x4d, 0x44, 0x10, 0, 1,       /* times, their types */
        0, 0, 0x0e, 0x10, 0, 0, 0, 0, 0x1c, 0x20, 1, 4, /* 3600 CET, 7200 CEST */
        'C', 'E', 'T', 0, 'C', 'E', 'S', 'T', 0};

    memcpy(out, head, sizeof(head));
    return sizeof(head);
}

static void test_statements(void **state)
{
    static const char expected[] =
        "REPLACE INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (1,'N');\n"
        "REPLACE INTO mysql.time_zone_transition_type (Time_zone_id, Transition_type_id, `Offset`, Is_DST, Abbreviation) VALUES"
        " (1,0,3600,0,'CET'),(1,1,7200,1,'CEST');\n"
        "REPLACE INTO mysql.time_zone_transition (Time_zone_id, Transition_time, Transition_type_id) VALUES"
        " (1,0,0),(1,323830800,1);\n"
        "REPLACE INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('Arctic/Longyearbyen',1),('Europe/Berlin',1);\n";
    struct archive archive = {0};
    unsigned char zone[128];
    size_t len = make_zone(zone);
    _cleanup_(strbuf_release) struct strbuf out;

    UNUSED(state);
    strbuf_init(&out, ZONES_SQL_MAX);
    add_member(&archive, "./", '5', "", NULL, 0);
    add_member(&archive, "./Arctic/Longyearbyen", '1', "./Europe/Berlin", NULL, 0);
    add_member(&archive, "./Europe/Berlin", '0', "", zone, len);
    add_member(&archive, "./leapseconds", '0', "", "no zone", 7);
    assert_int_equal(zones_sql(archive.bytes, sizeof(archive.bytes), &out, NULL), 0);
    assert_string_equal(out.buf, expected);
}

/* What is cut off or points outside of itself is refused; nothing is read beyond the end. */
static void test_damage(void **state)
{
    unsigned char zone[128] = {0};
    size_t len = make_zone(zone);

    UNUSED(state);
    for (size_t cut = 0; cut < len; cut++) {
        struct archive archive = {0};
        struct error err = ERROR_INIT;
        _cleanup_(strbuf_release) struct strbuf out;
        strbuf_init(&out, ZONES_SQL_MAX);
        add_member(&archive, "Europe/Berlin", '0', "", zone, cut);
        assert_int_equal(zones_sql(archive.bytes, archive.len, &out, &err), -1);
        assert_non_null(strstr(err.message, "Europe/Berlin is damaged"));
    }
    static const size_t places[] = {0, 35, 39, 43, 53, 65}; /* "TZif", counts, type of a time, place of a name */
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct archive archive = {0};
        _cleanup_(strbuf_release) struct strbuf out;
        strbuf_init(&out, ZONES_SQL_MAX);
        unsigned char before = zone[places[i]];
        zone[places[i]] = 0xff;
        add_member(&archive, "Europe/Berlin", '0', "", zone, len);
        zone[places[i]] = before;
        if (zones_sql(archive.bytes, archive.len, &out, NULL) == 0)
            fail_msg("byte %zu", places[i]);
    }
    struct archive archive = {0};
    _cleanup_(strbuf_release) struct strbuf out;
    strbuf_init(&out, ZONES_SQL_MAX);
    add_member(&archive, "Europe/Berlin", '0', "", zone, len);
    assert_int_equal(zones_sql(archive.bytes, BLOCK + len - 1, &out, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
