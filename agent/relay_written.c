/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/relay_written.h"

#include <sys/stat.h>

#include "agent/backup/log_index.h"
#include "common/clock.h"

int64_t relay_written_ms(const char *data_dir)
{
    _cleanup_(strvec_release) struct strvec logs;
    struct stat st;

    strvec_init(&logs);
    if (log_index_files(data_dir, LOG_INDEX_RELAY_LOG, &logs, NULL) < 0 || logs.n == 0 ||
        stat(logs.v[logs.n - 1], &st) < 0)
        return 0;
    int64_t written_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return clock_monotonic_ms() - MAX_OF(clock_realtime_ms() - written_ms, 0);
}
