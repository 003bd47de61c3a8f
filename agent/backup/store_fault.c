/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_fault.h"

#include <errno.h>

static const struct {
    int status;
    const char *name;
} codes[STORE_CODE_COUNT] = {
    [STORE_OK] = {200, "OK"},
    [STORE_ACCESS_DENIED] = {403, "AccessDenied"},
    [STORE_BUSY] = {503, "Busy"},
    [STORE_DIGEST_MISMATCH] = {400, "DigestMismatch"},
    [STORE_INCOMPLETE_BODY] = {400, "IncompleteBody"},
    [STORE_INCOMPLETE_UPLOAD] = {409, "IncompleteUpload"},
    [STORE_INSUFFICIENT_STORAGE] = {507, "InsufficientStorage"},
    [STORE_INTERNAL] = {500, "InternalError"},
    [STORE_INVALID_ARGUMENT] = {400, "InvalidArgument"},
    [STORE_INVALID_RANGE] = {416, "InvalidRange"},
    [STORE_METHOD_NOT_ALLOWED] = {405, "MethodNotAllowed"},
    [STORE_MISSING_LENGTH] = {411, "MissingLength"},
    [STORE_NO_SUCH_OBJECT] = {404, "NoSuchObject"},
    [STORE_NO_SUCH_UPLOAD] = {404, "NoSuchUpload"},
    [STORE_OTHER_PROTOCOL] = {501, "OtherProtocol"},
    [STORE_PRECONDITION_FAILED] = {412, "PreconditionFailed"},
    [STORE_UPLOAD_BROKEN] = {500, "UploadBroken"},
};

int store_fault_set(struct store_fault *fault, enum store_code code, const char *fmt, ...)
{
    va_list ap;

    fault->code = code;
    va_start(ap, fmt);
    vsnprintf(fault->message, sizeof(fault->message), fmt, ap);
    va_end(ap);
    return -1;
}

int store_fault_errno(struct store_fault *fault, int errnum, const char *fmt, ...)
{
    bool full = errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
    va_list ap;

    fault->code = full ? STORE_INSUFFICIENT_STORAGE : STORE_INTERNAL;
    va_start(ap, fmt);
    vsnprintf(fault->message, sizeof(fault->message), fmt, ap);
    va_end(ap);
    size_t len = strlen(fault->message);
    snprintf(fault->message + len, sizeof(fault->message) - len, ": %s", strerrordesc_np(errnum));
    return -1;
}

int store_fault_forgive(struct store_fault *fault, enum store_code code)
{
    if (fault->code != code)
        return -1;
    fault->code = STORE_OK;
    return 0;
}

const char *store_code_name(enum store_code code)
{
    return codes[code].name;
}

int store_code_status(enum store_code code)
{
    return codes[code].status;
}
