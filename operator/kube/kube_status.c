/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_client_private.h"

/* metav1.StatusReason first: it tells apart what shares a code (409: AlreadyExists, Conflict).
 * https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go (StatusReason) */
static const struct {
    const char *reason;
    enum error_kind kind;
} reasons[] = {
    {"AlreadyExists", ERROR_EXISTS},
    {"BadRequest", ERROR_INVALID},
    {"Conflict", ERROR_CONFLICT},
    {"Expired", ERROR_GONE},
    {"Forbidden", ERROR_FORBIDDEN},
    {"Gone", ERROR_GONE},
    {"InternalError", ERROR_UNAVAILABLE},
    {"Invalid", ERROR_INVALID},
    {"MethodNotAllowed", ERROR_INVALID},
    {"NotAcceptable", ERROR_INVALID},
    {"NotFound", ERROR_NOT_FOUND},
    {"RequestEntityTooLarge", ERROR_TOO_LARGE},
    {"ServerTimeout", ERROR_UNAVAILABLE},
    {"ServiceUnavailable", ERROR_UNAVAILABLE},
    {"Timeout", ERROR_UNAVAILABLE},
    {"TooManyRequests", ERROR_THROTTLED},
    {"Unauthorized", ERROR_UNAUTHORIZED},
    {"UnsupportedMediaType", ERROR_INVALID},
};

static const struct {
    int status;
    enum error_kind kind;
} codes[] = {
    {401, ERROR_UNAUTHORIZED},
    {403, ERROR_FORBIDDEN},
    {404, ERROR_NOT_FOUND},
    {409, ERROR_CONFLICT},
    {410, ERROR_GONE},
    {413, ERROR_TOO_LARGE},
    {429, ERROR_THROTTLED},
};

static enum error_kind kind_of(int http_status, struct json_slice reason)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reason.data && json_slice_str_eq(reason, reasons[i].reason))
            return reasons[i].kind;
    }
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (codes[i].status == http_status)
            return codes[i].kind;
    }
    if (http_status >= 500)
        return ERROR_UNAVAILABLE;
    return http_status >= 400 ? ERROR_INVALID : ERROR_PROTOCOL;
}

/* The admission plugin NamespaceLifecycle, since Kubernetes 1.12:
 * https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/namespace/lifecycle/admission.go */
static bool is_ending(struct json_slice status)
{
    static const char cause[] = "\"NamespaceTerminating\"";
    struct json_slice causes = json_slice_get(status, "details", "causes", NULL);
    return causes.data && memmem(causes.data, causes.len, cause, sizeof(cause) - 1);
}

/* What people can read of a body that is no Status: its first line. */
static int plain_text_len(const char *body, size_t len)
{
    size_t n = 0;
    while (n < len && n < ERROR_MESSAGE_MAX / 2 && (unsigned char)body[n] >= ' ')
        n++;
    return (int)n;
}

int kube_error_from_status(struct error *err, int http_status, const char *body, size_t len)
{
    struct json_slice status = {.data = body, .len = len};
    struct json_slice message_slice = json_slice_member(status, "message");
    enum error_kind kind = kind_of(http_status, json_slice_member(status, "reason"));
    if (kind == ERROR_FORBIDDEN && is_ending(status))
        kind = ERROR_ENDING;
    _cleanup_(strbuf_release) struct strbuf message;
    strbuf_init(&message, KUBE_ERROR_BODY_MAX);
    if (json_slice_string(message_slice, &message) == 0 && message.len > 0)
        error_set_code(err, kind, http_status, "%s", message.buf);
    else
        error_set_code(
            err, kind, http_status, "HTTP status %d: %.*s", http_status, plain_text_len(body, len), body ? body : "");
    int64_t seconds = json_slice_int(json_slice_get(status, "details", "retryAfterSeconds", NULL), 0);
    if (err && seconds > 0)
        err->retry_after_ms = (uint32_t)MIN_OF(seconds, (int64_t)3600) * 1000U;
    return -1;
}

bool kube_may_repeat(bool repeatable, const struct http_response *response, const struct error *err)
{
    int status = response->status;
    if (err && status == 0) /* no answer at all */
        return error_is_transient(err) && (repeatable || !response->sent);
    if (err) /* an answer that was cut or not understood: the effect is unknown */
        return repeatable && (error_is_transient(err) || err->kind == ERROR_PROTOCOL);
    if (status == 429) /* turned away before anything was done */
        return true;
    return repeatable && status >= 500 && status != 501 && status != 505;
}
