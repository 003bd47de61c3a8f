/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/data_growth.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hashmap.h"

#define DEPTH_MAX 3

/* The order of names is that of the file system: what is added up does not depend on it. */
static uint64_t sum_of(int parent_fd, const char *name, int depth)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    uint64_t sum = 0;

    if (!dir && fd >= 0)
        close(fd);
    while (dir && (entry = readdir(dir))) {
        struct stat st;
        if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        const int64_t facts[] = {st.st_size, st.st_blocks, st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (int64_t)st.st_ino};
        sum += hash64(HASH64_INIT, facts, sizeof(facts));
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            sum += sum_of(fd, entry->d_name, depth + 1);
    }
    if (dir)
        closedir(dir);
    return sum;
}

uint64_t data_growth_of(const char *dir)
{
    return sum_of(AT_FDCWD, dir, 1);
}

enum subprocess_watch data_growth_watch(void *arg)
{
    struct data_growth *growth = arg;
    uint64_t now = data_growth_of(growth->dir);
    bool advances = now != growth->seen;

    growth->seen = now;
    return advances ? SUBPROCESS_ADVANCES : SUBPROCESS_WAITS;
}
