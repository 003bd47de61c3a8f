/* simulate: see docs/simulation.md. */
#include "common/base.h"

#include <getopt.h>
#include <time.h>

#include "common/alloc.h"
#include "e2e/simulation/run.h"

struct options {
    struct schedule_wish wish;
    uint64_t seed, count;
    bool story, keep_going;
    unsigned ignore; /* kinds of violations that are only counted */
    const char *save;
};

struct totals {
    uint64_t runs, failed, beyond, by_kind[VIOLATION_COUNT];
    int64_t virtual_ms, acked;
};

static int usage(void)
{
    fprintf(stderr,
        "simulate [--seed=N] [--count=N] [--family=mysql|mariadb] [--members=N] [--faults=N] [--relay-kept] [--strict] [--story]\n"
        "         [--keep-going] [--ignore=VIOLATION]... [--without=FAULT]... [--save=FILE] [SCHEDULE.json]...\n");
    return 2;
}

static bool read_options(int argc, char **argv, struct options *ret)
{
    static const struct option known[] = {{"seed", 1, NULL, 's'}, {"count", 1, NULL, 'c'}, {"family", 1, NULL, 'f'},
        {"members", 1, NULL, 'm'}, {"faults", 1, NULL, 'n'}, {"relay-kept", 0, NULL, 'r'}, {"story", 0, NULL, 't'},
        {"keep-going", 0, NULL, 'k'}, {"ignore", 1, NULL, 'i'}, {"save", 1, NULL, 'o'}, {"without", 1, NULL, 'w'},
        {"strict", 0, NULL, 'x'}, {0}};
    int c;
    *ret = (struct options){.wish.any_family = true, .count = 1000, .seed = 1};
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        int kind = 0;
        switch (c) {
        case 's':
            ret->seed = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            ret->count = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            ret->wish.any_family = false;
            ret->wish.mariadb = str_eq(optarg, "mariadb");
            break;
        case 'm':
            ret->wish.members = MIN_OF((int)strtol(optarg, NULL, 10), SIM_MEMBERS_MAX);
            break;
        case 'n':
            ret->wish.faults = MIN_OF((int)strtol(optarg, NULL, 10), SCHEDULE_FAULTS_MAX);
            break;
        case 'r':
            ret->wish.relay_kept = true;
            break;
        case 't':
            ret->story = true;
            break;
        case 'k':
            ret->keep_going = true;
            break;
        case 'x':
            ret->wish.strict = true;
            break;
        case 'w':
            while (kind < FAULT_KIND_COUNT && !str_eq(fault_names[kind], optarg))
                kind++;
            ret->wish.without |= UINT64_C(1) << kind;
            break;
        case 'i':
            while (kind < VIOLATION_COUNT && !str_eq(violation_names[kind], optarg))
                kind++;
            ret->ignore |= 1U << kind;
            break;
        case 'o':
            ret->save = optarg;
            break;
        default:
            return false;
        }
    }
    return true;
}

static void count(const struct run_result *result, struct totals *totals)
{
    totals->runs++;
    totals->by_kind[result->kind]++;
    totals->virtual_ms += result->virtual_ms;
    totals->acked += result->acked;
    totals->beyond += result->beyond;
}

static void tell_parameters(const struct schedule *schedule)
{
    printf("%s, %d members, %s%s%s, seed %llu\n", schedule->mariadb ? "MariaDB" : "MySQL", schedule->members,
        schedule->semi_sync ? "semi-sync" : "async", schedule->relay_kept ? ", relay logs are kept" : "",
        schedule->slow ? ", slow appliers" : "", (unsigned long long)schedule->seed);
}

/* A violation: shrunk, told, kept. */
static void tell_failure(struct sim *sim, const struct options *options, struct schedule *schedule, enum violation kind)
{
    struct run_result result;
    int before = schedule->fault_count;
    int runs = run_shrink(sim, schedule, kind);
    printf("\n---- %s: %d faults of %d remain (%d runs)\n", violation_names[kind], schedule->fault_count, before, runs);
    tell_parameters(schedule);
    run_schedule(sim, schedule, stdout, &result);
    if (options->save && schedule_write(options->save, schedule, kind) == 0)
        printf("kept in %s\n", options->save);
    fflush(stdout);
}

static bool run_one(
    struct sim *sim, const struct options *options, struct schedule *schedule, const char *name, struct totals *totals)
{
    struct run_result result;
    if (options->story)
        tell_parameters(schedule);
    run_schedule(sim, schedule, options->story ? stdout : NULL, &result);
    count(&result, totals);
    if (result.kind == VIOLATION_NONE || options->ignore >> result.kind & 1)
        return true;
    totals->failed++;
    printf("%s%s%llu: %s: %s\n", str_or_empty(name), name ? ", seed " : "seed ", (unsigned long long)schedule->seed,
        violation_names[result.kind], result.text);
    if (!options->keep_going && !options->story)
        tell_failure(sim, options, schedule, result.kind);
    return options->keep_going;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void sum_up(const struct totals *totals, double seconds)
{
    printf(
        "simulation: %llu schedules, %llu with a violation, %.0f a second, %lld s of virtual time each, %lld commits acknowledged",
        (unsigned long long)totals->runs, (unsigned long long)totals->failed,
        (double)totals->runs / MAX_OF(seconds, 0.001),
        (long long)(totals->virtual_ms / 1000 / (int64_t)MAX_OF(totals->runs, 1)), (long long)totals->acked);
    printf("; in %llu more was lost than can be borne, and nobody opened\n", (unsigned long long)totals->beyond);
    for (int i = 1; i < VIOLATION_COUNT; i++) {
        if (totals->by_kind[i] > 0)
            printf("  %s: %llu\n", violation_names[i], (unsigned long long)totals->by_kind[i]);
    }
}

int main(int argc, char **argv)
{
    struct options options;
    struct totals totals = {0};
    struct schedule schedule;
    if (!read_options(argc, argv, &options))
        return usage();
    struct sim *sim = xnew(struct sim);
    double began = seconds_now();
    bool go = true;
    for (int i = optind; i < argc && go; i++) {
        if (schedule_read(argv[i], &schedule) < 0) {
            fprintf(stderr, "%s is no schedule\n", argv[i]);
            free(sim);
            return 2;
        }
        go = run_one(sim, &options, &schedule, argv[i], &totals);
    }
    for (uint64_t i = 0; i < options.count && optind == argc && go; i++) {
        schedule_make(options.seed + i, &options.wish, &schedule);
        go = run_one(sim, &options, &schedule, NULL, &totals);
    }
    sum_up(&totals, seconds_now() - began);
    free(sim);
    return totals.failed > 0;
}
