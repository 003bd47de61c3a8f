/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/log_watch.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/backup/binlog_tail.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strbuf.h"
#include "common/strvec.h"
#include "common/worker.h"

#define LOOK_INTERVAL_MS 1000
#define SECTOR_BYTES 512
#define DISK_STAT_MAX 1024
/* More than this in a second is one large transaction. Clients that hang one by one on a dead disk may still get theirs
 * as far as the kernel. */
#define GROWN_MIN ((uint64_t)(4 * KM_MIB))
/* Less than that is on the disk at once. */
#define UNSYNCED_MIN ((uint64_t)(64 * KM_MIB))
/* A disk that works does more than that between two looks. */
#define DISK_WRITTEN_MIN ((uint64_t)KM_MIB)
/* So slow is a slow one. */
#define DISK_SLOW_BYTES_PER_MS ((uint64_t)(16 * KM_MIB / 1000))

/* ---- pure ---- */

static uint64_t grown_since(const struct log_look *before, const struct log_look *look)
{
    uint64_t bytes = look->file == before->file ? before->bytes : 0;

    return look->bytes > bytes ? look->bytes - bytes : 0;
}

static bool is_synced(const struct log_progress *progress, const struct log_look *look)
{
    uint64_t unsynced = grown_since(&progress->base, look);

    if (unsynced < UNSYNCED_MIN || !look->written || !progress->last.written)
        return false;
    return look->written >= progress->last.written + DISK_WRITTEN_MIN &&
        (uint64_t)(look->at_ms - progress->grown_ms) <= unsynced / DISK_SLOW_BYTES_PER_MS;
}

bool log_progress_take(struct log_progress *progress, const struct log_look *look, int64_t blocked_since_ms)
{
    const struct log_look *last = &progress->last;
    bool grown = last->at_ms && grown_since(last, look) >= GROWN_MIN;
    bool moves = blocked_since_ms && last->at_ms >= blocked_since_ms && (grown || is_synced(progress, look));

    if (grown)
        progress->grown_ms = look->at_ms;
    if (!blocked_since_ms || !last->at_ms)
        progress->base = *look;
    progress->last = *look;
    return moves;
}

/* ---- the thread ---- */

struct log_watch {
    struct worker *worker;
    const char *data_dir;
    struct beat_state *beat;
    struct log_progress progress;
    int64_t next_ms;
    bool busy, ending;
    /* From submit to done these belong to the thread. */
    struct log_look look;
};

/* The seventh number of the line is that of sectors written (Documentation/block/stat.rst). */
static bool sectors_written(const char *text, uint64_t *ret)
{
    for (int field = 1; field <= 7; field++) {
        char *end;
        unsigned long long value = strtoull(text, &end, 10);
        if (end == text)
            return false;
        text = end;
        *ret = value;
    }
    return true;
}

/* Bytes that the disk under the file has written; 0: there is no such number, as of a network's file system. */
static uint64_t disk_written(dev_t device)
{
    char path[64];
    _cleanup_(strbuf_release) struct strbuf text;
    uint64_t sectors = 0;

    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    strbuf_init(&text, DISK_STAT_MAX);
    if (fs_read_file(path, &text, NULL) < 0 || !sectors_written(text.buf, &sectors))
        return 0;
    return sectors * SECTOR_BYTES;
}

static void run(void *arg)
{
    struct log_watch *watch = arg;
    _cleanup_(strvec_release) struct strvec files;
    struct stat st;

    strvec_init(&files);
    watch->look = (struct log_look){0};
    if (binlog_tail_files(watch->data_dir, &files, NULL) < 0 || stat(files.v[files.n - 1], &st) < 0)
        return;
    watch->look = (struct log_look){
        .at_ms = clock_monotonic_ms(),
        .file = (uint64_t)st.st_ino,
        .bytes = (uint64_t)st.st_size,
        .written = disk_written(st.st_dev),
    };
}

static void done(void *arg)
{
    struct log_watch *watch = arg;

    watch->busy = false;
    if (watch->ending || !watch->look.at_ms)
        return;
    watch->beat->log_file = watch->look.file;
    if (watch->beat->wanted && log_progress_take(&watch->progress, &watch->look, watch->beat->blocked_since_ms))
        watch->beat->log_ms = watch->look.at_ms;
}

struct log_watch *log_watch_new(struct loop *loop, const char *data_dir, struct beat_state *beat)
{
    struct log_watch *watch = xnew(struct log_watch);

    watch->worker = worker_new(loop, "log");
    watch->data_dir = data_dir;
    watch->beat = beat;
    return watch;
}

void log_watch_turn(struct log_watch *watch, int64_t now_ms)
{
    struct worker_job job = {.run = run, .done = done, .arg = watch};

    if (!watch->beat->wanted)
        watch->progress = (struct log_progress){0};
    if (!watch->beat->wanted && !watch->beat->log_wanted)
        return;
    if (watch->busy || now_ms < watch->next_ms)
        return;
    watch->busy = true;
    watch->next_ms = now_ms + LOOK_INTERVAL_MS;
    if (worker_submit(watch->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

void log_watch_free(struct log_watch *watch)
{
    if (!watch)
        return;
    watch->ending = true;
    worker_free(watch->worker);
    free(watch);
}
