/* SPDX-License-Identifier: Apache-2.0 */
/* The process_* metrics, by the names that Prometheus clients agree on:
 * https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics */
#include "common/base.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/metrics.h"
#include "common/version.h"

static const struct metric_desc resident = {
    .name = "process_resident_memory_bytes", .help = "Resident memory.", .type = METRIC_GAUGE};
static const struct metric_desc cpu = {
    .name = "process_cpu_seconds_total", .help = "User and system CPU time.", .type = METRIC_COUNTER};
static const struct metric_desc open_fds = {
    .name = "process_open_fds", .help = "Open file descriptors.", .type = METRIC_GAUGE};
static const struct metric_desc start_time = {
    .name = "process_start_time_seconds", .help = "Start of the process, Unix time.", .type = METRIC_GAUGE};

static double resident_bytes(void)
{
    /* proc(5), statm: total and resident size in pages. */
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, 4096);
    if (fs_read_file("/proc/self/statm", &text, NULL) != 0)
        return 0;
    const char *space = strchr(text.buf, ' ');
    return space ? strtod(space, NULL) * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double seconds_of(const struct timeval *tv)
{
    return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

static double count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count - 1; /* the folder's own */
}

/* proc(5), stat: field 22 is the start in clock ticks since boot; fields are counted behind the name, which may hold
 * anything. */
static double start_seconds(void)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, 4096);
    struct timespec boot;
    if (fs_read_file("/proc/self/stat", &text, NULL) != 0 || clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return 0;
    const char *p = strrchr(text.buf, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (!p)
        return 0;
    double since_boot = strtod(p, NULL) / (double)sysconf(_SC_CLK_TCK);
    double boot_time = (double)clock_realtime_us() / 1e6 - (double)boot.tv_sec - (double)boot.tv_nsec / 1e9;
    return boot_time + since_boot;
}

static void collect_process(void *arg)
{
    struct metrics *metrics = arg;
    metric_set(metric_of(metrics_declare(metrics, &resident)), resident_bytes());
    metric_set(metric_of(metrics_declare(metrics, &cpu)), cpu_seconds());
    metric_set(metric_of(metrics_declare(metrics, &open_fds)), count_fds());
}

static const struct metric_desc build_info = {
    .name = "kubemysql_build_info",
    .help = "1 for the version and the commit of this program.",
    .type = METRIC_GAUGE,
    .labels = {"version", "commit"},
};

void metrics_add_process(struct metrics *metrics)
{
    metric_set(metric_of2(metrics_declare(metrics, &build_info), KM_VERSION, build_commit), 1);
    metric_set(metric_of(metrics_declare(metrics, &start_time)), start_seconds());
    metrics_on_collect(metrics, collect_process, metrics);
}
