/* SPDX-License-Identifier: Apache-2.0 */
/* Folders as wholes: emptying and removing them by descriptors, so that nothing that moves meanwhile leads outside. */
#include "common/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fs.h"

/* Each level holds one descriptor and one stack frame. */
enum { TREE_DEPTH_MAX = 200 };

struct tree_walk {
    const char *root; /* for messages */
    dev_t device;     /* nothing on another file system is touched */
    struct error *err;
};

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; names && *names; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The next entry but "." and "..". 1: there is one, 0: end, -1: error. */
static int next_entry(DIR *dir, const char *path, const char **ret_name, struct error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir); /* NOLINT(concurrency-mt-unsafe): the stream is ours alone */
        if (!entry)
            return errno ? error_set_errno(err, errno, "read folder %s", path) : 0;
        if (is_dots(entry->d_name))
            continue;
        *ret_name = entry->d_name;
        return 1;
    }
}

/* Takes fd over. */
static DIR *dir_from_fd(int fd, const char *path, struct error *err)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir)
        return dir;
    error_set_errno(err, errno, "open folder %s", path);
    if (fd >= 0)
        close(fd);
    return NULL;
}

static int remove_children(struct tree_walk *walk, DIR *dir, const char *const *keep, int depth);

static int remove_entry(struct tree_walk *walk, int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    int unlink_errno = errno;
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
        return error_set_errno(walk->err, unlink_errno, "remove %s below %s", name, walk->root);
    if (st.st_dev != walk->device)
        return error_set(walk->err, ERROR_IO, "%s below %s is another file system", name, walk->root);
    if (depth >= TREE_DEPTH_MAX)
        return error_set(walk->err, ERROR_TOO_LARGE, "folders below %s are nested too deep", walk->root);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_(close_dir) DIR *dir = dir_from_fd(fd, name, walk->err);
    if (!dir || remove_children(walk, dir, NULL, depth + 1) != 0)
        return -1;
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return error_set_errno(walk->err, errno, "remove folder %s below %s", name, walk->root);
    return 0;
}

static int remove_children(struct tree_walk *walk, DIR *dir, const char *const *keep, int depth)
{
    const char *name;
    int more;
    while ((more = next_entry(dir, walk->root, &name, walk->err)) > 0) {
        if (!is_listed(keep, name) && remove_entry(walk, dirfd(dir), name, depth) != 0)
            return -1;
    }
    return more;
}

int fs_empty_dir(const char *path, const char *const *keep, struct error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_(close_dir) DIR *dir = dir_from_fd(fd, path, err);
    struct stat st;
    if (!dir)
        return -1;
    if (fstat(dirfd(dir), &st) != 0)
        return error_set_errno(err, errno, "stat %s", path);
    struct tree_walk walk = {.root = path, .device = st.st_dev, .err = err};
    return remove_children(&walk, dir, keep, 0);
}

int fs_remove_all(const char *path, struct error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "stat %s", path);
    if (S_ISDIR(st.st_mode) && fs_empty_dir(path, NULL, err) != 0)
        return -1;
    int failed = S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path);
    if (failed && errno != ENOENT)
        return error_set_errno(err, errno, "remove %s", path);
    return 0;
}

int fs_dir_is_empty(const char *path, const char *const *ignore, bool *ret_empty, struct error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(close_dir) DIR *dir = dir_from_fd(fd, path, err);
    if (!dir)
        return -1;
    const char *name = NULL;
    int more;
    while ((more = next_entry(dir, path, &name, err)) > 0) {
        if (!is_listed(ignore, name))
            break;
    }
    if (more < 0)
        return -1;
    *ret_empty = more == 0;
    return 0;
}
