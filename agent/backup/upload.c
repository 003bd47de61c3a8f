/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/upload.h"

#include <openssl/rand.h>

#include "agent/backup/pace.h"
#include "common/alloc.h"
#include "common/backup_seal.h"
#include "common/clock.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/sha256.h"
#include "common/tls.h"

/* How many may wait or be sent at a time: while one is sent the next one fills. */
#define PARTS 2

enum part_state { PART_FREE, PART_FILLING, PART_FULL, PART_SENDING };

struct part {
    struct upload *upload;
    enum part_state state;
    char *data;
    size_t len;
    bool ends_piece;
};

/* The object that is written now. */
struct piece {
    struct object_upload *object; /* NULL: none */
    bool started, closed, completing, complete;
    int given, done;
    uint64_t bytes;
    struct sha256 sha; /* over the digests of its parts */
};

enum upload_step { UPLOAD_DATA, UPLOAD_COMMITTING, UPLOAD_CLEANING, UPLOAD_ENDED };

struct upload {
    struct upload_options options;
    enum upload_step step;
    struct pack_writer *pack;
    struct strbuf staged; /* packed, not in a part yet */
    size_t staged_at;
    struct part parts[PARTS];
    unsigned filling, giving; /* indexes; they go round */
    uint64_t piece_filled;    /* of the piece that the filling part belongs to */
    struct piece piece;
    bool data_ended, committed;
    struct backup_commit commit;
    struct backup_manifest manifest;
    struct backup_report report;
    struct object_request *request; /* the manifest, or the cleaning */
    struct loop_timer turn;         /* everything moves from here, outside of the store's callbacks */
    struct loop_timer deadline;     /* of the cleaning */
    struct pace pace;
    struct error error;
    bool aborted; /* while the manifest was on its way */
};

static void turn(struct upload *upload)
{
    loop_timer_arm(&upload->turn, 0);
}

/* ---- from what is packed into parts ---- */

static bool staged_empty(const struct upload *upload)
{
    return upload->staged_at == upload->staged.len;
}

static void close_part(struct upload *upload, struct part *part, bool ends_piece)
{
    part->state = PART_FULL;
    part->ends_piece = ends_piece;
    if (ends_piece)
        upload->piece_filled = 0;
    upload->filling = (upload->filling + 1) % PARTS;
}

static struct part *part_to_fill(struct upload *upload)
{
    struct part *part = &upload->parts[upload->filling];

    if (part->state == PART_FREE) {
        part->state = PART_FILLING;
        part->len = 0;
    }
    return part->state == PART_FILLING ? part : NULL;
}

static void fill(struct upload *upload)
{
    const struct upload_options *options = &upload->options;
    struct part *part;

    while (!staged_empty(upload) && (part = part_to_fill(upload))) {
        uint64_t piece_left = options->piece_bytes - upload->piece_filled;
        size_t len = MIN_OF(upload->staged.len - upload->staged_at, options->part_bytes - part->len);
        len = (size_t)MIN_OF((uint64_t)len, piece_left);
        memcpy(part->data + part->len, upload->staged.buf + upload->staged_at, len);
        part->len += len;
        upload->staged_at += len;
        upload->piece_filled += len;
        bool ends_piece = upload->piece_filled == options->piece_bytes;
        if (ends_piece || part->len == options->part_bytes)
            close_part(upload, part, ends_piece);
    }
    if (staged_empty(upload)) {
        strbuf_reset(&upload->staged);
        upload->staged_at = 0;
        if (upload->data_ended && upload->parts[upload->filling].state == PART_FILLING)
            close_part(upload, &upload->parts[upload->filling], true);
    }
}

static bool all_given_away(const struct upload *upload)
{
    bool parts_free = true;

    for (int i = 0; i < PARTS; i++)
        parts_free &= upload->parts[i].state == PART_FREE;
    return upload->data_ended && staged_empty(upload) && parts_free;
}

/* ---- the end ---- */

static void finish(struct upload *upload)
{
    struct backup_report *report = &upload->report;

    if (report->state != BACKUP_STATE_RUNNING)
        return; /* told before */
    loop_timer_cancel(&upload->deadline);
    report->completed_ms = clock_realtime_ms();
    if (upload->error.kind == ERROR_NONE) {
        report->state = BACKUP_STATE_COMPLETED;
        upload->options.ended(upload->options.arg, NULL);
        return;
    }
    backup_report_fail(report, backup_child_reason(&upload->error), upload->error.message);
    struct error error = upload->error;
    upload->options.ended(upload->options.arg, &error);
}

static void on_cleaned(void *arg, const struct error *err)
{
    struct upload *upload = arg;

    upload->request = NULL;
    if (err)
        log_warn("what was stored of the backup could not be removed", LOG_ERR(err));
    upload->step = UPLOAD_ENDED;
    turn(upload);
}

static void on_deadline(void *arg)
{
    struct upload *upload = arg;

    log_warn("the store does not answer: what was stored of the backup may be left there");
    if (upload->request)
        object_request_cancel(steal_ptr(upload->request));
    object_upload_free(steal_ptr(upload->piece.object));
    upload->step = UPLOAD_ENDED;
    turn(upload);
}

static void delete_folder(struct upload *upload)
{
    _cleanup_(freep) char *under = xasprintf("%s/", upload->options.task->folder);
    _cleanup_(freep) char *manifest = xasprintf("%s" BACKUP_MANIFEST_NAME, under);

    upload->request = object_delete_tree(upload->options.store, under, manifest, on_cleaned, upload);
}

static void on_aborted(void *arg, const struct error *err)
{
    struct upload *upload = arg;

    if (err)
        log_warn("an upload could not be aborted", LOG_ERR(err));
    upload->piece.complete = true; /* it is freed outside of its callback */
    turn(upload);
}

static void clean(struct upload *upload)
{
    upload->step = UPLOAD_CLEANING;
    loop_timer_arm(&upload->deadline, UPLOAD_CLEAN_MS);
    if (upload->piece.object)
        object_upload_abort(upload->piece.object, on_aborted, upload);
    else
        upload->piece.complete = true;
    turn(upload);
}

static void go_on_cleaning(struct upload *upload)
{
    if (!upload->piece.complete || upload->request)
        return;
    object_upload_free(steal_ptr(upload->piece.object));
    delete_folder(upload);
}

static void fail(struct upload *upload, const struct error *why)
{
    if (upload->error.kind != ERROR_NONE || upload->step == UPLOAD_ENDED)
        return;
    upload->error = *why;
    if (upload->step == UPLOAD_COMMITTING)
        upload->aborted = true;
    else
        clean(upload);
}

static void fail_at(struct upload *upload, const struct error *why, const char *what)
{
    struct error err = *why;

    error_prefix(&err, "%s", what);
    fail(upload, &err);
}

/* ---- the manifest ---- */

static void describe(struct upload *upload)
{
    const struct backup_task *task = upload->options.task;
    const struct backup_commit *commit = &upload->commit;
    struct backup_manifest *manifest = &upload->manifest;

    memcpy(manifest->id, task->id, sizeof(manifest->id));
    memcpy(manifest->ns, task->ns, sizeof(manifest->ns));
    memcpy(manifest->cluster, task->cluster, sizeof(manifest->cluster));
    memcpy(manifest->cluster_uid, task->cluster_uid, sizeof(manifest->cluster_uid));
    manifest->method = task->method;
    manifest->compression = task->compression;
    manifest->stream = commit->stream;
    memcpy(manifest->flavour, commit->flavour, sizeof(manifest->flavour));
    memcpy(manifest->server_version, commit->server_version, sizeof(manifest->server_version));
    memcpy(manifest->donor, commit->donor, sizeof(manifest->donor));
    manifest->gtid = commit->gtid;
    manifest->data_bytes = commit->data_bytes;
    manifest->started_ms = upload->report.started_ms;
    manifest->completed_ms = MAX_OF(clock_realtime_ms(), manifest->started_ms);
    manifest->raw_bytes = upload->report.raw_bytes;
    manifest->part_bytes = upload->options.part_bytes;
    manifest->piece_bytes = upload->options.piece_bytes;
}

static void on_manifest(void *arg, const struct error *err)
{
    struct upload *upload = arg;

    upload->request = NULL;
    if (!err && !upload->aborted) {
        position_tell(upload->report.gtid, upload->commit.gtid);
        upload->step = UPLOAD_ENDED;
        turn(upload);
        return;
    }
    if (!upload->aborted) {
        upload->error = *err;
        error_prefix(&upload->error, "writing " BACKUP_MANIFEST_NAME);
    }
    clean(upload);
}

static void write_manifest(struct upload *upload)
{
    const struct backup_task *task = upload->options.task;
    _cleanup_(freep) char *name = xasprintf("%s/" BACKUP_MANIFEST_NAME, task->folder);
    _cleanup_(strbuf_release) struct strbuf text;
    struct backup_manifest checked;
    struct error err = ERROR_INIT;

    describe(upload);
    strbuf_init(&text, BACKUP_MANIFEST_MAX);
    backup_manifest_encode(&upload->manifest, task->sealed ? task->key : NULL, &text);
    /* What no reader would take must not count as a backup. */
    if (backup_manifest_decode(text.buf, text.len, task->sealed ? task->key : NULL, &checked, &err) < 0) {
        fail(upload, &err);
        return;
    }
    backup_manifest_release(&checked);
    tls_sha256_hex(text.buf, text.len, upload->report.digest);
    upload->step = UPLOAD_COMMITTING;
    upload->request = object_put(upload->options.store, name, text.buf, text.len, on_manifest, upload);
}

/* ---- pieces ---- */

static void on_started(void *arg, const struct error *err)
{
    struct upload *upload = arg;

    if (err) {
        fail_at(upload, err, "beginning an upload");
        return;
    }
    upload->piece.started = true;
    turn(upload);
}

static void begin_piece(struct upload *upload)
{
    char piece_name[16];

    backup_piece_name(upload->manifest.piece_count, piece_name);
    _cleanup_(freep) char *name = xasprintf("%s/%s", upload->options.task->folder, piece_name);
    if (upload->manifest.piece_count == BACKUP_PIECES_MAX) {
        struct error err = ERROR_INIT;
        error_set(&err, ERROR_TOO_LARGE, "more than %d pieces", BACKUP_PIECES_MAX);
        fail(upload, &err);
        return;
    }
    upload->piece = (struct piece){0};
    sha256_init(&upload->piece.sha);
    upload->piece.object = object_upload_begin(upload->options.store, name, on_started, upload);
}

static void on_part(void *arg, const struct error *err)
{
    struct part *part = arg;
    struct upload *upload = part->upload;

    if (err) {
        fail_at(upload, err, "sending a part");
        return;
    }
    part->state = PART_FREE;
    upload->piece.done++;
    upload->report.stored_bytes += part->len;
    turn(upload);
}

/* False: not now. */
static bool within_rate(struct upload *upload, size_t len)
{
    int64_t wait_us = pace_take(&upload->pace, upload->options.task->rate_limit, len, clock_monotonic_us());

    if (wait_us > 0)
        loop_timer_arm(&upload->turn, (wait_us + 999) / 1000);
    return wait_us == 0;
}

static void give_part(struct upload *upload, struct part *part)
{
    struct piece *piece = &upload->piece;
    unsigned char digest[32];
    struct sha256 sha;

    sha256_init(&sha);
    sha256_add(&sha, part->data, part->len);
    sha256_bytes(&sha, digest);
    sha256_release(&sha);
    sha256_add(&piece->sha, digest, sizeof(digest));
    piece->bytes += part->len;
    piece->closed = part->ends_piece;
    part->state = PART_SENDING;
    upload->giving = (upload->giving + 1) % PARTS;
    object_upload_part(piece->object, ++piece->given, part->data, part->len, digest, on_part, part);
}

static void give(struct upload *upload)
{
    struct part *part;

    while ((part = &upload->parts[upload->giving])->state == PART_FULL) {
        if (!upload->piece.object) {
            begin_piece(upload);
            return;
        }
        if (!upload->piece.started || upload->piece.closed || !within_rate(upload, part->len))
            return;
        give_part(upload, part);
    }
}

static void on_complete(void *arg, const struct error *err)
{
    struct upload *upload = arg;

    if (err) {
        fail_at(upload, err, "completing a piece");
        return;
    }
    upload->piece.complete = true;
    turn(upload);
}

static void complete_piece(struct upload *upload)
{
    struct piece *piece = &upload->piece;
    bool whole = piece->given > 0 && piece->done == piece->given && (piece->closed || all_given_away(upload));

    if (!piece->object || !whole || piece->completing)
        return;
    piece->completing = true;
    object_upload_complete(piece->object, on_complete, upload);
}

static void take_complete_piece(struct upload *upload)
{
    struct piece *piece = &upload->piece;
    char sha256[65];

    if (!piece->complete)
        return;
    sha256_hex(&piece->sha, sha256);
    sha256_release(&piece->sha);
    backup_manifest_add_piece(&upload->manifest, piece->bytes, sha256);
    upload->manifest.stored_bytes += piece->bytes;
    object_upload_free(piece->object);
    upload->piece = (struct piece){0};
}

/* ---- one turn ---- */

static void move_data(struct upload *upload)
{
    bool had_room = upload_room(upload) > 0;

    take_complete_piece(upload);
    fill(upload);
    give(upload);
    if (upload->step != UPLOAD_DATA)
        return;
    complete_piece(upload);
    if (!upload->piece.object && all_given_away(upload) && upload->committed)
        write_manifest(upload);
    if (!had_room && upload_room(upload) > 0)
        upload->options.changed(upload->options.arg);
}

static void on_turn(void *arg)
{
    struct upload *upload = arg;

    switch (upload->step) {
    case UPLOAD_DATA:
        move_data(upload);
        break;
    case UPLOAD_CLEANING:
        go_on_cleaning(upload);
        break;
    case UPLOAD_ENDED:
        finish(upload); /* may free it */
        break;
    case UPLOAD_COMMITTING:
        break;
    }
}

/* ---- the door ---- */

size_t upload_room(const struct upload *upload)
{
    return upload->step == UPLOAD_DATA && !upload->data_ended && staged_empty(upload) ? PACK_FEED_MAX : 0;
}

void upload_feed(struct upload *upload, const void *data, size_t len)
{
    upload->report.raw_bytes += len;
    pack_writer_add(upload->pack, data, len, &upload->staged);
    fill(upload);
    if (upload->parts[upload->giving].state == PART_FULL)
        turn(upload);
}

void upload_end_data(struct upload *upload)
{
    if (upload->data_ended || upload->step != UPLOAD_DATA)
        return;
    upload->data_ended = true;
    /* Fed only with room, so what was staged is in parts, and the end of the packing fits. */
    pack_writer_end(upload->pack, &upload->staged);
    turn(upload);
}

void upload_commit(struct upload *upload, const struct backup_commit *commit)
{
    if (upload->committed)
        return;
    upload->committed = true;
    upload->commit = *commit;
    turn(upload);
}

void upload_abort(struct upload *upload, const struct error *why)
{
    fail(upload, why);
}

const struct backup_report *upload_report(struct upload *upload)
{
    struct backup_report *report = &upload->report;
    int64_t took_ms = clock_realtime_ms() - report->started_ms;

    if (report->state == BACKUP_STATE_RUNNING)
        report->bytes_per_second = took_ms > 0 ? report->raw_bytes * 1000 / (uint64_t)took_ms : 0;
    return report;
}

/* ---- life ---- */

static struct pack_writer *start_packing(struct upload *upload)
{
    const struct backup_task *task = upload->options.task;
    struct backup_manifest *manifest = &upload->manifest;
    struct pack_options pack = {.compression = task->compression, .salt = manifest->salt};

    if (task->sealed) {
        pack.key = task->key;
        manifest->sealed = true;
        backup_key_id(task->key, manifest->key_id);
        if (RAND_bytes(manifest->salt, sizeof(manifest->salt)) != 1)
            abort();
    }
    return pack_writer_new(&pack);
}

struct upload *upload_new(const struct upload_options *options)
{
    struct upload *upload = xnew(struct upload);

    upload->options = *options;
    loop_timer_init(&upload->turn, options->loop, on_turn, upload);
    loop_timer_init(&upload->deadline, options->loop, on_deadline, upload);
    strbuf_init(&upload->staged, PACK_OUT_MAX);
    for (int i = 0; i < PARTS; i++) {
        upload->parts[i].upload = upload;
        upload->parts[i].data = xmalloc(options->part_bytes);
    }
    upload->pack = start_packing(upload);
    memcpy(upload->report.id, options->task->id, sizeof(upload->report.id));
    upload->report.state = BACKUP_STATE_RUNNING;
    upload->report.started_ms = clock_realtime_ms();
    return upload;
}

void upload_free(struct upload *upload)
{
    if (!upload)
        return;
    loop_timer_release(&upload->turn);
    loop_timer_release(&upload->deadline);
    if (upload->request)
        object_request_cancel(upload->request);
    object_upload_free(upload->piece.object);
    sha256_release(&upload->piece.sha);
    for (int i = 0; i < PARTS; i++)
        free(upload->parts[i].data);
    pack_writer_free(upload->pack);
    strbuf_release_secret(&upload->staged);
    backup_manifest_release(&upload->manifest);
    free(upload);
}
