/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/copy_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/backup/tar_stream.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strvec.h"

#define PIECE_BYTES ((size_t)(256 * KM_KIB))

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* ---- out ---- */

struct sending {
    int to;
    const struct copy_folder_watch *watch;
    int64_t look_ms; /* the next time to ask */
    char *piece;
    struct strbuf head;
};

static int look(struct sending *sending, struct error *err)
{
    if (!sending->watch)
        return 0;
    sending->look_ms = clock_monotonic_ms() + COPY_FOLDER_LOOK_MS;
    return sending->watch->may_go_on(sending->watch->arg, err);
}

/* Nobody reads at the moment. */
static int await_reader(const struct sending *sending, struct error *err)
{
    struct pollfd to = {.fd = sending->to, .events = POLLOUT};

    if (poll(&to, 1, COPY_FOLDER_LOOK_MS) < 0 && errno != EINTR)
        return error_set_errno(err, errno, "waiting for the reader");
    return 0;
}

static int send_bytes(struct sending *sending, const char *data, size_t len, struct error *err)
{
    while (len > 0) {
        if (clock_monotonic_ms() >= sending->look_ms && look(sending, err) < 0)
            return -1;
        ssize_t n = write(sending->to, data, len);
        if (n >= 0) {
            data += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            if (await_reader(sending, err) < 0)
                return -1;
        } else if (errno != EINTR) {
            return error_set_errno(err, errno, "writing");
        }
    }
    return 0;
}

static int send_head(struct sending *sending, const struct tar_entry *entry, struct error *err)
{
    strbuf_reset(&sending->head);
    if (tar_write_entry(entry, &sending->head, err) < 0)
        return -1;
    return send_bytes(sending, sending->head.buf, sending->head.len, err);
}

static int send_content(struct sending *sending, int fd, const struct tar_entry *entry, struct error *err)
{
    static const char zeros[TAR_BLOCK];
    uint64_t left = entry->size;

    while (left > 0) {
        ssize_t n = read(fd, sending->piece, (size_t)MIN_OF(left, (uint64_t)PIECE_BYTES));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "%s", entry->path);
        if (n == 0)
            return error_set(err, ERROR_IO, "%s has become smaller", entry->path);
        if (send_bytes(sending, sending->piece, (size_t)n, err) < 0)
            return -1;
        left -= (uint64_t)n;
    }
    if (read(fd, sending->piece, 1) != 0)
        return error_set(err, ERROR_IO, "%s has become larger", entry->path);
    return send_bytes(sending, zeros, tar_filling(entry->size), err);
}

static int send_file(struct sending *sending, int dir, const char *name, struct tar_entry *entry, struct error *err)
{
    _cleanup_(close_fd) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "%s", entry->path);
    entry->size = (uint64_t)st.st_size;
    if (look(sending, err) < 0 || send_head(sending, entry, err) < 0 || send_content(sending, fd, entry, err) < 0)
        return -1;
    return unlinkat(dir, name, 0) < 0 ? error_set_errno(err, errno, "removing %s", entry->path) : 0;
}

static int read_names(DIR *stream, const char *path, struct strvec *ret, struct error *err)
{
    const struct dirent *entry;

    for (;;) {
        errno = 0;
        entry = readdir(stream); /* NOLINT(concurrency-mt-unsafe): the stream is ours alone */
        if (!entry)
            return errno ? error_set_errno(err, errno, "reading the folder %s", path) : 0;
        if (!str_eq(entry->d_name, ".") && !str_eq(entry->d_name, ".."))
            strvec_push(ret, entry->d_name);
    }
}

/* In the order of their names, so that the same files give the same bytes. */
static int list_names(int dir, const char *path, struct strvec *ret, struct error *err)
{
    int copy = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;

    if (!stream) {
        int rc = error_set_errno(err, errno, "the folder %s", path);
        close_fd(&copy);
        return rc;
    }
    int rc = read_names(stream, path, ret, err);
    closedir(stream);
    strvec_sort(ret);
    return rc;
}

static int send_folder(struct sending *sending, int dir, const char *path, struct error *err);

static int send_one(struct sending *sending, int dir, const char *path, const char *name, struct error *err)
{
    struct tar_entry entry = {.is_folder = false};
    struct stat st;

    if (snprintf(entry.path, sizeof(entry.path), "%s%s%s", path, *path ? "/" : "", name) >= (int)sizeof(entry.path))
        return error_set(err, ERROR_TOO_LARGE, "the name of %.200s is too long", entry.path);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set_errno(err, errno, "%s", entry.path);
    if (S_ISREG(st.st_mode))
        return send_file(sending, dir, name, &entry, err);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERROR_IO, "%s is neither a file nor a folder", entry.path);
    entry.is_folder = true;
    _cleanup_(close_fd) int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", entry.path);
    if (send_head(sending, &entry, err) < 0 || send_folder(sending, fd, entry.path, err) < 0)
        return -1;
    return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? error_set_errno(err, errno, "removing %s", entry.path) : 0;
}

/* As deep as paths that an archive takes (tar_path_is_valid). */
static int send_folder(struct sending *sending, int dir, const char *path, struct error *err)
{
    _cleanup_(strvec_release) struct strvec names;

    strvec_init(&names);
    if (list_names(dir, path, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        if (send_one(sending, dir, path, names.v[i], err) < 0)
            return -1;
    }
    return 0;
}

/* A folder below is removed only if nothing is in it; this one stays. */
static int check_empty(const char *dir, struct error *err)
{
    bool empty = false;

    if (fs_dir_is_empty(dir, NULL, &empty, err) < 0)
        return -1;
    return empty ? 0 : error_set(err, ERROR_IO, "%s holds what was not sent", dir);
}

int copy_folder_send(const char *dir, int to, const struct copy_folder_watch *watch, struct error *err)
{
    _cleanup_(close_fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sending sending = {.to = to, .watch = watch};

    if (fd < 0 || fcntl(to, F_SETFL, O_NONBLOCK) < 0)
        return error_set_errno(err, errno, "%s", dir);
    sending.piece = xcalloc(1, PIECE_BYTES);
    strbuf_init(&sending.head, TAR_HEAD_MAX);
    int rc = send_folder(&sending, fd, "", err);
    if (rc == 0)
        rc = check_empty(dir, err);
    if (rc == 0) {
        strbuf_reset(&sending.head);
        tar_write_end(&sending.head);
        rc = send_bytes(&sending, sending.head.buf, sending.head.len, err);
    }
    strbuf_release(&sending.head);
    free(sending.piece);
    return rc;
}

/* ---- in ---- */

static int write_all(int fd, const char *data, size_t len, struct error *err)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "writing");
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

struct receiving {
    int dir;
    int file;
};

/* Nothing but what was made here lies below dir: no link leads elsewhere. */
static int on_entry(void *arg, const struct tar_entry *entry, struct error *err)
{
    struct receiving *receiving = arg;

    if (entry->is_folder)
        return mkdirat(receiving->dir, entry->path, 0700) < 0 ? error_set_errno(err, errno, "%s", entry->path) : 0;
    receiving->file = openat(receiving->dir, entry->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return receiving->file < 0 ? error_set_errno(err, errno, "%s", entry->path) : 0;
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    const struct receiving *receiving = arg;

    return write_all(receiving->file, data, len, err);
}

static int on_file_end(void *arg, struct error *err)
{
    struct receiving *receiving = arg;
    int rc = close(receiving->file);

    receiving->file = -1;
    return rc < 0 ? error_set_errno(err, errno, "writing") : 0;
}

static int receive(struct tar_reader *reader, int from, struct error *err)
{
    _cleanup_(freep) char *piece = xcalloc(1, PIECE_BYTES);

    for (;;) {
        ssize_t n = read(from, piece, PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "reading");
        if (n == 0)
            return tar_reader_finish(reader, err);
        if (tar_reader_feed(reader, piece, (size_t)n, err) < 0)
            return -1;
    }
}

int copy_folder_receive(const char *dir, int from, uint64_t max_bytes, struct error *err)
{
    static const struct tar_reader_ops ops = {.entry = on_entry, .data = on_data, .file_end = on_file_end};
    struct receiving receiving = {.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .file = -1};
    struct tar_reader reader;

    if (receiving.dir < 0)
        return error_set_errno(err, errno, "%s", dir);
    tar_reader_init(&reader, &ops, max_bytes, &receiving);
    int rc = receive(&reader, from, err);
    tar_reader_release(&reader);
    close_fd(&receiving.file);
    close(receiving.dir);
    return rc;
}
