/* SPDX-License-Identifier: Apache-2.0 */
/* object_refusal.c: what a server's refusal means, and what a person can do about it (object_call.h). */
#include "common/base.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/object_call.h"

static const struct {
    const char *code;
    enum error_kind kind;
    bool retry;
} codes[] = {
    {"AccessDenied", ERROR_FORBIDDEN, false},
    {"AccountProblem", ERROR_FORBIDDEN, false},
    {"InvalidAccessKeyId", ERROR_UNAUTHORIZED, false},
    {"SignatureDoesNotMatch", ERROR_UNAUTHORIZED, false},
    {"ExpiredToken", ERROR_UNAUTHORIZED, false},
    {"InvalidToken", ERROR_UNAUTHORIZED, false},
    {"RequestTimeTooSkewed", ERROR_UNAUTHORIZED, false},
    {"NoSuchBucket", ERROR_NOT_FOUND, false},
    {"NoSuchKey", ERROR_NOT_FOUND, false},
    {"NoSuchUpload", ERROR_NOT_FOUND, false},
    {"PreconditionFailed", ERROR_CONFLICT, false},
    {"EntityTooLarge", ERROR_TOO_LARGE, false},
    {"QuotaExceeded", ERROR_TOO_LARGE, false},
    {"OperationAborted", ERROR_UNAVAILABLE, true},
    {"TemporaryRedirect", ERROR_UNAVAILABLE, true},
    {"RequestTimeout", ERROR_TIMEOUT, true},
    {"SlowDown", ERROR_UNAVAILABLE, true},
    {"InternalError", ERROR_UNAVAILABLE, true},
    {"ServiceUnavailable", ERROR_UNAVAILABLE, true},
    {"OtherProtocol", ERROR_UNAVAILABLE, false},
    {"UploadBroken", ERROR_UNAVAILABLE, false},
    /* What arrived is not what was sent. */
    {"IncompleteBody", ERROR_PROTOCOL, true},
    {"BadDigest", ERROR_PROTOCOL, true},
    {"DigestMismatch", ERROR_PROTOCOL, true},
    {"XAmzContentSHA256Mismatch", ERROR_PROTOCOL, true},
};

static const struct {
    int status;
    enum error_kind kind;
    bool retry;
} statuses[] = {
    {401, ERROR_UNAUTHORIZED, false},
    {403, ERROR_FORBIDDEN, false},
    {404, ERROR_NOT_FOUND, false},
    {408, ERROR_TIMEOUT, true},
    {412, ERROR_CONFLICT, false},
    {413, ERROR_TOO_LARGE, false},
    {429, ERROR_UNAVAILABLE, true},
    {500, ERROR_UNAVAILABLE, true},
    {502, ERROR_UNAVAILABLE, true},
    {503, ERROR_UNAVAILABLE, true},
    {504, ERROR_UNAVAILABLE, true},
    {507, ERROR_TOO_LARGE, false},
};

static enum object_verdict classify(int status, const char *code, enum error_kind *ret_kind)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (str_eq(code, codes[i].code)) {
            *ret_kind = codes[i].kind;
            return codes[i].retry ? OBJECT_RETRY : OBJECT_BAD;
        }
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (status == statuses[i].status) {
            *ret_kind = statuses[i].kind;
            return statuses[i].retry ? OBJECT_RETRY : OBJECT_BAD;
        }
    *ret_kind = status >= 500 ? ERROR_UNAVAILABLE : ERROR_INVALID;
    return OBJECT_BAD;
}

/* A server that repeats what we sent must not bring it into a log. */
static const char *safe_message(const struct object_store *store, const char *message)
{
    const char *const secrets[] = {store->access_key, store->secret_key, store->session_token};
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
        if (*secrets[i] && strstr(message, secrets[i]))
            return "(the server's words hold a key and are not shown)";
    return message;
}

static void explain_clock(const struct object_refusal *refusal, struct error *err)
{
    int64_t server_ms = 0;
    if (clock_parse_rfc3339(refusal->server_time, &server_ms) < 0) {
        error_set(err, ERROR_UNAUTHORIZED, "RequestTimeTooSkewed: the clock here and the server's differ too much");
        return;
    }
    const long long ahead_s = (long long)(clock_realtime_ms() - server_ms) / 1000;
    error_set(err, ERROR_UNAUTHORIZED, "RequestTimeTooSkewed: the clock here is %lld s %s the server's", llabs(ahead_s),
        ahead_s < 0 ? "behind" : "ahead of");
}

static bool explain_region(const struct object_store *store, const struct object_refusal *refusal, struct error *err)
{
    const bool wrong = str_eq(refusal->code, "PermanentRedirect") ||
        str_eq(refusal->code, "AuthorizationHeaderMalformed") ||
        str_eq(refusal->code, "IllegalLocationConstraintException");
    if (!wrong)
        return false;
    if (*refusal->region)
        error_set(err, ERROR_INVALID, "%s: spec.destination.s3.region is %s, but the bucket is in %s", refusal->code,
            store->region, refusal->region);
    else
        error_set(err, ERROR_INVALID, "%s: spec.destination.s3.region (%s) or endpoint is not the bucket's%s%s: %s",
            refusal->code, store->region, *refusal->endpoint ? ", which is " : "", refusal->endpoint,
            safe_message(store, refusal->message));
    return true;
}

enum object_verdict object_judge_refusal(
    const struct object_store *store, int status, const struct object_refusal *refusal, struct error *err)
{
    enum error_kind kind;
    const enum object_verdict verdict = classify(status, refusal->code, &kind);
    if (str_eq(refusal->code, "RequestTimeTooSkewed"))
        explain_clock(refusal, err);
    else if (!explain_region(store, refusal, err))
        error_set(err, kind, "%s%s%s (HTTP %d)", refusal->code, *refusal->code && *refusal->message ? ": " : "",
            safe_message(store, refusal->message), status);
    err->code = status;
    return verdict;
}

/* A clock that is wrong stays so. */
bool object_blames_keys(const struct object_answer *answer, const struct error *err)
{
    return err->kind == ERROR_UNAUTHORIZED && !str_eq(answer->code, "RequestTimeTooSkewed");
}

/* What a person can do about it. The door of a volume is not a person's: its certificates are renewed by the operator,
 * so that heals. */
void object_explain_distrust(const struct object_store *store, enum http_distrust distrust, struct error *err)
{
    static const struct {
        const char *what, *advice;
    } words[] = {
        [HTTP_DISTRUST_AUTHORITY] = {"is not trusted",
            "name a Secret with the authority that signed it in destination.s3.caSecret"},
        [HTTP_DISTRUST_NAME] = {"is not its own", "is destination.s3.endpoint right, or pathStyle?"},
        [HTTP_DISTRUST_TIME] = {"is not valid now", "renew it; or is the clock here wrong?"},
        [HTTP_DISTRUST_ALL] = {"cannot be checked",
            "name a Secret with the authorities that are trusted, in PEM, in destination.s3.caSecret"},
    };
    const char *const openings[] = {"SSL certificate problem: ", "SSL: "};
    const char *said = err->message;
    if (distrust == HTTP_DISTRUST_NONE || !*store->access_key)
        return;
    for (size_t i = 0; i < ARRAY_LEN(openings); i++)
        if (str_starts_with(said, openings[i]))
            said += strlen(openings[i]);
    _cleanup_(freep) char *details = xstrdup(said);
    error_set(err, ERROR_INVALID, "the certificate of %s %s (%.200s): %s", store->host, words[distrust].what, details,
        words[distrust].advice);
}
