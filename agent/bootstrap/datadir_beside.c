/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/datadir_beside.h"

#include <stdio.h>

#include "agent/bootstrap/datadir.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strbuf.h"

/* In the folder that it is of: it comes with the data, by the same rename. */
#define NUMBER_FILE "kube-mysql-restore-number"

static uint64_t read_number(const char *dir)
{
    _cleanup_(freep) char *path = xasprintf("%s/" NUMBER_FILE, dir);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 32);
    return fs_read_file(path, &text, NULL) < 0 ? 0 : strtoull(text.buf, NULL, 10);
}

struct datadir_beside datadir_beside_look(const struct agent_paths *paths)
{
    return (struct datadir_beside){
        .data = read_number(paths->data_dir),
        .restored = read_number(paths->data_restored_dir),
        .has_before = fs_exists(paths->data_before_dir),
    };
}

int datadir_keep_beside(const struct agent_paths *paths, uint64_t number, struct error *err)
{
    _cleanup_(freep) char *file = xasprintf("%s/" NUMBER_FILE, paths->data_new_dir);
    char text[32];

    snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
    if (fs_write_file_atomic(file, text, strlen(text), 0600, err) < 0 || fs_sync_volume(paths->data_new_dir, err) < 0 ||
        fs_remove_all(paths->data_restored_dir, err) < 0)
        return -1;
    return datadir_move(paths, paths->data_new_dir, paths->data_restored_dir, err);
}

static int exchange(const struct agent_paths *paths, struct error *err)
{
    if (fs_exists(paths->data_dir) && datadir_move(paths, paths->data_dir, paths->data_aside_dir, err) < 0)
        return -1;
    if (datadir_move(paths, paths->data_restored_dir, paths->data_dir, err) < 0)
        return -1;
    return fs_exists(paths->data_aside_dir) ? datadir_move(paths, paths->data_aside_dir, paths->data_before_dir, err)
                                            : 0;
}

int datadir_take(const struct agent_paths *paths, uint64_t number, struct error *err)
{
    if (datadir_recover(paths, err) < 0)
        return -1;
    if (read_number(paths->data_dir) != number) {
        if (read_number(paths->data_restored_dir) != number)
            return error_set(err, ERROR_NOT_FOUND, "no restored copy of number %llu lies beside the data",
                (unsigned long long)number);
        if (fs_exists(paths->data_before_dir))
            return error_set(err, ERROR_EXISTS, "%s is there already; it is left alone", paths->data_before_dir);
        if (exchange(paths, err) < 0)
            return error_prefix(err, "putting the restored data in the place of the old");
        log_info("the restored data is the data now; what was there before is kept",
            LOG_STR("folder", paths->data_before_dir));
    }
    return datadir_tidy(paths, err);
}

int datadir_drop_before(const struct agent_paths *paths, struct error *err)
{
    return fs_remove_all(paths->data_before_dir, err);
}
