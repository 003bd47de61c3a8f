/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/backoff.h"

enum { COPY_BYTES = 64 * 1024 };

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_existing(const char *path, int flags, struct error *err)
{
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        error_set_errno(err, errno, "open %s", path);
    return fd;
}

static ssize_t read_some(int fd, char *buf, size_t size)
{
    ssize_t n;
    do
        n = read(fd, buf, size);
    while (n < 0 && errno == EINTR);
    return n;
}

int fs_read_file(const char *path, struct strbuf *out, struct error *err)
{
    strbuf_reset(out);
    _cleanup_(close_fd) int fd = open_existing(path, O_RDONLY | O_NOCTTY, err);
    if (fd < 0)
        return -1;
    char chunk[16 * 1024];
    ssize_t n;
    while ((n = read_some(fd, chunk, sizeof(chunk))) > 0) {
        strbuf_add(out, chunk, (size_t)n);
        if (out->overflowed)
            break;
    }
    explicit_bzero(chunk, sizeof(chunk)); /* tokens and keys pass through here */
    if (out->overflowed)
        return error_set(err, ERROR_TOO_LARGE, "%s is larger than %zu bytes", path, out->max);
    return n < 0 ? error_set_errno(err, errno, "read %s", path) : 0;
}

/* The folder part of path as a new string: "." if there is none. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

/* A file being written beside its target. */
struct atomic_file {
    const char *path;
    char *tmp_path;
    int fd;
};

static void atomic_release(struct atomic_file *file)
{
    close_fd(&file->fd);
    if (file->tmp_path)
        unlink(file->tmp_path);
    free(file->tmp_path);
}

static int atomic_open(struct atomic_file *file, const char *path, mode_t mode, struct error *err)
{
    uint64_t random_state = random_seed();
    file->path = path;
    for (int attempt = 0; attempt < 8; attempt++) {
        char *tmp_path = xasprintf("%s.tmp-%016llx", path, (unsigned long long)random_next(&random_state));
        file->fd = open(tmp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        int open_errno = errno;
        if (file->fd >= 0) {
            file->tmp_path = tmp_path;
            /* Again without the umask. */
            return fchmod(file->fd, mode) == 0 ? 0 : error_set_errno(err, errno, "set the mode of %s", path);
        }
        free(tmp_path);
        if (open_errno != EEXIST)
            return error_set_errno(err, open_errno, "create a temporary file for %s", path);
    }
    return error_set(err, ERROR_EXISTS, "no free temporary name for %s", path);
}

static int atomic_write(struct atomic_file *file, const char *data, size_t len, struct error *err)
{
    while (len > 0) {
        ssize_t n = write(file->fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(err, errno, "write %s", file->path);
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int atomic_commit(struct atomic_file *file, struct error *err)
{
    if (fsync(file->fd) != 0)
        return error_set_errno(err, errno, "fsync %s", file->path);
    if (rename(file->tmp_path, file->path) != 0)
        return error_set_errno(err, errno, "rename to %s", file->path);
    free(steal_ptr(file->tmp_path));
    _cleanup_(freep) char *dir = parent_of(file->path);
    return fs_fsync_dir(dir, err);
}

int fs_write_file_atomic(const char *path, const void *data, size_t len, mode_t mode, struct error *err)
{
    _cleanup_(atomic_release) struct atomic_file file = {.fd = -1};
    if (atomic_open(&file, path, mode, err) != 0 || atomic_write(&file, data, len, err) != 0)
        return -1;
    return atomic_commit(&file, err);
}

static bool is_full(const struct error *err)
{
    return err->kind != ERROR_NONE && (err->code == ENOSPC || err->code == EDQUOT);
}

static int overwrite(const char *path, const char *text, size_t len, struct error *err)
{
    char note[FS_NOTE_MAX];
    struct stat st;
    _cleanup_(close_fd) int fd = open_existing(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY, err);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, errno, "stat %s", path);
    size_t size = (size_t)st.st_size;
    if (!S_ISREG(st.st_mode) || size < len || size > sizeof(note))
        return error_set(err, ERROR_INVALID, "%s has another length", path);
    memset(note, '\n', sizeof(note));
    memcpy(note, text, len);
    if (pwrite(fd, note, size, 0) != (ssize_t)size || fdatasync(fd) != 0)
        return error_set_errno(err, errno, "overwrite %s", path);
    return 0;
}

int fs_write_note(const char *path, const char *text, mode_t mode, struct error *err)
{
    struct error failure = ERROR_INIT;
    if (fs_write_file_atomic(path, text, strlen(text), mode, &failure) == 0)
        return 0;
    if (is_full(&failure) && overwrite(path, text, strlen(text), NULL) == 0)
        return 0;
    if (err)
        *err = failure;
    return -1;
}

int fs_copy_file(const char *from, const char *to, mode_t mode, struct error *err)
{
    _cleanup_(close_fd) int source = open_existing(from, O_RDONLY | O_NOCTTY, err);
    if (source < 0)
        return -1;
    _cleanup_(atomic_release) struct atomic_file file = {.fd = -1};
    if (atomic_open(&file, to, mode, err) != 0)
        return -1;
    _cleanup_(freep) char *chunk = xmalloc(COPY_BYTES);
    ssize_t n;
    while ((n = read_some(source, chunk, COPY_BYTES)) > 0) {
        if (atomic_write(&file, chunk, (size_t)n, err) != 0)
            return -1;
    }
    return n < 0 ? error_set_errno(err, errno, "read %s", from) : atomic_commit(&file, err);
}

int fs_fsync_dir(const char *path, struct error *err)
{
    _cleanup_(close_fd) int fd = open_existing(path, O_RDONLY | O_DIRECTORY, err);
    if (fd < 0)
        return -1;
    if (fsync(fd) != 0 && errno != EINVAL) /* EINVAL: a file system that cannot, e.g. some network ones */
        return error_set_errno(err, errno, "fsync %s", path);
    return 0;
}

int fs_sync_volume(const char *path, struct error *err)
{
    _cleanup_(close_fd) int fd = open_existing(path, O_RDONLY | O_DIRECTORY, err);
    if (fd < 0)
        return -1;
    return syncfs(fd) != 0 ? error_set_errno(err, errno, "syncing %s", path) : 0;
}

static int make_dir(const char *path, mode_t mode, struct error *err)
{
    if (mkdir(path, mode) == 0)
        return 0;
    int mkdir_errno = errno;
    struct stat st;
    if (mkdir_errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return error_set_errno(err, mkdir_errno, "create folder %s", path);
}

int fs_mkdir_all(const char *path, mode_t mode, struct error *err)
{
    if (str_empty(path))
        return error_set(err, ERROR_INVALID, "create folder: the path is empty");
    _cleanup_(freep) char *partial = xstrdup(path);
    for (char *p = partial + 1; *p; p++) {
        if (*p != '/' || p[-1] == '/')
            continue;
        *p = '\0';
        if (make_dir(partial, mode, err) != 0)
            return -1;
        *p = '/';
    }
    return make_dir(path, mode, err);
}

bool fs_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

int fs_space(const char *path, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes, struct error *err)
{
    struct statvfs st;
    if (statvfs(path, &st) != 0)
        return error_set_errno(err, errno, "statvfs %s", path);
    *ret_free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
    *ret_total_bytes = (uint64_t)st.f_blocks * st.f_frsize;
    return 0;
}
