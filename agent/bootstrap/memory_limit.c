/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/memory_limit.h"

#include <unistd.h>

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

uint64_t memory_kills_in(const char *text)
{
    static const char key[] = "oom_kill "; /* beside oom_kill_disable, oom_group_kill */

    for (const char *at = text; (at = strstr(at, key)); at += strlen(key)) {
        if (at == text || at[-1] == '\n')
            return strtoull(at + strlen(key), NULL, 10);
    }
    return 0;
}

uint64_t memory_kills(void)
{
    static const char *const files[] = {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, 4 * KM_KIB);
        if (fs_read_file(files[i], &text, NULL) == 0)
            return memory_kills_in(str_or_empty(text.buf));
    }
    return 0;
}

bool memory_blame(uint64_t kills_before, struct error *err)
{
    char limit[64] = "";
    uint64_t bytes = memory_limit_bytes();

    if (memory_kills() <= kills_before)
        return false;
    if (bytes > 0)
        snprintf(limit, sizeof(limit), ", the limit is %lluMi", (unsigned long long)(bytes / (uint64_t)KM_MIB));
    error_prefix(err, "out of memory%s", limit);
    return true;
}

uint64_t memory_machine_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}
