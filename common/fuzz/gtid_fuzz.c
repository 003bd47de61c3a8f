/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a byte for the flavour, two sets parted by '|'. What parses obeys the laws of sets and survives printing. */
#include "common/base.h"

#include "common/gtid.h"

#include "common/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            fprintf(stderr, "violated: %s\n", #condition); \
            abort();                                       \
        }                                                  \
    } while (0)

static void check_round_trip(enum gtid_flavour flavour, const struct gtid_set *set)
{
    struct strbuf text, again;
    strbuf_init(&text, 1 << 24);
    strbuf_init(&again, 1 << 24);
    gtid_set_print(set, &text);
    struct gtid_set *copy = gtid_set_parse(flavour, text.buf, NULL);
    CHECK(copy && gtid_set_compare(set, copy) == GTID_EQUAL && gtid_set_count(set) == gtid_set_count(copy));
    gtid_set_print(copy, &again);
    CHECK(strcmp(text.buf, again.buf) == 0);
    gtid_set_free(copy);
    strbuf_release(&text);
    strbuf_release(&again);
}

static void check_laws(const struct gtid_set *a, const struct gtid_set *b)
{
    _cleanup_(gtid_set_freep) struct gtid_set *more = gtid_set_subtract(a, b);
    _cleanup_(gtid_set_freep) struct gtid_set *less = gtid_set_subtract(b, a);
    enum gtid_relation relation = gtid_set_compare(a, b), back = gtid_set_compare(b, a);
    CHECK(gtid_set_is_empty(more) == (relation == GTID_EQUAL || relation == GTID_SUBSET));
    CHECK(gtid_set_is_empty(less) == (relation == GTID_EQUAL || relation == GTID_SUPERSET));
    CHECK(
        (relation == GTID_SUBSET) == (back == GTID_SUPERSET) && (relation == GTID_DIVERGED) == (back == GTID_DIVERGED));
    enum gtid_relation of_part = gtid_set_compare(more, a);
    CHECK(of_part == GTID_EQUAL || of_part == GTID_SUBSET);
    /* taking away twice changes nothing */
    _cleanup_(gtid_set_freep) struct gtid_set *rest = gtid_set_subtract(more, b);
    CHECK(gtid_set_compare(rest, more) == GTID_EQUAL);
    CHECK(gtid_set_compare(a, a) == GTID_EQUAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    enum gtid_flavour flavour = data[0] & 1 ? GTID_MARIADB : GTID_MYSQL;
    _cleanup_(freep) char *text = xstrndup((const char *)data + 1, size - 1);
    char *second = strchr(text, '|');
    if (second)
        *second++ = '\0';
    _cleanup_(gtid_set_freep) struct gtid_set *a = gtid_set_parse(flavour, text, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *b = gtid_set_parse(flavour, second, NULL);
    if (!a || !b)
        return 0;
    check_round_trip(flavour, a);
    check_laws(a, b);
    return 0;
}
