/* SPDX-License-Identifier: Apache-2.0 */
/* What goes and what stays: tables, and properties over many random histories. */
#include "common/base.h"

#include "operator/backup/retention.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"

#define HOUR_MS 3600000LL
#define DAY_MS (24 * HOUR_MS)
#define ITEMS_MAX 400

static int64_t at(const char *text)
{
    int64_t ms;
    assert_int_equal(clock_parse_rfc3339(text, &ms), 0);
    return ms;
}

static struct time_zone utc(void)
{
    struct time_zone zone;
    time_zone_utc(&zone);
    return zone;
}

/* ---- tables ---- */

/* Times of good backups, newest last; the verdicts as letters: k stays, x goes. */
struct history {
    const char *times[12], *verdicts;
    struct backup_keep keep;
    const char *floor;
};

static const struct history histories[] = {
    {{"2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z", "2026-11-03T01:00:00Z"}, "kkk", {.present = false}, NULL},
    {{"2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z", "2026-11-03T01:00:00Z"}, "xkk", {true, .last = 2}, NULL},
    /* The newest stays though nothing asks for it. */
    {{"2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z"}, "xk", {.present = true}, NULL},
    {{"2026-11-01T01:00:00Z"}, "k", {.present = true}, NULL},
    /* The newest of each day; days without one do not count. */
    {{"2026-11-01T01:00:00Z", "2026-11-01T13:00:00Z", "2026-11-05T01:00:00Z", "2026-11-06T01:00:00Z",
         "2026-11-06T13:00:00Z"},
        "xkkxk", {true, .daily = 3}, NULL},
    /* Weeks begin on Monday, here the 2nd and the 9th. */
    {{"2026-10-31T01:00:00Z", "2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z", "2026-11-08T23:59:59Z",
         "2026-11-09T00:00:00Z"},
        "xkxkk", {true, .weekly = 3}, NULL},
    {{"2026-10-31T01:00:00Z", "2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z", "2026-11-08T23:59:59Z",
         "2026-11-09T00:00:00Z"},
        "xxxkk", {true, .weekly = 2}, NULL},
    /* Any of them is enough. */
    {{"2026-10-25T01:00:00Z", "2026-11-01T01:00:00Z", "2026-11-08T01:00:00Z", "2026-11-09T01:00:00Z",
         "2026-11-10T01:00:00Z", "2026-11-10T02:00:00Z"},
        "xkkkkk", {true, .last = 2, .daily = 2, .weekly = 3}, NULL},
    /* Days before the newest, and one link from which to reach their beginning. */
    {{"2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z", "2026-11-03T02:00:00Z", "2026-11-04T01:00:00Z",
         "2026-11-05T01:00:00Z"},
        "xkkkk", {true, .days = 2}, NULL},
    {{"2026-11-01T01:00:00Z", "2026-11-03T01:00:00Z", "2026-11-04T01:00:00Z", "2026-11-05T01:00:00Z"}, "xkkk",
        {true, .days = 2}, NULL},
    /* What point-in-time recovery needs. */
    {{"2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z", "2026-11-03T01:00:00Z", "2026-11-04T01:00:00Z"}, "xkxk",
        {true, .last = 1}, "2026-11-02T12:00:00Z"},
    {{"2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z", "2026-11-03T01:00:00Z", "2026-11-04T01:00:00Z"}, "xkxk",
        {true, .last = 1}, "2026-11-02T01:00:00Z"},
    {{"2026-11-01T01:00:00Z", "2026-11-02T01:00:00Z"}, "xk", {true, .last = 1}, "2026-10-01T00:00:00Z"},
};

static struct retention_item *find(struct retention_item *items, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(items[i].name, name))
            return &items[i];
    }
    fail_msg("%s is gone", name);
    return NULL;
}

static void test_tables(void **state)
{
    UNUSED(state);
    struct time_zone zone = utc();
    for (size_t i = 0; i < ARRAY_LEN(histories); i++) {
        const struct history *history = &histories[i];
        struct retention_item items[ARRAY_LEN(history->times)] = {0};
        size_t count = 0;
        for (; history->times[count]; count++)
            items[count] = (struct retention_item){.name = history->times[count],
                .begun_ms = at(history->times[count]),
                .ended_ms = at(history->times[count]),
                .good = true};
        retention_decide(&history->keep, &zone, history->floor ? at(history->floor) : 0, items, count);
        for (size_t j = 0; j < count; j++) {
            bool removed = find(items, count, history->times[j])->remove;
            if (removed != (history->verdicts[j] == 'x'))
                fail_msg("history %zu: %s %s", i, history->times[j], removed ? "goes" : "stays");
        }
    }
}

/* Of one day each, newest last: g good, p proven, d doubtful, f failed, h doubtful and held; the verdicts as above. */
static const struct {
    const char *kinds, *verdicts;
    struct backup_keep keep;
    int floor; /* the day; 0 none */
} drills[] = {
    /* The last proven one, and those that failed their drills: the rules hold for both. */
    {"pdd", "kkk", {true, .last = 2}, 0},
    {"ggpdd", "xkkkk", {true, .last = 2}, 0},
    {"pgggdgg", "kxxxxkk", {true, .last = 2}, 0},
    {"ppgg", "xkkk", {true, .last = 2}, 0},
    /* What failed its drill goes as any other, unless it is held. */
    {"dpgg", "xkkk", {true, .last = 2}, 0},
    {"hggg", "kxkk", {true, .last = 2}, 0},
    {"pdddd", "kxxxk", {true, .last = 1}, 0},
    {"gdddd", "kxxxk", {true, .last = 1}, 0},
    {"dddd", "xxkk", {true, .last = 2}, 0},
    {"d", "k", {.present = true}, 0},
    {"dgdg", "xkkk", {true, .daily = 2}, 0},
    {"gggddd", "kkkkkk", {true, .days = 2}, 0},
    {"ggggdddd", "kkkkkkkk", {true, .days = 3}, 0},
    {"gggggdddd", "xkkkkkkkk", {true, .days = 3}, 0},
    /* The link, and one to go back to that is sound. */
    {"ggdggg", "xkkxxk", {true, .last = 1}, 3},
    /* Failed ones are no backups. */
    {"gfpfd", "xkkkk", {true, .last = 1}, 0},
    {"pd", "kk", {.present = false}, 0},
};

static struct retention_item of_day(char kind, const char *name, int day)
{
    int64_t ms = at("2026-11-01T01:00:00Z") + (day - 1) * DAY_MS;
    return (struct retention_item){.name = name,
        .begun_ms = ms,
        .ended_ms = ms,
        .good = kind != 'f',
        .proven = kind == 'p',
        .doubtful = kind == 'd' || kind == 'h',
        .held = kind == 'h'};
}

static void test_drills(void **state)
{
    UNUSED(state);
    struct time_zone zone = utc();
    static const char *const names[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"};
    for (size_t i = 0; i < ARRAY_LEN(drills); i++) {
        struct retention_item items[ARRAY_LEN(names)];
        size_t count = strlen(drills[i].kinds);
        for (size_t j = 0; j < count; j++)
            items[j] = of_day(drills[i].kinds[j], names[j], (int)j + 1);
        int64_t floor_ms = drills[i].floor ? of_day('g', "", drills[i].floor).ended_ms : 0;
        retention_decide(&drills[i].keep, &zone, floor_ms, items, count);
        for (size_t j = 0; j < count; j++) {
            bool removed = find(items, count, names[j])->remove;
            if (removed != (drills[i].verdicts[j] == 'x'))
                fail_msg("%s, case %zu: %s %s", drills[i].kinds, i, names[j], removed ? "goes" : "stays");
        }
    }
}

/* Half past midnight in Berlin is the day before in UTC. */
static void test_days_are_those_of_the_zone(void **state)
{
    UNUSED(state);
    struct time_zone_change change = {0, 3600};
    struct time_zone berlin = {.changes = &change, .change_count = 1}, zone = utc();
    const struct backup_keep keep = {true, .daily = 2};
    struct retention_item items[] = {{.name = "a", .begun_ms = at("2026-11-01T22:30:00Z"), .ended_ms = 1, .good = true},
        {.name = "b", .begun_ms = at("2026-11-01T23:30:00Z"), .ended_ms = 2, .good = true},
        {.name = "c", .begun_ms = at("2026-11-02T22:30:00Z"), .ended_ms = 3, .good = true}};
    retention_decide(&keep, &zone, 0, items, 3);
    assert_true(find(items, 3, "a")->remove && !find(items, 3, "b")->remove && !find(items, 3, "c")->remove);
    retention_decide(&keep, &berlin, 0, items, 3);
    assert_true(!find(items, 3, "a")->remove && find(items, 3, "b")->remove && !find(items, 3, "c")->remove);
}

static void test_failed(void **state)
{
    UNUSED(state);
    struct time_zone zone = utc();
    const struct backup_keep nothing = {.present = false};
    struct retention_item items[] = {{.name = "f1", .ended_ms = 1}, {.name = "good", .ended_ms = 2, .good = true},
        {.name = "f2", .ended_ms = 3}, {.name = "f3", .ended_ms = 4}, {.name = "f4", .ended_ms = 5}};
    retention_decide(&nothing, &zone, 0, items, ARRAY_LEN(items));
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        assert_true(items[i].remove == str_eq(items[i].name, "f1"));
}

static void test_held(void **state)
{
    UNUSED(state);
    struct time_zone zone = utc();
    const struct backup_keep keep = {true, .last = 1};
    struct retention_item items[] = {{.name = "a", .ended_ms = 1, .good = true, .held = true},
        {.name = "b", .ended_ms = 2, .good = true}, {.name = "c", .ended_ms = 3, .good = true}};
    retention_decide(&keep, &zone, 0, items, ARRAY_LEN(items));
    assert_true(!find(items, 3, "a")->remove && find(items, 3, "b")->remove && !find(items, 3, "c")->remove);
    retention_decide(&keep, &zone, 0, NULL, 0);
}

/* ---- properties ---- */

struct random {
    uint64_t state;
};

static unsigned below(struct random *random, unsigned n)
{
    random->state = random->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(random->state >> 33) % n;
}

struct world {
    struct retention_item items[ITEMS_MAX];
    size_t count;
    char names[ITEMS_MAX][8];
};

static void make_history(struct random *random, bool with_failures, struct world *ret)
{
    int64_t ms = at("2026-01-01T00:00:00Z");
    unsigned step_hours = 1 + below(random, 40);
    ret->count = 1 + below(random, ITEMS_MAX - 1);
    for (size_t i = 0; i < ret->count; i++) {
        ms += (int64_t)below(random, step_hours * 3600) * 1000 + 60000;
        snprintf(ret->names[i], sizeof(ret->names[i]), "%zu", i);
        ret->items[i] = (struct retention_item){.name = ret->names[i],
            .begun_ms = ms - 30000,
            .ended_ms = ms,
            .good = !with_failures || below(random, 4) > 0,
            .held = with_failures && below(random, 20) == 0};
    }
}

static void add_drills(struct random *random, struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        unsigned draw = below(random, 6);
        world->items[i].proven = world->items[i].good && draw == 0;
        world->items[i].doubtful = world->items[i].good && draw > 3;
    }
}

static struct backup_keep make_keep(struct random *random)
{
    struct backup_keep keep = {.present = true};
    keep.last = below(random, 2) ? (int)below(random, 10) : 0;
    keep.daily = below(random, 2) ? (int)below(random, 15) : 0;
    keep.weekly = below(random, 2) ? (int)below(random, 8) : 0;
    keep.days = below(random, 2) ? (int)below(random, 40) : 0;
    return keep;
}

static int64_t newest_good_until(const struct world *world, int64_t until_ms, bool only_kept)
{
    int64_t ret = 0;
    for (size_t i = 0; i < world->count; i++) {
        const struct retention_item *item = &world->items[i];
        if (item->good && item->ended_ms <= until_ms && !(only_kept && item->remove))
            ret = MAX_OF(ret, item->ended_ms);
    }
    return ret;
}

static size_t count_kept(const struct world *world, bool good)
{
    size_t ret = 0;
    for (size_t i = 0; i < world->count; i++)
        ret += world->items[i].good == good && !world->items[i].remove;
    return ret;
}

static size_t count_good(const struct world *world)
{
    size_t ret = 0;
    for (size_t i = 0; i < world->count; i++)
        ret += world->items[i].good;
    return ret;
}

/* Whatever is asked for: the last good one and the link stay, what is held stays, failures are few, and no more is kept
 * than can be asked for. */
static void test_what_always_stays(void **state)
{
    UNUSED(state);
    struct random random = {20261121};
    struct time_zone zone = utc();
    struct world *world = xnew(struct world);
    for (int round = 0; round < 3000; round++) {
        make_history(&random, true, world);
        struct backup_keep keep = make_keep(&random);
        int64_t first_ms = world->items[0].ended_ms, last_ms = world->items[world->count - 1].ended_ms;
        int64_t floor_ms = first_ms + (int64_t)below(&random, 1000) * ((last_ms - first_ms) / 1000);
        retention_decide(&keep, &zone, floor_ms, world->items, world->count);
        assert_true(newest_good_until(world, INT64_MAX, true) == newest_good_until(world, INT64_MAX, false));
        assert_true(newest_good_until(world, floor_ms, true) == newest_good_until(world, floor_ms, false));
        int64_t days_ms = newest_good_until(world, INT64_MAX, false) - keep.days * DAY_MS;
        size_t held = 0, young = 0;
        for (size_t i = 0; i < world->count; i++) {
            assert_false(world->items[i].held && world->items[i].remove);
            held += world->items[i].held;
            bool is_young = keep.days > 0 && world->items[i].good && world->items[i].ended_ms >= days_ms;
            assert_false(is_young && world->items[i].remove);
            young += is_young;
        }
        assert_true(count_kept(world, true) >= MIN_OF(count_good(world), (size_t)MAX_OF(1, keep.last)));
        assert_true(count_kept(world, false) <= RETENTION_FAILED_MAX + held);
        assert_true(
            count_kept(world, true) <= (size_t)(MAX_OF(1, keep.last) + keep.daily + keep.weekly) + young + 2 + held);
    }
    free(world);
}

/* Whatever drills found, what would have stayed without them stays; and what would stay if those that they doubt were
 * not there. */
static void test_drills_only_keep(void **state)
{
    UNUSED(state);
    struct random random = {7};
    struct time_zone zone = utc();
    struct world *plain = xnew(struct world), *drilled = xnew(struct world), *sound = xnew(struct world);
    for (int round = 0; round < 500; round++) {
        make_history(&random, true, plain);
        struct backup_keep keep = make_keep(&random);
        *drilled = *plain;
        add_drills(&random, drilled);
        sound->count = 0;
        for (size_t i = 0; i < drilled->count; i++) {
            if (!drilled->items[i].doubtful)
                sound->items[sound->count++] = drilled->items[i];
        }
        retention_decide(&keep, &zone, 0, plain->items, plain->count);
        retention_decide(&keep, &zone, 0, drilled->items, drilled->count);
        retention_decide(&keep, &zone, 0, sound->items, sound->count);
        for (size_t i = 0; i < plain->count; i++)
            assert_true(plain->items[i].remove || !find(drilled->items, drilled->count, plain->items[i].name)->remove);
        for (size_t i = 0; i < sound->count; i++)
            assert_true(sound->items[i].remove || !find(drilled->items, drilled->count, sound->items[i].name)->remove);
    }
    free(plain);
    free(drilled);
    free(sound);
}

static void drop_removed(struct world *world)
{
    size_t count = 0;
    for (size_t i = 0; i < world->count; i++) {
        if (!world->items[i].remove)
            world->items[count++] = world->items[i];
    }
    world->count = count;
}

static bool has(const struct world *world, const char *name)
{
    for (size_t i = 0; i < world->count; i++) {
        if (str_eq(world->items[i].name, name))
            return true;
    }
    return false;
}

/* After each backup, as it is done: the same is left as by deciding once over all that there ever was. */
static void test_step_by_step_is_at_once(void **state)
{
    UNUSED(state);
    struct random random = {42};
    struct time_zone zone = utc();
    struct world *all = xnew(struct world), *slow = xnew(struct world);
    for (int round = 0; round < 300; round++) {
        make_history(&random, false, all);
        if (round % 2)
            add_drills(&random, all);
        struct backup_keep keep = make_keep(&random);
        slow->count = 0;
        for (size_t i = 0; i < all->count; i++) {
            slow->items[slow->count++] = all->items[i];
            retention_decide(&keep, &zone, 0, slow->items, slow->count);
            drop_removed(slow);
        }
        retention_decide(&keep, &zone, 0, all->items, all->count);
        drop_removed(all);
        if (all->count != slow->count)
            fail_msg("round %d (last %d, daily %d, weekly %d, days %d): %zu left, not %zu", round, keep.last,
                keep.daily, keep.weekly, keep.days, slow->count, all->count);
        for (size_t i = 0; i < all->count; i++)
            assert_true(has(slow, all->items[i].name));
        retention_decide(&keep, &zone, 0, slow->items, slow->count);
        for (size_t i = 0; i < slow->count; i++)
            assert_false(slow->items[i].remove);
    }
    free(all);
    free(slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_drills),
        cmocka_unit_test(test_days_are_those_of_the_zone),
        cmocka_unit_test(test_failed),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_what_always_stays),
        cmocka_unit_test(test_drills_only_keep),
        cmocka_unit_test(test_step_by_step_is_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
