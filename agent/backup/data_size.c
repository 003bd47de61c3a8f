/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/data_size.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Databases are one level below, partitions' and partial folders at most one more. */
#define DEPTH_MAX 4

/* "binlog.000001", "host-relay-bin.123456"; not "aria_log.00000001". */
static bool is_log(const char *name)
{
    const char *dot = strrchr(name, '.');

    if (!dot || str_starts_with(name, "aria_log."))
        return false;
    size_t digits = strspn(dot + 1, "0123456789");
    return digits >= 6 && dot[1 + digits] == '\0';
}

static bool is_copied(const char *name, int depth)
{
    if (depth > 0)
        return !str_starts_with(name, "temp_"); /* #innodb_temp/temp_1.ibt */
    return !is_log(name) && !str_starts_with(name, "ibtmp");
}

static bool is_redo(const char *parent, const char *name)
{
    return str_starts_with(name, "ib_logfile") || str_eq(parent, "#innodb_redo");
}

static void add_dir(int parent, const char *name, int depth, struct data_size *size);

static void add_entry(int fd, const char *parent, const char *name, int depth, struct data_size *size)
{
    struct stat st;

    if (str_eq(name, ".") || str_eq(name, "..") || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
        add_dir(fd, name, depth + 1, size);
    else if (S_ISREG(st.st_mode) && is_redo(parent, name))
        size->redo_bytes += (uint64_t)st.st_size;
    else if (S_ISREG(st.st_mode) && is_copied(name, depth))
        size->bytes += (uint64_t)st.st_size;
}

static void add_dir(int parent, const char *name, int depth, struct data_size *size)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)))
        add_entry(fd, name, entry->d_name, depth, size);
    closedir(dir);
}

int data_size_estimate(const char *dir, struct data_size *ret, struct error *err)
{
    struct data_size size = {0};

    if (access(dir, R_OK | X_OK) < 0)
        return error_set_errno(err, errno, "%s", dir);
    add_dir(AT_FDCWD, dir, 0, &size);
    *ret = size;
    return 0;
}
