/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/memory_limit.h"

#include "common/fs.h"
#include "common/strbuf.h"

uint64_t memory_limit_bytes(void)
{
    static const char *const files[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, KM_KIB);
        if (fs_read_file(files[i], &text, NULL) < 0)
            continue;
        unsigned long long limit = strtoull(text.buf, NULL, 10); /* "max" reads as 0 */
        return limit < (1ULL << 60) ? limit : 0;
    }
    return 0;
}
