/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_trouble.h: what keeps a member from being ready, how bad that is, and what the user has to do. Pure.
 *
 * Each member is looked at, and the worst is told: what does not end before somebody changes something comes before
 * what a server says of itself, and that before a member that only starts. Of problems that agents tell, the one comes
 * first that needs a person (problem_effects.h). Of two that are as bad the primary, or the lower ordinal, comes first.
 */
#ifndef KM_CLUSTER_TROUBLE_H
#define KM_CLUSTER_TROUBLE_H

#include "operator/cluster/state/cluster_snapshot.h"

enum trouble_rank {
    TROUBLE_NONE,     /* it is ready */
    TROUBLE_STARTING, /* nothing is known to be wrong */
    TROUBLE_TOLD,     /* its agent says what is wrong */
    TROUBLE_ENDED,    /* a container ended, or its pod finds no node */
    TROUBLE_BY_USER,  /* image, my.cnf, a container that cannot be made, a pod that is refused, a missing
                         StorageClass: only a change helps */
};

enum trouble_rank member_trouble_rank(const struct cluster_member *member);
/* What Kubernetes says of its pod, or its agent of itself. NULL: it starts. */
const char *member_trouble_reason(const struct cluster_member *member);
/* For people: reason, the field to blame as far as that can be told, and the words. "": it starts. */
void member_trouble_text(const struct cluster_member *member, char *out, size_t size);
/* Its container `init` says that the image is not one that the member can be run with. */
bool pod_blames_image(const struct pod_object *pod);
/* Which field names the image of its container that is at fault: "spec.config.spec.images.mysql". */
void member_image_field(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size);
/* It is not about to become ready by itself; a seed that failed is tried again. */
bool member_is_stuck(const struct cluster_member *member);
/* It never comes up by itself: its pod is refused, whoever else goes; or its claim gets no volume; or it never had the
 * memory that it needs, several times in a row. One that has run before is started anew with what it has, and may come
 * up. */
bool member_needs_somebody(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* A wanted member whose pod or claim the API server does not take; NULL: there is none. It is asked about one missing
 * pod at a time: the others that are missing wait, too. */
const struct cluster_member *cluster_refused_member(const struct cluster_snapshot *snapshot);
/* The worst of the members below `wanted` that are not ready; NULL: all are. */
const struct cluster_member *cluster_worst_member(const struct cluster_snapshot *snapshot, int wanted);
/* What a person has to do about it, with field and value. False: nothing but wait. */
bool member_trouble_remedy(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size);

/* Its volume can be given up: the primary, which has all that was acknowledged, serves, and is another one. How, for a
 * remedy: "delete claim data-shop-mysql-2 and pod shop-mysql-2, so that it is copied anew". False: it cannot. */
bool member_copy_remedy(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size);

#endif
