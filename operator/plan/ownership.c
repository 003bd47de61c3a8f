/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/plan/ownership.h"

#include "common/json.h"

static const json_t *controller_reference(const json_t *metadata)
{
    size_t i;
    const json_t *reference;
    json_array_foreach(json_path(metadata, "ownerReferences"), i, reference)
        if (json_path_bool(reference, "controller", false))
            return reference;
    return NULL;
}

static bool same_member(const json_t *a, const json_t *b, const char *key)
{
    return str_eq(json_path_str(a, key, NULL), json_path_str(b, key, NULL));
}

enum ownership ownership_of(const json_t *live, const json_t *metadata)
{
    const json_t *theirs = controller_reference(json_path(live, "metadata"));
    const json_t *ours = controller_reference(metadata);
    if (!theirs || !ours)
        return OWNERSHIP_FOREIGN;
    if (same_member(theirs, ours, "uid"))
        return OWNERSHIP_OURS;
    return same_member(theirs, ours, "kind") && same_member(theirs, ours, "name") ? OWNERSHIP_PREDECESSOR
                                                                                  : OWNERSHIP_FOREIGN;
}

int ownership_check(const json_t *live, const json_t *metadata, struct error *err)
{
    switch (ownership_of(live, metadata)) {
    case OWNERSHIP_OURS:
        return 0;
    case OWNERSHIP_PREDECESSOR:
        return error_set(
            err, ERROR_CONFLICT, "it belongs to a former owner of the same name and is about to be removed");
    case OWNERSHIP_FOREIGN:
        break;
    }
    return error_set(
        err, ERROR_EXISTS, "an object of this name exists and is not ours; it is left alone. Rename or remove it");
}
