/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_segment.h"

#include <errno.h>
#include <openssl/rand.h>

#include "agent/backup/archive_chain.h"
#include "common/alloc.h"
#include "common/backup_pack.h"
#include "common/backup_seal.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/tls.h"

/* An event's header; behind it stands nothing that the server changes later. */
#define HEADER_BYTES 19
#define CHECKSUM_BYTES 4
static const char magic[BINLOG_MAGIC_BYTES] = {(char)0xfe, 'b', 'i', 'n'};

/* ---- which bytes ---- */

static bool goes_on(const struct archive_segment *segment, const char *path, uint64_t from)
{
    const struct archive_piece *last = segment->piece_count ? &segment->pieces[segment->piece_count - 1] : NULL;

    return last && last->to == from && str_eq(last->path, path);
}

bool archive_segment_has_room(const struct archive_segment *segment, const struct binlog_transaction *transaction)
{
    return segment->count == 0 ||
        (segment->bytes + transaction->to - transaction->from <= BINLOG_SEGMENT_BYTES &&
            segment->piece_count < ARCHIVE_SEGMENT_PIECES_MAX);
}

static void add_piece(struct archive_segment *segment, const char *path, const struct binlog_head *head, uint64_t from)
{
    segment->pieces = xreallocarray(segment->pieces, segment->piece_count + 1, sizeof(*segment->pieces));
    struct archive_piece *piece = &segment->pieces[segment->piece_count++];
    *piece = (struct archive_piece){.path = xstrdup(path), .from = from};
    strbuf_init(&piece->description, head->description.len);
    strbuf_add(&piece->description, head->description.buf, head->description.len);
}

void archive_segment_add(struct archive_segment *segment, const char *path, const struct binlog_head *head,
    const struct binlog_transaction *transaction)
{
    if (!goes_on(segment, path, transaction->from))
        add_piece(segment, path, head, transaction->from);
    segment->pieces[segment->piece_count - 1].to = transaction->to;
    segment->bytes += transaction->to - transaction->from;
    if (segment->count++ == 0)
        segment->first_s = transaction->at_s;
    segment->last_s = transaction->at_s;
}

void archive_segment_reset(struct archive_segment *segment)
{
    for (size_t i = 0; i < segment->piece_count; i++) {
        free(segment->pieces[i].path);
        strbuf_release(&segment->pieces[i].description);
    }
    free(segment->pieces);
    *segment = (struct archive_segment){0};
}

/* ---- the log ---- */

struct writing {
    struct archive_upload *upload;
    struct pack_writer *pack;
    struct strbuf packed;
    uint64_t raw_bytes;
    bool logs_failed;
};

static int send_packed(struct writing *writing, struct error *err)
{
    int rc = archive_upload_add(writing->upload, writing->packed.buf, writing->packed.len, err);

    strbuf_reset(&writing->packed);
    return rc;
}

static int feed(struct writing *writing, const char *data, size_t len, struct error *err)
{
    writing->raw_bytes += len;
    pack_writer_add(writing->pack, data, len, &writing->packed);
    return send_packed(writing, err);
}

static int changed(const struct archive_piece *piece, struct error *err)
{
    return error_set(err, ERROR_IO, "%s has changed meanwhile", piece->path);
}

/* Names are used again after RESET: it must still be the file that was looked at. */
static int check_same(FILE *file, const struct archive_piece *piece, struct error *err)
{
    const size_t len = piece->description.len - HEADER_BYTES - CHECKSUM_BYTES;
    _cleanup_(freep) char *body = xmalloc(len);

    if (fseeko(file, BINLOG_MAGIC_BYTES + HEADER_BYTES, SEEK_SET) < 0 || fread(body, 1, len, file) != len ||
        memcmp(body, piece->description.buf + HEADER_BYTES, len) != 0)
        return changed(piece, err);
    return 0;
}

static int feed_bytes(struct writing *writing, FILE *file, const struct archive_piece *piece, struct error *err)
{
    static char chunk[PACK_FEED_MAX];

    writing->logs_failed = true;
    if (check_same(file, piece, err) < 0 || fseeko(file, (off_t)piece->from, SEEK_SET) < 0)
        return -1;
    for (uint64_t at = piece->from; at < piece->to;) {
        size_t want = (size_t)MIN_OF(piece->to - at, (uint64_t)sizeof(chunk));
        if (fread(chunk, 1, want, file) != want)
            return changed(piece, err);
        writing->logs_failed = false;
        if (feed(writing, chunk, want, err) < 0)
            return -1;
        writing->logs_failed = true;
        at += want;
    }
    writing->logs_failed = false;
    return 0;
}

static int feed_piece(struct writing *writing, const struct archive_piece *piece, bool describe, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf head = {0};
    FILE *file = fopen(piece->path, "re");

    if (!file) {
        writing->logs_failed = true;
        return error_set_errno(err, errno, "opening %s", piece->path);
    }
    strbuf_init(&head, piece->description.len + KM_KIB);
    if (describe) {
        strbuf_add(&head, piece->description.buf, piece->description.len);
        binlog_add_rotate(&piece->description, strrchr(piece->path, '/') + 1, &head);
    }
    int rc = feed(writing, head.buf, head.len, err);
    if (rc == 0)
        rc = feed_bytes(writing, file, piece, err);
    fclose(file);
    return rc;
}

static int feed_all(struct writing *writing, const struct archive_segment *segment, struct error *err)
{
    if (feed(writing, magic, sizeof(magic), err) < 0)
        return -1;
    for (size_t i = 0; i < segment->piece_count; i++) {
        const struct archive_piece *piece = &segment->pieces[i];
        bool describe = i == 0 || !str_eq(piece->path, segment->pieces[i - 1].path);
        if (feed_piece(writing, piece, describe, err) < 0)
            return -1;
    }
    pack_writer_end(writing->pack, &writing->packed);
    return send_packed(writing, err);
}

static void choose_seal(const struct archive_task *task, struct binlog_segment *described)
{
    described->compression = task->compression;
    described->sealed = task->sealed;
    if (!task->sealed)
        return;
    backup_key_id(task->key, described->key_id);
    if (RAND_bytes(described->salt, sizeof(described->salt)) != 1)
        abort();
}

static int write_log(const struct archive_segment *segment, struct archive_store *store, const struct archive_task *task,
    const char *name, struct binlog_segment *described, bool *ret_logs_failed, struct error *err)
{
    struct pack_options pack = {
        .compression = task->compression, .key = task->sealed ? task->key : NULL, .salt = described->salt};
    struct writing writing = {.upload = archive_upload_new(store, name), .pack = pack_writer_new(&pack)};

    strbuf_init(&writing.packed, PACK_OUT_MAX);
    int rc = feed_all(&writing, segment, err);
    if (rc == 0)
        rc = archive_upload_end(writing.upload, described->sha256, &described->stored_bytes, err);
    described->raw_bytes = writing.raw_bytes;
    *ret_logs_failed = writing.logs_failed;
    archive_upload_free(writing.upload);
    pack_writer_free(writing.pack);
    strbuf_release_secret(&writing.packed);
    return rc;
}

/* ---- the description ---- */

/* What no reader would take must not count as a segment. */
static int encode_checked(
    const struct archive_task *task, const struct binlog_segment *described, struct strbuf *text, struct error *err)
{
    const unsigned char *key = task->sealed ? task->key : NULL;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment checked;

    binlog_segment_encode(described, key, text);
    if (text->overflowed)
        return error_set(err, ERROR_TOO_LARGE, "the description has more than %zu bytes", BINLOG_SEGMENT_META_MAX);
    return binlog_segment_decode(text->buf, text->len, key, positions, &checked, err);
}

int archive_segment_write(const struct archive_segment *segment, struct archive_store *store,
    const struct archive_task *task, struct binlog_segment *described, char ret_digest[static 65],
    bool *ret_logs_failed, struct error *err)
{
    char name[BINLOG_SEGMENT_NAME_SIZE];
    _cleanup_(strbuf_release) struct strbuf text;

    binlog_segment_name_print(&described->name, name);
    _cleanup_(freep) char *log_name = xasprintf("%s/%s.log", task->folder, name);
    _cleanup_(freep) char *meta_name = xasprintf("%s/%s.json", task->folder, name);
    strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
    described->count = segment->count;
    described->first_ms = segment->first_s * 1000;
    described->last_ms = segment->last_s * 1000;
    choose_seal(task, described);
    if (write_log(segment, store, task, log_name, described, ret_logs_failed, err) < 0)
        return error_prefix(err, "%s.log", name);
    *ret_logs_failed = true; /* whatever is wrong with the description comes from there */
    if (encode_checked(task, described, &text, err) < 0)
        return error_prefix(err, "%s.json", name);
    *ret_logs_failed = false;
    if (clock_realtime_ms() - described->name.archived_ms > ARCHIVE_WRITE_MAX_MS)
        return error_set(err, ERROR_TIMEOUT, "%s.log took too long", name);
    tls_sha256_hex(text.buf, text.len, ret_digest);
    if (archive_store_put(store, meta_name, text.buf, text.len, err) < 0)
        return error_prefix(err, "%s.json", name);
    return 0;
}
