/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"
#include "common/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(json_decrefp) json_t *document = json_parse((const char *)data, size, NULL);
    _cleanup_(agent_instance_config_release) struct agent_instance_config config = {0};
    struct agent_instance_config again;

    if (!document || agent_instance_config_decode(document, &config, NULL) < 0)
        return 0;
    _cleanup_(json_decrefp) json_t *written = agent_instance_config_encode(&config);
    if (agent_instance_config_decode(written, &again, NULL) < 0)
        abort();
    agent_instance_config_release(&again);
    return 0;
}
