/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fault.h: why the store refuses, in S3's words.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
 */
#ifndef KM_AGENT_BACKUP_STORE_FAULT_H
#define KM_AGENT_BACKUP_STORE_FAULT_H

#include "common/base.h"

enum store_code {
    STORE_OK,
    STORE_ACCESS_DENIED,
    STORE_DIGEST_MISMATCH,
    STORE_ENTITY_TOO_LARGE,
    STORE_INCOMPLETE_BODY,
    STORE_INSUFFICIENT_STORAGE, /* not one of S3's, whose volumes are never full; 507 is not repeated by clients */
    STORE_INTERNAL,
    STORE_INVALID_ARGUMENT,
    STORE_INVALID_PART,
    STORE_INVALID_PART_ORDER,
    STORE_INVALID_RANGE,
    STORE_MALFORMED_XML,
    STORE_METHOD_NOT_ALLOWED,
    STORE_MISSING_LENGTH,
    STORE_NOT_IMPLEMENTED,
    STORE_NO_SUCH_BUCKET,
    STORE_NO_SUCH_KEY,
    STORE_NO_SUCH_UPLOAD,
    STORE_PRECONDITION_FAILED,
    STORE_SLOW_DOWN,
    STORE_CODE_COUNT,
};

/* Begins as STORE_OK. Functions that fill one return 0 or -1; whoever looks at the code instead sees the same. */
struct store_fault {
    enum store_code code;
    char message[256];
};

/* Both return -1. From errno: a full volume (ENOSPC, EDQUOT, EFBIG) is INSUFFICIENT_STORAGE, else INTERNAL; ": strerror" is appended. */
int store_fault_set(struct store_fault *fault, enum store_code code, const char *fmt, ...) KM_PRINTF(3, 4);
int store_fault_errno(struct store_fault *fault, int errnum, const char *fmt, ...) KM_PRINTF(3, 4);
/* If it is this one, all is well: 0 and STORE_OK. Else -1. */
int store_fault_forgive(struct store_fault *fault, enum store_code code);
const char *store_code_name(enum store_code code);
int store_code_status(enum store_code code);

#endif
