/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_status.h: status.restoreInPlace of a MysqlCluster as a value: the last restore of an existing cluster from a
 * backup, and how far it is.
 *
 * Like status.restore it is a journal: each step stands here before any agent is told, so whoever comes next goes on
 * with it. A zeroed struct is "none".
 */
#ifndef KM_IN_PLACE_STATUS_H
#define KM_IN_PLACE_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/names.h"
#include "operator/api/restore_status.h"

#define IN_PLACE_WISH_SIZE 2400 /* of the annotation: a backup's name and a GTID set */

enum in_place_phase {
    IN_PLACE_PHASE_NONE,
    IN_PLACE_PHASE_RESOLVING, /* which backup, is being found out; the cluster serves */
    IN_PLACE_PHASE_RESTORING, /* nobody serves: a member restores it beside its data */
    IN_PLACE_PHASE_TAKING,    /* it is there, and becomes the data. From here on there is no way back */
    IN_PLACE_PHASE_RESEEDING, /* that member serves; the others are seeded from it */
    IN_PLACE_PHASE_COMPLETED,
    IN_PLACE_PHASE_FAILED, /* or given up; the cluster has the data that it had */
    IN_PLACE_PHASE_COUNT,
};
extern const char *const in_place_phase_names[IN_PLACE_PHASE_COUNT]; /* "", "Resolving", ... */

/* Why a restore in place was not carried out, or not carried on, whatever it asks for: it may be older than the data. */
enum in_place_refusal {
    IN_PLACE_REFUSAL_NONE,
    IN_PLACE_REFUSAL_OUTDATED, /* so may the status have been that it stood in */
    IN_PLACE_REFUSAL_OLD_WISH, /* it was wished before there was this cluster */
    IN_PLACE_REFUSAL_COUNT,
};
extern const char *const in_place_refusal_names[IN_PLACE_REFUSAL_COUNT]; /* the reasons */

struct cluster_in_place {
    enum in_place_phase phase;
    char wish[IN_PLACE_WISH_SIZE]; /* the annotation's value that this is about; "" it was taken away since */
    int64_t number;                /* counts restores in place, from 1, above all numbers that its volumes bear */
    int64_t taken;                 /* number of the one that the data is of; 0: none */
    int64_t taken_epoch;           /* which began with that; 0: none was taken, or under an operator that did not say */
    char member[DERIVED_NAME_SIZE];
    /* Bit N: what the volume of member N holds is of the time before: it must not serve, follow or be kept. */
    uint64_t stale;
    char reason[48]; /* CamelCase, why it failed, or does not go on; "" it does */
    char message[512];
    int64_t start_ms, completion_ms;
    struct cluster_restore source; /* which backup; owns documents. Its phase is Resolving or Restoring */
};

json_t *cluster_in_place_encode(const struct cluster_in_place *in_place); /* NULL: none */
/* *ret is overwritten. NULL is fine. */
void cluster_in_place_decode(const json_t *json, struct cluster_in_place *ret);
void cluster_in_place_copy(const struct cluster_in_place *from, struct cluster_in_place *ret);
void cluster_in_place_release(struct cluster_in_place *in_place);
enum in_place_refusal cluster_in_place_refusal(const struct cluster_in_place *in_place);
/* Name of a phase that ends by itself when all goes well. */
bool in_place_phase_is_step(const char *name);
/* None is under way. */
bool cluster_in_place_is_over(const struct cluster_in_place *in_place);

/* What binary logs and backups of the cluster are filed under: its UID, and "-rN" after its Nth restore in place was
 * taken: another history, whose positions must not be mixed with those before. */
void cluster_history_name(const char *uid, int64_t taken, char *out, size_t size);

#endif
