/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roll_before.h: what the members ran before a roll, as the ConfigMap NAME-mysql-before keeps it: the StatefulSet's pod
 * template as the API server holds it, so that it makes the very revision that the pods have, and my.cnf.
 */
#ifndef KM_ROLL_BEFORE_H
#define KM_ROLL_BEFORE_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"
#include "operator/cluster/state/cluster_snapshot.h"

struct roll_before {
    char hash[17];          /* roll_hash of the two below */
    char runtime[17];       /* ANNOTATION_APPLIED_HASH of the StatefulSet */
    char template_hash[17]; /* ANNOTATION_APPLIED_TEMPLATE */
    char version[64];       /* cluster_data_version then; "" unknown */
    int64_t kept_ms;        /* wall clock; 0: unknown */
    json_t *template;       /* owned */
    char *mycnf;            /* owned */
    char mycnf_hash[65];    /* of that text */
};

/* Names a template together with what runs in it: the hashes that the StatefulSet bears. "" if one is not known. */
void roll_hash(const char *runtime, const char *template_hash, char out[static 17]);
/* Of the StatefulSet as it is; "" there is none, or an earlier version wrote it. */
void roll_live_hash(const struct cluster_snapshot *snapshot, char out[static 17]);

void roll_before_name(const struct cluster_snapshot *snapshot, char out[static DERIVED_NAME_SIZE]);
/* NULL: it does not hold all of it. */
struct roll_before *roll_before_read(const json_t *config_map);
/* NULL is fine. */
void roll_before_free(struct roll_before *before);
/* Image of container mysql; "" there is none. */
const char *roll_before_image(const struct roll_before *before);

#endif
