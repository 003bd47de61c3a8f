/* SPDX-License-Identifier: Apache-2.0 */
/* datadir_leftovers.c: what a crash leaves of replacing the data, in either way (datadir.h, datadir_beside.h). */
#include "common/base.h"

#include <errno.h>
#include <stdio.h>

#include "agent/bootstrap/datadir.h"
#include "common/fs.h"
#include "common/log.h"

int datadir_move(const struct agent_paths *paths, const char *from, const char *to, struct error *err)
{
    if (rename(from, to) < 0)
        return error_set_errno(err, errno, "renaming %s to %s", from, to);
    return fs_fsync_dir(paths->volume_dir, err);
}

static int recover_beside(const struct agent_paths *paths, struct error *err)
{
    if (!fs_exists(paths->data_aside_dir))
        return 0;
    bool taken = fs_exists(paths->data_dir);
    log_info(taken ? "restored data was being taken: the old data gets the name that it was to have"
                   : "restored data was being taken: the old data gets its name back",
        LOG_STR("folder", paths->data_aside_dir));
    return datadir_move(paths, paths->data_aside_dir, taken ? paths->data_before_dir : paths->data_dir, err);
}

int datadir_recover(const struct agent_paths *paths, struct error *err)
{
    if (recover_beside(paths, err) < 0)
        return -1;
    if (!fs_exists(paths->data_old_dir) || fs_exists(paths->data_dir))
        return 0;
    log_info("a replacement was interrupted: the old data gets its name back", LOG_STR("folder", paths->data_dir));
    return datadir_move(paths, paths->data_old_dir, paths->data_dir, err);
}

int datadir_tidy(const struct agent_paths *paths, struct error *err)
{
    if (fs_remove_all(paths->data_new_dir, err) < 0 || fs_remove_all(paths->data_gone_dir, err) < 0 ||
        fs_remove_all(paths->copy_dir, err) < 0 || fs_remove_all(paths->data_restored_dir, err) < 0)
        return -1;
    return fs_remove_all(paths->data_old_dir, err);
}
