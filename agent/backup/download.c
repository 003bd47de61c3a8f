/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/download.h"

#include "agent/backup/backup_child.h"
#include "common/alloc.h"
#include "common/backup_pack.h"
#include "common/clock.h"
#include "common/sha256.h"
#include "common/tls.h"

/* Of what one call of the store's client hands over. */
#define PENDING_MAX ((size_t)(1 * KM_MIB))
#define OUT_BYTES PACK_FEED_MAX

struct download {
    struct download_options options;
    struct object_request *request;
    struct backup_manifest manifest;
    struct pack_reader *pack;
    size_t index; /* of the piece that comes */
    bool piece_came;
    uint64_t piece_bytes;
    struct sha256 piece_sha; /* over the digests of its parts */
    struct sha256 part_sha;
    uint64_t part_left;
    struct strbuf pending; /* came, not unpacked yet; the request is paused while there is any */
    size_t pending_at;
    char *out; /* unpacked, not taken yet */
    size_t out_len, out_at;
    struct backup_report report;
    struct loop_timer turn; /* everything moves from here, outside of the store's callbacks */
    bool over;
    struct error error;
    const char *reason;
};

static void turn(struct download *download)
{
    loop_timer_arm(&download->turn, 0);
}

static void fail_by_store(struct download *download, const struct error *err, const char *what)
{
    if (download->over)
        return;
    download->over = true;
    download->error = *err;
    error_prefix(&download->error, "%s", what);
    download->reason = backup_child_reason(err);
    turn(download);
}

/* What came is not what was stored, or not for us. */
static void fail(struct download *download, const struct error *err)
{
    if (download->over)
        return;
    download->over = true;
    download->error = *err;
    download->reason = err->kind == ERROR_FORBIDDEN ? "KeyInvalid"
        : err->kind == ERROR_CANCELLED              ? "Cancelled"
                                                    : "Damaged";
    turn(download);
}

/* ---- digests ---- */

static void begin_part(struct download *download)
{
    sha256_release(&download->part_sha);
    sha256_init(&download->part_sha);
    download->part_left = download->manifest.part_bytes;
}

static void end_part(struct download *download)
{
    unsigned char digest[32];

    sha256_bytes(&download->part_sha, digest);
    sha256_add(&download->piece_sha, digest, sizeof(digest));
    begin_part(download);
}

static void hash(struct download *download, const char *data, size_t len)
{
    while (len > 0) {
        size_t piece = (size_t)MIN_OF((uint64_t)len, download->part_left);
        sha256_add(&download->part_sha, data, piece);
        download->part_left -= piece;
        if (download->part_left == 0)
            end_part(download);
        data += piece;
        len -= piece;
    }
}

static int check_piece(struct download *download, struct error *err)
{
    const struct backup_piece *piece = &download->manifest.pieces[download->index];
    char name[16];
    char sha256[65];

    backup_piece_name(download->index, name);
    if (download->piece_bytes != piece->bytes)
        return error_set(err, ERROR_PROTOCOL, "%s is damaged: it has %llu bytes, the manifest says %llu", name,
            (unsigned long long)download->piece_bytes, (unsigned long long)piece->bytes);
    if (download->part_left != download->manifest.part_bytes)
        end_part(download);
    sha256_hex(&download->piece_sha, sha256);
    if (!str_eq(sha256, piece->sha256))
        return error_set(err, ERROR_PROTOCOL, "%s is damaged: its SHA-256 is not what the manifest says", name);
    return 0;
}

/* ---- pieces ---- */

static int on_data(void *arg, const char *data, size_t len)
{
    struct download *download = arg;
    struct error err = ERROR_INIT;
    char name[16];

    if (download->over)
        return -1;
    download->piece_bytes += len;
    download->report.stored_bytes += len;
    hash(download, data, len);
    strbuf_add(&download->pending, data, len);
    backup_piece_name(download->index, name);
    if (download->piece_bytes > download->manifest.pieces[download->index].bytes)
        error_set(&err, ERROR_PROTOCOL, "%s is damaged: it is longer than the manifest says", name);
    if (download->pending.overflowed)
        error_set(&err, ERROR_INTERNAL, "more data than the buffer takes");
    if (err.kind != ERROR_NONE) {
        fail(download, &err);
        return -1;
    }
    object_request_pause(download->request);
    turn(download);
    return 0;
}

/* The manifest was there, so is the bucket: what is not there, or was replaced under our hands, is this piece. */
static bool piece_is_lost(const struct error *failure, const char *name, struct error *err)
{
    if (failure->kind == ERROR_NOT_FOUND)
        error_set(err, ERROR_PROTOCOL, "%s is missing: %s", name, failure->message);
    else if (failure->kind == ERROR_CONFLICT)
        error_set(err, ERROR_PROTOCOL, "%s is damaged: it was replaced while it was read: %s", name, failure->message);
    else
        return false;
    return true;
}

static void on_piece(void *arg, const struct error *failure)
{
    struct download *download = arg;
    struct error err = ERROR_INIT;
    char name[16];

    download->request = NULL;
    backup_piece_name(download->index, name);
    if (failure && piece_is_lost(failure, name, &err)) {
        fail(download, &err);
    } else if (failure) {
        fail_by_store(download, failure, name);
    } else if (check_piece(download, &err) < 0) {
        fail(download, &err);
    } else {
        download->piece_came = true;
        turn(download);
    }
}

static void begin_piece(struct download *download)
{
    char piece_name[16];

    backup_piece_name(download->index, piece_name);
    _cleanup_(freep) char *name = xasprintf("%s/%s", download->options.task->folder, piece_name);
    download->piece_came = false;
    download->piece_bytes = 0;
    sha256_release(&download->piece_sha);
    sha256_init(&download->piece_sha);
    begin_part(download);
    download->request = object_read(download->options.store, name, 0, on_data, on_piece, download);
}

/* ---- unpacking ---- */

/* False: whoever takes the data does not take more now. */
static bool hand_on(struct download *download, struct error *err)
{
    size_t len = download->out_len - download->out_at;

    if (len == 0)
        return true;
    ssize_t taken = download->options.write(download->options.arg, download->out + download->out_at, len);
    if (taken < 0) {
        error_set(err, ERROR_CANCELLED, "nobody takes the data any more");
        return false;
    }
    download->out_at += (size_t)taken;
    download->report.raw_bytes += (uint64_t)taken;
    return (size_t)taken == len;
}

/* 1: there is something to hand on; 0: more input is needed. */
static int unpack(struct download *download, struct error *err)
{
    ssize_t n;

    while ((n = pack_reader_get(download->pack, download->out, OUT_BYTES, err)) == 0) {
        size_t len = MIN_OF(PACK_FEED_MAX, download->pending.len - download->pending_at);
        if (len == 0)
            return 0;
        if (pack_reader_put(download->pack, download->pending.buf + download->pending_at, len, err) < 0)
            return -1;
        download->pending_at += len;
    }
    download->out_len = n > 0 ? (size_t)n : 0;
    download->out_at = 0;
    return n > 0 ? 1 : -1;
}

static int end(struct download *download, struct error *err)
{
    if (pack_reader_end(download->pack, err) < 0)
        return -1;
    if (download->report.raw_bytes != download->manifest.raw_bytes)
        return error_set(err, ERROR_PROTOCOL, "it has unpacked to %llu bytes, the manifest says %llu",
            (unsigned long long)download->report.raw_bytes, (unsigned long long)download->manifest.raw_bytes);
    download->over = true;
    return 0;
}

/* All that came is handed on. */
static int go_on(struct download *download, struct error *err)
{
    strbuf_reset(&download->pending);
    download->pending_at = 0;
    if (!download->piece_came) {
        if (download->request)
            object_request_resume(download->request);
        return 0;
    }
    if (++download->index == download->manifest.piece_count)
        return end(download, err);
    begin_piece(download);
    return 0;
}

static void move_data(struct download *download)
{
    struct error err = ERROR_INIT;
    int rc = 1;

    while (rc > 0 && hand_on(download, &err))
        rc = unpack(download, &err);
    if (rc == 0)
        rc = go_on(download, &err);
    if (err.kind != ERROR_NONE)
        fail(download, &err);
}

/* ---- the manifest ---- */

static int check_identity(const struct download *download, const struct object_got *got, struct error *err)
{
    const struct backup_task *task = download->options.task;
    char digest[65];

    tls_sha256_hex(got->body, got->len, digest);
    if (*task->digest && !str_eq(task->digest, digest))
        return error_set(
            err, ERROR_PROTOCOL, "the manifest's digest is %s, not %s as was recorded", digest, task->digest);
    if (!str_eq(download->manifest.id, task->id))
        return error_set(
            err, ERROR_PROTOCOL, "the manifest is of backup %s, not of %s", download->manifest.id, task->id);
    if (download->manifest.sealed && !task->sealed)
        return error_set(
            err, ERROR_FORBIDDEN, "it is encrypted (key %s), and no key was given", download->manifest.key_id);
    return 0;
}

static void begin_data(struct download *download)
{
    const struct backup_manifest *manifest = &download->manifest;
    struct pack_options pack = {
        .compression = manifest->compression,
        .key = manifest->sealed ? download->options.task->key : NULL,
        .salt = manifest->salt,
    };

    download->pack = pack_reader_new(&pack);
    download->report.estimate_bytes = manifest->stored_bytes;
    position_tell(download->report.gtid, manifest->gtid);
    begin_piece(download);
}

static void on_manifest(void *arg, const struct object_got *got, const struct error *failure)
{
    struct download *download = arg;
    const struct backup_task *task = download->options.task;
    struct error err = ERROR_INIT;

    download->request = NULL;
    if (failure) {
        fail_by_store(download, failure, BACKUP_MANIFEST_NAME);
        return;
    }
    if (backup_manifest_decode(got->body, got->len, task->sealed ? task->key : NULL, &download->manifest, &err) == 0 &&
        check_identity(download, got, &err) == 0) {
        begin_data(download);
        return;
    }
    fail(download, &err);
}

/* ---- life ---- */

static void on_turn(void *arg)
{
    struct download *download = arg;
    struct backup_report *report = &download->report;

    if (!download->over && download->pack)
        move_data(download);
    if (!download->over || report->state != BACKUP_STATE_RUNNING)
        return;
    loop_timer_cancel(&download->turn);
    report->completed_ms = clock_realtime_ms();
    if (download->error.kind == ERROR_NONE) {
        report->state = BACKUP_STATE_COMPLETED;
        download->options.ended(download->options.arg, NULL);
        return;
    }
    backup_report_fail(report, download->reason, download->error.message);
    struct error error = download->error;
    download->options.ended(download->options.arg, &error);
}

void download_writable(struct download *download)
{
    turn(download);
}

const struct backup_report *download_report(struct download *download)
{
    struct backup_report *report = &download->report;
    int64_t took_ms = clock_realtime_ms() - report->started_ms;

    report->bytes_per_second = took_ms > 0 ? report->raw_bytes * 1000 / (uint64_t)took_ms : 0;
    return report;
}

struct download *download_new(const struct download_options *options)
{
    struct download *download = xnew(struct download);
    _cleanup_(freep) char *name = xasprintf("%s/" BACKUP_MANIFEST_NAME, options->task->folder);

    download->options = *options;
    download->out = xmalloc(OUT_BYTES);
    strbuf_init(&download->pending, PENDING_MAX);
    loop_timer_init(&download->turn, options->loop, on_turn, download);
    memcpy(download->report.id, options->task->id, sizeof(download->report.id));
    download->report.state = BACKUP_STATE_RUNNING;
    download->report.started_ms = clock_realtime_ms();
    download->request = object_get(options->store, name, BACKUP_MANIFEST_MAX, on_manifest, download);
    return download;
}

void download_free(struct download *download)
{
    if (!download)
        return;
    loop_timer_release(&download->turn);
    if (download->request)
        object_request_cancel(download->request);
    sha256_release(&download->piece_sha);
    sha256_release(&download->part_sha);
    pack_reader_free(download->pack);
    strbuf_release_secret(&download->pending);
    free(download->out);
    backup_manifest_release(&download->manifest);
    free(download);
}
