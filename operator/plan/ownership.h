/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ownership.h: whose an object is that stands where one of ours should be: pure.
 *
 * Judged by the reference with controller: true. An object of a former owner of the same kind and name (deleted and
 * made again under another UID) is on its way out: Kubernetes' garbage collector removes it, waiting is all there is to
 * do. Everything else that is not ours is somebody else's and is never touched (I11).
 * https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */
#ifndef KM_OWNERSHIP_H
#define KM_OWNERSHIP_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"

enum ownership { OWNERSHIP_OURS, OWNERSHIP_PREDECESSOR, OWNERSHIP_FOREIGN };

/* metadata: of our own manifest, with the controller reference that it carries. */
enum ownership ownership_of(const json_t *live, const json_t *metadata);
/* Fills *err for what is not ours: EXISTS for a foreign object, CONFLICT (try again) for a predecessor's. Returns 0 if
 * it is ours. */
int ownership_check(const json_t *live, const json_t *metadata, struct error *err) KM_MUST_CHECK;

#endif
