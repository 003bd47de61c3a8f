/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#define KM_ERROR_IMPLEMENTATION

#include <errno.h>

#include "common/error.h"

struct kind_info {
    const char *name;
    bool transient;
};

static const struct kind_info kinds[ERROR_KIND_COUNT] = {
    [ERROR_NONE] = {"None", false},
    [ERROR_INVALID] = {"Invalid", false},
    [ERROR_UNAUTHORIZED] = {"Unauthorized", false},
    [ERROR_FORBIDDEN] = {"Forbidden", false},
    [ERROR_ENDING] = {"NamespaceTerminating", false},
    [ERROR_NOT_FOUND] = {"NotFound", false},
    [ERROR_EXISTS] = {"AlreadyExists", false},
    [ERROR_CONFLICT] = {"Conflict", true},
    [ERROR_GONE] = {"Gone", true},
    [ERROR_TOO_LARGE] = {"TooLarge", false},
    [ERROR_THROTTLED] = {"Throttled", true},
    [ERROR_UNAVAILABLE] = {"Unavailable", true},
    [ERROR_TIMEOUT] = {"Timeout", true},
    [ERROR_CANCELLED] = {"Cancelled", false},
    [ERROR_PROTOCOL] = {"Protocol", true},
    [ERROR_IO] = {"IO", true},
    [ERROR_DATABASE] = {"Database", false},
    [ERROR_INTERNAL] = {"Internal", false},
};

static const struct {
    int errnum;
    enum error_kind kind;
} errno_kinds[] = {
    {ENOENT, ERROR_NOT_FOUND},
    {EACCES, ERROR_FORBIDDEN},
    {EPERM, ERROR_FORBIDDEN},
    {EEXIST, ERROR_EXISTS},
    {ETIMEDOUT, ERROR_TIMEOUT},
    {ECANCELED, ERROR_CANCELLED},
    {ECONNREFUSED, ERROR_UNAVAILABLE},
    {ECONNRESET, ERROR_UNAVAILABLE},
    {EHOSTUNREACH, ERROR_UNAVAILABLE},
    {ENETUNREACH, ERROR_UNAVAILABLE},
};

/* Ends a message that was cut with "...", without leaving half a UTF-8 character before it. */
static void mark_cut(char message[static ERROR_MESSAGE_MAX])
{
    size_t at = ERROR_MESSAGE_MAX - sizeof("...");
    while (at > 0 && ((unsigned char)message[at] & 0xc0) == 0x80)
        at--;
    memcpy(message + at, "...", sizeof("..."));
}

/* Formats beside the target first: arguments may point into err->message. */
KM_PRINTF(3, 0)
static void set_message(struct error *err, const char *prefix_of, const char *fmt, va_list ap)
{
    char text[ERROR_MESSAGE_MAX];
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len < sizeof(text) && prefix_of) {
        n = snprintf(text + len, sizeof(text) - len, ": %s", prefix_of);
        len += n < 0 ? 0 : (size_t)n;
    }
    if (len >= sizeof(text))
        mark_cut(text);
    memcpy(err->message, text, MIN_OF(len + 1, sizeof(text)));
}

static void set_kind(struct error *err, enum error_kind kind, int code)
{
    err->kind = kind;
    err->code = code;
    err->retry_after_ms = 0;
}

int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    set_message(err, NULL, fmt, ap);
    va_end(ap);
    set_kind(err, kind, 0);
    return -1;
}

int error_set_code(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    set_message(err, NULL, fmt, ap);
    va_end(ap);
    set_kind(err, kind, code);
    return -1;
}

int error_set_errno(struct error *err, int errnum, const char *fmt, ...)
{
    if (!err)
        return -1;
    enum error_kind kind = ERROR_IO;
    for (size_t i = 0; i < ARRAY_LEN(errno_kinds); i++) {
        if (errno_kinds[i].errnum == errnum)
            kind = errno_kinds[i].kind;
    }
    char reason_buf[128];
    const char *reason = strerror_r(errnum, reason_buf, sizeof(reason_buf)); /* the GNU form */
    va_list ap;
    va_start(ap, fmt);
    set_message(err, reason, fmt, ap);
    va_end(ap);
    set_kind(err, kind, errnum);
    return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    set_message(err, err->message, fmt, ap);
    va_end(ap);
    return -1;
}

void error_clear(struct error *err)
{
    if (!err)
        return;
    set_kind(err, ERROR_NONE, 0);
    err->message[0] = '\0';
}

bool error_is_transient(const struct error *err)
{
    return err && (unsigned)err->kind < ERROR_KIND_COUNT && kinds[err->kind].transient;
}

const char *error_kind_name(enum error_kind kind)
{
    return (unsigned)kind < ERROR_KIND_COUNT ? kinds[kind].name : "Unknown";
}
