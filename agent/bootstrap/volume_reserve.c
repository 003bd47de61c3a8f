/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/volume_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"

static char *path_of(const struct agent_paths *paths)
{
    return xasprintf("%s/reserve", paths->state_dir);
}

/* One that was cut short by a crash, or that the file system does not hold in fact, is none. */
enum volume_reserve volume_reserve_look(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = path_of(paths);
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return VOLUME_RESERVE_NONE;
    uint64_t held = (uint64_t)st.st_blocks * 512;
    return (uint64_t)st.st_size >= VOLUME_RESERVE_BYTES && held >= VOLUME_RESERVE_BYTES ? VOLUME_RESERVE_WHOLE
                                                                                        : VOLUME_RESERVE_GIVEN_UP;
}

int volume_reserve_make(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *path = path_of(paths);
    bool was_there = fs_exists(path);

    if (fs_mkdir_all(paths->state_dir, 0700, err) < 0)
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "creating %s", path);
    int failed = fallocate(fd, 0, 0, (off_t)VOLUME_RESERVE_BYTES) < 0 ? errno : 0;
    if (failed && (!was_there || ftruncate(fd, 0) < 0))
        unlink(path);
    close(fd);
    if (failed)
        return error_set_errno(err, failed, "keeping %llu MiB free by %s", VOLUME_RESERVE_BYTES / KM_MIB, path);
    return 0;
}

bool volume_reserve_start(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = path_of(paths);
    uint64_t free_bytes = 0, bytes = 0;

    if (fs_space(paths->volume_dir, &free_bytes, &bytes, NULL) < 0 || free_bytes >= VOLUME_RESERVE_BYTES ||
        volume_reserve_look(paths) != VOLUME_RESERVE_WHOLE)
        return false;
    if (truncate(path, 0) < 0)
        return false;
    log_warn("the volume has too little room for a start: its reserve is given up",
        LOG_INT("freeMiB", (int64_t)(free_bytes / KM_MIB)),
        LOG_INT("reserveMiB", (int64_t)(VOLUME_RESERVE_BYTES / KM_MIB)));
    return true;
}

int volume_reserve_space(
    const struct agent_paths *paths, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes, struct error *err)
{
    uint64_t free_bytes = 0;

    if (fs_space(paths->volume_dir, &free_bytes, ret_total_bytes, err) < 0)
        return -1;
    uint64_t kept = volume_reserve_look(paths) == VOLUME_RESERVE_GIVEN_UP ? VOLUME_RESERVE_BYTES : 0;
    *ret_free_bytes = free_bytes - MIN_OF(free_bytes, kept);
    return 0;
}

bool volume_reserve_is_due(enum volume_reserve reserve, uint64_t free_bytes, uint64_t enough)
{
    if (reserve == VOLUME_RESERVE_WHOLE)
        return false;
    return free_bytes >= enough + (reserve == VOLUME_RESERVE_NONE ? VOLUME_RESERVE_BYTES : 0);
}
