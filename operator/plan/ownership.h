/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ownership.h: whose an object is that stands where one of ours should be: pure.
 *
 * Judged by the reference with controller: true. An object of a former owner of the same kind and name (deleted and
 * made again under another UID) is on its way out: Kubernetes' garbage collector removes it, waiting is all there is to
 * do. It is not taken over in a race with the collector either: of a cluster that was deleted with its claims some
 * objects would be won and others lost, and pods that are won would go on, on volumes that end with them.
 *
 * An orphan is what a former owner was deleted without (`kubectl delete --cascade=orphan`): the collector has taken the
 * references away, all of them, before that owner was gone. What is left to know it by is that it bears the labels that
 * ours bears, and that our field manager has written it. Neither is a proof: whoever may create an object of the kind
 * can write both. So who takes over an orphan needs a reason why nobody gains by planting one, see plan.h.
 *
 * Everything else that is not ours is somebody else's and is never touched (I11).
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
/* It has no owner, is not being deleted, bears all labels of `metadata`, and `manager` has written some of it. */
bool ownership_is_orphan(const json_t *live, const json_t *metadata, const char *manager);
/* The metadata of a merge patch that makes it ours, as it was read: with uid and resourceVersion. New tree. */
json_t *ownership_adoption(const json_t *live, const json_t *metadata);
/* Fills *err for what is not ours: EXISTS for a foreign object, CONFLICT (try again) for a predecessor's. Returns 0 if
 * it is ours. */
int ownership_check(const json_t *live, const json_t *metadata, struct error *err) KM_MUST_CHECK;

#endif
