/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/volume_try.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int volume_try(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/write-try", paths->state_dir);
    char text[32];
    int fd = open_file(path);

    if (fd < 0 && errno == ENOENT) {
        if (fs_mkdir_all(paths->state_dir, 0700, err) < 0)
            return -1;
        fd = open_file(path);
    }
    if (fd < 0)
        return error_set_errno(err, errno, "creating %s", path);
    /* Always as long, whatever the time. */
    int len = snprintf(text, sizeof(text), "%020lld\n", (long long)clock_realtime_us());
    bool is_written = pwrite(fd, text, (size_t)len, 0) == len && fdatasync(fd) == 0;
    int errnum = errno;
    close(fd);
    return is_written ? 0 : error_set_errno(err, errnum, "writing %s", path);
}
