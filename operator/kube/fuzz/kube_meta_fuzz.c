/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_client.h"
#include "operator/kube/kube_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Projection, key and error text of anything that an API server may send. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct json_slice object = {.data = (const char *)data, .len = size};
    struct kube_meta meta;
    struct error err = ERROR_INIT;
    kube_error_from_status(&err, 500, (const char *)data, size);
    (void)kube_object_digest(object);
    if (kube_meta_scan(object, &meta, &err) < 0)
        return 0;
    char key[KUBE_KEY_MAX];
    kube_meta_key(&meta, key);
    struct kube_object *projected = kube_object_new(sizeof(*projected), &meta, 0, NULL);
    if (!str_eq(projected->key, key))
        abort();
    free(projected);
    return 0;
}
