/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/replay_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/replay_word.h"
#include "common/alloc.h"
#include "common/backup_pack.h"
#include "common/fs.h"
#include "common/sha256.h"
#include "common/tls.h"

#define BUFFER_BYTES ((size_t)(256 * KM_KIB))
/* Beside the segment itself, and what of it goes into the batch. */
#define ROOM_MARGIN ((uint64_t)(64 * KM_MIB))
#define SECOND_MS 1000

struct replay_fetch {
    struct replay_fetch_options options;
    struct replay_cut *cut;
    char *segment_path, *part_path;
    char *buffer;
    int batch_fd; /* -1: nothing of it is there yet */
    uint64_t batch_bytes, batch_number;
    bool batch_holds; /* a transaction */
};

/* ---- unpacking a segment ---- */

struct unpacking {
    struct replay_fetch *fetch;
    const struct binlog_segment *segment;
    struct sha256 sha;
    struct pack_reader *pack;
    int fd;
    uint64_t stored_bytes, raw_bytes;
};

static int write_all(int fd, const char *data, size_t len, const char *path, struct error *err)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == ENOSPC)
            return error_set(err, ERROR_TOO_LARGE, "the volume is full: writing %s", path);
        if (n <= 0)
            return error_set_errno(err, errno, "writing %s", path);
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int unpack(struct unpacking *unpacking, struct error *err)
{
    struct replay_fetch *fetch = unpacking->fetch;
    ssize_t n;

    while ((n = pack_reader_get(unpacking->pack, fetch->buffer, BUFFER_BYTES, err)) > 0) {
        unpacking->raw_bytes += (uint64_t)n;
        if (unpacking->raw_bytes > unpacking->segment->raw_bytes)
            return error_set(err, ERROR_PROTOCOL, "it unpacks to more than its description says");
        if (write_all(unpacking->fd, fetch->buffer, (size_t)n, fetch->segment_path, err) < 0)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    struct unpacking *unpacking = arg;

    unpacking->stored_bytes += len;
    if (unpacking->stored_bytes > unpacking->segment->stored_bytes)
        return error_set(err, ERROR_PROTOCOL, "it is longer than its description says");
    sha256_add(&unpacking->sha, data, len);
    while (len > 0) {
        size_t piece = MIN_OF(len, PACK_FEED_MAX);
        if (pack_reader_put(unpacking->pack, data, piece, err) < 0 || unpack(unpacking, err) < 0)
            return -1;
        data += piece;
        len -= piece;
    }
    return 0;
}

static int check_unpacked(struct unpacking *unpacking, struct error *err)
{
    const struct binlog_segment *segment = unpacking->segment;
    char sha256[65];

    sha256_hex(&unpacking->sha, sha256);
    if (unpacking->stored_bytes != segment->stored_bytes)
        return error_set(err, ERROR_PROTOCOL, "it has %llu bytes, its description says %llu",
            (unsigned long long)unpacking->stored_bytes, (unsigned long long)segment->stored_bytes);
    if (!str_eq(sha256, segment->sha256))
        return error_set(err, ERROR_PROTOCOL, "its SHA-256 is not what its description says");
    if (pack_reader_end(unpacking->pack, err) < 0)
        return -1;
    return unpacking->raw_bytes == segment->raw_bytes
        ? 0
        : error_set(err, ERROR_PROTOCOL, "it has unpacked to %llu bytes, its description says %llu",
              (unsigned long long)unpacking->raw_bytes, (unsigned long long)segment->raw_bytes);
}

static int unpack_segment(
    struct replay_fetch *fetch, const struct binlog_segment *segment, const char *object, struct error *err)
{
    const struct pack_options pack = {
        .compression = segment->compression,
        .key = segment->sealed ? fetch->options.wish->key : NULL,
        .salt = segment->salt,
    };
    struct unpacking unpacking = {.fetch = fetch, .segment = segment};

    unpacking.fd = open(fetch->segment_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (unpacking.fd < 0)
        return error_set_errno(err, errno, "creating %s", fetch->segment_path);
    sha256_init(&unpacking.sha);
    unpacking.pack = pack_reader_new(&pack);
    int rc = replay_store_read(fetch->options.store, object, on_data, &unpacking, err);
    if (rc == 0)
        rc = check_unpacked(&unpacking, err);
    pack_reader_free(unpacking.pack);
    sha256_release(&unpacking.sha);
    close(unpacking.fd);
    return rc;
}

/* ---- cutting it ---- */

struct cutting {
    struct replay_fetch *fetch;
    enum replay_reason *reason;
    int fd;
    uint64_t at;       /* of the segment: what is before it was looked at */
    uint64_t from, to; /* to be copied; contiguous pieces are one */
};

static int begin_batch(struct replay_fetch *fetch, struct error *err)
{
    if (fetch->batch_fd >= 0)
        return 0;
    fetch->batch_fd = open(fetch->part_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fetch->batch_fd < 0)
        return error_set_errno(err, errno, "creating %s", fetch->part_path);
    fetch->batch_bytes = BINLOG_MAGIC_BYTES;
    return write_all(fetch->batch_fd,
        "\xfe"
        "bin",
        BINLOG_MAGIC_BYTES, fetch->part_path, err);
}

static int copy_piece(struct cutting *cutting, struct error *err)
{
    struct replay_fetch *fetch = cutting->fetch;

    if (cutting->from < cutting->to && begin_batch(fetch, err) < 0)
        return -1;
    for (uint64_t at = cutting->from; at < cutting->to;) {
        size_t want = (size_t)MIN_OF((uint64_t)BUFFER_BYTES, cutting->to - at);
        ssize_t n = pread(cutting->fd, fetch->buffer, want, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(err, n < 0 ? errno : EIO, "reading %s", fetch->segment_path);
        if (write_all(fetch->batch_fd, fetch->buffer, (size_t)n, fetch->part_path, err) < 0)
            return -1;
        at += (uint64_t)n;
        fetch->batch_bytes += (uint64_t)n;
    }
    cutting->from = cutting->to = 0;
    return 0;
}

static int add_piece(struct cutting *cutting, uint64_t from, uint64_t to, struct error *err)
{
    if (from == to)
        return 0;
    if (cutting->to != from) {
        if (copy_piece(cutting, err) < 0)
            return -1;
        cutting->from = from;
    }
    cutting->to = to;
    return 0;
}

/* What stands between transactions describes those that follow, and goes along. */
static int on_transaction(void *arg, const struct binlog_transaction *one, struct error *err)
{
    struct cutting *cutting = arg;
    enum replay_verdict verdict = REPLAY_SKIP;

    if (replay_cut_judge(cutting->fetch->cut, &one->gtid, one->at_s * SECOND_MS, &verdict, cutting->reason, err) < 0)
        return -1;
    if (verdict == REPLAY_STOP)
        return 0;
    if (add_piece(cutting, cutting->at, one->from, err) < 0 ||
        (verdict == REPLAY_TAKE && add_piece(cutting, one->from, one->to, err) < 0))
        return -1;
    cutting->fetch->batch_holds |= verdict == REPLAY_TAKE;
    cutting->at = one->to;
    return 0;
}

static int cut_segment(struct replay_fetch *fetch, const struct binlog_segment *segment, const struct replay_step *step,
    enum replay_reason *reason, struct error *err)
{
    struct cutting cutting = {.fetch = fetch, .reason = reason, .at = BINLOG_MAGIC_BYTES};
    struct binlog_head head;

    cutting.fd = open(fetch->segment_path, O_RDONLY | O_CLOEXEC);
    if (cutting.fd < 0)
        return error_set_errno(err, errno, "opening %s", fetch->segment_path);
    int rc = replay_cut_begin(fetch->cut, segment->after, step->limit, err);
    if (rc == 0) {
        rc = binlog_file_scan(fetch->segment_path, fetch->options.wish->flavour, &head, on_transaction, &cutting, err);
        binlog_head_release(&head);
    }
    if (rc == 0)
        rc = copy_piece(&cutting, err);
    if (rc == 0)
        rc = replay_cut_end(fetch->cut, segment->until, segment->count, err);
    close(cutting.fd);
    return rc;
}

/* ---- one after the other ---- */

static int read_description(struct replay_fetch *fetch, const struct replay_step *step, const char *object,
    struct position_pool *positions, struct binlog_segment *ret, enum replay_reason *reason, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;
    char sha256[65];

    strbuf_init(&text, BINLOG_SEGMENT_META_MAX + 1);
    if (replay_store_get(fetch->options.store, object, BINLOG_SEGMENT_META_MAX, &text, err) < 0)
        return error_prefix(err, "%s", object);
    tls_sha256_hex(text.buf, text.len, sha256);
    if (replay_check_segment(fetch->options.wish, &step->name, text.buf, text.len, positions, ret, reason, err) < 0)
        return -1;
    if (str_eq(sha256, step->sha256))
        return 0;
    *reason = REPLAY_DAMAGED;
    return error_set(err, ERROR_PROTOCOL, "%s has changed meanwhile", object);
}

static int check_room(const struct replay_fetch *fetch, const struct binlog_segment *segment, struct error *err)
{
    uint64_t free_bytes = 0, total = 0, needed = segment->raw_bytes * 2 + ROOM_MARGIN;

    if (fs_space(fetch->options.dir, &free_bytes, &total, err) < 0)
        return -1;
    if (free_bytes >= needed)
        return 0;
    return error_set(err, ERROR_TOO_LARGE,
        "the volume is too small: replaying the next archived segment needs %llu MiB, %llu MiB are free",
        (unsigned long long)(needed / KM_MIB), (unsigned long long)(free_bytes / KM_MIB));
}

/* Digests and seals, events: what is wrong with them is damage. */
static int blame(const struct replay_fetch *fetch, const char *name, enum replay_reason *reason, struct error *err)
{
    if (*reason == REPLAY_STORE_FAILED && (err->kind == ERROR_PROTOCOL || err->kind == ERROR_INVALID))
        *reason = REPLAY_DAMAGED;
    if (*reason == REPLAY_STORE_FAILED && err->kind == ERROR_NOT_FOUND)
        *reason = REPLAY_GAP;
    return *reason == REPLAY_DAMAGED || *reason == REPLAY_STORE_FAILED
        ? error_prefix(err, "%s/%s.log", fetch->options.wish->folder, name)
        : -1;
}

int replay_fetch_step(
    struct replay_fetch *fetch, const struct replay_step *step, enum replay_reason *ret_reason, struct error *err)
{
    char name[BINLOG_SEGMENT_NAME_SIZE];
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment segment;

    *ret_reason = REPLAY_STORE_FAILED;
    binlog_segment_name_print(&step->name, name);
    _cleanup_(freep) char *meta = xasprintf("%s/%s.json", fetch->options.wish->folder, name);
    _cleanup_(freep) char *log = xasprintf("%s/%s.log", fetch->options.wish->folder, name);
    if (read_description(fetch, step, meta, positions, &segment, ret_reason, err) < 0 ||
        check_room(fetch, &segment, err) < 0)
        return -1;
    int rc = unpack_segment(fetch, &segment, log, err);
    if (rc == 0)
        rc = cut_segment(fetch, &segment, step, ret_reason, err);
    unlink(fetch->segment_path);
    return rc < 0 ? blame(fetch, name, ret_reason, err) : 0;
}

bool replay_fetch_is_full(const struct replay_fetch *fetch)
{
    return fetch->batch_bytes >= REPLAY_BATCH_BYTES;
}

int replay_fetch_end_batch(struct replay_fetch *fetch, uint64_t *ret_number, struct error *err)
{
    *ret_number = 0;
    if (fetch->batch_fd < 0)
        return 0;
    close(fetch->batch_fd);
    fetch->batch_fd = -1;
    fetch->batch_bytes = 0;
    if (!fetch->batch_holds) {
        unlink(fetch->part_path);
        return 0;
    }
    fetch->batch_holds = false;
    _cleanup_(freep) char *path = replay_batch_path(fetch->options.dir, fetch->batch_number + 1);
    if (rename(fetch->part_path, path) < 0)
        return error_set_errno(err, errno, "renaming %s", fetch->part_path);
    *ret_number = ++fetch->batch_number;
    return 0;
}

const struct replay_cut *replay_fetch_cut(const struct replay_fetch *fetch)
{
    return fetch->cut;
}

struct replay_fetch *replay_fetch_new(const struct replay_fetch_options *options, struct error *err)
{
    struct replay_cut *cut = replay_cut_new(options->wish, err);

    if (!cut)
        return NULL;
    struct replay_fetch *fetch = xnew(struct replay_fetch);
    *fetch = (struct replay_fetch){.options = *options, .cut = cut, .batch_fd = -1};
    fetch->segment_path = xasprintf("%s/" REPLAY_SPOOL_NAME ".segment", options->dir);
    fetch->part_path = xasprintf("%s/" REPLAY_SPOOL_NAME ".part", options->dir);
    fetch->buffer = xmalloc(BUFFER_BYTES);
    return fetch;
}

void replay_fetch_free(struct replay_fetch *fetch)
{
    if (!fetch)
        return;
    if (fetch->batch_fd >= 0)
        close(fetch->batch_fd);
    unlink(fetch->part_path);
    replay_cut_free(fetch->cut);
    free(fetch->segment_path);
    free(fetch->part_path);
    free(fetch->buffer);
    free(fetch);
}
