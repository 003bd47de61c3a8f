/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What can be read can be written and read again, and is the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(2 * AGENT_STATUS_POSITIONS_MAX);
    struct agent_status status;
    struct agent_status again;

    strbuf_init(&text, AGENT_STATUS_MAX);
    if (agent_status_decode((const char *)data, size, positions, &status, NULL) < 0)
        return 0;
    agent_status_encode(&status, &text);
    if (text.overflowed)
        return 0;
    if (agent_status_decode(text.buf, text.len, positions, &again, NULL) < 0 || !agent_status_same(&status, &again))
        abort();
    return 0;
}
