/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/volume_mark.h"

#include <errno.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"

#define MARK_TEXT_MAX 64

int volume_mark_read(const struct agent_paths *paths, enum agent_mark *ret, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/mark", paths->state_dir);
    _cleanup_(strbuf_release) struct strbuf text;
    struct error failure = ERROR_INIT;

    strbuf_init(&text, MARK_TEXT_MAX);
    *ret = AGENT_MARK_NONE;
    if (fs_read_file(path, &text, &failure) < 0) {
        if (failure.kind == ERROR_NOT_FOUND)
            return 0;
        if (err)
            *err = failure;
        return -1;
    }
    strbuf_truncate(&text, strcspn(text.buf, "\n"));
    *ret = str_eq(text.buf, agent_mark_names[AGENT_MARK_LEFT]) ? AGENT_MARK_LEFT : AGENT_MARK_RESEED;
    return 0;
}

int volume_mark_write(const struct agent_paths *paths, enum agent_mark mark, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/mark", paths->state_dir);
    _cleanup_(freep) char *text = xasprintf("%s\n", agent_mark_names[mark]);

    if (mark == AGENT_MARK_NONE) {
        if (unlink(path) == 0)
            return fs_fsync_dir(paths->state_dir, err);
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "removing %s", path);
    }
    if (fs_mkdir_all(paths->state_dir, 0700, err) < 0)
        return -1;
    return fs_write_note(path, text, 0600, err);
}
