/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_claims.h: which parts of which uploads are written in place: each number by one try, in the uploads that this process has begun (store_upload.h has the why).
 */
#ifndef KM_AGENT_BACKUP_STORE_CLAIMS_H
#define KM_AGENT_BACKUP_STORE_CLAIMS_H

#include "common/base.h"

/* Uploads that are remembered; of others parts get files of their own, which costs a copy and nothing else. */
#define STORE_CLAIMS_MAX 64

struct store_claims;
struct store_claims *store_claims_new(void);
void store_claims_free(struct store_claims *claims); /* NULL is fine */
void store_claims_begin(struct store_claims *claims, const char *id);
/* Where in the object a part of so many bytes is written, or -1: not in place. */
int64_t store_claims_take(struct store_claims *claims, const char *id, int number, uint64_t bytes);
/* The try that took it has failed and left nothing: the next one may. */
void store_claims_release(struct store_claims *claims, const char *id, int number);
void store_claims_end(struct store_claims *claims, const char *id); /* one that is not known is fine */

#endif
