/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/server_series.h"

static size_t series_len(const char *version)
{
    size_t major = strcspn(version, ".");
    return version[major] ? major + 1 + strspn(version + major + 1, "0123456789") : major;
}

bool server_series_same(const char *a, const char *b)
{
    size_t len = series_len(a);
    return len == series_len(b) && strncmp(a, b, len) == 0;
}
