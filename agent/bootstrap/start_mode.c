/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/start_mode.h"

#include <errno.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json_note.h"
#include "common/strbuf.h"

#define TEXT_MAX 1024

static const struct json_field fields[] = {
    JSON_FIELD(start_mode, "epoch", JSON_FIELD_U64, CHANGE_COUNTS, epoch),
    JSON_FIELD(start_mode, "truncate", JSON_FIELD_BOOL, CHANGE_COUNTS, truncate),
    JSON_FIELD(start_mode, "beyond", JSON_FIELD_TEXT, CHANGE_COUNTS, beyond),
};

bool start_mode_decide(const struct agent_order *order, uint64_t primary_epoch, struct start_mode *ret)
{
    bool follows = order->role == AGENT_ROLE_REPLICA && *order->source_host;

    if (!primary_epoch || order->epoch < primary_epoch || (!follows && order->role != AGENT_ROLE_PRIMARY))
        return false;
    *ret = (struct start_mode){
        .epoch = order->epoch, .truncate = follows && order->truncate && order->epoch > primary_epoch};
    const char *beyond = str_or_empty(order->beyond);
    if (ret->truncate && strlen(beyond) < sizeof(ret->beyond))
        snprintf(ret->beyond, sizeof(ret->beyond), "%s", beyond);
    return true;
}

bool start_mode_is_withdrawn(const struct agent_order *order, const struct start_mode *mode)
{
    bool follows = order->role == AGENT_ROLE_REPLICA && *order->source_host;

    return order->epoch > mode->epoch && !follows && order->role != AGENT_ROLE_PRIMARY;
}

static char *mode_path(const struct agent_paths *paths)
{
    return xasprintf("%s/start-mode.json", paths->run_dir);
}

int start_mode_write(const struct agent_paths *paths, const struct start_mode *mode, struct error *err)
{
    _cleanup_(freep) char *path = mode_path(paths);

    return json_note_write(path, fields, ARRAY_LEN(fields), mode, err);
}

bool start_mode_read(const struct agent_paths *paths, struct start_mode *ret)
{
    _cleanup_(freep) char *path = mode_path(paths);
    struct start_mode mode = {0};

    if (json_note_read(path, TEXT_MAX, fields, ARRAY_LEN(fields), NULL, &mode, NULL) < 0)
        return false;
    *ret = mode;
    return true;
}

void start_mode_clear(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = mode_path(paths);

    unlink(path);
}

static char *primary_path(const struct agent_paths *paths)
{
    return xasprintf("%s/semi-sync-primary", paths->state_dir);
}

int start_mode_mark_primary(const struct agent_paths *paths, uint64_t epoch, struct error *err)
{
    _cleanup_(freep) char *path = primary_path(paths);
    _cleanup_(freep) char *text = xasprintf("%llu\n", (unsigned long long)epoch);

    if (epoch)
        return fs_mkdir_all(paths->state_dir, 0700, err) < 0
            ? -1
            : fs_write_file_atomic(path, text, strlen(text), 0600, err);
    if (unlink(path) == 0)
        return fs_fsync_dir(paths->state_dir, err);
    return errno == ENOENT ? 0 : error_set_errno(err, errno, "removing %s", path);
}

uint64_t start_mode_primary(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = primary_path(paths);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, TEXT_MAX);
    return fs_read_file(path, &text, NULL) < 0 ? 0 : strtoull(text.buf, NULL, 10);
}

static char *cut_path(const struct agent_paths *paths)
{
    return xasprintf("%s/start-cut", paths->state_dir);
}

int start_mode_note_cut(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *path = cut_path(paths);

    if (fs_mkdir_all(paths->state_dir, 0700, err) < 0)
        return -1;
    return fs_write_file_atomic(path, "", 0, 0600, err);
}

bool start_mode_has_cut(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = cut_path(paths);

    return access(path, F_OK) == 0;
}

void start_mode_forget_cut(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = cut_path(paths);

    unlink(path);
}
