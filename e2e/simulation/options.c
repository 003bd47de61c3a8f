/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/options.h"

#include <getopt.h>

#define COUNT_DEFAULT 1000

static const char usage_text[] =
    "simulate [--seed=N] [--count=N] [--seconds=N] [--family=mysql|mariadb] [--members=N] [--faults=N] [--strict]\n"
    "         [--story] [--digests] [--keep-going] [--ignore=VIOLATION]... [--without=FAULT]... [--save=FILE] [SCHEDULE.json]...\n";

/* The place of a name in a list; -1 where it is not there. */
static int place_of(const char *const names[], int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (str_eq(names[i], name))
            return i;
    }
    return -1;
}

static bool read_number(const char *text, uint64_t max, uint64_t *ret)
{
    char *end;
    *ret = strtoull(text, &end, 10);
    return end != text && *end == '\0' && *ret <= max;
}

static bool read_limited(const char *text, int max, int *ret)
{
    uint64_t number;
    if (!read_number(text, (uint64_t)max, &number) || number == 0)
        return false;
    *ret = (int)number;
    return true;
}

static bool read_family(const char *text, struct schedule_wish *wish)
{
    wish->any_family = false;
    wish->mariadb = str_eq(text, "mariadb");
    return wish->mariadb || str_eq(text, "mysql");
}

static bool read_value(int letter, const char *text, struct options *options)
{
    int place;
    switch (letter) {
    case 's':
        return read_number(text, UINT64_MAX, &options->seed);
    case 'c':
        return read_number(text, UINT64_MAX, &options->count);
    case 'b':
        return read_number(text, INT32_MAX, &options->seconds);
    case 'f':
        return read_family(text, &options->wish);
    case 'm':
        return read_limited(text, SIM_MEMBERS_MAX, &options->wish.members);
    case 'n':
        return read_limited(text, SCHEDULE_FAULTS_MAX, &options->wish.faults);
    case 'w':
        place = place_of(fault_names, FAULT_KIND_COUNT, text);
        options->wish.without |= place < 0 ? 0 : UINT64_C(1) << place;
        return place >= 0;
    case 'i':
        place = place_of(violation_names, VIOLATION_COUNT, text);
        options->ignore |= place < 0 ? 0 : 1U << place;
        return place >= 0;
    default:
        options->save = text;
        return true;
    }
}

bool options_read(int argc, char **argv, struct options *ret)
{
    static const struct option known[] = {{"seed", 1, NULL, 's'}, {"count", 1, NULL, 'c'}, {"family", 1, NULL, 'f'},
        {"members", 1, NULL, 'm'}, {"faults", 1, NULL, 'n'}, {"story", 0, NULL, 't'}, {"keep-going", 0, NULL, 'k'},
        {"ignore", 1, NULL, 'i'}, {"save", 1, NULL, 'o'}, {"without", 1, NULL, 'w'}, {"strict", 0, NULL, 'x'},
        {"digests", 0, NULL, 'd'}, {"seconds", 1, NULL, 'b'}, {0}};
    int letter, place = 0;
    *ret = (struct options){.wish.any_family = true, .seed = 1};
    while ((letter = getopt_long(argc, argv, "", known, &place)) != -1) {
        if (letter == 't') {
            ret->story = true;
        } else if (letter == 'd') {
            ret->digests = true;
        } else if (letter == 'k') {
            ret->keep_going = true;
        } else if (letter == 'x') {
            ret->wish.strict = true;
        } else if (letter == '?' || !read_value(letter, optarg, ret)) {
            if (letter != '?')
                fprintf(stderr, "--%s: \"%s\" is not a value of it\n", known[place].name, optarg);
            fputs(usage_text, stderr);
            return false;
        }
    }
    if (ret->count == 0)
        ret->count = ret->seconds > 0 ? UINT64_MAX : COUNT_DEFAULT;
    return true;
}
