/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kube_config config;
    struct error err = ERROR_INIT;
    if (kube_config_parse((const char *)data, size, "/nonexistent", NULL, &config, &err) == 0)
        kube_config_release(&config);
    else if (!*err.message)
        abort();
    return 0;
}
