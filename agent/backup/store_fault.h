/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fault.h: why the store refuses. The client takes a meaning from the status, and from the name where trying
 * again helps (common/object_refusal.c).
 */
#ifndef KM_AGENT_BACKUP_STORE_FAULT_H
#define KM_AGENT_BACKUP_STORE_FAULT_H

#include "common/base.h"

enum store_code {
    STORE_OK,
    STORE_ACCESS_DENIED,
    STORE_BUSY,
    STORE_DIGEST_MISMATCH,
    STORE_INCOMPLETE_BODY,
    STORE_INCOMPLETE_UPLOAD, /* it has fewer bytes than it is committed with */
    STORE_INSUFFICIENT_STORAGE,
    STORE_INTERNAL,
    STORE_INVALID_ARGUMENT,
    STORE_INVALID_RANGE,
    STORE_METHOD_NOT_ALLOWED,
    STORE_MISSING_LENGTH,
    STORE_NO_SUCH_OBJECT,
    STORE_NO_SUCH_UPLOAD,
    STORE_OTHER_PROTOCOL, /* of an agent of another version; not 404, which could be taken for "nothing is stored" */
    STORE_PRECONDITION_FAILED,
    STORE_UPLOAD_BROKEN, /* bytes that were acknowledged are lost: the client must begin the upload again */
    STORE_CODE_COUNT,
};

/* Begins as STORE_OK. Functions that fill one return 0 or -1; whoever looks at the code instead sees the same. */
struct store_fault {
    enum store_code code;
    char message[256];
};

/* Both return -1. From errno: a full volume (ENOSPC, EDQUOT, EFBIG) is INSUFFICIENT_STORAGE, else INTERNAL;
 * ": strerror" is appended. */
int store_fault_set(struct store_fault *fault, enum store_code code, const char *fmt, ...) KM_PRINTF(3, 4);
int store_fault_errno(struct store_fault *fault, int errnum, const char *fmt, ...) KM_PRINTF(3, 4);
/* If it is this one, all is well: 0 and STORE_OK. Else -1. */
int store_fault_forgive(struct store_fault *fault, enum store_code code);
const char *store_code_name(enum store_code code);
int store_code_status(enum store_code code);

#endif
