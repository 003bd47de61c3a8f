/* SPDX-License-Identifier: Apache-2.0 */
/* simulate: see docs/simulation.md. */
#include "common/base.h"

#include <getopt.h>
#include <time.h>

#include "common/alloc.h"
#include "e2e/simulation/options.h"
#include "e2e/simulation/run.h"

struct totals {
    uint64_t runs, failed, beyond, by_kind[VIOLATION_COUNT];
    int64_t virtual_ms, acked;
};

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
    printf("%s, %d members, %s%s%s%s, seed %llu\n", schedule->mariadb ? "MariaDB" : "MySQL", schedule->members,
        schedule->semi_sync ? "semi-sync" : "async", schedule->slow ? ", slow appliers" : "",
        schedule->idle ? ", clients that write seldom" : "",
        schedule->impatient ? ", clients that do not wait for long" : "", (unsigned long long)schedule->seed);
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
    if (options->digests)
        printf("%s%s%llu: digest %016llx\n", str_or_empty(name), name ? ", seed " : "seed ",
            (unsigned long long)schedule->seed, (unsigned long long)result.digest);
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

static bool is_over(const struct options *options, double began)
{
    return options->seconds > 0 && seconds_now() - began >= (double)options->seconds;
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
    if (!options_read(argc, argv, &options))
        return 2;
    struct sim *sim = run_new_sim();
    sim->digests_story = options.digests;
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
    for (uint64_t i = 0; i < options.count && optind == argc && go && !is_over(&options, began); i++) {
        schedule_make(options.seed + i, &options.wish, &schedule);
        go = run_one(sim, &options, &schedule, NULL, &totals);
    }
    sum_up(&totals, seconds_now() - began);
    free(sim);
    return totals.failed > 0;
}
