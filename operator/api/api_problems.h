/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_problems.h: what is wrong with an object that somebody wrote, each with the path of the field.
 *
 * A bounded list (the first API_PROBLEMS_MAX are kept, the rest is counted), so that a person sees more than one
 * mistake at a time. A plain value: no init beyond zeroes, no release. Messages never quote passwords.
 */
#ifndef KM_API_PROBLEMS_H
#define KM_API_PROBLEMS_H

#include "common/base.h"

#include "common/error.h"
#include "common/strbuf.h"

#define API_PROBLEMS_MAX 6
#define API_PATH_MAX 160
#define API_PROBLEM_MESSAGE_MAX 256

struct api_problem {
    char path[API_PATH_MAX];               /* "spec.replicas" */
    char message[API_PROBLEM_MESSAGE_MAX]; /* "must be between 0 and 9, not -1" */
};

struct api_problems {
    int count;   /* items filled */
    int dropped; /* further ones that had no room */
    struct api_problem items[API_PROBLEMS_MAX];
};

/* Cuts what is too long with "...". Always returns -1. */
int api_problems_add(struct api_problems *problems, const char *path, const char *fmt, ...) KM_PRINTF(3, 4);
bool api_problems_any(const struct api_problems *problems);
/* "path: message; path: message; and 3 more". Appends; nothing if there are none. */
void api_problems_text(const struct api_problems *problems, struct strbuf *out);
/* Fills *err with ERROR_INVALID and the text; returns -1. With no problems returns 0 and leaves *err. */
int api_problems_to_error(const struct api_problems *problems, struct error *err);

#endif
