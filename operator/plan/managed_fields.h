/* SPDX-License-Identifier: Apache-2.0 */
/*
 * managed_fields.h: who owns which field of an object that we created by POST and apply since: pure.
 *
 * What a manager wrote by POST or PUT and what it applied are separate entries of metadata.managedFields, even for one
 * manager. A field that an apply no longer names goes away only when nobody else owns it, so the entry of our own
 * creation would keep it for ever. Adopting moves that entry's fields into our applied one; the next apply then takes
 * away what it does not name.
 *
 * An item of a list that somebody else has written stays beside ours for the same reason. Where both together are not
 * valid, as two ports of one name are, no apply gets through until that item is taken: it becomes one that we applied,
 * and goes with the next apply.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#upgrading-from-client-side-apply-to-server-side-apply
 */
#ifndef KM_MANAGED_FIELDS_H
#define KM_MANAGED_FIELDS_H

#include "common/base.h"

#include <jansson.h>

/* A JSON patch that adopts, with the object's resourceVersion as precondition; NULL if there is nothing to adopt: no
 * entry of `manager` with operation Update. Caller drops it. */
json_t *managed_fields_adopt(const json_t *object, const char *manager);
/* Likewise a JSON patch, which takes what stands in the way of an apply of `wanted`: items of others in lists that
 * `wanted` has, too, which it does not have itself, and which bear the name of one of its own, or no name. Other items
 * of others stay theirs. NULL if there are none, or if `manager` has applied nothing yet. Caller drops it. */
json_t *managed_fields_take(const json_t *object, const char *manager, const json_t *wanted);

#endif
