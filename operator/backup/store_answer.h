/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_answer.h: what the API server answered when the pod in front of a volume, or its claim, was to be made last.
 * Pure. A zeroed struct: nobody has asked yet.
 */
#ifndef KM_STORE_ANSWER_H
#define KM_STORE_ANSWER_H

#include "common/base.h"

#include "common/error.h"
#include "operator/plan/plan.h"

/* Fits into conditions and messages that name the backup as well. */
#define STORE_ANSWER_TEXT_SIZE 400
/* A pod that is refused is asked for again after this time: something of somebody else's must change first. */
#define STORE_REFUSED_RECHECK_MS 20000

struct store_answer {
    bool is_known;
    bool is_refused; /* quota, LimitRange, Pod Security, a webhook; text ends with what to do about it */
    bool stays;      /* until somebody changes something; else it may end when other pods do */
    char text[STORE_ANSWER_TEXT_SIZE]; /* why it could not be made; "": it could */
};

/* err: how `plan`, of the namespace `ns`, has ended; NULL: well. A plan that only deletes says nothing of what could be
 * made. True: the answer is another one than before. */
bool store_answer_take(struct store_answer *answer, const char *ns, const struct plan *plan, const struct error *err);

#endif
