/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/relay_written.h"

#include <sys/stat.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define INDEX_NAME "relaylog.index" /* run_mycnf.c */
#define INDEX_MAX (256 * KM_KIB)

/* The index names them oldest first. */
static char *newest_path(const char *data_dir)
{
    _cleanup_(freep) char *path = xasprintf("%s/" INDEX_NAME, data_dir);
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(strvec_release) struct strvec lines;

    strbuf_init(&text, INDEX_MAX);
    strvec_init(&lines);
    if (fs_read_file(path, &text, NULL) < 0)
        return NULL;
    strvec_split(&lines, text.buf, "\n");
    if (lines.n == 0)
        return NULL;
    const char *slash = strrchr(lines.v[lines.n - 1], '/');
    return xasprintf("%s/%s", data_dir, slash ? slash + 1 : lines.v[lines.n - 1]);
}

int64_t relay_written_ms(const char *data_dir)
{
    _cleanup_(freep) char *path = newest_path(data_dir);
    struct stat st;

    if (!path || stat(path, &st) < 0)
        return 0;
    int64_t written_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return clock_monotonic_ms() - MAX_OF(clock_realtime_ms() - written_ms, 0);
}
