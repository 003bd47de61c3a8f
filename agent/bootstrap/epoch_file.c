#include "common/base.h"

#include "agent/bootstrap/epoch_file.h"

#include <errno.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"

#define EPOCH_TEXT_MAX 64

int epoch_file_read(const struct agent_paths *paths, uint64_t *ret, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/epoch", paths->state_dir);
    _cleanup_(strbuf_release) struct strbuf text;
    struct error failure = ERROR_INIT;
    char *end;

    strbuf_init(&text, EPOCH_TEXT_MAX);
    if (fs_read_file(path, &text, &failure) < 0) {
        if (failure.kind == ERROR_NOT_FOUND) {
            *ret = 0;
            return 0;
        }
        if (err)
            *err = failure;
        return -1;
    }
    errno = 0;
    unsigned long long epoch = strtoull(text.buf, &end, 10);
    if (errno != 0 || end == text.buf || *text.buf < '0' || *text.buf > '9' || strcmp(end, "\n") != 0)
        return error_set(err, ERROR_INVALID, "%s holds no epoch", path);
    *ret = epoch;
    return 0;
}

int epoch_file_write(const struct agent_paths *paths, uint64_t epoch, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/epoch", paths->state_dir);
    char text[EPOCH_TEXT_MAX];

    int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)epoch);
    if (fs_mkdir_all(paths->state_dir, 0700, err) < 0)
        return -1;
    return fs_write_file_atomic(path, text, (size_t)len, 0600, err);
}
