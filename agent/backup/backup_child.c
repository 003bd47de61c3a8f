/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/backup_child.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/json_fields.h"

#define PEM_MAX ((size_t)(64 * KM_KIB))

/* ---- lines ---- */

#define FIELD(key, type, member) JSON_FIELD(backup_commit, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field commit_fields[] = {
    FIELD("gtid", POSITION, gtid),
    FIELD("flavour", TEXT, flavour),
    FIELD("serverVersion", TEXT, server_version),
    FIELD("donor", TEXT, donor),
    FIELD("dataBytes", U64, data_bytes),
    JSON_FIELD_ENUM(backup_commit, "stream", CHANGE_COUNTS, stream, stream_method_names),
};

static void put_line(json_t *document, struct strbuf *out)
{
    char *text = json_text(document);

    strbuf_adds(out, text);
    strbuf_addc(out, '\n');
    secret_free(text);
}

void backup_commit_encode(const struct backup_commit *commit, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();
    json_t *object = json_object();

    json_fields_encode(commit_fields, ARRAY_LEN(commit_fields), commit, object);
    json_put(document, "commit", object);
    put_line(document, out);
}

/* Texts of secrets go without a tree, which would leave copies behind. */
void backup_keys_encode(const struct backup_store *store, struct strbuf *out)
{
    strbuf_adds(out, "{\"keys\":{\"accessKey\":");
    strbuf_add_json_string(out, str_or_empty(store->access_key));
    strbuf_adds(out, ",\"secretKey\":");
    strbuf_add_json_string(out, str_or_empty(store->secret_key));
    strbuf_adds(out, ",\"sessionToken\":");
    strbuf_add_json_string(out, str_or_empty(store->session_token));
    strbuf_adds(out, "}}\n");
}

static void decode_keys(const json_t *object, struct backup_store *keys)
{
    keys->access_key = xstrdup(json_path_str(object, "accessKey", ""));
    keys->secret_key = xstrdup(json_path_str(object, "secretKey", ""));
    keys->session_token = xstrdup(json_path_str(object, "sessionToken", ""));
}

void backup_word_release(struct backup_word *word)
{
    backup_store_release(&word->keys);
    position_pool_unref(word->positions);
    *word = (struct backup_word){0};
}

int backup_word_decode(const char *line, size_t len, struct backup_word *ret, struct error *err)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(line, len, err);
    struct backup_word word = {0};

    if (!document)
        return error_prefix(err, "a word of the agent");
    const json_t *commit = json_object_get(document, "commit");
    const json_t *keys = json_object_get(document, "keys");
    word.is_commit = json_is_object(commit);
    word.has_keys = json_is_object(keys);
    if (!word.is_commit && !word.has_keys)
        return error_set(err, ERROR_PROTOCOL, "a word of the agent that is not understood");
    if (word.is_commit && json_fields_decode(commit_fields, ARRAY_LEN(commit_fields), commit, &word.commit, err) < 0)
        return error_prefix(err, "the agent's commit");
    word.positions = position_pool_new(POSITION_TEXT_MAX);
    json_fields_take(commit_fields, ARRAY_LEN(commit_fields), word.positions, &word.commit);
    if (word.has_keys)
        decode_keys(keys, &word.keys);
    *ret = word;
    return 0;
}

void backup_report_line(const struct backup_report *report, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *object = backup_report_encode(report);

    if (object)
        put_line(object, out);
}

int backup_report_parse(const char *line, struct backup_report *ret, struct error *err)
{
    _cleanup_(json_decrefp) json_t *object = json_parse(line, strlen(line), err);

    if (!object)
        return -1;
    return backup_report_decode(object, ret, err);
}

/* ---- in the child ---- */

void backup_child_hide(void)
{
    struct rlimit none = {0, 0};

    (void)(setrlimit(RLIMIT_CORE, &none) < 0);
    (void)(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0);
}

int backup_child_read_line(struct strbuf *rest, size_t *ret_len, struct error *err)
{
    char chunk[4096];
    const char *end = NULL;

    while (!(end = memchr(rest->buf, '\n', rest->len))) {
        ssize_t n = read(BACKUP_CHILD_FD, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "reading the task from descriptor %d", BACKUP_CHILD_FD);
        if (n == 0)
            return error_set(err, ERROR_PROTOCOL, "descriptor %d ends without a task", BACKUP_CHILD_FD);
        strbuf_add(rest, chunk, (size_t)n);
        if (rest->overflowed)
            return error_set(err, ERROR_TOO_LARGE, "the task is too long");
    }
    OPENSSL_cleanse(chunk, sizeof(chunk));
    *ret_len = (size_t)(end - rest->buf);
    return 0;
}

int backup_child_read_task(struct backup_task *ret, struct strbuf *rest, struct error *err)
{
    size_t len = 0;

    if (backup_child_read_line(rest, &len, err) < 0)
        return -1;
    int rc = backup_task_decode(rest->buf, len, ret, err);
    OPENSSL_cleanse(rest->buf, len);
    strbuf_consume(rest, len + 1);
    return rc;
}

static char *read_pem(const char *dir, const char *name, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);
    struct strbuf text;

    strbuf_init(&text, PEM_MAX);
    if (fs_read_file(path, &text, err) < 0) {
        strbuf_release(&text);
        return NULL;
    }
    return strbuf_detach(&text, NULL);
}

/* The door of a volume knows members by their certificates. */
static struct http_tls *volume_tls(const char *tls_dir, const struct backup_store *store, struct error *err)
{
    _cleanup_(freep) char *ca = read_pem(tls_dir, "ca.crt", err);
    _cleanup_(freep) char *cert = ca ? read_pem(tls_dir, "tls.crt", err) : NULL;
    _cleanup_(secret_freep) char *key = cert ? read_pem(tls_dir, "tls.key", err) : NULL;
    struct http_tls_options options = {
        .ca_pem = str_empty(store->ca_pem) ? ca : store->ca_pem,
        .cert_pem = cert,
        .key_pem = key,
        .server_name = store->server_name,
    };

    return key ? http_tls_new(&options) : NULL;
}

static struct http_tls *bucket_tls(const struct backup_store *store)
{
    struct http_tls_options options = {
        .ca_pem = str_empty(store->ca_pem) ? NULL : store->ca_pem,
        .server_name = str_empty(store->server_name) ? NULL : store->server_name,
    };

    return http_tls_new(&options);
}

struct object_store *backup_child_open_store(
    struct loop *loop, const struct backup_child_options *options, const struct backup_store *store, struct error *err)
{
    struct http_tls *tls = store->is_volume ? volume_tls(options->tls_dir, store, err) : bucket_tls(store);

    if (!tls)
        return NULL;
    struct object_store *opened = backup_store_open(loop, store, tls, options->keys_grace_ms, err);
    http_tls_unref(tls);
    return opened;
}

const char *backup_child_reason(const struct error *err)
{
    switch (err->kind) {
    case ERROR_CANCELLED:
        return "Cancelled";
    case ERROR_INVALID:
    case ERROR_UNAUTHORIZED:
    case ERROR_FORBIDDEN:
    case ERROR_NOT_FOUND:
    case ERROR_CONFLICT:
    case ERROR_TOO_LARGE: /* a quota, a full volume */
        return "StoreRefused";
    default:
        return "StoreUnavailable";
    }
}

void backup_child_tell(int fd, const struct backup_report *report, bool wait)
{
    _cleanup_(strbuf_release) struct strbuf line;
    int flags = fcntl(fd, F_GETFL);

    strbuf_init(&line, POSITION_TOLD_SIZE * 2 + 4096);
    backup_report_line(report, &line);
    if (flags >= 0)
        (void)(fcntl(fd, F_SETFL, wait ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) < 0);
    /* A line is shorter than PIPE_BUF but for very long positions: it goes out whole or not at all. */
    while (line.len > 0) {
        ssize_t n = write(fd, line.buf, line.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        strbuf_consume(&line, (size_t)n);
    }
}
