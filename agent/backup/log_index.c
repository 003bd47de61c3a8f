/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/log_index.h"

#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"

#define INDEX_MAX (4 * KM_MIB)

int log_index_files(const char *data_dir, const char *index, struct strvec *ret, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", data_dir, index);
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(strvec_release) struct strvec lines;

    strbuf_init(&text, INDEX_MAX);
    strvec_init(&lines);
    if (fs_read_file(path, &text, err) < 0)
        return -1;
    strvec_split(&lines, text.buf, "\r\n");
    for (size_t i = 0; i < lines.n; i++) {
        const char *slash = strrchr(lines.v[i], '/');
        strvec_pushf(ret, "%s/%s", data_dir, slash ? slash + 1 : lines.v[i]);
    }
    return 0;
}
