/* SPDX-License-Identifier: Apache-2.0 */
/* datadir_publish.c: how a complete data.new gets the name data, and nothing else ever does (datadir.h). */
#include "common/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/bootstrap/datadir.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"

static int rename_dir(const char *from, const char *to, struct error *err)
{
    return rename(from, to) < 0 ? error_set_errno(err, errno, "renaming %s to %s", from, to) : 0;
}

int datadir_begin(const struct agent_paths *paths, struct error *err)
{
    if (fs_exists(paths->data_new_dir))
        log_info("removing what an interrupted attempt left", LOG_STR("folder", paths->data_new_dir));
    /* While there is no data, data.old is the data; and what is left of one must not become it once data is gone. */
    if (datadir_recover(paths, err) < 0 || datadir_tidy(paths, err) < 0)
        return error_prefix(err, "removing what an interrupted attempt left");
    return fs_mkdir_all(paths->data_new_dir, 0700, err);
}

int datadir_discard(const struct agent_paths *paths, struct error *err)
{
    if (fs_remove_all(paths->data_gone_dir, err) < 0)
        return -1;
    if (!fs_exists(paths->data_dir))
        return 0;
    if (datadir_move(paths, paths->data_dir, paths->data_gone_dir, err) < 0)
        return -1;
    return fs_remove_all(paths->data_gone_dir, err);
}

int datadir_make_room(
    const struct agent_paths *paths, uint64_t needed_bytes, bool replace, const char *what, struct error *err)
{
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;

    if (fs_space(paths->volume_dir, &free_bytes, &total_bytes, err) < 0)
        return -1;
    if (free_bytes < needed_bytes && replace && fs_exists(paths->data_dir)) {
        log_info("the volume has no room to begin: the data that is to be replaced goes first",
            LOG_INT("freeBytes", free_bytes));
        if (datadir_discard(paths, err) < 0 || fs_space(paths->volume_dir, &free_bytes, &total_bytes, err) < 0)
            return -1;
    }
    if (free_bytes >= needed_bytes)
        return 0;
    return error_set(err, ERROR_TOO_LARGE, "the data volume is too small: %llu MiB are free, %s needs %llu MiB",
        (unsigned long long)(free_bytes / KM_MIB), what, (unsigned long long)(needed_bytes / KM_MIB));
}

/* After it, what was data is data.new or data.old. */
static int exchange(const struct agent_paths *paths, struct error *err)
{
    if (renameat2(AT_FDCWD, paths->data_new_dir, AT_FDCWD, paths->data_dir, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return error_set_errno(err, errno, "exchanging %s and %s", paths->data_new_dir, paths->data_dir);
    if (fs_remove_all(paths->data_old_dir, err) < 0 || rename_dir(paths->data_dir, paths->data_old_dir, err) < 0)
        return -1;
    return rename_dir(paths->data_new_dir, paths->data_dir, err);
}

int datadir_publish(const struct agent_paths *paths, bool replace, struct error *err)
{
    static const char *const harmless[] = {"lost+found", NULL};
    bool empty = true;

    if (fs_sync_volume(paths->data_new_dir, err) < 0)
        return -1;
    if (fs_exists(paths->data_dir) && fs_dir_is_empty(paths->data_dir, harmless, &empty, err) < 0)
        return -1;
    if (!empty && !replace)
        return error_set(err, ERROR_EXISTS, "%s holds something now; it is left alone", paths->data_dir);
    char *lost_found = xasprintf("%s/lost+found", paths->data_dir);
    rmdir(lost_found); /* tolerated when empty; rename wants an empty folder */
    free(lost_found);
    int rc = empty ? rename_dir(paths->data_new_dir, paths->data_dir, err) : exchange(paths, err);
    if (rc < 0 || fs_fsync_dir(paths->volume_dir, err) < 0)
        return -1;
    struct error tidying = ERROR_INIT;
    if (datadir_tidy(paths, &tidying) < 0)
        log_warn("what was replaced could not be removed; the next start tries again", LOG_ERR(&tidying));
    return 0;
}
