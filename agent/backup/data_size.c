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

static uint64_t sum_dir(int parent, const char *name, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    struct stat st;
    uint64_t sum = 0;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    while ((entry = readdir(dir))) {
        if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            sum += sum_dir(fd, entry->d_name, depth + 1);
        else if (S_ISREG(st.st_mode) && is_copied(entry->d_name, depth))
            sum += (uint64_t)st.st_size;
    }
    closedir(dir);
    return sum;
}

int data_size_estimate(const char *dir, uint64_t *ret_bytes, struct error *err)
{
    if (access(dir, R_OK | X_OK) < 0)
        return error_set_errno(err, errno, "%s", dir);
    *ret_bytes = sum_dir(AT_FDCWD, dir, 0);
    return 0;
}
