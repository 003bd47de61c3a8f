/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h: why something failed, in a struct that the caller owns.
 *
 * A fallible function returns 0, or -1 after filling *err. On the way up each caller may put context in front
 * (error_prefix); it is logged once, where it stops. Code branches on `kind`, people read `message`.
 * Every function here accepts err == NULL and then only returns -1. No allocation, so it works when
 * everything else does not. Messages never contain passwords, keys or tokens (invariant I9).
 */
#ifndef KM_COMMON_ERROR_H
#define KM_COMMON_ERROR_H

#include "common/base.h"

enum error_kind {
    ERROR_NONE = 0,
    ERROR_INVALID,      /* the input is wrong; trying again will not help (HTTP 400, 422) */
    ERROR_UNAUTHORIZED, /* who are you: HTTP 401, access denied by mysqld */
    ERROR_FORBIDDEN,    /* you may not: HTTP 403, EPERM, EACCES */
    ERROR_ENDING,       /* HTTP 403, cause NamespaceTerminating: nothing is created in that namespace any more */
    ERROR_NOT_FOUND,    /* HTTP 404, ENOENT */
    ERROR_EXISTS,       /* HTTP 409 reason AlreadyExists, EEXIST */
    ERROR_CONFLICT,     /* HTTP 409 reason Conflict: read again and retry; a stale epoch */
    ERROR_GONE,         /* HTTP 410, or an ERROR event "Expired": relist */
    ERROR_TOO_LARGE,    /* HTTP 413, or one of our own maxima (limits.h) */
    ERROR_THROTTLED,    /* HTTP 429: wait retry_after_ms */
    ERROR_UNAVAILABLE,  /* HTTP 5xx, refused or lost connection: retry with back-off */
    ERROR_TIMEOUT,      /* no answer in time; the effect is unknown */
    ERROR_CANCELLED,    /* we ended it ourselves */
    ERROR_PROTOCOL,     /* the peer's bytes make no sense: truncated body, bad JSON */
    ERROR_IO,           /* a file or pipe failed; code is errno */
    ERROR_DATABASE,     /* mysqld refused a statement; code is its error number */
    ERROR_INTERNAL,     /* a bug of ours that need not end the process */
    ERROR_KIND_COUNT,
};

struct error {
    enum error_kind kind;
    int code;                /* HTTP status, errno or server error number; 0 if none */
    uint32_t retry_after_ms; /* the peer's wish (Retry-After), 0 if none */
    char message[ERROR_MESSAGE_MAX];
};

#define ERROR_INIT         \
    {                      \
        .kind = ERROR_NONE \
    }

/* Fills *err (code and retry_after_ms become 0). Always returns -1, so `return error_set(...)` reads well. */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...) KM_PRINTF(3, 4);
int error_set_code(struct error *err, enum error_kind kind, int code, const char *fmt, ...) KM_PRINTF(4, 5);

/*
 * From errno: kind by its value (ENOENT: NOT_FOUND, EACCES and EPERM: FORBIDDEN, EEXIST: EXISTS, ETIMEDOUT: TIMEOUT,
 * ECANCELED: CANCELLED, refused and lost connections: UNAVAILABLE, else IO); appends ": strerror". Returns -1.
 */
int error_set_errno(struct error *err, int errnum, const char *fmt, ...) KM_PRINTF(3, 4);

/* Puts "context: " in front of the message; kind and code stay. Returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) KM_PRINTF(2, 3);

/* Clears *err to ERROR_NONE. */
void error_clear(struct error *err);

/*
 * Whether the same operation, begun anew (reading again what it read), may succeed without anybody changing the input:
 * CONFLICT, GONE, THROTTLED, UNAVAILABLE, TIMEOUT, PROTOCOL, IO.
 */
bool error_is_transient(const struct error *err);

/* "NotFound", "Conflict", ...: stable names for logs, metrics and condition reasons. */
const char *error_kind_name(enum error_kind kind);

/*
 * The static analyzer sees one file at a time: without this it follows paths on which these return 0, and finds
 * out-parameters unset there.
 */
#if defined(__clang_analyzer__) && !defined(KM_ERROR_IMPLEMENTATION)
static inline int error_minus_one(int result)
{
    UNUSED(result);
    return -1;
}
#define error_set(...) error_minus_one(error_set(__VA_ARGS__))
#define error_set_code(...) error_minus_one(error_set_code(__VA_ARGS__))
#define error_set_errno(...) error_minus_one(error_set_errno(__VA_ARGS__))
#define error_prefix(...) error_minus_one(error_prefix(__VA_ARGS__))
#endif

#endif
